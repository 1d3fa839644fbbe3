// Downloads: one recommended, the others as a list.

import { Empty, html, useLoad } from "./ui.js";

const TABLES = ["csv", "xlsx", "parquet"];
const all = (name, kinds = TABLES) => kinds.map((kind) => `${name}.${kind}`);
const OTHERS = [
  [
    "Labels",
    "One row for each task: label, confidence, accepted, and the probability of each class.",
    all("labels", [...TABLES, "jsonl"]),
  ],
  ["Your file with labels", "All rows and columns of the first file with votes, and two more.", all("with_labels")],
  ["Annotators", "How good each of them is.", all("annotators")],
  ["Report", "One page with charts, for colleagues without the studio.", ["report.html"]],
  ["Certificate", "How many labels are right, and how that was measured.", ["certificate.html"]],
  [
    "What people said",
    "Truths with who gave them and when; answers of random samples; tasks that need more votes.",
    ["judgements.csv", "checks.csv", "sent_back.csv"],
  ],
  ["Votes", "All votes of all files as they count, merged and repaired.", ["votes.csv"]],
  [
    "For your labelling tool",
    "The export that the votes came from, with the labels as predictions.",
    ["predictions.json"],
  ],
  ["The whole result", "For Python: finegold.load.", ["model.finegold"]],
];

export function Export({ project }) {
  const hasLabels = project.shown !== null;
  const { data } = useLoad(hasLabels ? `/projects/${project.id}/summary` : null, project.version);
  if (!hasLabels) {
    return html`
      <${Empty} title="There is nothing to export yet">
        <a class="button" href="#/p/${project.id}/read">Read the votes</a>
      <//>
    `;
  }
  const link = (name, text, kind = "button small") => html`
    <a key=${name} class=${kind} download=${name} href="/api/projects/${project.id}/export/${name}">
      ${text}
    </a>
  `;
  // files of several names are called by them, others by their formats
  const textOf = (name, names) => {
    const [stem, format] = name.split(".");
    const isNamed = new Set(names.map((one) => one.split(".")[0])).size > 1;
    return isNamed ? stem.replace("_", " ") : format.toUpperCase();
  };
  return html`
    <div class="stack wide-gap narrow">
      <h1>Export</h1>
      ${data && html`
        <p class="lead" id="quality">${data.headline}. ${data.measured ? data.sentences[0] : data.sentences.at(-1)}</p>
      `}
      <section class="card recommended">
        <header>
          <div>
            <h2>One sheet of everything</h2>
            <span class="muted">
              One row for each task: its text, the label, whether a person or the votes decided it, comments. What
              people judged or checked is in it.
            </span>
          </div>
          <span class="row">
            ${link("sheet.xlsx", "Download the sheet", "button primary")} ${link("sheet.csv", "CSV")}
          </span>
        </header>
      </section>
      <ul class="list" id="exports">
        ${OTHERS.map(([title, about, names]) => html`
          <li key=${title}>
            <span class="what"><b>${title}</b><small>${about}</small></span>
            <span class="row">${names.map((name) => link(name, textOf(name, names)))}</span>
          </li>
        `)}
      </ul>
    </div>
  `;
}
