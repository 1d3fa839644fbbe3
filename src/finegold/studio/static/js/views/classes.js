// The classes, which of them are confused, and the prototypes.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { number, percent } from "../format.js";
import { card, classLabel, empty, heatMap, meter } from "../parts.js";

const MOST_IN_MATRIX = 60; // as many as the server sends

export async function render(root, { project }) {
  const base = `/projects/${project.id}/results`;
  const [overview, classes, prototypes] = await Promise.all([get(base), get(`${base}/classes`), get(`${base}/prototypes`)]);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Classes and prototypes"), h("p", { class: "muted" }, mistakes(classes)))),
    card("Confusion matrix of all annotators", matrix(classes.names, classes.matrix, classes.absent)),
    h("section", { class: "card flush" }, table(classes, overview.classes)),
    h("div", { class: "grid" }, ...prototypeCards(prototypes, overview.method)),
  );
}

function mistakes(classes) {
  if (!classes.mistakes.length) return "The frequency of each class, and what annotators vote when it is the truth.";
  const words = classes.mistakes.slice(0, 3).map((one) => `${one.truth} for ${one.vote} (${percent(one.share, 0)})`);
  return `Most often confused: ${words.join(", ")}.`;
}

function table(classes, names) {
  return h(
    "div",
    { class: "scroll", tabindex: "0" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ["class", "labels", "share of labels", "recall of votes", "mean probability", "confused with"].map((text, i) => h("th", { class: `${i === 1 || i > 2 && i < 5 ? "number" : ""} ${i === 3 || i === 5 ? "wide-only" : ""}` }, text)))),
      h("tbody", {}, classes.rows.map((row) => h(
        "tr",
        {},
        h("td", {}, classLabel(row.label, names)),
        h("td", { class: "number" }, number(row.n_labels)),
        h("td", {}, meter(row.share)),
        h("td", { class: "number wide-only" }, row.recall === null ? "" : percent(row.recall)),
        h("td", { class: "number" }, row.confidence === null ? "" : percent(row.confidence)),
        h("td", { class: "wide-only" }, row.taken_for === null ? "" : h("span", {}, row.taken_for, " ", h("small", {}, percent(row.taken_share, 0)))),
      ))),
    ),
  );
}

function matrix(names, values, absent) {
  if (!values) return h("p", { class: "muted" }, absent);
  if (names.length > MOST_IN_MATRIX) return h("p", { class: "muted" }, `${number(names.length)} classes are too many to show here; the report has them.`);
  return heatMap(names, values);
}

function prototypeCards(prototypes, method) {
  if (!prototypes) return [card("Prototypes", empty("No prototypes", `${method} does not learn prototypes; ptbcc does.`))];
  return prototypes.prototypes.map((one) =>
    card(
      `Prototype ${one.number}`,
      h("p", { class: "muted" }, `${percent(one.share, 0)} of the votes follow it; it is right in ${percent(one.accuracy, 0)} of the cases.`),
      matrix(prototypes.classes, one.matrix, ""),
    ),
  );
}
