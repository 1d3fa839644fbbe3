// Charts of the report, drawn by Vega. The script comes from this computer and is loaded with the first chart.

import { h } from "./dom.js";
import { card } from "./parts.js";

const SCRIPT = "/api/charts.js";
let loading = null;

function loadVega() {
  loading ??= new Promise((resolve, reject) => {
    document.head.append(h("script", { type: "module", src: SCRIPT, onload: resolve, onerror: () => reject(new Error("The script for charts could not be loaded")) }));
  });
  return loading;
}

// A card with the chart, which is drawn when the card is on the page, since it takes the width of its card.
export function figure(name, chart) {
  const place = h("div", { class: "chart", id: `chart-${name}`, role: "img", "aria-label": chart.alt });
  const words = h("small", {}, chart.note);
  loadVega().then(() => draw(place, chart.spec)).catch((problem) => place.replaceChildren(h("p", { class: "note bad" }, problem.message)));
  return card(chart.title, place, words);
}

// Nothing here is evaluated (`ast`), and no style elements are added, which the content security policy forbids.
async function draw(place, spec) {
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  await window.vegaEmbed(place, spec, options);
  place.querySelector("svg").setAttribute("aria-hidden", "true");
}
