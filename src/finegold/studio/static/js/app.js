// The studio: the address after # selects the page, so that links, back and reload work; the project is told by server-sent events.

import { Problem, get, me, patch } from "./api.js";
import { Button, Empty, Loading, Note, ProjectContext, Toasts, attempt, html, number, render, toast, useEffect, useRef, useState } from "./ui.js";
import { Home } from "./home.js";
import { Read } from "./read.js";
import { Labels } from "./labels.js";
import { People } from "./people.js";
import { Measure } from "./measure.js";
import { Export } from "./export.js";
import { Judge } from "./judge.js";
import { Help } from "./help.js";

const PAGES = { read: ["Read", Read], labels: ["Labels", Labels], people: ["People", People], measure: ["Measure", Measure], export: ["Export", Export] };
const OWNERS = ["read", "people"];

export const isActive = (job) => Boolean(job) && ["queued", "running"].includes(job.state);

function address() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, project, page = "", ...rest] = path.split("/");
  return { kind, project: kind === "p" ? Number(project) : null, page, rest, params: new URLSearchParams(search ?? "") };
}

function useAddress() {
  const [at, setAt] = useState(address());
  useEffect(() => {
    const change = () => setAt(address());
    window.addEventListener("hashchange", change);
    return () => window.removeEventListener("hashchange", change);
  }, []);
  return at;
}

// The project, and what became of it: it may be deleted, or the link may be revoked.
function useWatch(id) {
  const [state, setState] = useState({ project: null, problem: null, isLost: false });
  const load = () => get(`/projects/${id}`).then((project) => setState({ project, problem: null, isLost: false }), (problem) => setState((before) => ({ ...before, problem })));
  useEffect(() => {
    setState({ project: null, problem: null, isLost: false });
    if (!id) return undefined;
    load();
    const source = new EventSource(`/api/projects/${id}/events`);
    source.onmessage = (event) => setState({ project: JSON.parse(event.data), problem: null, isLost: false });
    source.addEventListener("gone", (event) => {
      source.close();
      const problem = event.data === "401" ? new Problem(401, "This link is no longer valid", "The lead took it back, or replaced it by a new one. What you judged is kept. Ask the lead for a new link.") : new Problem(404, "This project was deleted");
      setState({ project: null, problem, isLost: false });
    });
    source.onerror = () => setState((before) => ({ ...before, isLost: true }));
    return () => source.close();
  }, [id]);
  return { ...state, again: load };
}

function App() {
  const at = useAddress();
  const [isKnown, setKnown] = useState(false);
  const [problem, setProblem] = useState(null);
  const watch = useWatch(isKnown ? at.project : null);
  useEffect(() => {
    get("/me").then((found) => {
      Object.assign(me, { isOwner: found.is_owner, project: found.project, name: found.is_owner ? me.name : found.reviewer });
      setKnown(true);
    }, setProblem);
  }, []);
  const { project } = watch;
  const isBlind = Boolean(project) && !me.isOwner && project.blind;
  // a project without a page begins where its work stands, and stays there when that is done
  useEffect(() => {
    if (project && at.project && !at.page) location.replace(`#/p/${at.project}/${isBlind ? "judge" : project.shown === null ? "read" : "labels"}`);
  }, [project === null, at.page, at.project]);
  useEffect(() => {
    document.title = project ? `${project.name} · Finegold Studio` : "Finegold Studio";
  }, [project?.name]);
  if (problem) return html`<main class="page"><${Empty} title=${problem.title}>${problem.detail}<//></main>`;
  if (!isKnown) return html`<main class="page"><${Loading} /></main>`;
  if (at.kind === "help") return html`<${Frame}><${Help} /><//>`;
  if (!at.project) return html`<${Frame}><${Home} /><//>`;
  if (watch.problem && !project) return html`<${Frame}><${Empty} title=${watch.problem.title}><p>${watch.problem.detail}</p>${me.isOwner ? html`<a class="button" href="#/">All projects</a>` : null}<//><//>`;
  if (!project) return html`<${Frame}><${Loading} /><//>`;
  const page = at.page || (isBlind ? "judge" : project.shown === null ? "read" : "labels");
  const context = { project, again: watch.again, at };
  if (page === "judge") return html`<${ProjectContext.Provider} value=${context}>${watch.isLost ? html`<${Lost} />` : null}<${Judge} key=${at.params.get("sample")} project=${project} sample=${Number(at.params.get("sample")) || null} /><${Toasts} /><//>`;
  const [, Page] = PAGES[page] ?? PAGES.labels;
  return html`<${ProjectContext.Provider} value=${context}>
    <${Frame} project=${project} page=${page} isBlind=${isBlind}>
      ${watch.isLost ? html`<${Lost} />` : null}
      ${project.crashed ? html`<${Crashed} project=${project} />` : html`<${Page} key=${`${project.id}/${at.rest}?${at.params}`} project=${project} at=${at} />`}
    <//><//>`;
}

const Lost = () => html`<${Note} kind="bad" role="alert">The studio does not respond. What you confirmed is saved; it goes on as soon as the studio runs again.<//>`;

function Crashed({ project }) {
  return html`<${Empty} title="The studio ended while it loaded this project"><p>A file may be damaged, or need more memory than there is. Nothing that was judged is lost.</p><${Button} id="again" onClick=${() => patch(`/projects/${project.id}`, { crashed: false })}>Load it again<//><//>`;
}

function Frame({ project, page, isBlind, children }) {
  const main = useRef(null);
  useEffect(() => {
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/" aria-label="All projects"><img src="/static/mark.svg" alt="" /></a>
      ${project ? html`<${Title} project=${project} />` : html`<b class="name">Finegold Studio</b>`}
      ${project ? html`<nav class="tabs" aria-label="Pages">${Object.entries(PAGES).filter(([name]) => (me.isOwner || (!OWNERS.includes(name) && !isBlind))).map(([name, [text]]) => html`<a key=${name} href="#/p/${project.id}/${name}" class=${project.shown === null && name !== "read" && name !== "people" ? "off" : ""} aria-current=${name === page ? "page" : null}>${text}</a>`)}</nav>` : null}
      <div class="end">${project ? html`<${Job} project=${project} />` : null}
        ${project && project.shown !== null ? html`<a class="button primary" id="to-judge" href="#/p/${project.id}/judge">Judge</a>` : null}
        ${me.isOwner ? html`<a class="quiet help" href="#/help" aria-label="Help" title="Help">?</a>` : html`<small>${me.name}</small>`}</div>
    </header>
    <main id="main" class="page" tabindex="-1" ref=${main}>${children}</main><${Toasts} />`;
}

function Title({ project }) {
  const [isOpen, open] = useState(false);
  const save = async (event) => {
    open(false);
    const name = event.target.value.trim();
    if (name && name !== project.name) await attempt(() => patch(`/projects/${project.id}`, { name }));
  };
  const press = (event) => (event.key === "Enter" ? event.target.blur() : event.key === "Escape" && open(false));
  if (isOpen) return html`<input class="name" type="text" value=${project.name} maxlength="200" aria-label="The name of the project" ref=${(box) => box?.focus()} onBlur=${save} onKeyDown=${press} />`;
  if (!me.isOwner) return html`<b class="name">${project.name}</b>`;
  return html`<button class="name" id="rename" title="Rename" onClick=${() => open(true)}>${project.name}</button>`;
}

function Job({ project }) {
  const { job } = project;
  if (!isActive(job)) return null;
  const text = job.message || (job.step ? `labelling, step ${job.step}` : job.rows ? `reading ${number(job.rows)} rows` : "waiting");
  return html`<span class="pill" id="job"><span class="spin" />${text}</span>`;
}

window.addEventListener("unhandledrejection", (event) => {
  // the user is told, and it is not a bug of the page
  if (event.reason instanceof Problem) event.preventDefault();
  toast(event.reason?.message ?? "Something went wrong", "bad");
});
// A file that is dropped outside a drop zone must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());

render(html`<${App} />`, document.getElementById("app"));
