// The header of every page: navigation and the current job.

import { patch } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { number } from "./format.js";
import { isOwner, judgesBlindly, reviewer } from "./reviewer.js";
import { isActive } from "./watch.js";

const TABS = [
  ["columns", "Votes"],
  ["method", "Method"],
  ["overview", "Overview"],
  ["tasks", "Tasks"],
  ["annotators", "Annotators"],
  ["classes", "Classes"],
  ["judge", "Judge"],
  ["measure", "Measure"],
  ["people", "People"],
  ["judges", "LLM judges"],
  ["export", "Export"],
];
const BEFORE_VOTES = new Set(["columns", "method"]);
const OWNERS = new Set(["columns", "method", "people"]);
const BLIND = new Set(["judge", "measure"]); // views that show no votes before a decision

export const isJudgeLog = (project) => project.reading?.shape === "judges";

export function showTop(project, name) {
  const bar = h(
    "div",
    { class: "bar" },
    h("a", { class: "brand", href: "#/", "aria-label": "All projects" }, h("img", { src: "/static/mark.svg", alt: "" }), h("b", {}, "Finegold Studio")),
    project ? h("div", { class: "crumb" }, h("span", { title: project.name }, project.name), isOwner() ? h("button", { class: "quiet small", id: "rename", "aria-label": "Rename this project", title: "Rename", onclick: () => rename(project) }, "✎") : null) : null,
    h("div", { class: "end" }, project ? jobPill(project) : null, isOwner() ? null : h("small", {}, reviewer())),
  );
  fill(document.getElementById("top"), bar, project ? tabs(project, name) : null);
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

async function rename(project) {
  const name = prompt("The name of the project", project.name)?.trim();
  if (name && name !== project.name) await patch(`/projects/${project.id}`, { name }).catch((problem) => toast(problem.message, "bad"));
}

function tabs(project, name) {
  const isUsed = (view) => (isOwner() || !OWNERS.has(view)) && (view !== "columns" || project.file !== null) && (view !== "judges" || isJudgeLog(project));
  const isOpen = (view) => isUsed(view) && (BLIND.has(view) || !judgesBlindly(project));
  const links = TABS.filter(([view]) => isOpen(view)).map(([view, text]) => {
    const off = project.shown === null && !BEFORE_VOTES.has(view);
    return h(
      "a",
      { href: `#/p/${project.id}/${view}`, class: off ? "off" : "", "aria-current": view === name ? "page" : null, "aria-disabled": off ? "true" : null },
      text,
    );
  });
  return h("nav", { class: "tabs", "aria-label": "Views" }, links);
}

function jobPill(project) {
  const job = project.job;
  if (!isActive(job)) return null;
  const step = job.steps.at(-1);
  const words = job.kind === "read" ? `reading ${number(job.rows)} rows` : job.message || (step ? `iteration ${step[0]}` : "starting");
  return h("a", { class: "pill", href: `#/p/${project.id}/${job.kind === "read" ? "columns" : "method"}` }, h("span", { class: "spin" }), words);
}
