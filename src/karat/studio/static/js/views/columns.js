// Choose how the file is read.

import { get, put } from "../api.js";
import { fill, h, toast } from "../dom.js";
import { count, number } from "../format.js";
import { judgeFields } from "../judge_fields.js";
import { readCard, spellingsCard, warningsOf } from "../hygiene.js";
import { card, empty, field, select } from "../parts.js";
import { isActive } from "../watch.js";

const SHAPES = [
  ["long", "a vote"],
  ["wide", "a task, with a column per annotator"],
  ["transposed", "an annotator, with a column per task"],
  ["judges", "a call of an LLM judge"],
];
const MOST_BOXES = 60;
const REPEATED = [
  ["first", "the first counts"],
  ["last", "the last counts"],
  ["majority", "the most frequent counts"],
  ["all", "all count"],
  ["error", "refuse the file"],
];

export async function render(root, { project, params, go }) {
  if (project.crashed && !params.get("again")) return crashed(root, project);
  const preview = await get(`/projects/${project.id}/preview${project.crashed ? "?again=true" : ""}`);
  const reading = { ...preview.guess, ...(project.reading ?? {}) };
  const table = h("div", { class: "scroll preview" });
  const status = h("div", { class: "stack tight" });
  let version = project.version;
  const fields = h("div", { class: "fields" });
  const draw = () => {
    fill(table, previewTable(preview, reading));
    more.hidden = reading.shape === "judges"; // failed calls are recognised by their texts
    fill(fields, preview.is_export ? exportFields(preview, reading, change) : tableFields(preview, reading, change, draw));
  };
  const change = (name) => (value) => {
    reading[name] = value === "" ? null : value;
    draw();
  };
  const more = moreFields(preview, reading, change);
  async function read() {
    try {
      await put(`/projects/${project.id}/votes`, { ...reading, version });
    } catch (problem) {
      if (problem.status === 409) version = (await get(`/projects/${project.id}`)).version;
      toast(problem.message, "bad");
    }
  }
  const button = h("button", { class: "primary", id: "read", onclick: read }, project.reading ? "Read again" : "Read the votes");
  draw();
  const found = h("div", { class: "stack" });
  const showFound = (now) => fill(found, readCard(now), now.reading?.shape === "judges" ? null : spellingsCard(now));
  showStatus(status, project);
  showFound(project);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, preview.file), h("p", { class: "muted" }, `${preview.format}${preview.is_export ? ", recognised by its content" : ""}. ${advice(preview)}`)), button),
    status,
    found,
    card("Columns", fields, more),
    h("section", { class: "card flush" }, h("div", { class: "inner" }, h("h2", {}, "The first rows")), table),
  );
  return {
    update(now, before) {
      version = now.version;
      button.disabled = isActive(now.job);
      showStatus(status, now);
      if (now.base === before?.base && isActive(now.job) === isActive(before?.job)) return;
      Object.assign(reading, now.reading ?? {});
      showFound(now);
      const isFirst = (before?.base ?? null) === null; // a second reading is a choice that the user wants to see
      if (now.base !== before?.base && isFirst && !warningsOf(now).length) go(`#/p/${now.id}/${now.reading?.shape === "judges" ? "judges" : "method"}`);
    },
  };
}

function crashed(root, project) {
  const again = h("a", { class: "button", id: "again", href: `#/p/${project.id}/columns?again=1` }, "Read it again");
  fill(root, card(null, empty("This file was not read", project.job?.message ?? "", again)));
}

function advice(preview) {
  if (preview.open.length) return `No column was found for the ${preview.open.join(" or the ")}; choose it below.`;
  if (preview.questions.length > 1) return "The export contains several questions; choose one.";
  return "Check the columns, then read the votes.";
}

function tableFields(preview, reading, change, draw) {
  const columns = preview.columns.map((name) => [name, name]);
  const named = (role, none) => field(title(role), idSelect(role, [["", none], ...columns], reading, change));
  const shape = idSelect("shape", SHAPES, reading, (name) => (value) => {
    Object.assign(reading, { [name]: value, task: null, annotator: null, label: null, columns: null, judges: null });
    draw();
  });
  const roles = {
    long: () => [named("task", "(choose)"), named("annotator", "(choose)"), named("label", "(choose)")],
    wide: () => [named("task", "(row number)"), votesField(preview, reading, "task", draw)],
    transposed: () => [named("annotator", "(row number)"), votesField(preview, reading, "annotator", draw)],
    judges: () => judgeFields(preview, reading, change),
  }[reading.shape]();
  const gold = field("Known truth (gold)", idSelect("gold", [["", "(none)"], ...columns], reading, change), "These labels are kept, and the method learns from them.");
  return [field("Every row is", shape), ...roles, reading.shape === "transposed" ? null : gold];
}

const title = (role) => role[0].toUpperCase() + role.slice(1);

// Which columns hold votes; by default all except the names.
function votesField(preview, reading, names, draw) {
  const others = preview.columns.filter((column) => column !== reading[names] && column !== reading.gold);
  const chosen = new Set(reading.columns ?? others);
  const boxes = others.slice(0, MOST_BOXES).map((column) =>
    checkBox(column, chosen.has(column), (on) => {
      if (on) chosen.add(column);
      else chosen.delete(column);
      reading.columns = others.filter((one) => chosen.has(one));
      draw();
    }),
  );
  const rest = others.length - boxes.length;
  return h("div", { class: "field across" }, h("span", {}, "Columns with votes"), h("div", { class: "row" }, boxes, rest > 0 ? h("small", {}, `and ${rest} more`) : null));
}

function idSelect(role, choices, reading, change) {
  const made = select(choices, reading[role] ?? "", change(role));
  made.id = `column-${role}`;
  return made;
}

function exportFields(preview, reading, change) {
  if (preview.is_judge_log) return [field("Every record is", idSelect("shape", SHAPES.filter(([shape]) => shape === "long" || shape === "judges"), reading, change))];
  if (preview.questions.length < 2) return [h("p", { class: "muted" }, "The columns of this export are known: there is nothing to choose.")];
  const questions = preview.questions.map((question) => [question.name, `${question.name} (${count(question.n_votes, "vote")})`]);
  return [field("Question", idSelect("question", questions, reading, change))];
}

function moreFields(preview, reading, change) {
  const missing = h("input", {
    type: "text",
    value: (reading.missing ?? []).join(", "),
    placeholder: "NA, null, NaN, None, -, ?",
    onchange: (event) => {
      const given = event.target.value.split(",").map((part) => part.trim()).filter(Boolean);
      reading.missing = given.length ? given : null;
      if (given.length) reading.keep_missing = false;
    },
  });
  const again = select(REPEATED, reading.repeated, change("repeated"));
  return h(
    "details",
    {},
    h("summary", {}, "More"),
    h(
      "div",
      { class: "fields" },
      field("Labels that mean “no vote”", missing, "In addition to blank ones."),
      checkBox("Words such as NA and None are classes", reading.keep_missing, (on) => Object.assign(reading, { keep_missing: on }, on ? { missing: null } : {})),
      field("If an annotator votes twice on a task", again),
      preview.has_gold ? checkBox("Use the export's gold marks", reading.gold_marks, (on) => (reading.gold_marks = on)) : null,
      preview.includes.map((word) => checkBox(`Include ${word}`, reading.include?.includes(word), (on) => include(reading, word, on))),
    ),
  );
}

function checkBox(words, checked, change) {
  const box = h("input", { type: "checkbox", checked: Boolean(checked), onchange: () => change(box.checked) });
  return h("label", { class: "check" }, box, words);
}

function include(reading, word, on) {
  const others = (reading.include ?? []).filter((one) => one !== word);
  const chosen = on ? [...others, word] : others;
  reading.include = chosen.length ? chosen : null;
}

function previewTable(preview, reading) {
  const role = (column) => ["task", "annotator", "label", "gold"].find((name) => (preview.is_export ? column === name : reading[name] === column)) ?? "";
  const votes = { wide: "annotator", transposed: "task" }[preview.is_export ? "" : reading.shape];
  const words = (column) => role(column) || (votes && (reading.columns?.includes(column) ?? true) ? votes : "");
  const chosen = preview.columns.map((column) => (words(column) ? "chosen" : ""));
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, preview.columns.map((column, i) => h("th", { class: chosen[i], title: column }, h("span", { class: "role" }, words(column)), column)))),
    h("tbody", {}, preview.rows.map((row) => h("tr", {}, row.map((value, i) => h("td", { class: chosen[i], title: value ?? "" }, value ?? h("span", { class: "muted" }, "blank")))))),
  );
}

function showStatus(status, project) {
  const job = project.job?.kind === "read" ? project.job : null;
  const base = project.fits.find((fit) => fit.id === project.base);
  const running = job && isActive(job);
  fill(
    status,
    running ? h("div", { class: "note" }, h("span", { class: "row" }, h("span", { class: "spin" }), `reading: ${number(job.rows)} rows`)) : null,
    job?.state === "failed" ? h("div", { class: "note bad", role: "alert" }, job.message) : null,
    ...otherWarnings(project).map((text) => h("div", { class: "note" }, text)),
    base && !running ? h("div", { class: "note good" }, readWords(base.facts), " ", h("a", { href: `#/p/${project.id}/method` }, "Choose a method")) : null,
  );
}

// Warnings of the reader that are not among the findings.
function otherWarnings(project) {
  const found = warningsOf(project).map((finding) => finding.text);
  const said = project.job?.kind === "read" ? project.job.warnings : [];
  return said.filter((text) => !found.some((known) => known.startsWith(text) || text.startsWith(known)));
}

function readWords(facts) {
  const left = [
    [facts.counts.missing, "row without a label", "rows without a label"],
    [facts.counts.repeated, "repeated vote", "repeated votes"],
    [facts.n_unlabelled, "task without any vote", "tasks without any vote"],
  ].filter(([n]) => n).map(([n, one, many]) => count(n, one, many));
  const others = Object.entries(facts.counts.left_out ?? {}).map(([what, n]) => `${number(n)} ${what}`);
  const out = [...left, ...others];
  return `Read ${count(facts.n_votes, "vote")} by ${count(facts.n_annotators, "annotator")} on ${count(facts.n_tasks, "task")}, ${count(facts.n_classes, "class", "classes")}${out.length ? `; left out: ${out.join(", ")}` : ""}.`;
}
