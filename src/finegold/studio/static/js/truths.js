// Truths that come from a file of the folder or from this computer.

import { Problem, postNothing, sendFile } from "./api.js";
import { fill, h } from "./dom.js";
import { filePicker } from "./files.js";
import { count } from "./format.js";
import { field, select } from "./parts.js";

export function truthsCard(project) {
  const status = h("div", { class: "stack tight" });
  async function bring(name, file, columns = {}) {
    const address = `/projects/${project.id}/truths?${new URLSearchParams({ name, ...columns })}`;
    try {
      fill(status, imported(await (file ? sendFile(address, file) : postNothing(address))));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      fill(status, h("div", { class: "note bad", role: "alert" }, problem.message), columnFields(problem.body.columns ?? [], (chosen) => bring(name, file, chosen)));
    }
  }
  return h(
    "section",
    { class: "card", id: "truths" },
    h("h2", {}, "Known truths"),
    h("p", { class: "muted" }, "A table with a column of tasks and one of true classes. The next fit learns from them."),
    filePicker("truth", "File of truths in the folder", bring),
    status,
  );
}

function columnFields(columns, use) {
  if (columns.length < 2) return null;
  const chosen = { task: columns[0], label: columns[1] };
  const named = (role) => {
    const made = select(columns.map((name) => [name, name]), chosen[role], (value) => (chosen[role] = value));
    made.id = `truth-${role}`;
    return made;
  };
  return h("div", { class: "fields" }, field("Column of the tasks", named("task")), field("Column of the truths", named("label")), h("div", { class: "field" }, h("span", {}, " "), h("button", { id: "use-truth-columns", onclick: () => use(chosen) }, "Use these columns")));
}

function imported(found) {
  const left = [
    found.without_votes ? `${count(found.without_votes, "task has", "tasks have")} no votes` : "",
    found.unknown_classes.length ? `these are not classes of the votes: ${found.unknown_classes.join(", ")}` : "",
  ].filter(Boolean);
  return h("div", { class: left.length ? "note" : "note good" }, `${count(found.used, "truth")} of ${found.file} will be used${left.length ? `; ${left.join("; ")}` : ""}.`);
}
