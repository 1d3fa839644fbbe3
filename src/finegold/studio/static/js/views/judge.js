// Adjudication: one task at a time, one key per class, the most helpful tasks first.

import { get, post, put } from "../api.js";
import { contentOf } from "../content.js";
import { fill, h, oneAtATime, toast } from "../dom.js";
import { count, number, percent } from "../format.js";
import { aboutCards, historyCard, settingsCard } from "../judging.js";
import { classLabel, empty } from "../parts.js";
import { isOwner, judgesBlindly } from "../reviewer.js";
import { doubtBadges, votesOf } from "../task.js";
import { effect } from "./overview.js";

const KEYS = "123456789abcdefghijklopqtvwxyz"; // without m (more votes), n (note), r (refit), s (skip) and u (undo)
const AHEAD = 2;

export async function render(root, { project }) {
  const state = { project, queue: null, last: null, busy: false };
  const base = `/projects/${project.id}`;
  const place = h("div", { class: "stack" });
  const side = h("div", { class: "stack" });
  const names = () => state.queue.classes.map(String);
  const words = h("p", { class: "muted", id: "judge-words" });
  const shownAs = () => JSON.stringify([state.project.blind, state.project.template, state.project.remote]);
  const current = () => state.queue.tasks[0] ?? null;

  async function load() {
    state.queue = await get(`${base}/next?most=${AHEAD}`);
    state.reviewers = await get(`${base}/reviewers`);
    draw();
  }
  function draw() {
    const task = current();
    const isSame = task && place.firstChild?.dataset.at === String(task.at) && place.firstChild.dataset.shown === shownAs();
    if (!isSame) fill(place, task ? taskPart(task) : done());
    fill(words, `The tasks are sorted by how much your judgement helps; ${number(state.queue.left)} ${state.queue.left === 1 ? "has" : "have"} no truth. Every answer is saved at once.`);
    fill(side, sidePart());
  }
  const alone = oneAtATime(state, load);
  const once = (work) => alone(async () => {
    await keepNote();
    await work();
  });
  const give = (label) => {
    const task = current();
    if (!task) return null;
    return once(async () => {
      await post(`${base}/gold`, { task: task.name, label, before: null });
      state.last = lastCard(task.at, String(label));
    });
  };
  const aside = (what) => {
    const task = current();
    return task && once(() => post(`${base}/${what}`, { task: task.name }));
  };
  const undo = () => {
    const last = state.queue.actions[0];
    if (!last) return toast("There is nothing to undo.");
    return once(async () => {
      const undone = await post(`${base}/undo`, { action: last.id });
      state.last = null;
      toast(`Undone: task ${undone.action.task}.`);
    });
  };
  const refit = () => {
    if (!isOwner() || !state.queue.to_learn) return toast("There is nothing new to learn from.");
    const shown = state.project.fits.find((fit) => fit.id === state.project.shown);
    const wanted = shown.method === "mv" ? {} : { method: shown.method, settings: shown.settings }; // the majority vote does not learn from gold, so use the default method
    return post(`${base}/fits`, wanted).catch((problem) => toast(problem.message, "bad"));
  };
  const note = () => place.querySelector("#note");
  async function keepNote() {
    const box = note();
    const task = current();
    if (!box || !task || box.value === task.note) return;
    task.note = box.value;
    await put(`${base}/note`, { task: task.name, text: box.value });
  }

  function taskPart(task) {
    const blind = state.project.blind;
    return h(
      "section",
      { class: "card", id: "judging", "data-task": task.row.task, "data-at": String(task.at), "data-shown": shownAs() },
      h("div", { class: "spread" }, h("div", {}, h("small", {}, "Which class is right for"), h("h2", { class: "judge-name" }, task.row.task)), blind ? null : h("div", { class: "row" }, doubtBadges(task.row))),
      contentOf(state.project, task.at),
      choices(task, blind),
      h(
        "div",
        { class: "row", id: "actions" },
        key("s", "skip", "Skip", () => aside("skip")),
        key("u", "undo", "Undo", undo),
        key("m", "send-back", "Send back for more votes", () => aside("send_back")),
      ),
      noteBox(task),
      blind ? h("small", {}, "The votes and the label are shown after your decision.") : votesOf(task, names()),
    );
  }
  function choices(task, blind) {
    const all = names().map((name, k) => choice(name, k, blind ? null : task.probabilities[k]));
    const list = h("div", { class: "choices" }, all);
    return all.length > KEYS.length ? h("div", { class: "stack tight" }, classFilter(all), list) : list;
  }
  // With more classes than keys: type a part of the name, then Enter.
  function classFilter(buttons) {
    const fits = (button, text) => button.querySelector(".label").textContent.toLowerCase().includes(text.toLowerCase());
    const box = h("input", {
      type: "search",
      id: "find-class",
      oninput: () => buttons.forEach((button) => (button.hidden = !fits(button, box.value))),
      onkeydown: (event) => {
        if (event.key === "Enter") buttons.find((button) => !button.hidden)?.click();
        if (event.key === "Escape") box.blur();
      },
    });
    return h("label", { class: "field" }, h("span", {}, "Find a class ", h("kbd", {}, "/")), box);
  }
  function key(letter, id, words, act) {
    return h("button", { id, onclick: act }, h("kbd", {}, letter), words);
  }
  function noteBox(task) {
    const box = h("textarea", { id: "note", rows: 2, maxlength: 10000, onchange: () => keepNote().catch((problem) => toast(problem.message, "bad")), onkeydown: (event) => event.key === "Escape" && box.blur() });
    box.value = task.note;
    return h("label", { class: "field" }, h("span", {}, "Note ", h("kbd", {}, "n")), box);
  }
  function choice(name, k, share) {
    return h(
      "button",
      { class: "choice", onclick: () => give(state.queue.classes[k]) },
      k < KEYS.length ? h("kbd", {}, KEYS[k]) : h("span", {}),
      classLabel(name, names()),
      share === null ? null : h("span", { class: "share" }, percent(share ?? 0, 0)),
    );
  }
  function done() {
    const words = state.queue.left ? `${count(state.queue.left, "task waits", "tasks wait")} for more votes, or other people are judging them.` : "Every task has a truth.";
    return h("section", { class: "card" }, empty("There is nothing left to judge", words, h("a", { class: "button", href: `#/p/${project.id}/export` }, "Export")));
  }
  function sidePart() {
    const now = state.project;
    const shown = now.fits.find((fit) => fit.id === now.shown);
    return [
      aboutCards(state, refit),
      state.last,
      judgesBlindly(now) ? null : effect(now, shown.facts.gold || shown.facts.changes?.method === shown.method ? shown : null, names()),
      historyCard(state.queue.actions, names()),
    ];
  }
  // After the decision: what the others said.
  function lastCard(at, label) {
    const body = h("div", { class: "stack tight" });
    get(`${base}/tasks/${at}`).then((view) => {
      const words = view.row.label === label ? `You agree with the label, ${label}` : `You chose ${label}; the label is ${view.row.label}`;
      fill(body, h("p", {}, `${words} (${percent(view.row.confidence, 0)}).`), votesOf(view, names()));
    });
    return h("section", { class: "card", id: "last" }, h("h2", {}, "The task before"), body);
  }

  await load();
  const settings = settingsCard(project, load);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "Judge"), words)),
    h("div", { class: "side" }, place, h("div", { class: "stack" }, side, settings)),
  );
  return {
    keys(pressed) {
      const k = KEYS.indexOf(pressed.toLowerCase());
      if (pressed === "s") aside("skip");
      else if (pressed === "u") undo();
      else if (pressed === "m") aside("send_back");
      else if (pressed === "r") refit();
      else if (pressed === "n") note()?.focus();
      else if (pressed === "/") place.querySelector("#find-class")?.focus();
      else if (k >= 0 && k < state.queue.classes.length) give(state.queue.classes[k]);
      else return false;
      return true;
    },
    update(now, before) {
      state.project = now;
      const blind = settings.querySelector("#blind");
      if (blind) blind.checked = now.blind;
      if (state.busy) return;
      if (now.version !== before?.version) load();
      else fill(side, sidePart());
    },
  };
}

