// What was read: classes, what was left out, what looks wrong, and a table of spellings that can be edited.

import { get, put } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { count, number } from "./format.js";
import { choiceWords } from "./layout.js";
import { isActive } from "./watch.js";

const MOST_CLASSES = 12;

// The votes that a project was read from, with what looks wrong; null before they are read.
export function factsOf(project) {
  return project.fits.find((fit) => fit.id === project.base)?.facts ?? null;
}

export function warningsOf(project) {
  const findings = factsOf(project)?.hygiene?.findings ?? [];
  return findings.filter((finding) => finding.kind !== "merged" || finding.text.startsWith("labels"));
}

export function readCard(project) {
  const facts = factsOf(project);
  if (!facts?.hygiene) return null;
  return h(
    "section",
    { class: "card", id: "what-was-read" },
    h("h2", {}, "What was read"),
    h("p", {}, `${count(facts.n_votes, project.options ? "answer" : "vote")} by ${count(facts.n_annotators, "annotator")} ${project.options ? "to" : "on"} ${count(facts.n_tasks, project.options ? "question" : "task")}, ${count(facts.n_classes, "class", "classes")}.`),
    project.options ? h("p", { id: "sets" }, `Votes are sets of labels: each task of the file is asked about ${count(project.options.length, "label")} (${project.options.slice(0, MOST_CLASSES).join(", ")}${project.options.length > MOST_CLASSES ? ", ..." : ""}), and each answer is no or yes. Exported labels are sets again.`) : null,
    warningsOf(project).map((finding) => notice(project, finding)),
    h("div", { class: "grid" }, classBars(facts), leftOut(facts)),
  );
}

// A finding, and what can be done about it: a button for choices that are known, otherwise words.
function notice(project, finding) {
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
  const action = ({ words, choices }) => [
    " ",
    words ? h("small", {}, choices ? `${sentence(words).slice(0, -1)}: ` : sentence(words)) : null,
    choices ? h("button", { class: "small", disabled: isActive(project.job), onclick: () => readWith(project, choices) }, choiceWords(choices)) : null,
  ];
  return h("div", { class: "note" }, sentence(finding.text), finding.advice.map(action));
}

function classBars(facts) {
  const shown = facts.hygiene.classes.slice(0, MOST_CLASSES);
  const most = Math.max(1, ...shown.map(([, n]) => n));
  const rest = facts.n_classes - shown.length;
  return h(
    "div",
    { class: "stack tight" },
    h("h3", {}, "Votes for each class"),
    shown.map(([name, n]) => h("div", { class: "counted" }, h("span", { title: name }, visible(name)), h("i", { style: { width: `${(100 * n) / most}%` } }), h("b", {}, number(n)))),
    rest > 0 ? h("small", {}, `and ${count(rest, "class", "classes")} more`) : null,
  );
}

// Put quotation marks around a name whose spaces would not be seen.
const visible = (name) => (name === name.split(/\s+/).filter(Boolean).join(" ") ? name : `"${name}"`);

function leftOut(facts) {
  const words = Object.entries(facts.hygiene.no_vote);
  const blank = facts.counts.missing - words.reduce((sum, [, n]) => sum + n, 0);
  const rows = [
    ["votes without a label", blank],
    ...words.map(([word, n]) => [`“${word}”, which means no vote`, n]),
    ["repeated votes", facts.counts.repeated],
    ["pairs of task and annotator whose repeated votes disagree", facts.counts.disagreeing ?? 0],
    ["tasks without any vote", facts.n_unlabelled],
    ["truths of tasks without votes", facts.counts.gold_unused],
    ...Object.entries(facts.counts.left_out ?? {}),
  ].filter(([, n]) => n > 0);
  const body = rows.length ? h("dl", {}, rows.map(([what, n]) => [h("dt", {}, what), h("dd", {}, number(n))])) : h("p", { class: "muted" }, "Nothing.");
  return h("div", { class: "stack tight" }, h("h3", {}, "Left out"), body);
}

// Spellings of labels and the classes that they mean. The proposals are the spellings that look alike.
export function spellingsCard(project) {
  const facts = factsOf(project);
  if (!facts?.hygiene) return null;
  const reading = project.reading ?? {};
  const groups = (kind) => facts.hygiene.findings.filter((finding) => finding.kind === kind).flatMap((finding) => finding.groups);
  const proposed = groups("spellings").flatMap(([first, ...others]) => others.map(([spelling]) => [spelling, first[0]]));
  const near = Object.entries(facts.hygiene.near ?? {}).filter(([spelling]) => !proposed.some(([known]) => known === spelling));
  const rows = [...Object.entries(reading.alias ?? {}), ...proposed, ...near];
  const body = h("div", { class: "stack tight", id: "alias" });
  const draw = () => fill(body, rows.map((row) => aliasRow(row, () => (rows.splice(rows.indexOf(row), 1), draw()))));
  const add = () => (rows.push(["", ""]), draw(), body.lastElementChild.querySelector("input").focus());
  draw();
  return h(
    "section",
    { class: "card", id: "spellings" },
    h("h2", {}, "Spellings"),
    h("p", { class: "muted" }, spellingWords(proposed.length, near, groups("merged"), reading)),
    rows.length ? h("div", { class: "alias head" }, h("span", {}, "Spelling"), h("span", {}, "Class")) : null,
    body,
    h("datalist", { id: "class-names" }, facts.hygiene.classes.map(([name]) => h("option", { value: name }))),
    h(
      "div",
      { class: "row" },
      h("button", { id: "use-alias", class: proposed.length + near.length ? "primary" : "", disabled: isActive(project.job), onclick: () => readWith(project, { alias: aliasOf(rows) }) }, "Use this table"),
      h("button", { id: "add-alias", onclick: add }, "Add a spelling"),
      h("button", { id: "normalise", disabled: isActive(project.job), onclick: () => readWith(project, { normalise: !reading.normalise }) }, reading.normalise ? "Keep look-alikes apart" : "Merge all look-alikes"),
    ),
  );
}

function spellingWords(n, near, merged, reading) {
  const done = merged.length ? `${count(merged.length, "class has", "classes have")} several spellings that were merged. ` : "";
  if (near.length && !n) return `${done}${near.slice(0, 3).map(([label, name]) => `“${label}” may be a misspelled ${name}`).join("; ")}. Change the table as needed, then use it.`;
  if (n) return `${done}${count(n, "spelling looks", "spellings look")} like another class. Change the table as needed, then use it; or merge all labels that differ only in case, spaces, a dot at the end or number format.`;
  return done || (reading.normalise ? "Labels that differ only in spelling are merged." : "If several labels mean one class, list them here.");
}

function aliasRow(row, remove) {
  const input = (place, words, list = null) =>
    h("input", { type: "text", value: row[place], list, "aria-label": words, placeholder: words.toLowerCase(), oninput: (event) => (row[place] = event.target.value) });
  return h("div", { class: "alias" }, input(0, "Spelling"), input(1, "Class", "class-names"), h("button", { class: "quiet small", "aria-label": `Remove ${row[0] || "this row"}`, onclick: remove }, "×"));
}

function aliasOf(rows) {
  const given = rows.filter(([spelling, name]) => spelling && name.trim());
  return given.length ? Object.fromEntries(given) : null;
}

// Read the votes again with another choice of spellings.
async function readWith(project, change) {
  const now = await get(`/projects/${project.id}`);
  if (now.fits.length > 1 && !confirm("The votes are read again, and the fits of this project are dropped. Go on?")) return;
  await put(`/projects/${project.id}/votes`, { ...(now.reading ?? {}), ...change, version: now.version }).catch((problem) => toast(problem.message, "bad"));
}
