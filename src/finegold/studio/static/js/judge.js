// One task at a time on the whole screen: to teach the method, or to check a random sample. One key for each class.

import { get, me, post, query, setName } from "./api.js";
import {
  Badge, Button, Check, Empty, Label, Loading,
  attempt, count, html, isBusy, number, percent, useEffect, useKeys, useRef, useState, words,
} from "./ui.js";
import { Markdown } from "./markdown.js";
import { Comments, Content, MARKS, Votes } from "./task.js";

// without c (comment), m (more votes), s (skip) and u (undo)
const KEYS = "123456789abdefghijklnopqrtvwxyz";
const isImage = (item) => item.kind === "image" && !item.is_remote;

export function Judge({ project, sample }) {
  const [queue, setQueue] = useState(null);
  const [problem, setProblem] = useState(null);
  const [last, setLast] = useState(null);
  const [busy, setBusy] = useState(false);
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState([]);
  const heading = useRef(null);
  const searchBox = useRef(null);
  const images = useRef(null);
  const base = `/projects/${project.id}`;
  const load = async () => {
    try {
      setQueue(await get(`${base}/next${query({ sample })}`));
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
  // the next image is loaded while this task is looked at
  useEffect(() => {
    const next = queue?.tasks[1]?.content ?? [];
    images.current = next.filter(isImage).map((item) => Object.assign(new Image(), { src: item.href }));
  }, [queue]);
  // Nothing is said about a task before the answer to the last one is there.
  const wait = async (work) => {
    if (busy) return;
    setBusy(true);
    await attempt(work);
    setBusy(false);
  };
  const say = (body) =>
    view &&
    wait(async () => {
      const before = sample || body.kind ? {} : { before: view.truth };
      await post(`${base}/judgements`, { tasks: [view.name], sample, ...before, ...body });
      setLast({ view, body });
      await load();
    });
  const undo = () =>
    wait(async () => {
      await post(`${base}/undo`, { sample });
      setLast(null);
      await load();
    });
  const names = queue?.classes ?? [];
  const isLong = names.length > KEYS.length;
  const toggle = (name) =>
    setChosen((before) => (before.includes(name) ? before.filter((one) => one !== name) : [...before, name]));
  const take = (name) => (queue.is_sets ? toggle(name) : say({ label: name }));
  const exit = () => (location.hash = `#/p/${project.id}/${sample ? "measure" : "labels"}`);
  useKeys((key) => {
    if (document.querySelector("dialog[open]") || (!view && key !== "u")) return false;
    const place = isLong ? -1 : KEYS.indexOf(key);
    const does = {
      u: undo,
      s: () => say({ kind: "skip" }),
      m: () => !sample && say({ kind: "send_back" }),
      "/": () => searchBox.current?.focus(),
      ...(queue?.is_sets ? { Enter: () => say({ label: chosen }) } : {}),
      ...(place >= 0 && place < names.length ? { [key]: () => take(names[place]) } : {}),
    }[key];
    does?.();
    return Boolean(does);
  });
  if (!queue) {
    const missing = problem && html`<${Empty} title=${problem.title}>${problem.detail}<//>`;
    return html`
      <${Bar} project=${project} exit=${exit} />
      <main class="page">${missing ?? html`<${Loading} />`}</main>
    `;
  }
  const over = html`<${Over} project=${project} sample=${sample} queue=${queue} exit=${exit} undo=${undo} />`;
  const title = view && html`<p class="title" dir="auto">${view.task}</p>`;
  return html`
    <${Bar} project=${project} sample=${sample} queue=${queue} exit=${exit} />
    <main class="judge" id="judging" data-task=${view?.task ?? ""}>
      ${!view
        ? over
        : html`
            <section class="subject">
              <h1 class="id" tabindex="-1" ref=${heading}>${view.task}</h1>
              ${view.content.length
                ? html`<${Content} key=${view.task} items=${view.content} remote=${project.remote} big />`
                : title}
              ${view.marks.length > 0 && html`
                <div class="row">
                  ${view.marks.map((mark) => html`<${Badge} key=${mark} kind="warn">${MARKS[mark]}<//>`)}
                </div>
              `}
              ${view.votes.length > 0 && html`<${Votes} view=${view} classes=${names.map(String)} />`}
            </section>
            <section class="answers" aria-label="Which class is right?">
              <${Answers} names=${names} isSets=${queue.is_sets} isLong=${isLong} busy=${busy} chosen=${chosen}
                search=${search} setSearch=${setSearch} searchBox=${searchBox} take=${take} />
              ${queue.is_sets && html`
                <button class="primary" id="set-done" disabled=${busy} onClick=${() => say({ label: chosen })}>
                  ${chosen.length ? `These ${chosen.length} apply` : "None applies"} <kbd>Enter</kbd>
                </button>
              `}
              <div class="others">
                <button class="quiet" id="undo" disabled=${!queue.actions.length || busy} onClick=${undo}>
                  Undo <kbd>u</kbd>
                </button>
                <button class="quiet" id="skip" disabled=${busy} onClick=${() => say({ kind: "skip" })}>
                  Later <kbd>s</kbd>
                </button>
                ${!sample && html`
                  <button class="quiet" id="send-back" disabled=${busy} onClick=${() => say({ kind: "send_back" })}>
                    More votes <kbd>m</kbd>
                  </button>
                `}
              </div>
              ${!sample && html`<${Comments} key=${view.task} project=${project} view=${view} changed=${load} />`}
            </section>
          `}
      <aside class="beside">
        ${queue.guidelines && html`
          <details open class="section"><summary>Guidelines</summary><${Markdown} text=${queue.guidelines} /></details>
        `}
        ${last &&
        !sample && html`<${Last} key=${last.view.task} project=${project} last=${last} classes=${names.map(String)} />`}
        <${Done} queue=${queue} sample=${sample} project=${project} />
      </aside>
    </main>
  `;
}

// A button or a box for each class, with its key; of many classes, those that match what is typed.
function Answers({ names, isSets, isLong, busy, chosen, search, setSearch, searchBox, take }) {
  const isMatch = ([name]) => String(name).toLowerCase().includes(search.toLowerCase());
  const matches = names.map((name, k) => [name, k]).filter(isMatch);
  const found = `${count(matches.length, "class", "classes")}: go on typing, or click one.`;
  const press = (event) => event.key === "Enter" && matches.length === 1 && take(matches[0][0]);
  const key = (k) => !isLong && html`<kbd>${KEYS[k]}</kbd>`;
  const box = ([name, k]) => html`
    <div class="choice box" key=${k}>
      <${Check} checked=${chosen.includes(name)} onChange=${() => take(name)}>${String(name)}<//>
      ${key(k)}
    </div>
  `;
  const button = ([name, k]) => html`
    <button key=${k} class="choice" disabled=${busy} onClick=${() => take(name)}>
      <span dir="auto"><${Label} place=${k}>${String(name)}<//></span>
      ${key(k)}
    </button>
  `;
  return html`
    ${isLong && html`
      <input type="search" ref=${searchBox} placeholder="Search ${number(names.length)} classes"
        aria-label="Search the classes" value=${search} onInput=${(event) => setSearch(event.target.value)}
        onKeyDown=${press} />
      ${search && html`<small>${matches.length === 1 ? "Enter takes it." : found}</small>`}
    `}
    <div class="choices ${isLong ? "long" : ""}">${matches.map(isSets ? box : button)}</div>
  `;
}

function Bar({ project, sample, queue, exit }) {
  const [name, rename] = useState(me.name);
  const done = sample ? queue?.done : queue?.judged;
  const total = sample ? queue?.total : queue && queue.judged + queue.left;
  const checked = `${number(done)} of ${number(total)} checked`;
  const text = sample ? checked : `${number(done)} judged, ${number(queue?.left)} left`;
  return html`
    <header class="judge-bar">
      <button class="quiet" id="exit" onClick=${exit} hidden=${!me.isOwner && project.blind}>← Back</button>
      <b class="name">${project.name}</b>
      ${queue && html`
        <span class="progress">
          <progress value=${total ? done / total : 1} aria-label="Progress" />
          <span id="judge-words">${text}</span>
        </span>
      `}
      ${me.isOwner
        ? html`
            <input type="text" class="who" placeholder="Your name" aria-label="Your name" value=${name} maxlength="100"
              onInput=${(event) => rename(event.target.value)} onChange=${(event) => setName(event.target.value)} />
          `
        : html`<small>${me.name}</small>`}
      ${!sample &&
      project.samples.length > 0 &&
      html`<a class="button small" href="#/p/${project.id}/judge?sample=${project.samples[0]}">Random sample</a>`}
      ${sample && html`<span class="pill">Random sample</span>`}
    </header>
  `;
}

function Over({ project, sample, queue, exit, undo }) {
  const sent = queue.sent_back ? `${count(queue.sent_back, "task")} wait for more votes.` : "";
  const thanks = "Thank you. The lead sees what your answers show.";
  const checked = queue.total ? thanks : "This sample has no tasks for you.";
  const goes = sample ? "See what it shows" : "To the labels";
  return html`
    <section class="subject">
      <${Empty} title=${sample ? "Everything is checked" : "Nothing is left to judge"}>
        <p>${sample ? checked : sent}</p>
        <div class="row">
          ${(me.isOwner || !project.blind) && html`<button class="primary" onClick=${exit}>${goes}</button>`}
          ${queue.actions.length > 0 && html`<button onClick=${undo}>Undo the last</button>`}
        </div>
      <//>
    </section>
  `;
}

// What the others said about the task that was just judged.
function Last({ project, last, classes }) {
  const [view, setView] = useState(null);
  useEffect(() => {
    get(`/projects/${project.id}/tasks/${last.view.at}`).then(setView, () => {});
  }, [last.view.task]);
  if (!view || !view.label || last.body.kind) return null;
  const said = words(last.body.label);
  const other = `; the label was ${view.label} (${percent(view.confidence, 0)})`;
  return html`
    <details class="section" id="last">
      <summary>You said ${said}${view.label === said ? ", as the label" : other}</summary>
      <${Votes} view=${view} classes=${classes} />
    </details>
  `;
}

function Done({ queue, sample, project }) {
  if (!queue.actions.length) return null;
  const said = (action) => (action.value === null ? "taken back" : words(action.value));
  const did = (action) => ({ skip: "later", send_back: "more votes" })[action.kind] ?? said(action);
  const refit = () => post(`/projects/${project.id}/fits`);
  return html`
    <section id="history">
      <h3>Your last ${sample ? "checks" : "judgements"}</h3>
      <ul class="list small">
        ${queue.actions.slice(0, 6).map((action) => html`
          <li key=${action.id}>
            <span class="what" dir="auto">${String(action.task)}</span><span class="muted">${did(action)}</span>
          </li>
        `)}
      </ul>
      ${!sample &&
      me.isOwner &&
      queue.to_learn > 0 && html`
        <${Button} kind="small" id="refit" disabled=${isBusy(project)} onClick=${refit}>
          Compute labels with ${count(queue.to_learn, "new truth")}
        <//>
      `}
    </section>
  `;
}
