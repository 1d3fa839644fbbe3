// What each LLM judge of a log is worth, the best panels for the money, and the ranking of systems.

import { get } from "../api.js";
import { figure } from "../charts.js";
import { fill, h } from "../dom.js";
import { count, number, percent, signed } from "../format.js";
import { later, range } from "../parts.js";
import { isActive } from "../watch.js";

export async function render(root, { project, again }) {
  const base = `/projects/${project.id}/judges`;
  const judges = await get(base);
  const charts = get(`${base}/charts`);
  const chart = (name, title) => later(title, charts, (found) => (found[name] ? figure(name, found[name]) : null));
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, headline(judges)), h("p", { class: "muted" }, summary(judges)))),
    h("p", { class: "muted" }, judges.reading.line),
    judges.notes.length ? h("div", { class: "note" }, h("ul", {}, judges.notes.map((note) => h("li", {}, note)))) : null,
    table("judges", judges.by_gold ? "Judges, the most accurate first" : "Judges, in the order of their agreement", judgeColumns(judges.judges), judges.judges),
    h(
      "div",
      { class: "grid" },
      judges.judges.some((one) => one.position_bias !== null) ? chart("judge-position", "Position bias") : null,
      judges.groups.length ? chart("judge-pairs", "Judges that err alike") : null,
    ),
    judges.panels.length > 1 ? h("div", { class: "grid" }, chart("judge-panels", "Accuracy against cost"), table("panels", "The best panels for the money", PANELS, judges.panels)) : null,
    judges.ranking.length ? h("div", { class: "grid" }, chart("judge-ranking", "Strength of the systems"), table("leaderboard", "Leaderboard of the systems", RANKING, judges.ranking)) : null,
  );
  return { update: (now, before) => now.version !== before?.version && !isActive(now.job) && again() };
}

function headline(judges) {
  const n = judges.judges.length;
  return `${count(n, "judge")} ${n === 1 ? "is" : "are"} worth ${judges.effective_judges.toFixed(1)} independent ${judges.effective_judges.toFixed(1) === "1.0" ? "one" : "ones"}`;
}

function summary(judges) {
  const gold = judges.by_gold ? ` Accuracies are measured on ${count(judges.n_gold, "known truth")}; an undecided answer counts half.` : "";
  return `${number(judges.n_failed)} of ${count(judges.n_verdicts, "call")} failed; failed calls do not count as votes. Intervals have 95 % confidence.${gold}`;
}

const share = (value) => (value === null ? "–" : percent(value));
const price = (value) => (value === null ? "–" : String(Number(value.toPrecision(3))));
const interval = (low, high, show) => h("small", {}, `${show(low)} to ${show(high)}`);
const points = (value) => `${signed(100 * value)} %`;

// A column is a title, the content of a cell, and a class. Columns without any value are left out.
function judgeColumns(rows) {
  const optional = [
    ["undecided", "undecided", (one) => share(one.undecided)],
    ["strict_accuracy", "right in both orders", (one) => share(one.strict_accuracy)],
    ["pair_accuracy", "pair accuracy", (one) => share(one.pair_accuracy)],
    ["kappa", "kappa", (one) => figure2(one.kappa)],
    ["correlation", "rank correlation", (one) => figure2(one.correlation)],
    ["weighted_kappa", "weighted kappa", (one) => figure2(one.weighted_kappa)],
    ["error", "error", (one) => figure2(one.error)],
    ["bias", "bias", (one) => figure2(one.bias)],
    ["position_bias", "position bias", (one) => position(one)],
    ["swap_consistency", "same after swap", (one) => share(one.swap_consistency)],
    ["repeat_consistency", "same in repeats", (one) => share(one.repeat_consistency)],
    ["ties", "ties", (one) => share(one.ties)],
    ["failed", "failed", (one) => share(one.failed)],
    ["agreement", "agreement", (one) => share(one.agreement)],
    ["cost", "cost per verdict", (one) => price(one.cost)],
  ];
  const known = optional.filter(([name]) => rows.some((one) => one[name] !== null)).map(([name, title, cell]) => [title, cell, `number ${ROOM[name] ?? "wide-only"}`]);
  return [["judge", (one) => h("b", {}, one.judge), "who"], ...(rows.some((one) => one.accuracy) ? [["accuracy", accuracy, ""]] : []), ["possible ranks", (one) => ranks(one), ""], ...known];
}

const ROOM = { agreement: "", ties: "roomy", failed: "roomy" }; // other columns need a screen that is not narrow
const figure2 = (value) => (value === null ? "–" : value.toFixed(2));
const ranks = (one) => [...new Set(one.ranks)].join(" to ");

function accuracy(one) {
  if (!one.accuracy) return "–";
  const { value, low, high } = one.accuracy;
  return h("div", { class: "interval" }, range(low, value, high), h("span", {}, percent(value)), interval(low, high, percent));
}

function position(one) {
  if (one.position_bias === null) return "–";
  const [low, high] = one.intervals.position_bias;
  return h("div", { class: "lines" }, h("span", {}, points(one.position_bias)), interval(low, high, points));
}

const PANELS = [
  ["judges", (one) => one.judges.join(", "), "who"],
  ["cost per item", (one) => price(one.cost), "number"],
  ["accuracy", (one) => percent(one.accuracy.value), "number"],
];

const RANKING = [
  ["rank", (one) => number(one.rank), "number"],
  ["system", (one) => h("b", {}, one.system), "who"],
  ["possible ranks", (one) => one.ranks.replace("-", " to "), "roomy"],
  ["strength", (one) => h("div", { class: "lines" }, h("span", {}, signed(one.strength, 2)), interval(one.low, one.high, (value) => signed(value, 2))), "number wide-only"],
  ["wins against the average", (one) => h("div", { class: "lines" }, h("span", {}, percent(one.expected_win_rate)), interval(one.expected_win_rate_low, one.expected_win_rate_high, percent)), "number"],
];

function table(id, title, columns, rows) {
  const head = h("tr", {}, columns.map(([name, , kind]) => h("th", { class: kind, scope: "col" }, name)));
  const body = rows.map((one) => h("tr", {}, columns.map(([, cell, kind]) => h("td", { class: kind }, cell(one)))));
  return h("section", { class: "card flush figures", id }, h("div", { class: "inner" }, h("h2", {}, title)), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("table", {}, h("thead", {}, head), h("tbody", {}, body))));
}
