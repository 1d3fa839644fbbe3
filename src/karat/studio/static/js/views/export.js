// Files to download.

import { get } from "../api.js";
import { fill, downloadLink, h } from "../dom.js";
import { count } from "../format.js";

const FILES = [
  ["Labels", "Every task with its label, its confidence, and the probability of every class.", ["labels.csv", "labels.jsonl", "labels.parquet"]],
  ["Report", "One self-contained HTML page to share or print; it needs no network.", ["report.html"]],
  ["Gold", "The truths that you gave, in the format of karat aggregate --gold.", ["gold.csv"]],
  ["Annotators", "The accuracy of each annotator, with its interval.", ["annotators.csv"]],
  ["Votes", "The votes as a table with one row per vote.", ["votes.csv"]],
  ["Model", "The fitted model; load it in Python with karat.load.", ["model.karat"]],
];

export async function render(root, { project }) {
  const preview = project.file === null ? null : await get(`/projects/${project.id}/preview`).catch(() => null);
  const back = ["Export for the tool", `The original export with the labels added as predictions (${preview?.format ?? ""}), for import into the tool.`, ["predictions.json"]];
  const files = preview?.writes_back ? [FILES[0], back, ...FILES.slice(1)] : FILES;
  const shown = project.fits.find((fit) => fit.id === project.shown);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Export"), h("p", { class: "muted" }, `From the result of ${shown.method} on ${count(shown.facts.n_tasks, "task")}, with ${count(shown.facts.gold, "truth")} used.`))),
    project.n_gold !== (shown.facts.judged ?? 0) ? h("div", { class: "note" }, "The truths have changed since this fit. ", h("a", { href: `#/p/${project.id}/judge` }, "Refit"), " to update the labels.") : null,
    h("div", { class: "exports" }, files.map(([title, words, names]) => h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "muted" }, words), h("div", { class: "row" }, names.map((name) => downloadLink(`/api/projects/${project.id}/export/${name}`, name, { class: "button small" })))))),
  );
}
