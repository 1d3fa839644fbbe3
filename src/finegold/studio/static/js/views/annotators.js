// All annotators: accuracy, its interval, and confusion matrices.

import { get, query } from "../api.js";
import { besideCard } from "../beside.js";
import { fill, h } from "../dom.js";
import { count, number, percent } from "../format.js";
import { badge, colour, empty, heatMap, range } from "../parts.js";
import { pager, searchField, sortHead } from "../table.js";

const PAGE = 25;
const VOTES = 10;

export async function render(root, { project, params }) {
  const summary = get(`/projects/${project.id}/results/annotators`);
  const about = h("p", { class: "muted" }, "How often each annotator is right, according to the labels.");
  const copies = h("div", {});
  const advice = h("div", {});
  const asked = { search: params.get("search") ?? "", sort: "accuracy", descending: false, first: 0 };
  const body = h("div", { id: "annotators" });
  const detail = besideCard("annotator", empty("Open an annotator", "Click a row to see the votes and the confusion matrix."));
  let turn = 0;
  let open = null;

  async function load() {
    const mine = ++turn;
    const page = await get(`/projects/${project.id}/annotators${query({ ...asked, most: PAGE })}`);
    if (mine !== turn) return;
    fill(body, page.rows.length ? table(page) : empty("No annotator found", "Search for a part of the name."), pager(page.total, asked.first, PAGE, (first) => change({ first })));
  }
  function change(values) {
    Object.assign(asked, { first: 0 }, values);
    load();
  }
  async function show(at) {
    open = at;
    for (const row of body.querySelectorAll("tr.open")) row.setAttribute("aria-selected", String(Number(row.dataset.at) === at));
    const view = await get(`/projects/${project.id}/annotators/${at}`);
    detail.show(annotatorCard(view), votesCard(project, view));
  }
  function table(page) {
    const head = (name, text, kind = "") => sortHead(name, text, asked, change, kind);
    return h(
      "div",
      { class: "scroll", tabindex: "0" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, head("annotator", "annotator"), head("n_votes", "votes", "number"), head("accuracy", "expected accuracy", "number"), h("th", { class: "wide-only" }, "95 % interval"), head("agreement", "agrees with the label", "number wide-only"), h("th", {}, "remarks"))),
        h("tbody", {}, page.rows.map(row)),
      ),
    );
  }
  function row(one) {
    return h(
      "tr",
      { class: "open", "data-at": String(one.code), "aria-selected": String(one.code === open), onclick: () => show(one.code) },
      h("td", {}, h("a", { class: "name", href: "#", title: one.annotator, onclick: (event) => event.preventDefault() }, one.annotator)),
      h("td", { class: "number" }, number(one.n_votes)),
      h("td", { class: "number" }, percent(one.accuracy)),
      h("td", { class: "wide-only" }, range(one.low, one.accuracy, one.high)),
      h("td", { class: "number wide-only" }, percent(one.agreement)),
      h("td", {}, flags(one)),
    );
  }

  const search = searchField("Search annotators", "Search annotators", asked.search, change);
  await load();
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Annotators"), about)),
    advice,
    copies,
    h("div", { class: "side" }, h("section", { class: "card flush" }, h("div", { class: "filters" }, search), body), detail.element),
  );
  // Finding copies and spammers takes a while with many votes, so the table is shown first.
  summary.then((found) => {
    fill(about, words(found));
    fill(copies, alike(found.groups));
    load();
  });
  get(`/projects/${project.id}/plan?budget=1`).then((plan) => fill(advice, advised(plan.annotators)));
}

function alike(groups) {
  if (!groups.length) return null;
  const lines = groups.slice(0, 5).map((group) => h("li", {}, `${group.members.slice(0, 8).join(", ")}${group.members.length > 8 ? ` and ${group.members.length - 8} more` : ""}`));
  return h("div", { class: "note" }, h("b", {}, "These annotators agree more often than their accuracy explains; they may copy from each other:"), h("ul", {}, lines));
}

function advised(annotators) {
  if (!annotators.length) return null;
  const lines = annotators.slice(0, 5).map((one) => h("li", {}, h("b", {}, `${one.advice} ${one.annotator}`), `: ${one.why}`));
  const rest = annotators.length - lines.length;
  return h("div", { class: "note" }, h("b", {}, "Annotators to check"), h("ul", {}, lines, rest > 0 ? h("li", {}, `and ${count(rest, "annotator")} more`) : null));
}

function words(summary) {
  const doubtful = summary.n_doubtful ? ` ${count(summary.n_doubtful, "annotator")} may be no better than always voting for the most frequent class (${percent(summary.chance, 0)}).` : "";
  const worth = summary.effective === null ? "" : ` Together they are worth about ${summary.effective.toFixed(1)} independent annotators.`;
  return `${count(summary.n, "annotator")}; a vote is right in ${percent(summary.mean, 0)} of the cases.${doubtful}${worth}`;
}

function flags(one) {
  return h("span", { class: "row" }, one.suspicion ? badge(one.suspicion, "bad") : null, one.group === null ? null : badge(`votes alike ${one.group}`, "accent"));
}

function annotatorCard(view) {
  const row = view.row;
  return [
    h("div", {}, h("small", {}, `Annotator, number ${number(row.rank)} in expected accuracy`), h("h2", { class: "judge-name" }, row.annotator)),
    h("dl", {}, [
      ["votes", number(row.n_votes)],
      ["expected accuracy", row.low === null ? percent(row.accuracy) : `${percent(row.accuracy)} (95 % between ${percent(row.low)} and ${percent(row.high)})`],
      ["agrees with the label", percent(row.agreement)],
      ["votes against the label", number(view.n_mistakes)],
    ].map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    row.weights.length ? h("div", { class: "stack tight" }, h("h3", {}, "Mixture of prototypes"), mixture(row.weights)) : null,
    view.confusion
      ? h("div", { class: "stack tight" }, h("h3", {}, "Confusion matrix"), heatMap(view.classes, view.confusion, { words: "Rows are truths, columns votes, as the method estimates them; at the right the number of votes behind each row.", support: view.support }))
      : h("small", {}, "This method does not learn confusion matrices of annotators."),
  ];
}

// What the annotator voted, the worst first: against labels that are sure.
function votesCard(project, view) {
  const place = h("div", { class: "stack tight", id: "annotator-votes" });
  let first = 0;
  async function load() {
    const page = await get(`/projects/${project.id}/annotators/${view.at}/votes?first=${first}&most=${VOTES}`);
    const rows = page.rows.map((one) =>
      h(
        "li",
        {},
        h("div", { class: "what" }, h("a", { href: `#/p/${project.id}/tasks/${one.at}` }, one.task), one.text ? h("small", {}, one.text) : null),
        one.vote === one.label ? h("span", {}, one.vote) : h("span", {}, h("b", {}, one.vote), h("small", {}, ` label ${one.label} (${percent(one.confidence, 0)})`)),
      ),
    );
    fill(place, h("h3", {}, "Votes, those against the label first"), h("ul", { class: "list" }, rows), pager(page.total, first, VOTES, (next) => ((first = next), load())));
  }
  load();
  return place;
}

function mixture(weights) {
  return h(
    "div",
    { class: "stack tight" },
    h("div", { class: "mix" }, weights.map((share, s) => h("i", { style: { flex: Math.max(share, 0.001), background: colour(s) } }))),
    h("small", {}, weights.map((share, s) => `${s + 1}: ${percent(share, 0)}`).join(" · ")),
  );
}
