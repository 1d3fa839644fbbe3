// Tables that the server sorts and paginates.

import { h } from "./dom.js";
import { number } from "./format.js";

export function sortHead(name, text, asked, change, kind = "") {
  const isSorted = asked.sort === name;
  const direction = isSorted ? (asked.descending ? "descending" : "ascending") : "none";
  const turn = () => change({ sort: name, descending: isSorted ? !asked.descending : false });
  return h("th", { class: kind, "aria-sort": direction }, h("button", { class: "sort", onclick: turn }, text));
}

// A field that searches when nobody types any more.
export function searchField(words, placeholder, value, change) {
  let typing = null;
  const oninput = (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => change({ search: event.target.value }), 200);
  };
  return h("input", { type: "search", value, placeholder, "aria-label": words, oninput });
}

export function pager(total, first, most, go) {
  const last = Math.min(first + most, total);
  if (!total) return null;
  return h(
    "div",
    { class: "pager" },
    h("small", {}, `${number(first + 1)} to ${number(last)} of ${number(total)}`),
    h(
      "span",
      { class: "row" },
      h("button", { class: "small", disabled: first === 0, onclick: () => go(Math.max(0, first - most)) }, "Previous"),
      h("button", { class: "small", disabled: last >= total, onclick: () => go(first + most) }, "Next"),
    ),
  );
}
