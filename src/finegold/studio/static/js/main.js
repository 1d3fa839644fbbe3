// Routing: the part of the address after # selects the view, so that links, back and reload work.

import { Problem, get, post } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { isOwner, judgesBlindly, setMe } from "./reviewer.js";
import { isJudgeLog, showTop } from "./top.js";
import { ProjectWatch } from "./watch.js";

const VIEWS = {
  home: () => import("./views/home.js"),
  columns: () => import("./views/columns.js"),
  method: () => import("./views/method.js"),
  overview: () => import("./views/overview.js"),
  tasks: () => import("./views/tasks.js"),
  annotators: () => import("./views/annotators.js"),
  classes: () => import("./views/classes.js"),
  judge: () => import("./views/judge.js"),
  measure: () => import("./views/measure.js"),
  people: () => import("./views/people.js"),
  judges: () => import("./views/judges.js"),
  export: () => import("./views/export.js"),
};

const main = document.getElementById("main");
const watch = new ProjectWatch(heard, lost);
let current = null; // the view that is shown: { name, update, keys, leave }
let turn = 0; // increases with each navigation, so that a view that loads late is not shown
let lastView = ""; // its project and name

function address() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean);
  const params = new URLSearchParams(search ?? "");
  if (parts[0] !== "p") return { name: "home", params, rest: [] };
  return { name: parts[2] ?? "", project: Number(parts[1]), rest: parts.slice(3), params };
}

export function go(hash) {
  location.hash = hash;
}

async function show() {
  const mine = ++turn;
  const asked = address();
  current?.leave?.();
  current = null;
  try {
    const project = asked.project ? await watch.follow(asked.project) : watch.stop();
    if (mine !== turn) return;
    const name = project ? asked.name || firstView(project) : "home";
    if (!VIEWS[name]) return go("#/");
    const view = await VIEWS[name]();
    const place = h("div", { class: "stack" });
    const made = (await view.render(place, { project, params: asked.params, rest: asked.rest, go, again: show })) ?? {};
    if (mine !== turn) return made.leave?.();
    current = { name, ...made };
    fill(main, place);
    if (lastView !== `${project?.id} ${name}`) window.scrollTo(0, 0); // another view begins at its top
    lastView = `${project?.id} ${name}`;
    showTop(project, name);
    document.title = project ? `${project.name} · Finegold Studio` : "Finegold Studio";
    if (watch.project !== project) heard(watch.project, project); // it changed while the view was loaded
  } catch (problem) {
    if (mine === turn) complain(problem);
  }
}

function firstView(project) {
  if (judgesBlindly(project)) return "judge";
  if (project.shown === null) return project.file === null ? "method" : "columns";
  if (isJudgeLog(project)) return "judges";
  const isRead = project.shown === project.base && project.file !== null && isOwner(); // and not labelled yet
  return isRead ? "columns" : "overview";
}

function complain(problem) {
  showTop(null, "home");
  const words = problem.status === 404 ? "It may have been deleted." : problem.detail || problem.message;
  fill(main, h("div", { class: "empty" }, h("b", {}, problem.title ?? "Something went wrong"), h("p", {}, words), openAgain(problem.body), h("a", { class: "button", href: "#/" }, "All projects")));
  if (!problem.title) console.error(problem);
}

// A result that crashed the studio before is opened only if the user asks for it.
function openAgain(body) {
  if (!body?.fit) return null;
  const ask = async () => (await post(`/projects/${body.project}/fits/${body.fit}/open`), show());
  return h("button", { id: "again", onclick: ask }, "Open it again");
}

// Called when another tab, a program or a job changed the project.
function heard(project, before) {
  showTop(project, current?.name);
  document.title = `${project.name} · Finegold Studio`;
  if (current?.update) return current.update(project, before);
  if (current && project.shown !== before?.shown) show();
}

function lost(isGone) {
  if (isGone) {
    toast("This project was deleted.", "bad");
    go("#/");
  } else toast("The studio does not respond. Start it again; saved changes are not lost.", "bad");
}

document.addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (typing || event.ctrlKey || event.metaKey || event.altKey || (event.repeat && !event.key.startsWith("Arrow"))) return;
  if (current?.keys?.(event.key)) event.preventDefault();
});
window.addEventListener("hashchange", show);
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof Problem) event.preventDefault(); // the user is told, and it is not a bug of the page
  toast(event.reason?.message ?? "Something went wrong", "bad");
});
// A file that is dropped outside a drop zone must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());

get("/me").then((me) => (setMe(me), show()), complain);
