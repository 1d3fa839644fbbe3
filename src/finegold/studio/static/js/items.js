// Texts and images of the tasks from a second table or a folder, joined by the id of the task.

import { Problem, del, get, postNothing, sendFile } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { filePicker } from "./files.js";
import { count } from "./format.js";
import { field, select } from "./parts.js";

export function itemsCard(project) {
  const status = h("div", { class: "stack tight" });
  const list = h("div", {});
  const ask = (name, file, more) => {
    const address = `/projects/${project.id}/items?${new URLSearchParams({ name, ...more })}`;
    return file ? sendFile(address, file) : postNothing(address);
  };
  async function look(name, file, chosen = {}) {
    try {
      fill(status, matched(await ask(name, file, chosen), name, file));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      fill(status, h("div", { class: "note bad", role: "alert" }, problem.message));
    }
  }
  async function use(name, file, task) {
    await ask(name, file, task ? { task, take: true } : { take: true }).then(() => (fill(status), showList()), (problem) => toast(problem.message, "bad"));
  }
  function matched(found, name, file) {
    const column = found.columns.length > 1 && found.task ? field("The column that names the task", Object.assign(select(found.columns.map((one) => [one, one]), found.task, (task) => look(name, file, { task })), { id: "item-task" })) : null;
    const rest = [found.without ? `${count(found.without, "task is", "tasks are")} not in it` : "", found.unmatched ? `${count(found.unmatched, "row belongs", "rows belong")} to no task` : ""].filter(Boolean);
    return h(
      "div",
      { class: "stack tight", id: "matched" },
      h("div", { class: found.without ? "note" : "note good" }, `${name}: ${count(found.matched, "task")} found${rest.length ? `; ${rest.join("; ")}` : ""}.`),
      column,
      h("div", { class: "scroll preview", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["task", ...found.fields].map((one) => h("th", {}, one)))), h("tbody", {}, found.examples.map((row) => h("tr", {}, Object.values(row).map((value) => h("td", { title: value ?? "" }, value ?? ""))))))),
      h("div", { class: "row" }, h("button", { class: "primary", id: "use-items", onclick: () => use(name, file, found.task) }, `Show ${found.fields.join(", ")} with the tasks`)),
    );
  }
  async function showList() {
    const tables = await get(`/projects/${project.id}/items`);
    const remove = async (one) => (await del(`/projects/${project.id}/items/${one.id}`), showList());
    fill(list, tables.length ? h("ul", { class: "list", id: "items" }, tables.map((one) => h("li", {}, h("div", { class: "what" }, h("span", {}, one.name), h("small", {}, count(one.n_tasks, "row"))), h("button", { class: "quiet danger small", "aria-label": `Remove ${one.name}`, onclick: () => remove(one) }, "Remove")))) : null);
  }
  showList();
  return h(
    "section",
    { class: "card", id: "add-items" },
    h("h2", {}, "Texts and images"),
    h("p", { class: "muted" }, "A table with the id of each task and what people see of it, or a folder with images, sounds, videos or PDF that are called as the tasks. Under Judge, Settings says how a task is shown."),
    filePicker("item", "Table or folder in the folder of the studio", look, { folders: true }),
    status,
    list,
  );
}
