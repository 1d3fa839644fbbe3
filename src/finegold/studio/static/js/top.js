// The header of every page: navigation and the current job.

import { fill, h } from "./dom.js";
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
  ["judges", "LLM judges"],
  ["export", "Export"],
];
const BEFORE_VOTES = new Set(["columns", "method"]); // also the views that only the owner can use

export const isJudgeLog = (project) => project.reading?.shape === "judges";

export function showTop(project, name) {
  const bar = h(
    "div",
    { class: "bar" },
    h("a", { class: "brand", href: "#/", "aria-label": "All projects" }, h("img", { src: "/static/mark.svg", alt: "" }), h("b", {}, "Finegold Studio")),
    project ? h("div", { class: "crumb" }, h("span", { title: project.name }, project.name)) : null,
    h("div", { class: "end" }, project ? jobPill(project) : null, isOwner() ? null : h("small", {}, reviewer())),
  );
  fill(document.getElementById("top"), bar, project ? tabs(project, name) : null);
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function tabs(project, name) {
  const isUsed = (view) => (isOwner() || !BEFORE_VOTES.has(view)) && (view !== "columns" || project.file !== null) && (view !== "judges" || isJudgeLog(project));
  const isOpen = (view) => isUsed(view) && (view === "judge" || !judgesBlindly(project));
  const links = TABS.filter(([view]) => isOpen(view)).map(([view, text]) => {
    const off = project.shown === null && !BEFORE_VOTES.has(view);
    const badge = view === "judge" && project.n_gold ? h("span", { class: "badge accent" }, number(project.n_gold)) : null;
    return h(
      "a",
      { href: `#/p/${project.id}/${view}`, class: off ? "off" : "", "aria-current": view === name ? "page" : null, "aria-disabled": off ? "true" : null },
      text,
      badge,
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
