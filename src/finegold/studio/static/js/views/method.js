// Choose one or several methods, follow their progress, and compare their labels.

import { arrivalsCard } from "../arrivals.js";
import { del, get, post, put } from "../api.js";
import { fill, h, toast } from "../dom.js";
import { count, number, percent, seconds } from "../format.js";
import { readCard, spellingsCard, warningsOf } from "../hygiene.js";
import { progressCard } from "../next.js";
import { badge, card, empty, field, heatMap } from "../parts.js";
import { predictionsCard } from "../predictions.js";
import { isActive } from "../watch.js";

const FIRST = ["ptbcc", "ds", "mv"]; // shown first, together with the default
const ADVICE = { ptbcc: "prototypes", mv: "baseline" };

export async function render(root, { project }) {
  const methods = await get("/methods");
  const chosen = new Set(methods.filter((method) => method.is_default).map((method) => method.name));
  const first = [...new Set([...chosen, ...FIRST])];
  const others = methods.map((method) => method.name).filter((name) => !first.includes(name));
  const settings = {};
  const list = h("div", {});
  const more = h("div", {});
  const button = h("button", { class: "primary", id: "fit", onclick: () => start(project, [...chosen], settings) });
  const status = h("div", {});
  const fits = h("div", { class: "stack" });
  const arrivals = project.file === null ? arrivalsCard(project) : null; // otherwise they are under Votes
  const words = h("p", { class: "muted" });
  const found = h("div", { class: "stack" });
  const predictions = predictionsCard(project);
  function draw() {
    const rows = (names) => names.map((name) => methodRow(methods.find((method) => method.name === name), chosen, draw));
    const isOpen = list.querySelector("details")?.open || others.some((name) => chosen.has(name));
    fill(list, rows(first), h("details", { class: "methods", open: isOpen }, h("summary", {}, `${others.length} more methods`), rows(others)));
    fill(more, chosen.size ? null : h("p", { class: "muted" }, "Choose a method first."), [...chosen].map((name) => settingFields(methods.find((method) => method.name === name), settings, chosen.size === 1 && matchMedia("(min-width: 62rem)").matches)));
    fill(button, chosen.size > 1 ? `Compare ${chosen.size} methods` : `Fit ${[...chosen][0] ?? ""}`);
    button.disabled = chosen.size === 0;
  }
  async function update(now, before = null) {
    if (!before || now.base !== before.base || isActive(now.job) !== isActive(before.job)) fill(found, foundCards(now));
    fill(status, progressCard(now));
    predictions.show(now);
    fill(fits, await fitsCards(now));
    fill(words, goldWords(now));
    if (before) await arrivals?.show(now);
  }
  draw();
  await update(project);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Method"), words), button),
    status,
    project.file === null ? null : found,
    h("div", { class: "two" }, h("section", { class: "card flush" }, h("div", { class: "inner" }, h("h2", {}, "Choose one, or several to compare")), list), h("details", { class: "card" }, h("summary", {}, "Settings for experts"), more)),
    fits,
    arrivals?.element,
    project.file === null ? [found, predictions.element] : null,
  );
  return { update };
}

// What looks wrong in the votes. Posted votes have no page of their own, so all of it is here.
function foundCards(project) {
  if (project.file === null) return [readCard(project), spellingsCard(project)];
  const n = warningsOf(project).length;
  if (!n) return null;
  const words = `${count(n, "thing", "things")} in the votes may need your attention: `;
  return h("div", { class: "note", id: "findings" }, words, h("a", { href: `#/p/${project.id}/columns` }, "see what was read"), ".");
}

function goldWords(project) {
  const waiting = project.n_waiting ? ` ${count(project.n_waiting, "added vote")} will be included.` : "";
  return (project.n_gold ? `${count(project.n_gold, "truth")} that you gave will be kept, and the method learns from them.` : "A fit finds the most probable label of every task, and how good each annotator is.") + waiting;
}

function methodRow(method, chosen, draw) {
  const box = h("input", {
    type: "checkbox",
    checked: chosen.has(method.name),
    name: "method",
    value: method.name,
    onchange: () => {
      if (box.checked) chosen.add(method.name);
      else chosen.delete(method.name);
      draw();
    },
  });
  return h(
    "label",
    { class: box.checked ? "method on" : "method" },
    box,
    h("b", {}, method.name),
    h("span", {}, adviceOn(method)),
    h("small", {}, method.about),
  );
}

function adviceOn(method) {
  if (method.is_default) return badge("recommended", "accent");
  if (ADVICE[method.name]) return badge(ADVICE[method.name]);
  return method.takes_gold ? null : badge("ignores gold");
}

function settingFields(method, settings, isOnly) {
  const own = (settings[method.name] ??= {});
  const fields = Object.entries(method.settings).map(([name, value]) => {
    const now = own[name] ?? value;
    if (typeof value === "boolean") {
      const box = h("input", { type: "checkbox", checked: now, onchange: () => (own[name] = box.checked) });
      return h("label", { class: "check" }, box, name);
    }
    const kind = typeof value === "number" ? "number" : "text";
    const input = h("input", { type: kind, step: "any", value: String(now), onchange: () => keep(own, name, value, input) });
    return field(name, input);
  });
  return h("details", { open: isOnly }, h("summary", {}, method.name), h("div", { class: "fields" }, fields));
}

function keep(own, name, value, input) {
  const given = typeof value === "number" ? Number(input.value) : input.value;
  if (given === value || input.value === "") delete own[name];
  else own[name] = given;
}

async function start(project, names, settings) {
  for (const name of names) {
    try {
      await post(`/projects/${project.id}/fits`, { method: name, settings: settings[name] ?? {} });
    } catch (problem) {
      toast(problem.message, "bad");
    }
  }
}

async function fitsCards(project) {
  if (!project.fits.length) return card("Results", empty("No fits yet", "Choose a method on the left and press Fit."));
  const done = project.fits.filter((fit) => fit.state === "done");
  const cards = [h("section", { class: "card flush" }, h("div", { class: "inner" }, h("h2", {}, "Results")), fitsTable(project))];
  if (done.length > 2) cards.push(agreementCard(done, await get(`/projects/${project.id}/compare`)));
  return cards;
}

function fitsTable(project) {
  const head = ["method", "against the majority", "contested", "mean confidence", "time", "result"];
  return h(
    "div",
    { class: "scroll", tabindex: "0" },
    h("table", { id: "fits" }, h("thead", {}, h("tr", {}, head.map((text, i) => h("th", { class: i && i < 5 ? "number" : "" }, text)))), h("tbody", {}, project.fits.map((fit) => fitRow(project, fit)))),
  );
}

function fitRow(project, fit) {
  const facts = fit.facts;
  const name = h("td", {}, h("b", {}, fit.method), settingsWords(fit.settings), facts && !facts.converged ? [" ", badge("not converged", "bad")] : null);
  if (fit.state !== "done") {
    const words = fit.state === "interrupted" ? "The studio was closed during this fit; fit again." : fit.message;
    return h("tr", {}, name, h("td", { colspan: 4 }, badge(fit.state, fit.state === "failed" ? "bad" : ""), " ", h("small", {}, words)), h("td", {}));
  }
  const isShown = fit.id === project.shown;
  return h(
    "tr",
    {},
    name,
    h("td", { class: "number" }, number(facts.flipped)),
    h("td", { class: "number" }, number(facts.contested)),
    h("td", { class: "number" }, percent(facts.mean_confidence)),
    h("td", { class: "number" }, seconds(facts.seconds)),
    h("td", { class: "number" }, isShown ? badge("shown", "good") : h("button", { class: "small", onclick: () => put(`/projects/${project.id}/fits/${fit.id}/shown`) }, "Show")),
  );
}

function settingsWords(settings) {
  const words = Object.entries(settings).map(([name, value]) => `${name} = ${value}`).join(", ");
  return words ? h("div", {}, h("small", {}, words)) : null;
}

function agreementCard(done, agreement) {
  const names = agreement.fits.map((id) => done.find((fit) => fit.id === id)?.method ?? "?");
  return card("Agreement of the methods", heatMap(names, agreement.shares, { words: "The share of tasks to which two methods give the same label.", digits: 1 }));
}
