// What each LLM judge of a log is worth, the best panels for the money, and the ranking of systems.

import { get, query } from "../api.js";
import { figure } from "../charts.js";
import { fill, h } from "../dom.js";
import { count, number, percent, signed } from "../format.js";
import { field, later, range, select } from "../parts.js";

const TORN = [
  ["tie", "a tie"],
  ["half", "half an answer each"],
];

export async function render(root, { project, params, go }) {
  const torn = params.get("torn") === "half" ? "half" : "tie";
  const base = `/projects/${project.id}/judges`;
  const judges = await get(`${base}${query({ torn })}`);
  const charts = get(`${base}/charts${query({ torn })}`);
  const chart = (name, title) => later(title, charts, (found) => (found[name] ? figure(name, found[name]) : null));
  const choice = select(TORN, torn, (value) => go(`#/p/${project.id}/judges${query({ torn: value })}`));
  choice.id = "torn";
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, headline(judges)), h("p", { class: "muted" }, summary(judges))), field("A judge that contradicts itself gives", choice)),
    judges.notes.length ? h("div", { class: "note" }, h("ul", {}, judges.notes.map((note) => h("li", {}, note)))) : null,
    table("judges", "Judges, the most accurate first", judgeColumns(judges.rows), judges.rows),
    h(
      "div",
      { class: "grid" },
      judges.rows.some((one) => one.position) ? chart("judge-position", "Position bias") : null,
      judges.pairs.length ? chart("judge-pairs", "Judges that err alike") : null,
    ),
    judges.panels.length > 1 ? h("div", { class: "grid" }, chart("judge-panels", "Accuracy against cost"), table("panels", "The best panels for the money", panelColumns(judges.panels), judges.panels)) : null,
    judges.ranking.length ? h("div", { class: "grid" }, chart("judge-ranking", "Strength of the systems"), table("leaderboard", "Leaderboard of the systems", RANKING, judges.ranking)) : null,
  );
}

function headline(judges) {
  const n = judges.rows.length;
  return `${count(n, "judge")} ${n === 1 ? "is" : "are"} worth ${judges.effective.toFixed(1)} independent ${judges.effective.toFixed(1) === "1.0" ? "one" : "ones"}`;
}

function summary(judges) {
  const gold = judges.by_gold ? " Accuracies are corrected by known truths." : "";
  return `${number(judges.n_failed)} of ${count(judges.n_verdicts, "call")} failed; failed calls do not count as votes. Intervals have 95 % confidence.${gold}`;
}

const share = (value) => (value === null ? "–" : percent(value));
const price = (value) => (value === null ? "–" : String(Number(value.toPrecision(3))));
const interval = (low, high, show) => h("small", {}, `${show(low)} to ${show(high)}`);
const points = (value) => `${signed(100 * value)} %`;
const chance = (p) => (p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);

// A column is a title, the content of a cell, and a class. Columns without any value are left out.
function judgeColumns(rows) {
  const optional = [
    ["position", "position bias", (one) => position(one)],
    ["same_after_swap", "same after swap", (one) => share(one.same_after_swap)],
    ["same_in_repeats", "same in repeats", (one) => share(one.same_in_repeats)],
    ["ties", "ties", (one) => share(one.ties)],
    ["failed", "failed", (one) => share(one.failed)],
    ["agreement", "agreement", (one) => share(one.agreement)],
    ["cost", "cost per verdict", (one) => price(one.cost)],
  ];
  const known = optional.filter(([name]) => rows.some((one) => one[name] !== null)).map(([, title, cell]) => [title, cell, "number"]);
  const partners = rows.some((one) => one.errs_like.length) ? [["errs like", (one) => one.errs_like.join(", "), ""]] : [];
  return [["judge", (one) => h("b", {}, one.judge), "who"], ["accuracy", accuracy, ""], ...known, ...partners];
}

function accuracy(one) {
  const { value, low, high } = one.accuracy;
  return h("div", { class: "interval" }, range(low, value, high), h("span", {}, percent(value)), interval(low, high, percent));
}

function position(one) {
  if (!one.position) return "–";
  const { value, low, high } = one.position;
  const test = one.position_p === null ? null : h("small", {}, chance(one.position_p));
  return h("div", { class: "lines" }, h("span", {}, points(value)), interval(low, high, points), test);
}

function panelColumns(panels) {
  const gold = panels.some((one) => one.on_gold !== null) ? [["on gold", (one) => share(one.on_gold), "number"]] : [];
  return [["judges", (one) => one.judges.join(", "), "who"], ["cost per item", (one) => price(one.cost), "number"], ["accuracy", (one) => percent(one.accuracy.value), "number"], ...gold];
}

const RANKING = [
  ["rank", (one) => number(one.rank), "number"],
  ["system", (one) => h("b", {}, one.system), "who"],
  ["possible ranks", (one) => one.ranks, ""],
  ["strength", (one) => h("div", { class: "lines" }, h("span", {}, signed(one.strength.value, 2)), interval(one.strength.low, one.strength.high, (value) => signed(value, 2))), "number"],
  ["wins against the average", (one) => percent(one.win_rate), "number"],
];

function table(id, title, columns, rows) {
  const head = h("tr", {}, columns.map(([name, , kind]) => h("th", { class: kind, scope: "col" }, name)));
  const body = rows.map((one) => h("tr", {}, columns.map(([, cell, kind]) => h("td", { class: kind }, cell(one)))));
  return h("section", { class: "card flush figures", id }, h("div", { class: "inner" }, h("h2", {}, title)), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("table", {}, h("thead", {}, head), h("tbody", {}, body))));
}
