// Adjudication: one task at a time, one key per class, the most helpful tasks first.

import { get, post } from "../api.js";
import { fill, h, toast } from "../dom.js";
import { count, number, percent } from "../format.js";
import { badge, classLabel, empty } from "../parts.js";
import { contentOf, doubtBadges, votesOf } from "../task.js";
import { isActive } from "../watch.js";
import { effect } from "./overview.js";

const KEYS = "123456789abcdefghijklmnopqrtvwxyz"; // without s (skip) and u (undo)
const AHEAD = 20;

export async function render(root, { project }) {
  const state = { project, queue: null, skipped: new Set(), busy: false };
  const place = h("div", { class: "stack" });
  const side = h("div", { class: "stack" });
  const names = () => state.queue.classes.map(String);
  const current = () => state.queue.tasks.find((task) => !state.skipped.has(task.at)) ?? null;

  async function load() {
    state.queue = await get(`/projects/${project.id}/next?most=${Math.min(100, AHEAD + state.skipped.size)}`);
    if (current() === null && state.skipped.size) {
      state.skipped.clear();
      if (state.queue.tasks.length) toast("These are the tasks that you skipped.");
    }
    draw();
  }
  function draw() {
    const task = current();
    fill(place, task ? taskPart(task) : done());
    fill(side, ...sidePart());
  }
  // One request at a time, so that an early key press is not applied to the wrong task.
  async function once(work) {
    if (state.busy) return;
    state.busy = true;
    try {
      await work();
    } catch (problem) {
      toast(problem.message, "bad");
    } finally {
      state.busy = false;
      await load();
    }
  }
  const give = (label) => {
    const task = current();
    return task && once(() => post(`/projects/${project.id}/gold`, { task: task.name, label, before: null }));
  };
  const undo = () => {
    const last = state.queue.actions[0];
    if (!last) return toast("There is nothing to undo.");
    return once(async () => {
      const undone = await post(`/projects/${project.id}/undo`, { action: last.id });
      toast(`Undone: task ${undone.action.task}.`);
    });
  };
  const skip = () => {
    const task = current();
    if (task) state.skipped.add(task.at);
    if (current()) draw();
    else load();
  };
  const refit = () => {
    const shown = state.project.fits.find((fit) => fit.id === state.project.shown);
    const wanted = shown.method === "mv" ? {} : { method: shown.method, settings: shown.settings }; // the majority vote does not learn from gold, so use the default method
    return post(`/projects/${project.id}/fits`, wanted).catch((problem) => toast(problem.message, "bad"));
  };

  function taskPart(task) {
    return h(
      "section",
      { class: "card", id: "judging", "data-task": task.row.task },
      h("div", { class: "spread" }, h("div", {}, h("small", {}, "Which class is right for"), h("div", { class: "judge-name" }, task.row.task)), h("div", { class: "row" }, doubtBadges(task.row))),
      contentOf(project, task.at),
      h("div", { class: "choices" }, names().map((name, k) => choice(name, k, task))),
      h("div", { class: "spread" }, h("div", { class: "keys" }, h("span", {}, h("kbd", {}, "s"), "skip"), h("span", {}, h("kbd", {}, "u"), "undo")), h("div", { class: "row" }, h("button", { id: "skip", onclick: skip }, "Skip"), h("button", { id: "undo", disabled: !state.queue.actions.length, onclick: undo }, "Undo"))),
      votesOf(task, names()),
    );
  }
  function choice(name, k, task) {
    return h(
      "button",
      { class: "choice", onclick: () => give(state.queue.classes[k]) },
      k < KEYS.length ? h("kbd", {}, KEYS[k]) : h("span", {}),
      classLabel(name, names()),
      h("span", { class: "share" }, percent(task.probabilities[k] ?? 0, 0)),
    );
  }
  function done() {
    return h("section", { class: "card" }, empty("Every task has a truth", "There is nothing left to judge.", h("a", { class: "button", href: `#/p/${project.id}/export` }, "Export")));
  }
  function sidePart() {
    const now = state.project;
    const shown = now.fits.find((fit) => fit.id === now.shown);
    const changed = state.queue.judged !== (shown.facts.judged ?? 0);
    const running = isActive(now.job);
    return [
      h(
        "section",
        { class: "card" },
        h("h2", {}, h("span", { id: "judged" }, count(state.queue.judged, "truth")), " given"),
        h("p", { class: "muted" }, `${number(state.queue.left)} tasks have none. A few truths on difficult tasks improve the labels more than many on easy ones.`),
        h("button", { class: changed ? "primary" : "", id: "refit", disabled: running, onclick: refit }, running ? h("span", { class: "spin" }) : null, "Refit with these truths"),
      ),
      effect(now, shown.facts.gold || shown.facts.changes?.method === shown.method ? shown : null, names()),
      state.queue.actions.length ? history() : null,
    ];
  }
  function history() {
    return h(
      "section",
      { class: "card" },
      h("h2", {}, "Your last actions"),
      h("ul", { class: "list", id: "history" }, state.queue.actions.slice(0, 8).map((action) => h("li", {}, h("span", { class: "what" }, h("span", {}, `task ${action.task}`)), action.after === null ? badge("taken away") : classLabel(String(action.after), names())))),
    );
  }

  await load();
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Judge"), h("p", { class: "muted" }, "The tasks are sorted by how much your judgement helps. Every answer is saved at once."))),
    h("div", { class: "side" }, place, side),
  );
  return {
    keys(key) {
      const k = KEYS.indexOf(key.toLowerCase());
      if (key === "s") skip();
      else if (key === "u") undo();
      else if (k >= 0 && k < state.queue.classes.length) give(state.queue.classes[k]);
      else return false;
      return true;
    },
    update(now, before) {
      state.project = now;
      if (state.busy) return;
      if (now.version !== before?.version) load();
      else fill(side, ...sidePart());
    },
  };
}
