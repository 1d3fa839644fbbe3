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
    h("div", { class: "what" }, h("span", {}, found.name), h("small", {}, `${tasks}; mean confidence ${percent(found.confidence)}; classes: ${classes}`)),
    h("button", { class: "quiet danger small", disabled: isActive(project.job), "aria-label": `Remove ${found.name}`, onclick: () => remove(project, found.name) }, "Remove"),
  );
}

const remove = (project, name) => del(`/projects/${project.id}/predictions?${new URLSearchParams({ name })}`).catch((problem) => toast(problem.message, "bad"));

// What the fit found about each model; null without models.
export function modelsCard(project, overview) {
  if (!overview.models.length) return null;
  const head = ["model", "accuracy", "claims", "weight", "tasks"];
  const figures = (one) => [percent(one.accuracy, 0), percent(one.confidence, 0), one.weight.toFixed(2), number(one.n_tasks)];
  const body = overview.models.map((one) => h("tr", {}, h("th", { scope: "row" }, one.model), figures(one).map((value) => h("td", { class: "number" }, value))));
  const only = overview.n_predicted;
  const made = card(
    "Models beside the votes",
    h("div", { class: "scroll", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, head.map((text, i) => h("th", { scope: "col", class: i ? "number" : "" }, text)))), h("tbody", {}, body))),
    h("small", {}, "The accuracy is that on tasks with votes, judged by the labels. The weight is 1 if the model is as accurate as it claims, less if it claims too much, and 0 if it is ignored; several models share it."),
    only ? h("p", {}, h("a", { href: `#/p/${project.id}/tasks?doubt=predicted` }, `${count(only, "task")} without votes`), " labelled from predictions only.") : null,
  );
  made.id = "models";
  return made;
}

// What models say about a task; null if they say nothing.
export function predictedOf(view) {
  if (!view.predictions.length) return null;
  return h("div", { class: "stack tight" }, h("h3", {}, "Predictions"), h("dl", {}, view.predictions.map((one) => [h("dt", {}, one.model), h("dd", {}, `${one.label} (${percent(one.probability)})`)])));
}
