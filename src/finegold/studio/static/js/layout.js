// How a file is written: its sheet, encoding, separator, header and format; and what a message proposes to change.

import { h } from "./dom.js";
import { field, select } from "./parts.js";

export function problemNote(words, choices, repair) {
  if (!words) return null;
  const action = choices ? h("button", { class: "small", id: "repair", onclick: () => repair(choices) }, choiceWords(choices)) : h("small", {}, "Choose below how the file is written, or which columns hold what.");
  return h("div", { class: "note bad", role: "alert", id: "problem" }, `${words}${/[.!?]$/.test(words) ? "" : "."} `, action);
}

const WORDS = {
  encoding: (value) => `read it as ${value}`,
  separator: (value) => (value ? `separate columns by ${value}` : "find the separator"),
  header: (value) => (value ? `take line ${value} as the header` : "read it without a header"),
  format: (value) => (value === "nested-json" ? "look for votes inside the records" : null),
  shape: (value) => ({ wide: "a column per annotator", transposed: "a row per annotator", long: "a row per vote" })[value],
  task: (value) => `tasks in ${value}`,
  annotator: (value) => `annotators in ${value}`,
  label: (value) => `labels in ${value}`,
  columns: () => null,
  normalise: (value) => (value ? "merge them" : "keep them apart"),
  multi: (value) => (value ? "ask about each label" : "take each set as a class"),
  missing: (value) => (value.length ? `take ${value} as “no vote”` : "keep them as classes"),
};

// What a button says that makes these choices of a reading.
export function choiceWords(choices) {
  const plain = (name, value) => `${name.replaceAll("_", " ")}${value === true ? "" : `: ${value}`}`;
  const words = Object.entries(choices)
    .filter(([name, value]) => value !== null || name === "separator")
    .map(([name, value]) => (WORDS[name] ? WORDS[name](value) : plain(name, value)))
    .filter(Boolean);
  const text = words.join(", ") || "try this";
  return text[0].toUpperCase() + text.slice(1);
}

const ENCODINGS = ["utf-8", "cp1252", "latin-1", "utf-16", "cp1250", "cp1251", "shift_jis", "gb18030", "big5", "euc_kr"];
const SEPARATORS = ["comma", "semicolon", "tab", "pipe", "space"];
const HEADERS = [["1", "the first line"], ["0", "none: columns are numbered"], ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map((line) => [String(line), `line ${line}`])];
const WRITTEN = [["", "(find it)"], ["table", "a plain table"], ["nested-json", "JSON with votes inside the records"]];

export function layoutCard(preview, reading, relook) {
  const chosen = (id, choices, name, convert = (value) => value || null) => {
    const made = select(choices, String(reading[name] ?? ""), (value) => relook({ [name]: convert(value) }));
    made.id = `layout-${id}`;
    return made;
  };
  const extra = (choices, value) => (value && !choices.some(([key]) => key === String(value)) ? [[String(value), String(value)]] : []);
  const typed = (name, known) =>
    [h("input", { type: "text", id: `layout-${name}`, list: `known-${name}`, value: reading[name] ?? "", placeholder: "(find it)", onchange: (event) => relook({ [name]: event.target.value || null }) }), h("datalist", { id: `known-${name}` }, known.map((value) => h("option", { value })))];
  const sheet = preview.sheets.length > 1 ? field("Sheet", chosen("sheet", [["", "(choose)"], ...preview.sheets.map((name) => [name, name])], "sheet")) : null;
  const isSpecial = preview.problem || reading.encoding || reading.separator || reading.format || reading.header !== 1;
  return h(
    "section",
    { class: "card" },
    sheet,
    h(
      "details",
      { open: Boolean(isSpecial), id: "layout" },
      h("summary", {}, "How the file is written"),
      h(
        "div",
        { class: "fields" },
        field("Encoding", typed("encoding", ENCODINGS)),
        field("Separator", typed("separator", SEPARATORS), "A character, or a word such as tab."),
        field("Names of the columns", chosen("header", [...HEADERS, ...extra(HEADERS, reading.header)], "header", Number)),
        field("Format", chosen("format", [...WRITTEN, ...extra(WRITTEN, reading.format)], "format")),
      ),
    ),
  );
}
