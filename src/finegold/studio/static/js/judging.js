// The cards beside the task that is judged: progress, reviewers, the last actions, and how tasks are shown.

import { get, patch, query } from "./api.js";
import { shownItems } from "./content.js";
import { fill, h, toast } from "./dom.js";
import { count, number, percent } from "./format.js";
import { badge, classLabel, field } from "./parts.js";
import { isOwner, reviewer, setReviewer } from "./reviewer.js";
import { isActive } from "./watch.js";

export function aboutCards(state, refit) {
  const { queue, project } = state;
  const running = isActive(project.job);
  const waiting = [
    [queue.skipped, "skipped; they come last"],
    [queue.sent_back, "sent back for more votes"],
  ].filter(([n]) => n).map(([n, words]) => h("li", {}, `${number(n)} ${words}`));
  return h(
    "section",
    { class: "card" },
    h("h2", {}, h("span", { id: "judged" }, count(queue.judged, "truth")), " given"),
    waiting.length ? h("ul", { id: "aside" }, waiting) : null,
    queue.to_learn && isOwner() ? h("button", { class: "primary", id: "refit", disabled: running, onclick: refit }, running ? h("span", { class: "spin" }) : h("kbd", {}, "r"), `Refit with ${count(queue.to_learn, "new truth")}`) : h("p", { class: "muted", id: "learned" }, learned(queue)),
    reviewersTable(state.reviewers),
  );
}

function learned({ to_learn, judged }) {
  if (to_learn) return `The result was fitted without ${to_learn === 1 ? "one" : number(to_learn)} of them; the next fit uses all.`;
  return judged ? "The result was fitted with all of them." : "A few truths on difficult tasks improve the labels more than many on easy ones.";
}

function reviewersTable(rows) {
  if (!rows.length) return null;
  const agreed = (row) => (row.compared ? percent(row.agreed / row.compared, 0) : "");
  return h(
    "table",
    { id: "reviewers" },
    h("thead", {}, h("tr", {}, h("th", {}, "reviewer"), h("th", { class: "number" }, "judged"), h("th", { class: "number", title: "how often the label was the class that they chose" }, "agrees with the label"))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, row.reviewer || "without a name"), h("td", { class: "number" }, number(row.judged)), h("td", { class: "number" }, agreed(row))))),
  );
}

export function historyCard(actions, names) {
  if (!actions.length) return null;
  const did = (action) => {
    if (action.kind === "skip") return badge("skipped");
    if (action.kind === "send_back") return badge("sent back");
    return action.after === null ? badge("removed") : classLabel(String(action.after), names);
  };
  const rows = actions.slice(0, 8).map((action) => h("li", {}, h("span", { class: "what" }, h("span", {}, `task ${action.task}`)), did(action)));
  return h("section", { class: "card" }, h("h2", {}, "Your last actions"), h("ul", { class: "list", id: "history" }, rows));
}

// Who judges, and what is shown of a task.
export function settingsCard(project, again) {
  const name = h("input", { type: "text", id: "reviewer", value: reviewer(), maxlength: 100, disabled: !isOwner(), onchange: () => (setReviewer(name.value), again()) });
  const blind = h("input", { type: "checkbox", id: "blind", checked: project.blind, onchange: () => change({ blind: blind.checked }) });
  const change = (values) => patch(`/projects/${project.id}`, values).catch((problem) => toast(problem.message, "bad"));
  return h(
    "details",
    { class: "card", id: "judge-settings" },
    h("summary", {}, "Settings"),
    field("Your name", name, "It is kept with each of your judgements."),
    isOwner() ? h("label", { class: "check" }, blind, "Hide votes and labels until a task is judged") : null,
    isOwner() ? templateField(project) : null,
  );
}

// The template of a task, with the task that is judged as an example while it is written.
function templateField(project) {
  const shown = h("div", { class: "content", id: "template-preview" });
  let typing = null;
  const look = async () => {
    const at = document.querySelector("#judging")?.dataset.at ?? 0;
    try {
      fill(shown, shownItems(await get(`/projects/${project.id}/tasks/${at}/content${query({ template: box.value || " " })}`), project));
      return true;
    } catch (problem) {
      fill(shown, h("div", { class: "note bad", role: "alert" }, problem.message));
      return false;
    }
  };
  const box = h("textarea", {
    id: "template",
    rows: 3,
    maxlength: 10000,
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(look, 250);
    },
    onchange: () => {
      clearTimeout(typing);
      patch(`/projects/${project.id}`, { template: box.value.trim() }).catch(() => {}); // at once; `look` says what is wrong
      if (box.value.trim()) look();
      else fill(shown);
    },
  });
  box.value = project.template;
  const known = h("small", {}, "Blank shows all columns of the task.");
  if (isOwner()) get(`/projects/${project.id}/fields`).then((names) => fill(known, `Blank shows all columns of the task. Each line is shown as text, link, image, sound, video or PDF; you can use ${names.map((one) => `{${one}}`).join(", ")}. A line that begins with markdown: or html: is shown as such.`), () => {});
  return h("div", { class: "stack tight" }, h("label", { class: "field" }, h("span", {}, "How a task is shown"), box, known), shown);
}
