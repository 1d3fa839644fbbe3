// The details of a row: beside the table, or on a narrow screen at its bottom, where they can be closed.

import { fill, h } from "./dom.js";

export function besideCard(id, first) {
  const body = h("div", { class: "stack" }, first);
  const close = h("button", { class: "quiet small close", "aria-label": "Close", onclick: () => element.classList.remove("opened") }, "×");
  const element = h("section", { class: "card beside", id, "aria-label": "Details" }, close, body);
  const show = (...children) => {
    fill(body, ...children);
    element.classList.add("opened");
    element.scrollTop = 0;
  };
  return { element, show };
}
