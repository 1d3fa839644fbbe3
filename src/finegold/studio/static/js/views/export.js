// Files to download.

import { get, post } from "../api.js";
import { fill, downloadLink, h } from "../dom.js";
import { count } from "../format.js";
import { field } from "../parts.js";
import { isOwner } from "../reviewer.js";

const TABLES = (name) => ["csv", "xlsx", "parquet"].map((kind) => `${name}.${kind}`);
const SHEET = ["One sheet", "One row per task: what people see of it, its label, confidence and decision, by whom, and the note.", ["sheet.xlsx", "sheet.csv"]];
const LABELS = ["Labels", "Every task with its label, its confidence, and the probability of every class.", [...TABLES("labels"), "labels.jsonl"]];
const FILES = [
  ["Report", "One self-contained HTML page to share or print; it needs no network.", ["report.html"]],
  ["Judgements", "The truths that were given, by whom, when, what the label was then, and the notes.", TABLES("judgements")],
  ["Tasks sent back", "The tasks that reviewers sent back for more votes, with their notes.", ["sent_back.csv"]],
  ["Annotators", "The accuracy of each annotator, with its interval.", TABLES("annotators")],
  ["Votes", "The votes as a table with one row per vote.", ["votes.csv"]],
  ["Known truths", "Tasks and their truths, to be read again as known truths.", ["gold.csv"]],
  ["Model", "The fitted model; load it in Python with finegold.load.", ["model.finegold"]],
];

export async function render(root, { project, again }) {
  const preview = project.file === null ? null : await get(`/projects/${project.id}/preview`).catch(() => null);
  const back = ["Export for the tool", `The original export with the labels added as predictions (${preview?.format ?? ""}), for import into the tool.`, ["predictions.json"]];
  const own = ["Your file with labels", `${project.file ?? ""} with the columns finegold_label, finegold_confidence and finegold_is_gold.`, TABLES("with_labels")];
  const isTable = preview && !preview.problem && !preview.is_export && project.reading?.shape !== "transposed";
  const files = [SHEET, LABELS, ...(preview?.writes_back ? [back] : []), ...(isTable ? [own] : []), ...FILES];
  const shown = project.fits.find((fit) => fit.id === project.shown);
  const votes = h("input", {
    type: "checkbox",
    id: "sheet-votes",
    onchange: () => {
      for (const link of root.querySelectorAll('a[href*="/sheet."]')) link.href = link.href.replace(/\?.*$|$/, votes.checked ? "?votes=true" : "");
    },
  });
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Export"), h("p", { class: "muted" }, `From the result of ${shown.method} on ${count(shown.facts.n_tasks, "task")}, with ${count(shown.facts.gold, "truth")} used.`))),
    project.n_gold !== (shown.facts.judged ?? 0) ? h("div", { class: "note" }, "The truths have changed since this fit. ", h("a", { href: `#/p/${project.id}/judge` }, "Refit"), " to update the labels.") : null,
    h("div", { class: "exports" }, files.map(([title, words, names]) => h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "muted" }, words), title === SHEET[0] ? h("label", { class: "check" }, votes, "With a column per annotator") : null, h("div", { class: "row" }, names.map((name) => downloadLink(`/api/projects/${project.id}/export/${name}`, name, { class: "button small" }))))), isOwner() ? databaseCard(project) : null),
  );
  return { update: (now, before) => (now.shown !== before?.shown || now.n_gold !== before?.n_gold) && again() };
}

function databaseCard(project) {
  const address = h("input", { type: "text", id: "database", placeholder: "sqlite:///labels.db" });
  const table = h("input", { type: "text", id: "database-table", value: "labels" });
  const status = h("div", {});
  const write = async () => {
    try {
      const done = await post(`/projects/${project.id}/database`, { address: address.value, table: table.value });
      fill(status, h("div", { class: "note good" }, `${count(done.rows, "row")} written to ${done.table}.`));
    } catch (problem) {
      fill(status, h("div", { class: "note bad", role: "alert" }, problem.message));
    }
  };
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Database"),
    h("div", { class: "stack tight" }, field("Address", address, "postgresql://user@host/name, sqlite:///FILE or duckdb:///FILE; files lie in the folder of the studio."), field("Table", table, "The rows of an earlier table of labels are replaced."), status),
    h("div", { class: "row" }, h("button", { class: "small", id: "to-database", onclick: write }, "Write the labels")),
  );
}
