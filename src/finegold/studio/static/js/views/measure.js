// Measure the labels: a random sample that people check blindly, and what it shows about all labels.

import { del, get, post } from "../api.js";
import { contentOf } from "../content.js";
import { fill, h, oneAtATime, toast } from "../dom.js";
import { ago, count, number, percent } from "../format.js";
import { card, classLabel, empty, field, range } from "../parts.js";
import { isOwner, judgesBlindly, reviewer } from "../reviewer.js";

const KEYS = "123456789abcdefghijklmnopqrstvwxyz"; // without u (undo)

export async function render(root, { project }) {
  const base = `/projects/${project.id}/audit`;
  const [head, place, side] = [h("div", { class: "head" }), h("div", { class: "stack" }), h("div", { class: "stack" })];
  const state = { audit: null, next: null, people: [], busy: false, project };
  const mayLook = isOwner() || !judgesBlindly(project);

  async function load() {
    if (mayLook) state.audit = await get(base);
    if (isOwner()) state.people = await get(`/projects/${project.id}/people`);
    state.next = state.audit || !mayLook ? await get(`${base}/next`).catch(() => null) : null;
    draw();
  }
  const once = oneAtATime(state, load);
  const give = (label) => state.next?.task && once(() => post(`${base}/answers`, { task: state.next.task.name, label }));
  const undo = () => once(() => post(`${base}/undo`));

  function draw() {
    const { audit, next } = state;
    const words = audit ? `${number(audit.done)} of ${count(audit.n, "random task")} checked. ${audit.next_step}` : "People check a few tasks that are drawn at random, without seeing votes or labels. That measures how many of all labels are right.";
    fill(head, h("div", { class: "words" }, h("h1", {}, "Measure"), h("p", { class: "muted", id: "measure-state" }, mayLook ? words : next ? `You have checked ${number(next.done)} of ${count(next.total, "task")}.` : "No sample was drawn yet.")));
    const task = next?.task;
    const isSame = task && place.firstChild?.dataset?.task === String(task.name);
    const found = mayLook && audit ? [foundCard(audit), auditorsCard(audit)] : [];
    const again = audit && isOwner() ? againCard(audit) : null;
    if (isSame) fill(place.querySelector("#check-progress"), progress(next));
    else if (task) fill(place, taskPart(next));
    else fill(place, found.length ? found : finished(audit, next)); // who has nothing to check sees what was found
    fill(side, task ? [found, again] : found.length ? [finished(audit, next), again] : null);
  }
  function progress(next) {
    return [h("div", { class: "progress", role: "progressbar", "aria-label": "checked", "aria-valuemin": "0", "aria-valuemax": String(next.total), "aria-valuenow": String(next.done) }, h("i", { style: { width: `${(100 * next.done) / Math.max(1, next.total)}%` } })), h("small", {}, `${number(next.done)} of ${number(next.total)} checked`)];
  }
  function taskPart(next) {
    const names = next.classes.map(String);
    return h(
      "section",
      { class: "card", id: "checking", "data-task": String(next.task.name) },
      h("div", { class: "stack tight", id: "check-progress" }, progress(next)),
      h("div", {}, h("small", {}, "Which class is right for"), h("h2", { class: "judge-name" }, next.task.row.task)),
      contentOf(project, next.task.at, next.fit),
      h("div", { class: "choices" }, names.map((name, k) => h("button", { class: "choice", onclick: () => give(next.classes[k]) }, k < KEYS.length ? h("kbd", {}, KEYS[k]) : h("span", {}), classLabel(name, names)))),
      h("div", { class: "row" }, h("button", { id: "undo-check", disabled: !next.can_undo, onclick: undo }, h("kbd", {}, "u"), "Undo")),
      h("small", {}, "Votes and labels are hidden until the sample is checked, also from the lead."),
    );
  }
  function finished(audit, next) {
    if (!audit && isOwner()) return drawCard();
    if (!next) return card(null, empty("There is nothing to check", audit ? "The result that was measured was replaced. What was found stays; draw a new sample to measure the labels as they are now." : "Nobody has drawn a sample yet."));
    if (!next.total) return card(null, empty("Others check this sample", "You are not one of its auditors."));
    const done = h("button", { id: "undo-check", disabled: !next.can_undo, onclick: undo }, "Undo the last answer");
    return card(null, empty(next.done < next.total ? "Other people are checking the rest" : "Everything is checked", `You have checked ${number(next.done)} of ${count(next.total, "task")}.`, done));
  }
  function drawCard() {
    const n = h("input", { type: "number", id: "audit-n", min: 1, max: 100000, value: "100" });
    const risk = h("input", { type: "number", id: "audit-risk", min: 0.1, max: 40, step: "any", value: "5" });
    const overlap = h("input", { type: "number", id: "audit-overlap", min: 0, max: 100, value: "20" });
    const known = [...new Set([reviewer(), ...state.people.map((one) => one.name)])];
    const boxes = known.map((name) => [name, h("input", { type: "checkbox", "data-name": name })]);
    const start = () => {
      const auditors = boxes.filter(([, box]) => box.checked).map(([name]) => name);
      const seed = Math.floor(Math.random() * 2 ** 31);
      return once(() => post(base, { n: Number(n.value), risk: Number(risk.value) / 100, overlap: Number(overlap.value) / 100, auditors, seed }));
    };
    return h(
      "section",
      { class: "card", id: "draw" },
      h("h2", {}, "Draw a random sample"),
      h("div", { class: "fields" }, field("Tasks to check", n, "100 show the share of right labels to a few points; 300 to about half of that."), field("Wrong labels that you would accept, in %", risk, "Says how many of the most confident labels may be used unchecked.")),
      h("div", { class: "field" }, h("span", {}, "Who checks them"), h("small", {}, "Nobody chosen: anybody takes the next task. Two or more share them, and all check some of them, which shows how often they agree."), h("div", { class: "row" }, boxes.map(([name, box]) => h("label", { class: "check" }, box, name || "you (without a name)")))),
      field("Tasks that all of them check, in %", overlap),
      h("div", { class: "row" }, h("button", { class: "primary", id: "draw-sample", onclick: start }, "Draw the sample")),
    );
  }
  function foundCard(audit) {
    const found = audit.certificate?.accuracy;
    if (!found) return card("What it will show", ...audit.promise.map((one) => h("p", {}, one)));
    return h(
      "section",
      { class: "card", id: "measured" },
      h("h2", {}, audit.done < audit.n ? "So far" : "What it shows"),
      audit.done < audit.n ? null : h("div", { class: "stack tight" }, h("b", { class: "judge-name" }, `${percent(found.low)} to ${percent(found.high)}`), range(found.low, found.estimate, found.high)),
      audit.sentences.map((one) => h("p", {}, one)),
      audit.is_current ? null : h("div", { class: "note" }, `This was measured on labels of ${audit.method} from ${ago(audit.at)}; the labels that are shown are others.`),
      h("p", { id: "next-step" }, h("b", {}, "Next: "), audit.next_step),
    );
  }
  function auditorsCard(audit) {
    if (!audit.auditors.length) return null;
    const settle = (task, label) => once(() => post(`${base}/settle`, { task, label }));
    const names = audit.classes.map(String);
    return h(
      "section",
      { class: "card", id: "auditors" },
      h("h2", {}, "Auditors"),
      h("ul", { class: "list" }, audit.auditors.map((one) => h("li", {}, h("span", { class: "what" }, one.auditor || "without a name"), `${number(one.done)} of ${number(one.total)}`))),
      audit.shared ? h("p", { id: "agreement" }, `They agree on ${number(audit.agreed)} of ${count(audit.shared, "task")} that several checked (${percent(audit.agreed / audit.shared, 0)}).`) : null,
      audit.disagreements.map((one) =>
        h(
          "div",
          { class: "stack tight disagreement", "data-task": one.task },
          h("h3", {}, `Task ${one.task}`),
          one.at === null ? null : contentOf(project, one.at, state.next?.fit),
          h("p", {}, Object.entries(one.labels).map(([who, label]) => `${who || "without a name"}: ${label}`).join("; "), one.settled ? `. Settled: ${one.settled}.` : "."),
          isOwner() ? h("div", { class: "row" }, names.filter((name) => Object.values(one.labels).includes(name)).map((name) => h("button", { class: one.settled === name ? "small choice given" : "small", onclick: () => settle(one.task, name) }, name))) : null,
        ),
      ),
    );
  }
  function againCard(audit) {
    const again = () => confirm("Remove this sample with its answers, and draw a new one?") && once(() => del(base));
    const teach = () => once(async () => (await post(`${base}/teach`), toast("The next fit learns from these answers. What was measured stays.")));
    return h("section", { class: "card" }, h("h2", {}, "And then"), h("div", { class: "row" }, h("button", { id: "teach", disabled: audit.done < audit.n, onclick: teach }, "Give the answers to the method"), h("button", { id: "draw-again", onclick: again }, "Draw another sample")));
  }

  await load();
  fill(root, head, h("div", { class: "side" }, place, side));
  return {
    keys(pressed) {
      const k = KEYS.indexOf(pressed.toLowerCase());
      if (pressed === "u" && state.next?.can_undo) undo();
      else if (state.next?.task && k >= 0 && k < state.next.classes.length) give(state.next.classes[k]);
      else return false;
      return true;
    },
    update(now, before) {
      state.project = now;
      if (!state.busy && now.version !== before?.version) return load();
    },
  };
}
