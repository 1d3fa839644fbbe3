// The studio: the address after # selects the page, so that links, back and reload work. Server-sent events tell of
// changes of the project.

import { Problem, get, me, patch } from "./api.js";
import {
  Button, Empty, Loading, Note, Toasts,
  attempt, html, isBusy, number, render, toast, useEffect, useRef, useState,
} from "./ui.js";
import { Home } from "./home.js";
import { Read } from "./read.js";
import { Labels } from "./labels.js";
import { People } from "./people.js";
import { Measure } from "./measure.js";
import { Export } from "./export.js";
import { Judge } from "./judge.js";
import { Help } from "./help.js";

const PAGES = {
  read: ["Read", Read],
  labels: ["Labels", Labels],
  people: ["People", People],
  measure: ["Measure", Measure],
  export: ["Export", Export],
};
const OWNERS = ["read", "people"];
const REVOKED =
  "The lead took it back, or replaced it by a new one. What you judged is kept. Ask the lead for a new link.";

function address() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, project, page = "", ...rest] = path.split("/");
  const params = new URLSearchParams(search ?? "");
  return { kind, project: kind === "p" ? Number(project) : null, page, rest, params };
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
  const see = (project) => setState({ project, problem: null, isLost: false });
  const load = () => get(`/projects/${id}`).then(see, (problem) => setState((before) => ({ ...before, problem })));
  useEffect(() => {
    see(null);
    if (!id) return undefined;
    load();
    const source = new EventSource(`/api/projects/${id}/events`);
    source.onmessage = (event) => see(JSON.parse(event.data));
    source.addEventListener("gone", (event) => {
      source.close();
      const deleted = new Problem(404, "This project was deleted");
      const problem = event.data === "401" ? new Problem(401, "This link is no longer valid", REVOKED) : deleted;
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
      const name = found.is_owner ? me.name : found.reviewer;
      Object.assign(me, { isOwner: found.is_owner, project: found.project, name });
      setKnown(true);
    }, setProblem);
  }, []);
  const { project } = watch;
  const isBlind = Boolean(project) && !me.isOwner && project.blind;
  const first = isBlind ? "judge" : project?.shown === null ? "read" : "labels";
  // a project without a page begins where its work stands, and stays there when that is done
  useEffect(() => {
    if (project && at.project && !at.page) location.replace(`#/p/${at.project}/${first}`);
  }, [project === null, at.page, at.project]);
  useEffect(() => {
    document.title = project ? `${project.name} · Finegold Studio` : "Finegold Studio";
  }, [project?.name]);
  if (problem) return html`<main class="page"><${Empty} title=${problem.title}>${problem.detail}<//></main>`;
  if (!isKnown) return html`<main class="page"><${Loading} /></main>`;
  if (at.kind === "help") return html`<${Frame}><${Help} /><//>`;
  if (!at.project) return html`<${Frame}><${Home} /><//>`;
  if (!project && watch.problem) return html`<${Frame}><${Gone} problem=${watch.problem} /><//>`;
  if (!project) return html`<${Frame}><${Loading} /><//>`;
  const page = at.page || first;
  const lost = watch.isLost && html`<${Lost} />`;
  if (page === "judge") {
    const sample = Number(at.params.get("sample")) || null;
    return html`
      ${lost}
      <${Judge} key=${sample} project=${project} sample=${sample} />
      <${Toasts} />
    `;
  }
  const [, Page] = PAGES[page] ?? PAGES.labels;
  const shown = html`<${Page} key=${`${project.id}/${at.rest}?${at.params}`} project=${project} at=${at} />`;
  return html`
    <${Frame} project=${project} page=${page} isBlind=${isBlind}>
      ${lost} ${project.crashed ? html`<${Crashed} project=${project} />` : shown}
    <//>
  `;
}

const Gone = ({ problem }) => html`
  <${Empty} title=${problem.title}>
    <p>${problem.detail}</p>
    ${me.isOwner && html`<a class="button" href="#/">All projects</a>`}
  <//>
`;

const Lost = () => html`
  <${Note} kind="bad" role="alert">
    The studio does not respond. What you confirmed is saved; it goes on as soon as the studio runs again.
  <//>
`;

const Crashed = ({ project }) => html`
  <${Empty} title="The studio ended while it loaded this project">
    <p>A file may be damaged, or need more memory than there is. Nothing that was judged is lost.</p>
    <${Button} id="again" onClick=${() => patch(`/projects/${project.id}`, { crashed: false })}>Load it again<//>
  <//>
`;

function Frame({ project, page, isBlind, children }) {
  const main = useRef(null);
  useEffect(() => {
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/" aria-label="All projects"><img src="/static/mark.svg" alt="" /></a>
      ${project ? html`<${Title} project=${project} />` : html`<b class="name">Finegold Studio</b>`}
      ${project && html`<${Tabs} project=${project} page=${page} isBlind=${isBlind} />`}
      <div class="end">
        ${project && isBusy(project) && html`<${Job} job=${project.job} />`}
        ${project &&
        project.shown !== null &&
        html`<a class="button primary" id="to-judge" href="#/p/${project.id}/judge">Judge</a>`}
        ${me.isOwner
          ? html`<a class="quiet help" href="#/help" aria-label="Help" title="Help">?</a>`
          : html`<small>${me.name}</small>`}
      </div>
    </header>
    <main id="main" class="page" tabindex="-1" ref=${main}>${children}</main>
    <${Toasts} />
  `;
}

function Tabs({ project, page, isBlind }) {
  const mine = Object.entries(PAGES).filter(([name]) => me.isOwner || (!OWNERS.includes(name) && !isBlind));
  const isOff = (name) => project.shown === null && !OWNERS.includes(name);
  return html`
    <nav class="tabs" aria-label="Pages">
      ${mine.map(([name, [text]]) => html`
        <a key=${name} href="#/p/${project.id}/${name}" class=${isOff(name) ? "off" : ""}
          aria-current=${name === page ? "page" : null}>
          ${text}
        </a>
      `)}
    </nav>
  `;
}

function Title({ project }) {
  const [isOpen, open] = useState(false);
  const save = async (event) => {
    open(false);
    const name = event.target.value.trim();
    if (name && name !== project.name) await attempt(() => patch(`/projects/${project.id}`, { name }));
  };
  const press = (event) => {
    if (event.key === "Enter") event.target.blur();
    if (event.key === "Escape") open(false);
  };
  if (!me.isOwner) return html`<b class="name">${project.name}</b>`;
  if (!isOpen) {
    return html`<button class="name" id="rename" title="Rename" onClick=${() => open(true)}>${project.name}</button>`;
  }
  return html`
    <input class="name" type="text" value=${project.name} maxlength="200" aria-label="The name of the project"
      ref=${(box) => box?.focus()} onBlur=${save} onKeyDown=${press} />
  `;
}

function Job({ job }) {
  const read = job.rows ? `reading ${number(job.rows)} rows` : "waiting";
  const text = job.message || (job.step ? `labelling, step ${job.step}` : read);
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
