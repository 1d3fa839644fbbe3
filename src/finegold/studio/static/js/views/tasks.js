// All tasks, filtered, sorted and paginated by the server, and the details of one task.

import { get, query } from "../api.js";
import { besideCard } from "../beside.js";
import { fill, h } from "../dom.js";
import { count, number } from "../format.js";
import { badge, classLabel, empty, meter, select } from "../parts.js";
import { pager, searchField, sortHead } from "../table.js";
import { taskCard } from "../task.js";

const PAGE = 25;
const DOUBTS = [["", "all tasks"], ["contested", "contested"], ["flipped", "against the majority"], ["tied", "tied"], ["predicted", "predictions only"]];
const JUDGED = [["", "judged or not"], ["true", "judged"], ["false", "not judged"], ["back", "sent back"]];
const SURE = [["", "any probability"], ["0.66", "under 66 %"], ["0.9", "under 90 %"], ["0.99", "under 99 %"]];

export async function render(root, { project, params, rest }) {
  const overview = await get(`/projects/${project.id}/results`);
  const classes = overview.classes;
  const asked = {
    search: params.get("search") ?? "",
    sort: params.get("sort") ?? "confidence",
    descending: params.get("descending") === "true",
    label: params.get("label") ?? "",
    doubt: params.get("doubt") ?? "",
    judged: params.get("judged") ?? "",
    confidence_to: params.get("confidence_to") ?? "",
    first: Number(params.get("first") ?? 0),
  };
  const body = h("div", { id: "tasks" });
  const detail = besideCard("task", empty("Open a task", "Click a row, or use the arrow keys, to see the votes and their weights."));
  let open = rest.length ? Number(rest[0]) : null;
  let turn = 0;

  async function load() {
    const mine = ++turn;
    const page = await get(`/projects/${project.id}/tasks${query({ ...asked, ...(asked.judged === "back" ? { judged: "", sent_back: true } : {}), most: PAGE })}`);
    if (mine !== turn) return;
    const place = open === null ? "" : `/${open}`;
    const kept = Object.fromEntries(Object.entries(asked).filter(([name, value]) => value !== "" && !(name === "first" && !value) && !(name === "descending" && !value)));
    const own = `#/p/${project.id}/tasks`;
    if (location.hash.startsWith(own)) history.replaceState(null, "", `${own}${place}${query(kept)}`); // else the user has gone to another view meanwhile
    fill(body, page.rows.length ? table(page) : nothing(), pager(page.total, asked.first, PAGE, (first) => change({ first })));
  }
  function change(values) {
    Object.assign(asked, { first: 0 }, values);
    load();
  }
  async function show(at) {
    open = at;
    for (const row of body.querySelectorAll("tr.open")) row.setAttribute("aria-selected", String(Number(row.dataset.at) === at));
    detail.show(await taskCard(project, at, classes, () => load()));
    history.replaceState(null, "", location.hash.replace(/\/tasks(\/\d+)?/, `/tasks/${at}`));
  }
  function table(page) {
    const head = (name, text, kind = "") => sortHead(name, text, asked, change, kind);
    const more = { doubts: page.rows.some((task) => task.doubts.length), gold: page.rows.some((task) => task.gold !== null) }; // columns that are not empty
    return h(
      "div",
      { class: "scroll", tabindex: "0" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, head("task", "task"), head("label", "label"), head("confidence", "probability"), head("n_votes", "votes", "number wide-only"), more.doubts ? h("th", { class: "wide-only" }, "doubts") : null, more.gold ? h("th", { class: "wide-only" }, "truth") : null)),
        h("tbody", {}, page.rows.map((task) => row(task, more))),
      ),
    );
  }
  function row(task, more) {
    return h(
      "tr",
      { class: "open", "data-at": String(task.at), "aria-selected": String(task.at === open), onclick: () => show(task.at) },
      h("td", {}, h("a", { class: "name", href: `#/p/${project.id}/tasks/${task.at}`, title: task.task, onclick: (event) => event.preventDefault() }, task.task), task.text && task.text !== task.task ? h("small", { class: "line" }, task.text) : null),
      h("td", {}, classLabel(task.label, classes)),
      h("td", {}, meter(task.confidence)),
      h("td", { class: "number wide-only" }, number(task.n_votes)),
      !more.doubts ? null : h("td", { class: "wide-only" }, h("span", { class: "row" }, task.doubts.map((doubt) => badge(DOUBTS.find(([name]) => name === doubt)[1])))),
      !more.gold ? null : h("td", { class: "wide-only" }, task.gold === null ? "" : badge(task.gold, "good")),
    );
  }
  function nothing() {
    return empty("No task matches these filters", "Remove a filter, or search for something else.", h("button", { onclick: () => location.assign(`#/p/${project.id}/tasks`) }, "Clear the filters"));
  }

  const search = searchField("Search tasks", "Search names and texts", asked.search, change);
  const filters = h(
    "div",
    { class: "filters" },
    search,
    named("Doubt", select(DOUBTS, asked.doubt, (doubt) => change({ doubt })), "filter-doubt"),
    named("Class", select([["", "all classes"], ...classes.map((name, k) => [String(k), name])], asked.label, (label) => change({ label })), "filter-label"),
    named("Probability", select(SURE, asked.confidence_to, (value) => change({ confidence_to: value })), "filter-sure"),
    named("Judged", select(JUDGED, asked.judged, (judged) => change({ judged })), "filter-judged"),
  );
  await load();
  if (open !== null) await show(open);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Tasks"), h("p", { class: "muted" }, `${count(overview.quality.n_tasks, "task")}, ${number(overview.doubts.any)} of them in doubt.${overview.n_predicted ? ` ${count(overview.n_predicted, "more task has", "more tasks have")} predictions only.` : ""} The least confident come first.`))),
    h("div", { class: "side" }, h("section", { class: "card flush" }, filters, body), detail.element),
  );
  // Open the next or the previous task of the page.
  function move(by) {
    const rows = [...body.querySelectorAll("tr.open")];
    const at = rows.findIndex((one) => Number(one.dataset.at) === open);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    if (!next) return;
    show(Number(next.dataset.at));
    next.scrollIntoView({ block: "nearest" });
  }
  return {
    update: (now, before) => now.version !== before?.version && load(),
    keys(key) {
      const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
      if (!by) return false;
      move(by);
      return true;
    },
  };
}

function named(words, control, id) {
  control.setAttribute("aria-label", words);
  control.id = id;
  return control;
}
