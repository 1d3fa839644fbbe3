// Class probabilities of models: files that every fit combines with the votes, and what the fit found each model worth.

import { Problem, del, postNothing, sendFile } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { filePicker } from "./files.js";
import { count, number, percent } from "./format.js";
import { card } from "./parts.js";
import { isActive } from "./watch.js";

const MOST_CLASSES = 12;

// Returns an element and a function that shows the files of the project as it is now.
export function predictionsCard(project) {
  const [list, status] = [h("div", {}), h("div", {})];
  const show = (now) => fill(list, now.predictions.length ? h("ul", { class: "list", id: "models-read" }, now.predictions.map((found) => row(now, found))) : null);
  async function bring(name, file) {
    const address = `/projects/${project.id}/predictions?${new URLSearchParams({ name })}`;
    fill(status, h("p", { class: "muted row" }, h("span", { class: "spin" }), `reading ${name}`));
    try {
      await (file ? sendFile(address, file) : postNothing(address));
      fill(status, h("div", { class: "note good", role: "status" }, `${name} was read. The next fit combines it with the votes.`));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      fill(status, h("div", { class: "note bad", role: "alert" }, problem.message));
    }
  }
  show(project);
  const element = h(
    "section",
    { class: "card", id: "predictions" },
    h("h2", {}, "Predictions of models"),
    h("p", { class: "muted" }, "A table with a column of tasks and a column per class, with the probability of each class. A fit learns from the votes what each model is worth. Tasks without votes get a label too."),
    filePicker("predictions", "File of predictions in the folder", bring),
    status,
    list,
  );
  return { element, show };
}

function row(project, found) {
  const rest = found.classes.length - MOST_CLASSES;
  const classes = found.classes.slice(0, MOST_CLASSES).join(", ") + (rest > 0 ? ` and ${count(rest, "more class", "more classes")}` : "");
  const tasks = `predicts ${number(found.n_tasks)} of ${count(found.n_tasks + found.n_without_prediction, "task")} with votes${found.n_without_votes ? `, and ${count(found.n_without_votes, "task")} without votes` : ""}`;
  return h(
    "li",
    {},
    h("div", { class: "what whole" }, h("span", {}, found.name), h("small", {}, `${tasks}; mean confidence ${percent(found.confidence)}; classes: ${classes}`), found.warnings.map((text) => h("small", {}, text))),
    h("button", { class: "quiet danger small", disabled: isActive(project.job), "aria-label": `Remove ${found.name}`, onclick: () => remove(project, found.name) }, "Remove"),
  );
}

const remove = (project, name) => del(`/projects/${project.id}/predictions?${new URLSearchParams({ name })}`).catch((problem) => toast(problem.message, "bad"));

// What the fit found about each model; null without models.
export function modelsCard(project, overview) {
  if (!overview.models.length) return null;
  const words = (one) => `Right on about ${percent(one.accuracy, 0)} of ${count(one.n_tasks, "task")} with votes (claims ${percent(one.confidence, 0)}); weight ${one.weight.toFixed(2)}.`;
  const only = overview.n_predicted;
  const made = card(
    "Models beside the votes",
    h("ul", { class: "list" }, overview.models.map((one) => h("li", {}, h("div", { class: "what whole" }, h("b", {}, one.model), h("span", {}, words(one)))))),
    only ? h("p", {}, h("a", { href: `#/p/${project.id}/tasks?doubt=predicted` }, `${count(only, "task")} without votes`), ` ${only === 1 ? "was" : "were"} labelled from predictions only.`) : null,
    h("small", {}, "The weight is 1 if the model is as accurate as it claims, less if it claims too much, and 0 if it is ignored. Several models share it."),
  );
  made.id = "models";
  return made;
}

// What models say about a task; null if they say nothing.
export function predictedOf(view) {
  if (!view.predictions.length) return null;
  return h("div", { class: "stack tight" }, h("h3", {}, "Predictions"), h("dl", {}, view.predictions.map((one) => [h("dt", {}, one.model), h("dd", {}, `${one.label} (${percent(one.probability)})`)])));
}
