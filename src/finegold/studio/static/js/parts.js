// Small components that several views use.

import { h, svg } from "./dom.js";
import { percent } from "./format.js";

const COLOURS = 8;

export const colour = (place) => (place < 0 ? "var(--line-strong)" : `var(--c${place % COLOURS})`);

// The name of a class with the colour of its index.
export function classLabel(name, classes) {
  return h("span", { class: "label", title: name, style: { "--dot": colour(classes.indexOf(name)) } }, h("span", {}, name));
}

export function meter(share, { full = false, fill = "var(--accent-fill)" } = {}) {
  const bar = h("span", { class: "fill", style: { width: `${100 * share}%`, "--fill": fill } });
  return h(
    "span",
    { class: full ? "meter full" : "meter" },
    h("span", { class: "track" }, bar),
    h("span", {}, percent(share)),
  );
}

export function range(low, value, high) {
  return h(
    "span",
    { class: "range", title: low === null ? percent(value) : `95 % between ${percent(low)} and ${percent(high)}` },
    low === null ? null : h("i", { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
    h("b", { style: { left: `${100 * value}%` } }),
  );
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

const MOST_WITH_NUMBERS = 14; // classes; with more, the cells have colours only

// A matrix of shares as a table with colours. `support` is the number of votes behind each row.
export function heatMap(names, matrix, { words = "Rows are truths, columns votes.", digits = 0, support = null } = {}) {
  const isSmall = names.length > MOST_WITH_NUMBERS;
  const head = h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col", class: "column", title: name }, isSmall ? h("span", {}, name) : name)), support ? h("th", { scope: "col", class: "number" }, "votes") : null);
  const cell = (share, row, column) =>
    h(
      "td",
      { class: share > 0.45 ? "dark" : "", title: `${names[row]} → ${names[column]}: ${percent(share, Math.max(1, digits))}`, style: { background: `rgb(var(--heat) / ${Math.round(100 * share)}%)` } },
      isSmall ? "" : percent(share, digits),
    );
  const body = matrix.map((line, k) =>
    h("tr", {}, h("th", { scope: "row", title: names[k] }, names[k]), line.map((share, column) => cell(share, k, column)), support ? h("td", { class: "number" }, support[k].toLocaleString("en")) : null),
  );
  const table = h("table", { class: isSmall ? "heat tiny" : "heat" }, h("thead", {}, head), h("tbody", {}, body));
  return h("div", { class: "stack tight" }, h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": words }, table), h("small", {}, isSmall ? `${words} Point at a cell to see its share.` : words));
}

export function histogram(bins) {
  const most = Math.max(1, ...bins.map((bin) => bin.n));
  const bars = bins.map((bin) =>
    h("i", {
      style: { height: `${(100 * bin.n) / most}%` },
      title: `${percent(bin.low, 0)} to ${percent(bin.high, 0)}: ${bin.n.toLocaleString("en")} tasks`,
    }),
  );
  return h(
    "div",
    { role: "img", "aria-label": `Confidence of the labels: the highest bar stands for ${most.toLocaleString("en")} tasks` },
    h("div", { class: "bars" }, bars),
    h("div", { class: "axis" }, h("span", {}, "0 %"), h("span", {}, "probability of the label"), h("span", {}, "100 %")),
  );
}

// The change of each iteration on a logarithmic scale, and the tolerance that ends the fit.
export function convergence(steps, tolerance) {
  const points = steps.filter(([, change]) => change > 0).map(([iteration, change]) => [iteration, Math.log10(change)]);
  if (points.length < 2) return null;
  const goal = tolerance > 0 ? Math.log10(tolerance) : null;
  const values = points.map(([, value]) => value).concat(goal === null ? [] : [goal]);
  const [low, high] = [Math.min(...values) - 0.1, Math.max(...values) + 0.1];
  const last = points.at(-1)[0];
  const x = (iteration) => (1000 * (iteration - 1)) / Math.max(1, last - 1);
  const y = (value) => 100 * (1 - (value - low) / (high - low));
  const path = points.map(([iteration, value], i) => `${i ? "L" : "M"}${x(iteration).toFixed(1)} ${y(value).toFixed(2)}`).join("");
  return svg(
    "svg",
    { class: "plot", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": "Change per iteration, falling towards the tolerance" },
    goal === null ? null : svg("line", { x1: 0, x2: 1000, y1: y(goal), y2: y(goal) }),
    svg("path", { d: path }),
  );
}

export function empty(title, words, ...actions) {
  return h("div", { class: "empty" }, h("b", {}, title), h("p", {}, words), actions);
}

export function tile(value, words, href = null) {
  const inside = [h("b", {}, value), h("span", {}, words)];
  return href ? h("a", { class: "tile", href }, inside) : h("div", { class: "tile" }, inside);
}

export function field(title, control, help = null) {
  return h("label", { class: "field" }, h("span", {}, title), control, help ? h("small", {}, help) : null);
}

export function select(options, value, onchange) {
  const made = h("select", { onchange: (event) => onchange?.(event.target.value) });
  for (const [key, text] of options) made.append(h("option", { value: key, selected: key === value }, text));
  return made;
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
}

// A card that is filled when its data arrive; large data take a few seconds.
export function later(title, promise, make) {
  const place = card(title, h("p", { class: "muted row" }, h("span", { class: "spin" }), "computing"));
  promise.then(
    (data) => {
      const made = make(data);
      if (made) place.replaceWith(made);
      else place.remove();
    },
    (problem) => place.replaceChildren(h("h2", {}, title), h("p", { class: "note bad" }, problem.message)),
  );
  return place;
}
