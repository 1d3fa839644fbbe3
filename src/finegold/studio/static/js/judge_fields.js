// The columns of a log of LLM judges.

import { field, select } from "./parts.js";

const NAMED = [
  ["task", "Item"],
  ["annotator", "Judge"],
  ["label", "Verdict"],
];
const MORE = [
  ["order", "Order of the answers"],
  ["system_a", "First system"],
  ["system_b", "Second system"],
  ["repeat", "Number of the repeat"],
  ["cost", "Price of the call"],
  ["error", "Error of the call"],
];
const KINDS = [
  ["", "(seen from the verdicts)"],
  ["pairwise", "compare two answers"],
  ["pointwise", "judge one answer"],
];
const MEANINGS = [
  ["position", "the first and second answer shown"],
  ["answer", "the answers themselves"],
];

export function judgeFields(preview, reading, change) {
  const columns = [["", "(by its usual name)"], ...preview.columns.map((name) => [name, name])];
  const more = reading.judges ?? {};
  const set = (name) => (value) => change("judges")({ ...more, [name]: value === "" ? null : value });
  const made = (title, id, choices, value, onchange) => field(title, Object.assign(select(choices, value ?? "", onchange), { id: `column-${id}` }));
  return [
    ...NAMED.map(([role, title]) => made(title, role, columns, reading[role], change(role))),
    ...MORE.map(([role, title]) => made(title, role, columns, more[role], set(role))),
    made("Verdicts", "kind", KINDS, more.kind, set("kind")),
    made("A and B mean", "verdicts", MEANINGS, more.verdicts ?? "position", set("verdicts")),
  ];
}
