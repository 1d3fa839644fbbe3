// One task at a time on the whole screen: to teach the method, or to check a random sample. One key for each class.

import { get, me, post, query, setName } from "./api.js";
import { Badge, Button, Check, Empty, Label, Loading, attempt, count, html, number, percent, useEffect, useKeys, useRef, useState, words } from "./ui.js";
import { Markdown } from "./markdown.js";
import { Comments, Content, MARKS, Votes } from "./task.js";

// without c (comment), m (more votes), s (skip) and u (undo)
const KEYS = "123456789abdefghijklnopqrtvwxyz";

export function Judge({ project, sample }) {
  const [queue, setQueue] = useState(null);
  const [problem, setProblem] = useState(null);
  const [last, setLast] = useState(null);
  const [busy, setBusy] = useState(false);
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState([]);
  const heading = useRef(null);
  const searchBox = useRef(null);
  const base = `/projects/${project.id}`;
  const load = async () => {
    try {
      const found = await get(`${base}/next${query({ sample })}`);
      setQueue(found);
      setProblem(null);
      setSearch("");
      setChosen([]);
    } catch (error) {
      setProblem(error);
    }
  };
  useEffect(() => {
    load();
  }, [sample, project.shown]);
  const view = queue?.tasks[0];
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [view?.task]);
  const images = useRef(null);
  // the next image is loaded while this task is looked at
  useEffect(() => {
    images.current = (queue?.tasks[1]?.content ?? []).filter((item) => item.kind === "image" && !item.is_remote).map((item) => Object.assign(new Image(), { src: item.href }));
  }, [queue]);
  const say = async (body) => {
    if (busy || !view) return;
    setBusy(true);
    const done = await attempt(() => post(`${base}/judgements`, { tasks: [view.name], sample, ...(sample || body.kind ? {} : { before: view.truth }), ...body }));
    if (done) {
      setLast({ view, body });
      await load();
    }
    setBusy(false);
  };
  const undo = async () => {
    if (busy) return;
    setBusy(true);
    await attempt(() => post(`${base}/undo`, { sample }));
    setLast(null);
    await load();
    setBusy(false);
  };
  const judge = (label) => say({ label });
  const names = queue?.classes ?? [];
  const matches = names.map((name, k) => [name, k]).filter(([name]) => String(name).toLowerCase().includes(search.toLowerCase()));
  const isLong = names.length > KEYS.length;
  const toggle = (name) => setChosen((before) => (before.includes(name) ? before.filter((one) => one !== name) : [...before, name]));
  const exit = () => (location.hash = sample ? `#/p/${project.id}/measure` : `#/p/${project.id}/labels`);
  useKeys((key) => {
    if (document.querySelector("dialog[open]")) return false;
    const place = isLong ? -1 : KEYS.indexOf(key);
    if (view && place >= 0 && place < names.length) return queue.is_sets ? toggle(names[place]) : judge(names[place]), true;
    const does = { u: undo, s: () => say({ kind: "skip" }), m: () => !sample && say({ kind: "send_back" }), Enter: () => queue?.is_sets && judge(chosen), "/": () => searchBox.current?.focus() }[key];
    if (key === "Enter" && !queue?.is_sets) return false;
    if (!does || (!view && key !== "u")) return false;
    does();
    return true;
  });
  if (problem && !queue) return html`<${Bar} project=${project} exit=${exit} /><main class="page"><${Empty} title=${problem.title}>${problem.detail}<//></main>`;
  if (!queue) return html`<${Bar} project=${project} exit=${exit} /><main class="page"><${Loading} /></main>`;
  const done = sample ? queue.done : queue.judged;
  const total = sample ? queue.total : queue.judged + queue.left;
  return html`<${Bar} project=${project} sample=${sample} done=${done} total=${total} left=${queue.left} exit=${exit} />
    <main class="judge" id="judging" data-task=${view?.task ?? ""}>
      ${!view ? html`<${Over} project=${project} sample=${sample} queue=${queue} exit=${exit} undo=${undo} />` : html`
      <section class="subject"><h1 class="id" tabindex="-1" ref=${heading}>${view.task}</h1>
        ${view.content.length ? html`<${Content} key=${view.task} items=${view.content} remote=${project.remote} big />` : html`<p class="title" dir="auto">${view.task}</p>`}
        ${view.marks.length ? html`<div class="row">${view.marks.map((mark) => html`<${Badge} key=${mark} kind="warn">${MARKS[mark]}<//>`)}</div>` : null}
        ${view.votes.length ? html`<${Votes} view=${view} classes=${names.map(String)} />` : null}</section>
      <section class="answers" aria-label="Which class is right?">
        ${isLong ? html`<input type="search" ref=${searchBox} placeholder="Search ${number(names.length)} classes" aria-label="Search the classes" value=${search} onInput=${(event) => setSearch(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && matches.length === 1 && (queue.is_sets ? toggle(matches[0][0]) : judge(matches[0][0]))} />${search && matches.length !== 1 ? html`<small>${count(matches.length, "class", "classes")}: go on typing, or click one.</small>` : search ? html`<small>Enter takes it.</small>` : null}` : null}
        <div class="choices ${isLong ? "long" : ""}">${matches.map(([name, k]) => queue.is_sets ? html`<div class="choice box" key=${k}><${Check} checked=${chosen.includes(name)} onChange=${() => toggle(name)}>${String(name)}<//>${isLong ? null : html`<kbd>${KEYS[k]}</kbd>`}</div>` : html`<button key=${k} class="choice" disabled=${busy} onClick=${() => judge(name)}><span dir="auto"><${Label} place=${k}>${String(name)}<//></span>${isLong ? null : html`<kbd>${KEYS[k]}</kbd>`}</button>`)}</div>
        ${queue.is_sets ? html`<button class="primary" id="set-done" disabled=${busy} onClick=${() => judge(chosen)}>${chosen.length ? `These ${chosen.length} apply` : "None applies"} <kbd>Enter</kbd></button>` : null}
        <div class="others"><button class="quiet" id="undo" disabled=${!queue.actions.length || busy} onClick=${undo}>Undo <kbd>u</kbd></button><button class="quiet" id="skip" disabled=${busy} onClick=${() => say({ kind: "skip" })}>Later <kbd>s</kbd></button>${sample ? null : html`<button class="quiet" id="send-back" disabled=${busy} onClick=${() => say({ kind: "send_back" })}>More votes <kbd>m</kbd></button>`}</div>
        ${sample ? null : html`<${Comments} key=${view.task} project=${project} view=${view} changed=${load} />`}
      </section>`}
      <aside class="beside">${queue.guidelines ? html`<details open class="section"><summary>Guidelines</summary><${Markdown} text=${queue.guidelines} /></details>` : null}
        ${last && !sample ? html`<${Last} key=${last.view.task} project=${project} last=${last} classes=${names.map(String)} />` : null}
        <${Done} queue=${queue} sample=${sample} project=${project} /></aside>
    </main>`;
}

function Bar({ project, sample, done, total, left, exit }) {
  const [name, rename] = useState(me.name);
  return html`<header class="judge-bar"><button class="quiet" id="exit" onClick=${exit} hidden=${!me.isOwner && project.blind}>← Back</button><b class="name">${project.name}</b>
    ${total === undefined ? null : html`<span class="progress"><progress value=${total ? done / total : 1} aria-label="Progress" /><span id="judge-words">${sample ? `${number(done)} of ${number(total)} checked` : `${number(done)} judged, ${number(left)} left`}</span></span>`}
    ${me.isOwner ? html`<input type="text" class="who" placeholder="Your name" aria-label="Your name" value=${name} maxlength="100" onInput=${(event) => rename(event.target.value)} onChange=${(event) => setName(event.target.value)} />` : html`<small>${me.name}</small>`}
    ${!sample && project.samples.length ? html`<a class="button small" href="#/p/${project.id}/judge?sample=${project.samples[0]}">Random sample</a>` : null}${sample ? html`<span class="pill">Random sample</span>` : null}</header>`;
}

function Over({ project, sample, queue, exit, undo }) {
  const sent = queue.sent_back ? `${count(queue.sent_back, "task")} wait for more votes.` : "";
  return html`<section class="subject"><${Empty} title=${sample ? "Everything is checked" : "Nothing is left to judge"}><p>${sample ? (queue.total ? "Thank you. The lead sees what your answers show." : "This sample has no tasks for you.") : sent}</p>
    <div class="row">${me.isOwner || !project.blind ? html`<button class="primary" onClick=${exit}>${sample ? "See what it shows" : "To the labels"}</button>` : null}${queue.actions.length ? html`<button onClick=${undo}>Undo the last</button>` : null}</div><//></section>`;
}

// What the others said about the task that was just judged.
function Last({ project, last, classes }) {
  const [view, setView] = useState(null);
  useEffect(() => {
    get(`/projects/${project.id}/tasks/${last.view.at}`).then(setView, () => {});
  }, [last.view.task]);
  if (!view || !view.label || last.body.kind) return null;
  const said = words(last.body.label);
  return html`<details class="section" id="last"><summary>You said ${said}${view.label === said ? ", as the label" : html`; the label was ${view.label} (${percent(view.confidence, 0)})`}</summary><${Votes} view=${view} classes=${classes} /></details>`;
}

function Done({ queue, sample, project }) {
  if (!queue.actions.length) return null;
  const did = (action) => ({ skip: "later", send_back: "more votes" })[action.kind] ?? (action.value === null ? "taken back" : words(action.value));
  return html`<section id="history"><h3>Your last ${sample ? "checks" : "judgements"}</h3><ul class="list small">${queue.actions.slice(0, 6).map((action) => html`<li key=${action.id}><span class="what" dir="auto">${String(action.task)}</span><span class="muted">${did(action)}</span></li>`)}</ul>
    ${!sample && me.isOwner && queue.to_learn ? html`<${Button} kind="small" id="refit" disabled=${project.job && ["queued", "running"].includes(project.job.state)} onClick=${() => post(`/projects/${project.id}/fits`, {})}>Compute labels with ${count(queue.to_learn, "new truth")}<//>` : null}</section>`;
}

