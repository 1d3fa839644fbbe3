// One task: its classes, its votes, and the weight of each vote.

import { get, post } from "./api.js";
import { contentOf } from "./content.js";
import { h, toast } from "./dom.js";
import { count, percent, signed } from "./format.js";
import { predictedOf } from "./predictions.js";
import { badge, classLabel, colour, meter, select } from "./parts.js";

const MOST_BUTTONS = 12;

export async function taskCard(project, at, classes, changed) {
  const view = await get(`/projects/${project.id}/tasks/${at}`);
  const again = async () => {
    changed();
    element.replaceWith(await taskCard(project, at, classes, changed));
  };
  const element = h(
    "div",
    { class: "stack" },
    h("div", {}, h("small", {}, "Task"), h("h2", { class: "judge-name" }, view.row.task)),
    contentOf(project, at),
    view.note ? h("p", { class: "note" }, view.note) : null,
    h("div", { class: "row" }, doubtBadges(view.row), view.gold === null ? null : badge(`judged: ${view.gold}`, "good")),
    probabilities(view, classes),
    predictedOf(view),
    view.row.n_votes ? [votesOf(view, classes), truthPart(project, view, classes, again)] : h("p", { class: "note" }, "This task has no votes: its label comes from predictions only."),
  );
  return element;
}

export function doubtBadges(row) {
  return row.reasons.map((reason) => badge(reason === "flipped" ? "against the majority" : reason, "accent"));
}

export function probabilities(view, classes) {
  return h(
    "div",
    { class: "stack tight" },
    view.row.tally.map((one) => {
      const share = view.probabilities[classes.indexOf(one.label)] ?? one.probability;
      return h("div", { class: "spread" }, h("span", {}, classLabel(one.label, classes), " ", h("small", {}, count(one.votes, "vote"))), meter(share, { fill: colour(classes.indexOf(one.label)) }));
    }),
  );
}

export function votesOf(view, classes) {
  const row = view.row;
  const most = Math.max(1, ...row.votes.map((vote) => Math.abs(vote.weight ?? 0)));
  const title = row.rival === null ? "Votes" : `Votes, and how much each supports ${row.label} against ${row.rival}`;
  return h(
    "div",
    { class: "stack tight" },
    h("h3", {}, title),
    h("div", {}, row.votes.map((vote) => h("div", { class: "vote" }, h("span", {}, vote.annotator, " ", h("small", { title: "expected accuracy" }, percent(vote.accuracy, 0))), classLabel(vote.label, classes), weight(vote.weight, most)))),
    row.votes_left_out ? h("small", {}, `and ${count(row.votes_left_out, "more vote")}`) : null,
  );
}

function weight(value, most) {
  if (value === null) return h("small", {}, "counts as one vote");
  const half = (50 * Math.abs(value)) / most;
  const bar = h("i", { class: value > 0 ? "for" : "against", style: { width: `${half}%`, left: `${value > 0 ? 50 : 50 - half}%` } });
  return h("span", { class: "weight", title: `log odds ${signed(value, 2)}`, role: "img", "aria-label": `weight ${signed(value, 1)}` }, bar);
}

function truthPart(project, view, classes, again) {
  return h("div", { class: "stack tight" }, h("h3", {}, view.gold === null ? "Set the truth" : "Change the truth"), truthButtons(project, view, classes, again));
}

function truthButtons(project, view, classes, again) {
  const give = async (label) => {
    try {
      await post(`/projects/${project.id}/gold`, { task: view.name, label, before: view.gold });
    } catch (problem) {
      toast(problem.message, "bad");
    }
    again();
  };
  const buttons = () => classes.map((name) => h("button", { class: name === view.gold ? "small choice given" : "small", onclick: () => give(name) }, name));
  const list = () => {
    const made = select([["", "(choose)"], ...classes.map((name) => [name, name])], view.gold ?? "", (name) => name && give(name));
    made.setAttribute("aria-label", "The true class");
    return made;
  };
  return h("div", { class: "row" }, classes.length > MOST_BUTTONS ? list() : buttons(), view.gold === null ? null : h("button", { class: "small quiet", onclick: () => give(null) }, "Remove the truth"));
}
