// All projects, and how to create new ones.

import { del, get, patch, post, upload } from "../api.js";
import { fill, h, toast } from "../dom.js";
import { ago, count, size } from "../format.js";
import { badge, card, empty } from "../parts.js";
import { isOwner } from "../reviewer.js";

const FORMATS = "CSV, TSV, JSONL, Parquet, Arrow or Excel; exports of Label Studio, Prodigy, doccano, Argilla, MTurk, SageMaker, Toloka, Appen and more";

export async function render(root, { go, again }) {
  const [folder, projects] = await Promise.all([isOwner() ? get("/folder") : null, get("/projects")]);
  const open = (project) => go(`#/p/${project.id}`);
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "From votes to labels that you can trust"), h("p", { class: "muted" }, "Drop a file with the votes of your annotators, see how reliable each label is, and judge the doubtful tasks."))),
    isOwner() ? dropZone(folder, open) : null,
    h(
      "div",
      { class: "grid" },
      card("Projects", projects.length ? projectList(projects, open, again) : empty("No projects yet", isOwner() ? "A project starts with a file of votes: drop one above, or open one from the folder." : "The owner of the studio has no project for you yet.")),
      !isOwner() ? null : card("Files in this folder", folder.files.length ? fileList(folder, open) : empty("No data files here", `Start the studio in the folder of your data, or drop a file above. This is ${folder.folder}.`)),
    ),
    isOwner() && h("small", {}, "Everything is stored in ", h("code", {}, folder.project_file), " on this computer. Nothing is sent anywhere."),
    isOwner() ? startCard() : null,
  );
}

// How to start it tomorrow.
function startCard() {
  const line = (words, command) => h("p", {}, words, " ", h("code", {}, command));
  return h(
    "details",
    { class: "card", id: "start-again" },
    h("summary", {}, "Start the studio tomorrow, or on another computer"),
    line("An icon to double-click, for this folder:", "finegold studio --install-shortcut"),
    line("On another computer, with uv:", "uv tool install 'finegold[studio,excel]'"),
    line("or with pipx:", "pipx install 'finegold[studio,excel]'"),
    line("then, in the folder of the data:", "finegold studio"),
  );
}

function dropZone(folder, open) {
  const input = h("input", { type: "file", id: "file", hidden: true, onchange: () => send(input.files) });
  const words = h("p", { class: "muted" }, FORMATS);
  const zone = h(
    "div",
    { class: "drop", id: "drop" },
    h("img", { src: "/static/mark.svg", alt: "" }),
    h("h2", {}, "Drop a file with votes here"),
    words,
    h("div", { class: "row" }, h("button", { class: "primary", onclick: () => input.click() }, "Choose a file"), h("button", { id: "sample", onclick: async () => open(await post("/sample")) }, "Try a sample")),
    h("small", {}, "The sample: two LLM judges and two people compare the answers to 300 instructions."),
    input,
  );
  async function send(files) {
    if (!files.length) return;
    fill(words, h("span", { class: "pill" }, h("span", { class: "spin" }), `sending ${files[0].name}`));
    try {
      open(await upload(files[0], folder.upload_limit));
    } catch (problem) {
      fill(words, h("span", { class: "note bad" }, problem.message));
    }
  }
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    send(event.dataTransfer.files);
  });
  return zone;
}

function projectList(projects, open, again) {
  return h(
    "ul",
    { class: "list" },
    projects.map((project) =>
      h(
        "li",
        {},
        h("div", { class: "what" }, h("a", { href: `#/p/${project.id}` }, h("b", {}, project.name)), h("small", {}, described(project))),
        project.failure && project.base === null ? badge("could not be read", "bad") : null,
        project.n_gold ? badge(`${count(project.n_gold, "truth")}`, "accent") : null,
        !isOwner() ? null : h("button", { class: "quiet small", "aria-label": `Rename ${project.name}`, onclick: () => rename(project, again) }, "Rename"),
        !isOwner() ? null : h("button", { class: "quiet danger small", "aria-label": `Delete ${project.name}`, onclick: () => remove(project, again) }, "Delete"),
      ),
    ),
  );
}

function described(project) {
  const shown = project.fits.find((fit) => fit.id === project.shown);
  if (!shown && project.failure) return project.failure;
  if (!shown) return project.file ? "choose the columns" : `${count(project.n_waiting, "posted vote")}, not fitted yet`;
  if (project.damaged) return "damaged: opening the result crashed the studio";
  const facts = shown.facts;
  return `${count(facts.n_votes, "vote")} on ${count(facts.n_tasks, "task")} · ${shown.method} · ${ago(project.created)}`;
}

async function rename(project, again) {
  const name = prompt("The name of the project", project.name)?.trim();
  if (!name || name === project.name) return;
  await patch(`/projects/${project.id}`, { name });
  again();
}

async function remove(project, again) {
  if (!confirm(`Delete the project ${project.name}, with its fits and ${count(project.n_gold, "truth")}? This cannot be undone.`)) return;
  await del(`/projects/${project.id}`);
  toast("Deleted.");
  again();
}

function fileList(folder, open) {
  return h(
    "ul",
    { class: "list" },
    folder.files.map((file) =>
      h(
        "li",
        {},
        h("div", { class: "what" }, h("b", {}, file.name), h("small", {}, `${size(file.size)} · ${ago(1000 * file.changed)}`)),
        h("button", { class: "small", onclick: async () => open(await post("/projects", { file: file.name })) }, "Open"),
      ),
    ),
  );
}
