// Downloads: one recommended, the others as a list.

import { Check, Empty, html, useLoad, useState } from "./ui.js";

const OTHERS = [
  ["Labels", "One row for each task: label, confidence, accepted, and the probability of each class.", ["labels.csv", "labels.xlsx", "labels.parquet", "labels.jsonl"]],
  ["Your file with labels", "All rows and columns of the first file with votes, and two more.", ["with_labels.xlsx", "with_labels.csv", "with_labels.parquet"]],
  ["Annotators", "How good each of them is.", ["annotators.csv", "annotators.xlsx", "annotators.parquet"]],
  ["Report", "One page with charts, for colleagues without the studio.", ["report.html"]],
  ["Certificate", "How many labels are right, and how that was measured.", ["certificate.html", "certificate.json"]],
  ["What people said", "Truths with who gave them and when; answers of random samples; tasks that need more votes.", ["judgements.csv", "checks.csv", "sent_back.csv", "gold.csv"]],
  ["Votes", "All votes of all files as they count, merged and repaired.", ["votes.csv"]],
  ["For your labelling tool", "The export that the votes came from, with the labels as predictions.", ["predictions.json"]],
  ["The whole result", "For Python: finegold.load.", ["model.finegold"]],
];

export function Export({ project }) {
  const [votes, setVotes] = useState(false);
  const summary = useLoad(project.shown === null ? null : `/projects/${project.id}/summary`, project.version);
  if (project.shown === null) return html`<${Empty} title="There is nothing to export yet"><a class="button" href="#/p/${project.id}/read">Read the votes</a><//>`;
  const link = (name, kind = "button small") => html`<a key=${name} class=${kind} download=${name} href="/api/projects/${project.id}/export/${name}${name.startsWith("sheet") && votes ? "?votes=true" : ""}">${kind.includes("primary") ? "Download the sheet" : name.split(".").at(-1).toUpperCase()}</a>`;
  const isNamed = (names) => new Set(names.map((name) => name.split(".")[0])).size > 1;
  return html`<div class="stack wide-gap narrow"><h1>Export</h1>
    ${summary.data ? html`<p class="lead" id="quality">${summary.data.headline}. ${summary.data.measured ? summary.data.sentences[0] : summary.data.sentences.at(-1)}</p>` : null}
    <section class="card recommended"><header><div><h2>One sheet of everything</h2><span class="muted">One row for each task: its text, the label, whether a person or the votes decided it, comments. What people judged or checked is in it.</span></div><span class="row">${link("sheet.xlsx", "button primary")}${link("sheet.csv")}</span></header>
      <${Check} id="sheet-votes" checked=${votes} onChange=${setVotes}>With a column for each annotator<//></section>
    <ul class="list" id="exports">${OTHERS.map(([title, about, names]) => html`<li key=${title}><span class="what"><b>${title}</b><small>${about}</small></span><span class="row">${names.map((name) => (isNamed(names) ? html`<a key=${name} class="button small" download=${name} href="/api/projects/${project.id}/export/${name}">${name.replace(/\.csv$/, "").replace("_", " ")}</a>` : link(name)))}</span></li>`)}</ul></div>`;
}
