// What can be taken away.

import { get } from "../api.js";
import { fill, downloadLink, h } from "../dom.js";
import { count } from "../format.js";

const FILES = [
  ["Labels", "Every task with its label, how sure it is, and the probability of every class.", ["labels.csv", "labels.jsonl", "labels.parquet"]],
  ["Report", "One page for people who were not here: it needs no network, and prints well.", ["report.html"]],
  ["Gold", "The truths that you gave, as karat aggregate reads them with its option gold.", ["gold.csv"]],
  ["Annotators", "How good each annotator is, with the interval.", ["annotators.csv"]],
  ["Votes", "What was read, as a plain table with a row a vote.", ["votes.csv"]],
  ["Model", "Everything that was learned; karat.load reads it in Python.", ["model.karat"]],
];

export async function render(root, { project }) {
  const preview = project.file === null ? null : await get(`/projects/${project.id}/preview`).catch(() => null);
  const back = ["Back to the tool", `The export with the labels in it, as predictions (${preview?.format ?? ""}): import it there.`, ["predictions.json"]];
  const files = preview?.writes_back ? [FILES[0], back, ...FILES.slice(1)] : FILES;
  const shown = project.fits.find((fit) => fit.id === project.shown);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Export"), h("p", { class: "muted" }, `From the result of ${shown.method} on ${count(shown.facts.n_tasks, "task")}, with ${count(shown.facts.gold, "truth")} used.`))),
    project.n_gold !== (shown.facts.judged ?? 0) ? h("div", { class: "note" }, "The truths have changed since this fit. ", h("a", { href: `#/p/${project.id}/judge` }, "Refit"), " to make the labels follow.") : null,
    h("div", { class: "exports" }, files.map(([title, words, names]) => h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "muted" }, words), h("div", { class: "row" }, names.map((name) => downloadLink(`/api/projects/${project.id}/export/${name}`, name, { class: "button small" })))))),
  );
}
