// The next step: label the votes that were read, and follow the fit.

import { del, post } from "./api.js";
import { h, toast } from "./dom.js";
import { count, number } from "./format.js";
import { convergence } from "./parts.js";
import { isActive } from "./watch.js";

// One button that leads on: fit the recommended method, then see the result.
export function nextStep(project) {
  const label = async () => {
    await post(`/projects/${project.id}/fits`).then(() => (location.hash = `#/p/${project.id}/overview`), (problem) => toast(problem.message, "bad"));
  };
  const done = project.fits.some((fit) => fit.id !== project.base && fit.state === "done");
  const waiting = project.n_waiting ? `${count(project.n_waiting, "added vote waits", "added votes wait")} for it. ` : "";
  const words = waiting ? waiting : done ? "These votes have labels. " : "The recommended method finds the most probable class of every task. ";
  const button = h("button", { class: "primary", id: "label-them", disabled: isActive(project.job), onclick: label }, done || (waiting && project.base !== null) ? "Label them again" : "Label them");
  return h("section", { class: "card" }, h("div", { class: "row" }, button, h("span", { class: "muted" }, words, h("a", { href: `#/p/${project.id}/method` }, "Choose another method"))));
}

// The progress of a fit that is queued or runs, or why the last one has no result; null if there is none.
export function progressCard(project) {
  const job = project.job;
  if (job?.kind !== "fit") return null;
  const method = project.fits.find((fit) => fit.id === job.fit)?.method ?? "";
  if (job.state === "failed") return h("div", { class: "note bad", role: "alert" }, `${method}: ${job.message}`);
  if (job.state === "cancelled") return h("div", { class: "note" }, `${method} was cancelled.`);
  if (!isActive(job)) return null;
  const [iteration, change] = job.steps.at(-1) ?? [0, null];
  const step = iteration ? `iteration ${number(iteration)}` : "starting";
  const detail = change === null ? "The first iteration may take a moment." : `Largest change of a probability: ${change.toPrecision(2)}${job.tolerance ? `; it ends below ${job.tolerance} (dashed)` : ""}.`;
  return h(
    "section",
    { class: "card", id: "progress" },
    h(
      "div",
      { class: "spread" },
      h("h2", {}, h("span", { class: "row" }, h("span", { class: "spin" }), `${method}: ${job.message || step}`)),
      h("button", { class: "danger", id: "cancel", onclick: () => del(`/projects/${project.id}/job`) }, "Cancel"),
    ),
    convergence(job.steps, job.tolerance),
    h("small", {}, detail),
  );
}
