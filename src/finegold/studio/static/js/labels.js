// How good the labels are, what to do next, and all tasks.

import { me, post, query } from "./api.js";
import { Badge, Button, Choices, Empty, Failed, Interval, Label, Loading, Meter, Note, Pager, Search, Section, Select, SortHead, attempt, count, html, number, useEffect, useKeys, useLoad, useRef, useState } from "./ui.js";
import { MARKS, TaskPanel } from "./task.js";

const PAGE = 50;
const STATES = { open: "not decided", judged: "judged", checked: "checked at random", accepted: "accepted", "sent back": "sent back", commented: "with a comment" };
const SURE = [["", "any confidence"], ["0.6", "60 % or less"], ["0.9", "90 % or less"], ["0.99", "99 % or less"]];
const SECTIONS = { quality: "Confidence", classes: "Classes and confusions", options: "Labels of the sets", agreement: "Agreement of the annotators", judges: "LLM judges", reading: "What was read", record: "How it was computed" };

export function Labels({ project, at }) {
  const { data, problem } = useLoad(project.shown === null ? null : `/projects/${project.id}/summary`, project.version, project.shown);
  if (project.shown === null) return html`<${Empty} title="There are no labels yet"><p>Read the votes first.</p><a class="button primary" href="#/p/${project.id}/read">Read the votes</a><//>`;
  if (problem && !data) return html`<${Failed} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  return html`<div class="stack wide-gap">
    <${Quality} project=${project} summary=${data} />
    <${Stale} project=${project} />
    <${Tasks} project=${project} summary=${data} at=${at} />
    <section class="more"><h2>Details</h2>${Object.entries(SECTIONS).map(([name, title]) => hasSection(name, project, data) ? html`<${Section} key=${name} project=${project} name=${name} title=${title} fit=${project.shown} />` : null)}</section>
  </div>`;
}

const hasSection = (name, project, data) => (name === "judges" ? project.is_judge_log : data.is_sets ? ["options", "record"].includes(name) : name !== "options");

// The measured number, or what the votes say where nothing is measured.
export function Quality({ project, summary, steps = true }) {
  const { measured } = summary;
  const parts = [["unanimous", "all agree", "var(--band-1)"], ["", "most agree", "var(--band-2)"], ["contested", "close", "var(--band-3)"], ["tied", "tied", "var(--band-4)"]];
  const sure = Math.max(0, summary.n_tasks - summary.marks.unanimous - summary.marks.contested - summary.marks.tied);
  const sizes = { ...summary.marks, "": sure };
  const first = measured
    ? html`<p class="huge" id="measured">${(100 * measured.estimate).toFixed(1)}<span class="unit"> %</span></p><h1>of the labels are right</h1>
        <${Interval} low=${measured.low} high=${measured.high} at=${measured.estimate} /><p class="muted" id="interval">${summary.sentences[0]}</p>
        <details><summary>How this was measured</summary>${summary.sentences.slice(1).map((text) => html`<p key=${text}>${text}</p>`)}<p><a href="#/p/${project.id}/measure">All samples</a></p></details>`
    : html`<h1 id="measured">${summary.headline}</h1>${summary.is_sets ? null : html`<div class="bands" role="img" aria-label=${summary.sentences[0]}>${parts.map(([name, words, fill]) => sizes[name] ? html`<i key=${words} style=${{ flex: sizes[name], background: fill }} title="${words}: ${number(sizes[name])}" />` : null)}</div><p class="legend">${parts.filter(([name]) => sizes[name]).map(([name, words, fill]) => html`<span key=${words}><i style=${{ background: fill }} />${number(sizes[name])} ${words}</span>`)}</p>`}<p class="muted">${summary.sentences.at(-1)}</p>`;
  return html`<section class="hero"><div class="first">${first}</div>
    ${steps ? html`<div class="next"><h2>Next</h2><ol id="next-steps">${summary.steps.slice(0, 4).map((step, n) => html`<li key=${step.words}><a href="#/p/${project.id}/${step.page}${step.page === "people" ? `?search=${encodeURIComponent(step.words.replace("Look at ", ""))}` : ""}"><b class=${n ? "" : "first-step"}>${step.words}</b><small>${step.about}</small></a></li>`)}</ol></div>` : null}
    <dl class="figures">${[["tasks", summary.n_tasks], ["votes", summary.n_votes], ["annotators", summary.n_annotators], ["judged", summary.n_truths], ["checked at random", summary.n_checked], ["accepted", summary.n_accepted], ["not decided", summary.n_open]].map(([words, n]) => html`<div key=${words}><dd>${number(n)}</dd><dt>${words}</dt></div>`)}</dl>
  </section>`;
}

// Truths or files that the labels do not know yet.
export function Stale({ project }) {
  if (!me.isOwner || (project.job && ["queued", "running"].includes(project.job.state))) return null;
  const why = project.is_stale ? "New votes arrived." : project.n_new_truths ? `${count(project.n_new_truths, "truth")} came after these labels.` : null;
  if (!why) return null;
  return html`<${Note} id="stale"><span>${why}</span><${Button} kind="small primary" id="refit" onClick=${() => post(`/projects/${project.id}/fits`, {})}>Compute the labels again<//><//>`;
}

function Tasks({ project, summary, at }) {
  const given = (name) => at.params.getAll(name);
  const [asked, setAsked] = useState({ search: at.params.get("search") ?? "", sort: "confidence", descending: false, label: given("label"), mark: given("mark"), state: given("state"), confidence_to: "", first: 0 });
  const [open, setOpen] = useState(at.rest[0] ? Number(at.rest[0]) : null);
  const [chosen, choose] = useState(new Map());
  const [turn, setTurn] = useState(0);
  const { data, problem } = useLoad(`/projects/${project.id}/tasks${query({ ...asked, most: PAGE })}`, project.version, project.shown, turn);
  const change = (values) => setAsked({ ...asked, first: 0, ...values });
  const changed = () => setTurn((n) => n + 1);
  const { classes } = summary;
  useEffect(() => {
    history.replaceState(null, "", `#/p/${project.id}/labels${open === null ? "" : `/${open}`}${query({ search: asked.search, label: asked.label, mark: asked.mark, state: asked.state })}`);
  }, [open, asked]);
  useKeys((key) => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
    if (key === "Escape" && open !== null) return setOpen(null), true;
    if (!by || !data?.rows.length) return false;
    const place = data.rows.findIndex((row) => row.at === open);
    setOpen(data.rows[Math.max(0, Math.min(data.rows.length - 1, place < 0 ? 0 : place + by))].at);
    return true;
  });
  const filters = asked.label.length + asked.mark.length + asked.state.length + (asked.confidence_to ? 1 : 0) + (asked.search ? 1 : 0);
  return html`<section class="tasks ${open === null ? "" : "with-panel"}" id="tasks">
    <div class="main">
      <div class="toolbar">
        <${Search} value=${asked.search} onChange=${(search) => change({ search })} words="Search names and texts" />
        <${Choices} title="Class" options=${classes.map((name, k) => [String(k), name])} chosen=${asked.label} onChange=${(label) => change({ label })} />
        <${Choices} title="Votes" options=${Object.entries(MARKS)} chosen=${asked.mark} onChange=${(mark) => change({ mark })} />
        <${Choices} title="State" options=${Object.entries(STATES)} chosen=${asked.state} onChange=${(state) => change({ state })} />
        <${Select} aria-label="Confidence" value=${asked.confidence_to} options=${SURE} onChange=${(confidence_to) => change({ confidence_to })} />
        ${filters ? html`<button class="quiet small" id="clear" onClick=${() => change({ search: "", label: [], mark: [], state: [], confidence_to: "" })}>Clear</button>` : null}
      </div>
      ${chosen.size ? html`<${Bulk} project=${project} chosen=${chosen} choose=${choose} classes=${classes} isSets=${summary.is_sets} changed=${changed} />` : null}
      ${problem && !data ? html`<${Failed} problem=${problem} />` : !data ? html`<${Loading} />` : !data.rows.length ? html`<${Empty} title="No task matches">Take a filter away, or search for something else.<//>` : html`
        <div class="scroll"><table class="rows"><thead><tr><th class="pick"><input type="checkbox" aria-label="Choose all of this page" checked=${data.rows.every((row) => chosen.has(row.at))} onChange=${(event) => choose(new Map(event.target.checked ? [...chosen, ...data.rows.map((row) => [row.at, row])] : [...chosen].filter(([one]) => !data.rows.some((row) => row.at === one))))} /></th>
          <${SortHead} name="task" asked=${asked} change=${change}>Task<//><${SortHead} name="label" asked=${asked} change=${change}>Label<//><${SortHead} name="confidence" asked=${asked} change=${change}>Confidence<//><${SortHead} name="n_votes" kind="number roomy" asked=${asked} change=${change}>Votes<//><th class="roomy">State</th></tr></thead>
        <tbody>${data.rows.map((row) => html`<${Row} key=${row.at} row=${row} classes=${classes} isOpen=${row.at === open} open=${() => setOpen(row.at === open ? null : row.at)} isChosen=${chosen.has(row.at)} pick=${(on) => { const next = new Map(chosen); on ? next.set(row.at, row) : next.delete(row.at); choose(next); }} />`)}</tbody></table></div>
        <${Pager} total=${data.total} first=${asked.first} most=${PAGE} go=${(first) => setAsked({ ...asked, first })} />`}
    </div>
    ${open === null ? null : html`<${TaskPanel} project=${project} at=${open} classes=${classes} isSets=${summary.is_sets} onClose=${() => setOpen(null)} changed=${changed} />`}
  </section>`;
}

function Row({ row, classes, isOpen, open, isChosen, pick }) {
  const title = row.text || row.task;
  const place = useRef(null);
  useEffect(() => {
    if (isOpen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const states = [row.truth !== null && ["good", row.truth, "judged"], row.checked !== null && row.truth === null && ["good", row.checked, "checked at random"], row.accepted && ["", "accepted", ""], row.sent_back && ["warn", "sent back", ""]].filter(Boolean);
  return html`<tr ref=${place} aria-selected=${isOpen} data-task=${row.task} onClick=${open}>
    <td class="pick" onClick=${(event) => event.stopPropagation()}><input type="checkbox" aria-label="Choose ${row.task}" checked=${isChosen} onChange=${(event) => pick(event.target.checked)} /></td>
    <td class="title"><button class="plain" dir="auto" title=${title} onClick=${(event) => (event.stopPropagation(), open())}>${title}</button><span class="under">${row.text ? html`<small>${row.task}</small>` : null}${row.comment ? html`<small class="said" dir="auto">“${row.comment}”</small>` : null}</span></td>
    <td><${Label} place=${classes.indexOf(row.label)}>${row.label}<//></td><td><${Meter} value=${row.confidence} /></td><td class="number roomy">${number(row.n_votes)}</td>
    <td class="roomy"><span class="row">${row.marks.filter((mark) => mark !== "unanimous").map((mark) => html`<${Badge} key=${mark}>${MARKS[mark]}<//>`)}${states.map(([kind, text, title]) => html`<${Badge} key=${text} kind=${kind} title=${title}>${text}<//>`)}</span></td></tr>`;
}

// Several tasks at once.
function Bulk({ project, chosen, choose, classes, isSets, changed }) {
  const tasks = [...chosen.values()].map((row) => row.name);
  const say = async (body) => {
    const done = await attempt(() => post(`/projects/${project.id}/judgements`, { tasks, ...body }));
    if (done) {
      choose(new Map());
      changed();
    }
  };
  return html`<div class="bulk" id="bulk" role="group" aria-label="The chosen tasks"><b>${count(tasks.length, "task")} chosen</b>
    ${isSets ? null : html`<${Select} aria-label="The class of all" value="" options=${[["", "They are all …"], ...classes.map((name, k) => [String(k), name])]} onChange=${(k) => k !== "" && say({ label: classes[Number(k)] })} />`}
    <${Button} kind="small" onClick=${() => say({ kind: "send_back" })}>Ask for more votes<//><button class="small quiet" onClick=${() => choose(new Map())}>None</button></div>`;
}

