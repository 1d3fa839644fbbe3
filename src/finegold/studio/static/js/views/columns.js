// Choose how the file is read.

import { del, get, put, query } from "../api.js";
import { arrivalsCard } from "../arrivals.js";
import { fill, h, toast } from "../dom.js";
import { count, number } from "../format.js";
import { itemsCard } from "../items.js";
import { judgeFields } from "../judge_fields.js";
import { factsOf, readCard, spellingsCard, warningsOf } from "../hygiene.js";
import { layoutCard, problemNote } from "../layout.js";
import { nextStep } from "../next.js";
import { card, empty, field, select } from "../parts.js";
import { predictionsCard } from "../predictions.js";
import { truthsCard } from "../truths.js";
import { isActive } from "../watch.js";

const SHAPES = [
  ["long", "a vote"],
  ["wide", "a task, with a column per annotator"],
  ["transposed", "an annotator, with a column per task"],
  ["judges", "a call of an LLM judge"],
];
const MOST_BOXES = 60;
// Options of the reader that have a place of their own on this page; all others are listed under More.
const PLACED = new Set(["task", "annotator", "label", "question", "include", "alias", "normalise", "encoding", "separator", "header", "format"]);
const CHOICES = { first: "the first counts", last: "the last counts", majority: "the most frequent counts", all: "all count", error: "refuse the file" };

export async function render(root, { project, params, go }) {
  if (project.crashed && !params.get("again")) return crashed(root, project);
  const state = { preview: null, reading: null, changed: false };
  const options = (await get("/reading")).filter((option) => !PLACED.has(option.name));
  const [head, written, status, found, columns, rows] = Array.from({ length: 6 }, () => h("div", { class: "stack" }));
  let [version, now, predictions, arrivals] = [project.version, project, null, null];

  // Look at the file again with another sheet, encoding, separator, header or format.
  async function look(layout) {
    const again = project.crashed ? { again: true } : {};
    state.preview = await get(`/projects/${project.id}/preview${query({ ...again, ...layout })}`);
    const chosen = Object.entries(layout ? {} : (now.reading ?? {})).filter(([, value]) => value !== null);
    state.reading = { ...state.preview.guess, ...Object.fromEntries(chosen) };
    draw();
  }
  const relook = (values) => {
    state.changed = true;
    const { sheet, encoding, separator, header, format } = { ...state.reading, ...values };
    return look({ sheet, encoding, separator, header, format });
  };
  // Use what the message proposes: how the file is written, and which columns are which.
  async function repair(values) {
    await relook(values);
    Object.assign(state.reading, values);
    draw();
  }
  const change = (name) => (value) => {
    state.changed = true;
    state.reading[name] = value === "" ? null : value;
    draw();
  };
  async function read() {
    state.changed = false;
    try {
      await put(`/projects/${project.id}/votes`, { ...state.reading, version });
    } catch (problem) {
      if (problem.status === 409) version = (await get(`/projects/${project.id}`)).version;
      toast(problem.message, "bad");
    }
  }
  function draw() {
    const { preview, reading } = state;
    const words = preview.problem ? "It cannot be shown yet." : `${preview.format}${preview.is_export ? ", recognised by its content" : ""}. ${now.base === null || state.changed ? advice(preview) : "The votes were read."}`;
    const button = h("button", { class: now.base === null ? "primary" : "", id: "read", disabled: isActive(now.job), onclick: read }, now.reading ? "Read again" : "Read the votes");
    fill(head, h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, preview.file), h("p", { class: "muted" }, words)), preview.problem ? null : button));
    fill(written, problemNote(preview.problem, preview.repair, repair), layoutCard(preview, reading, relook));
    const fields = h("div", { class: "fields" }, preview.is_export ? exportFields(preview, reading, change) : tableFields(preview, reading, change, draw));
    fill(columns, preview.problem ? null : card("Columns", fields, reading.shape === "judges" ? null : moreFields(preview, reading, options)));
    fill(rows, preview.problem ? null : h("section", { class: "card flush" }, h("div", { class: "inner" }, h("h2", {}, "The first rows")), h("div", { class: "scroll preview", tabindex: "0" }, previewTable(preview, reading))));
    showStatus(status, now, state.changed, repair);
  }
  // What looks wrong comes before the next step.
  const showFound = () => {
    if (now.base === null) return fill(found);
    const [step, spellings] = [nextStep(now), now.reading?.shape === "judges" ? null : spellingsCard(now)]; // failed calls are recognised by their texts
    predictions = predictionsCard(now);
    arrivals = arrivalsCard(now);
    return fill(found, readCard(now), warningsOf(now).length || Object.keys(factsOf(now)?.hygiene?.near ?? {}).length ? [spellings, step] : [step, spellings], arrivals.element, itemsCard(now), truthsCard(now), predictions.element);
  };

  try {
    await look(null);
  } catch (problem) {
    fill(root, unreadable(project, problem));
    return {};
  }
  showFound();
  fill(root, head, status, found, written, columns, rows);
  return {
    update(changed, before) {
      now = changed;
      version = now.version;
      draw();
      if (now.base !== before?.base || now.n_waiting !== before?.n_waiting || isActive(now.job) !== isActive(before?.job)) showFound();
      else {
        predictions?.show(now);
        if (now.version !== before?.version) arrivals?.show(now);
      }
      const isFirst = (before?.base ?? null) === null && now.base !== null;
      if (isFirst && now.reading?.shape === "judges") go(`#/p/${now.id}/judges`);
    },
  };
}

// The file is gone or cannot be opened: say so, and what is still possible.
function unreadable(project, problem) {
  const remove = async () => {
    if (!confirm(`Delete the project ${project.name}, with its fits and ${count(project.n_gold, "truth")}? This cannot be undone.`)) return;
    await del(`/projects/${project.id}`);
    location.hash = "#/";
  };
  const kept = project.base === null ? null : h("a", { class: "button primary", href: `#/p/${project.id}/overview` }, "Look at the results");
  const words = project.base === null ? problem.detail || problem.message : `${problem.detail || problem.message} The votes that were read are kept in the project.`;
  return card(null, empty(problem.title ?? "This file cannot be read", words, h("div", { class: "row" }, kept, h("a", { class: "button", href: "#/" }, "Open another file"), h("button", { class: "danger", id: "remove", onclick: remove }, "Delete this project"))));
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

function moreFields(preview, reading, options) {
  return h(
    "details",
    { id: "more" },
    h("summary", {}, "More"),
    h(
      "div",
      { class: "fields" },
      options.map((option) => optionField(option, reading)),
      preview.has_gold ? checkBox("Use the export's gold marks", reading.gold_marks, (on) => (reading.gold_marks = on)) : null,
      preview.includes.map((word) => checkBox(`Include ${word}`, reading.include?.includes(word), (on) => include(reading, word, on))),
    ),
  );
}

// A field for an option of the reader, made from its declaration.
function optionField(option, reading) {
  const { name, kind, title, help } = option;
  const set = (value) => (reading[name] = value);
  if (kind === "flag") return checkBox(help.replace(/\.$/, ""), reading[name], set);
  const id = `option-${name}`;
  const shown = (Array.isArray(reading[name]) ? reading[name].join(", ") : reading[name]) ?? "";
  if (kind === "switch") return field(title, Object.assign(select([["", "(find it)"], ["true", "yes"], ["false", "no"]], String(shown), (value) => set(value === "" ? null : value === "true")), { id }), help);
  if (kind === "choice") return field(title, Object.assign(select(option.choices.map((value) => [value, CHOICES[value] ?? value]), shown, set), { id }), help);
  const list = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);
  const read = { number: (text) => (text === "" ? null : Number(text)), list: (text) => (list(text).length ? list(text) : null) }[kind] ?? ((text) => text || null);
  const input = h("input", { id, type: kind === "number" ? "number" : "text", min: option.low, max: option.high, value: shown, onchange: () => set(read(input.value)) });
  return field(title, input, help);
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

function showStatus(status, project, changed, repair) {
  const job = project.job?.kind === "read" ? project.job : null;
  const running = job && isActive(job);
  const failure = project.base === null ? project.failure : job?.state === "failed" ? job.message : null;
  fill(
    status,
    running ? h("div", { class: "note" }, h("span", { class: "row" }, h("span", { class: "spin" }), `reading: ${number(job.rows)} rows`)) : null,
    running || changed ? null : problemNote(failure, job?.repair, repair), // it goes as soon as another choice is made
    ...otherWarnings(project).map((text) => h("div", { class: "note" }, text)),
  );
}

// Warnings of the reader that are not among the findings.
function otherWarnings(project) {
  const found = warningsOf(project).map((finding) => finding.text);
  const said = project.job?.kind === "read" ? project.job.warnings : [];
  return said.filter((text) => !found.some((known) => known.startsWith(text) || text.startsWith(known)));
}
