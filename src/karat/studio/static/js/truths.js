// Truths that come from a file of the folder or from this computer.

import { Problem, get, postNothing, sendFile } from "./api.js";
import { fill, h } from "./dom.js";
import { count } from "./format.js";
import { field, select } from "./parts.js";

export function truthsCard(project) {
  const status = h("div", { class: "stack tight" });
  const files = h("span", { class: "row" });
  const input = h("input", { type: "file", id: "truth-file", hidden: true, onchange: () => input.files.length && bring(input.files[0].name, input.files[0]) });
  get("/folder").then((folder) => {
    const names = folder.files.map((file) => [file.name, file.name]);
    const chosen = select([["", "(a file of the folder)"], ...names], "", (name) => name && bring(name, null));
    chosen.id = "truth-name";
    chosen.setAttribute("aria-label", "File of truths in the folder");
    if (names.length) fill(files, chosen);
  });
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
    h("div", { class: "row" }, files, h("button", { onclick: () => input.click() }, "Choose a file"), input),
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
    found.unknown_classes.length ? `these are no classes of the votes: ${found.unknown_classes.join(", ")}` : "",
  ].filter(Boolean);
  return h("div", { class: left.length ? "note" : "note good" }, `${count(found.used, "truth")} of ${found.file} will be used${left.length ? `; ${left.join("; ")}` : ""}.`);
}
