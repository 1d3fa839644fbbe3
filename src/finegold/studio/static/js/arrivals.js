// Votes that arrive later: what they would change, then their history. The last ones, like all others, can be removed.

import { Problem, del, get, postNothing, sendFile } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { filePicker } from "./files.js";
import { ago, count, number } from "./format.js";
import { badge } from "./parts.js";
import { isActive } from "./watch.js";

const MOST_BATCHES = 50;

export function arrivalsCard(project) {
  const looked = h("div", { class: "stack tight", id: "arrivals" });
  const past = h("div", { class: "stack tight" });
  const rows = h("textarea", { id: "pasted", rows: 4, placeholder: "task, annotator, label" });
  let now = project;

  const ask = (one, take) => {
    const address = `/projects/${project.id}/arrivals?${new URLSearchParams({ name: one.name, take, pasted: one.pasted ?? false })}`;
    return one.file ? sendFile(address, one.file) : postNothing(address);
  };
  // Look at each file first; nothing is taken before the user has seen what it changes.
  async function look(files) {
    const found = [];
    for (const one of files) {
      try {
        found.push([one, await ask(one, false)]);
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        found.push([one, problem]);
      }
    }
    const good = found.filter(([, arrival]) => !(arrival instanceof Problem));
    const total = good.reduce((sum, [, arrival]) => sum + arrival.new + arrival.changed, 0);
    fill(
      looked,
      found.map(([one, arrival]) => (arrival instanceof Problem ? h("div", { class: "note bad", role: "alert" }, `${one.name}: ${arrival.message}`) : difference(arrival))),
      good.length
        ? h("div", { class: "row" }, h("button", { class: "primary", id: "take-votes", disabled: !total, onclick: () => take(good.map(([one]) => one)) }, total ? `Add ${count(total, "vote")}` : "Nothing new"), h("button", { id: "leave-votes", onclick: () => fill(looked) }, "Leave them"))
        : null,
    );
  }
  async function take(files) {
    try {
      for (const one of files) await ask(one, true);
      fill(looked);
      rows.value = "";
    } catch (problem) {
      toast(problem.message, "bad");
    }
    await showPast();
  }
  async function showPast() {
    const batches = await get(`/projects/${project.id}/posted`);
    const failed = now.job?.kind === "remove" && now.job.state === "failed" ? now.job.message : null;
    fill(
      past,
      failed ? h("div", { class: "note bad", role: "alert" }, failed) : null,
      batches.length ? h("h3", {}, "Votes that were added") : null,
      batches.length ? h("ul", { class: "list", id: "posted" }, batches.slice(0, MOST_BATCHES).map((batch, i) => row(now, batch, i === 0))) : null,
      batches.length > MOST_BATCHES ? h("small", {}, `and ${count(batches.length - MOST_BATCHES, "older batch", "older batches")}`) : null,
    );
  }
  const several = h("input", { type: "file", id: "arrival-files", multiple: true, hidden: true, onchange: () => several.files.length && look([...several.files].map((file) => ({ name: file.name, file }))) });
  showPast();
  const element = h(
    "section",
    { class: "card", id: "add-votes" },
    h("h2", {}, "Add votes"),
    h("p", { class: "muted" }, "Votes of another day: one or more files as the first one, or rows from a spreadsheet. You see what changes before anything is taken."),
    h("div", { class: "row" }, filePicker("arrival", "File of votes in the folder", (name) => look([{ name, file: null }]), { own: false }), h("button", { onclick: () => several.click() }, "Choose files"), several),
    h("details", {}, h("summary", {}, "Paste rows"), h("div", { class: "stack tight" }, h("label", { class: "field" }, h("span", {}, "Task, annotator and label in each row"), rows), h("div", { class: "row" }, h("button", { id: "look-pasted", onclick: () => rows.value.trim() && look([{ name: "pasted rows.csv", file: new Blob([rows.value]), pasted: true }]) }, "Look at them")))),
    looked,
    past,
  );
  return { element, show: (changed) => ((now = changed), showPast()) };
}

function difference(arrival) {
  const facts = [
    [arrival.new, "new"],
    [arrival.changed, "changed"],
    [arrival.repeated, "there already"],
    [arrival.missing, "without a label"],
  ].filter(([n]) => n).map(([n, words]) => `${number(n)} ${words}`);
  const more = [
    [arrival.new_tasks, "new task"],
    [arrival.new_annotators, "new annotator"],
  ].filter(([n]) => n).map(([n, words]) => count(n, words));
  const classes = arrival.new_classes.filter((name) => !arrival.near[name]);
  const near = Object.entries(arrival.near);
  return h(
    "div",
    { class: near.length ? "note bad" : "note", "data-source": arrival.source },
    h("b", {}, `${arrival.source}: ${count(arrival.votes, "vote")}`),
    ` (${[...facts, ...more].join(", ") || "none"}).`,
    classes.length ? h("p", {}, `Labels that are new: ${classes.slice(0, 10).join(", ")}.`) : null,
    near.length ? h("p", {}, `Misspelled? ${near.map(([label, name]) => `“${label}” may be ${name}`).join("; ")}. Correct the file, or list the spelling under Spellings first.`) : null,
    arrival.warnings.map((text) => h("p", {}, `${text[0].toUpperCase()}${text.slice(1)}.`)),
    arrival.examples.length ? h("details", {}, h("summary", {}, "Which votes change"), h("ul", { class: "list" }, arrival.examples.map((one) => h("li", {}, h("span", { class: "what" }, `task ${one.task}, ${one.annotator}`), `${one.before} → ${one.after}`)))) : null,
  );
}

function row(project, batch, isLast) {
  const facts = batch.facts ? ` · ${number(batch.facts.new)} new, ${number(batch.facts.changed)} changed, ${number(batch.facts.repeated)} there already` : "";
  return h(
    "li",
    {},
    h("div", { class: "what whole" }, h("span", {}, `${count(batch.n_votes, "vote")} ${batch.source ? `of ${batch.source}` : "posted by a program"}`), h("small", {}, `${batch.at ? ago(batch.at) : ""}${facts}`)),
    batch.taken ? null : badge("waits for the next fit"),
    h("button", { class: "quiet danger small", disabled: isActive(project.job), "aria-label": `Remove batch ${batch.id}`, onclick: () => remove(project, batch) }, isLast ? "Undo" : "Remove"),
  );
}

async function remove(project, batch) {
  const effect = batch.taken ? " The votes are read again without them, and the fits of this project are dropped." : "";
  if (!confirm(`Remove ${count(batch.n_votes, "vote")}?${effect}`)) return;
  await del(`/projects/${project.id}/posted/${batch.id}`).catch((problem) => toast(problem.message, "bad"));
}
