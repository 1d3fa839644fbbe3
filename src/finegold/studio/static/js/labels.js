// How good the labels are, what to do next, and all tasks.

import { me, post, query } from "./api.js";
import {
  Badge, Button, Choices, Empty, Failed, Figures, Label, Loaded, Loading, Measured, Meter, Note, Pager, Search, Section,
  Select, SortHead, attempt, count, html, isBusy, number, useEffect, useKeys, useLoad, useRef, useState,
} from "./ui.js";
import { MARKS, TaskPanel } from "./task.js";

const PAGE = 50;
const STATES = {
  open: "not decided",
  judged: "judged",
  checked: "checked at random",
  accepted: "accepted",
  "sent back": "sent back",
  commented: "with a comment",
};
const SURE = [
  ["", "any confidence"],
  ["0.6", "60 % or less"],
  ["0.9", "90 % or less"],
  ["0.99", "99 % or less"],
];
const NO_FILTER = { search: "", label: [], mark: [], state: [], confidence_to: "", mistakes_of: "" };
const SECTIONS = {
  quality: "Confidence",
  scores: "Where tasks are on the scale",
  raters: "What annotators are like on the scale",
  classes: "Classes and confusions",
  options: "Labels of the sets",
  agreement: "Agreement of the annotators",
  judges: "LLM judges",
  reading: "What was read",
  record: "How it was computed",
};

export function Labels({ project, at }) {
  if (project.shown === null) {
    return html`
      <${Empty} title="There are no labels yet">
        <p>Read the votes first.</p>
        <a class="button primary" href="#/p/${project.id}/read">Read the votes</a>
      <//>
    `;
  }
  const has = (name, summary) => {
    if (name === "judges") return project.is_judge_log;
    if (name === "scores") return summary.is_ordered || summary.command_for_numbers;
    if (name === "raters") return summary.command_for_numbers;
    return summary.is_sets ? ["options", "record"].includes(name) : name !== "options";
  };
  return html`
    <${Loaded} path=${`/projects/${project.id}/summary`} values=${[project.version, project.shown]}>
      ${(summary) => html`
        <div class="stack wide-gap">
          <${Quality} project=${project} summary=${summary} />
          <${Stale} project=${project} />
          ${summary.command_for_numbers && html`
            <${Note}>
              <span>The labels are numbers, and were counted as classes. For a value with an interval, run:</span>
              <code>${summary.command_for_numbers}</code>
            <//>
          `}
          <${Tasks} project=${project} summary=${summary} at=${at} />
          <section class="more">
            <h2>Details</h2>
            ${Object.entries(SECTIONS)
              .filter(([name]) => has(name, summary))
              .map(([name, title]) => html`
                <${Section} key=${name} project=${project} name=${name} title=${title} fit=${project.shown} />
              `)}
          </section>
        </div>
      `}
    <//>
  `;
}

// The measured number, or what the votes say where nothing is measured.
function Quality({ project, summary }) {
  const { measured, sentences } = summary;
  const shown = html`
    <${Measured} measured=${measured}>
      <p class="muted" id="interval">${sentences[0]}</p>
      <details>
        <summary>How this was measured</summary>
        ${sentences.slice(1).map((text) => html`<p key=${text}>${text}</p>`)}
        <p><a href="#/p/${project.id}/measure">All samples</a></p>
      </details>
    <//>
  `;
  const unknown = html`
    <h1 id="measured">${summary.headline}</h1>
    ${!summary.is_sets && html`<${Bands} summary=${summary} />`}
    <p class="muted">${sentences.at(-1)}</p>
  `;
  const figures = [
    ["tasks", summary.n_tasks],
    ["votes", summary.n_votes],
    ["annotators", summary.n_annotators],
    ["judged", summary.n_truths],
    ["checked at random", summary.n_checked],
    ["accepted", summary.n_accepted],
    ["not decided", summary.n_open],
  ].filter(([, n]) => n);
  const address = (step) => {
    const who = step.page === "people" ? query({ search: step.words.replace("Look at ", "") }) : "";
    return `#/p/${project.id}/${step.page}${who}`;
  };
  return html`
    <section class="hero">
      <div class="first">${measured ? shown : unknown}</div>
      <div class="next">
        <h2>Next</h2>
        <ol id="next-steps">
          ${summary.steps.slice(0, 4).map((step, n) => html`
            <li key=${step.words}>
              <a href=${address(step)}>
                <b class=${n ? "" : "first-step"}>${step.words}</b><small>${step.about}</small>
              </a>
            </li>
          `)}
        </ol>
      </div>
      <${Figures} pairs=${figures} />
    </section>
  `;
}

function Bands({ summary }) {
  const { unanimous, contested, tied } = summary.marks;
  const rest = Math.max(0, summary.n_tasks - unanimous - contested - tied);
  const parts = [
    [unanimous, "all agree", "var(--band-1)"],
    [rest, "most agree", "var(--band-2)"],
    [contested, "close", "var(--band-3)"],
    [tied, "tied", "var(--band-4)"],
  ].filter(([n]) => n);
  return html`
    <div class="bands" role="img" aria-label=${summary.sentences[0]}>
      ${parts.map(([n, text, fill]) => html`
        <i key=${text} style=${{ flex: n, background: fill }} title="${text}: ${number(n)}" />
      `)}
    </div>
    <p class="legend">
      ${parts.map(
        ([n, text, fill]) => html`<span key=${text}><i style=${{ background: fill }} />${number(n)} ${text}</span>`,
      )}
    </p>
  `;
}

// Truths or files that the labels do not know yet.
function Stale({ project }) {
  const late = project.n_new_truths ? `${count(project.n_new_truths, "truth")} came after these labels.` : null;
  const why = project.is_stale ? "New votes arrived." : late;
  if (!me.isOwner || isBusy(project) || !why) return null;
  return html`
    <${Note} id="stale">
      <span>${why}</span>
      <${Button} kind="small primary" id="refit" onClick=${() => post(`/projects/${project.id}/fits`)}>
        Compute the labels again
      <//>
    <//>
  `;
}

function Tasks({ project, summary, at }) {
  const given = Object.fromEntries(["label", "mark", "state"].map((name) => [name, at.params.getAll(name)]));
  const one = (name) => at.params.get(name) ?? "";
  const first = { ...NO_FILTER, ...given, search: one("search"), mistakes_of: one("mistakes_of") };
  const [asked, setAsked] = useState({ ...first, sort: "confidence", descending: false, first: 0 });
  const [open, setOpen] = useState(at.rest[0] ? Number(at.rest[0]) : null);
  const [chosen, choose] = useState(new Map());
  const [turn, setTurn] = useState(0);
  const path = `/projects/${project.id}/tasks${query({ ...asked, most: PAGE })}`;
  const { data, problem } = useLoad(path, project.version, project.shown, turn);
  const change = (values) => setAsked({ ...asked, first: 0, ...values });
  const changed = () => setTurn((n) => n + 1);
  const { classes, is_sets: isSets } = summary;
  const rows = data?.rows ?? [];
  useEffect(() => {
    const { search, label, mark, state, mistakes_of } = asked;
    const filters = query({ search, label, mark, state, mistakes_of });
    history.replaceState(null, "", `#/p/${project.id}/labels${open === null ? "" : `/${open}`}${filters}`);
  }, [open, asked]);
  useKeys((key) => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
    if (key === "Escape" && open !== null) {
      setOpen(null);
      return true;
    }
    if (!by || !rows.length) return false;
    const place = rows.findIndex((row) => row.at === open);
    setOpen(rows[Math.max(0, Math.min(rows.length - 1, place < 0 ? 0 : place + by))].at);
    return true;
  });
  const pick = (some, on) => {
    const next = new Map(chosen);
    for (const row of some) on ? next.set(row.at, row) : next.delete(row.at);
    choose(next);
  };
  const isFiltered = Object.keys(NO_FILTER).some((name) => asked[name].length);
  const filter = (name, title, options) => html`
    <${Choices} title=${title} options=${options} chosen=${asked[name]} onChange=${(on) => change({ [name]: on })} />
  `;
  const head = (name, text, kind) => html`
    <${SortHead} name=${name} kind=${kind} asked=${asked} change=${change}>${text}<//>
  `;
  const table = html`
    <div class="scroll">
      <table class="rows">
        <thead>
          <tr>
            <th class="pick">
              <input type="checkbox" aria-label="Choose all of this page"
                checked=${rows.every((row) => chosen.has(row.at))}
                onChange=${(event) => pick(rows, event.target.checked)} />
            </th>
            ${head("task", "Task")} ${head("label", "Label")} ${head("confidence", "Confidence")}
            ${head("n_votes", "Votes", "number roomy")}
            <th class="roomy">State</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`
            <${Row} key=${row.at} row=${row} classes=${classes} isOpen=${row.at === open}
              open=${() => setOpen(row.at === open ? null : row.at)} isChosen=${chosen.has(row.at)}
              pick=${(on) => pick([row], on)} />
          `)}
        </tbody>
      </table>
    </div>
    <${Pager} total=${data?.total} first=${asked.first} most=${PAGE} go=${(n) => setAsked({ ...asked, first: n })} />
  `;
  const nothing = html`<${Empty} title="No task matches">Take a filter away, or search for something else.<//>`;
  const waiting = problem ? html`<${Failed} problem=${problem} />` : html`<${Loading} />`;
  return html`
    <section class="tasks ${open === null ? "" : "with-panel"}" id="tasks">
      <div class="main">
        <div class="toolbar">
          <${Search} value=${asked.search} onChange=${(search) => change({ search })} words="Search names and texts" />
          ${filter("label", "Class", classes.map((name, k) => [String(k), name]))}
          ${filter("mark", "Votes", Object.entries(MARKS))} ${filter("state", "State", Object.entries(STATES))}
          <${Select} aria-label="Confidence" value=${asked.confidence_to} options=${SURE}
            onChange=${(confidence_to) => change({ confidence_to })} />
          ${isFiltered && html`
            <button class="quiet small" id="clear" onClick=${() => change(NO_FILTER)}>Clear</button>
          `}
        </div>
        ${chosen.size > 0 && html`
          <${Bulk} project=${project} chosen=${chosen} choose=${choose} classes=${classes} isSets=${isSets}
            changed=${changed} />
        `}
        ${data === null ? waiting : rows.length ? table : nothing}
      </div>
      ${open !== null && html`
        <${TaskPanel} project=${project} at=${open} classes=${classes} isSets=${isSets} onClose=${() => setOpen(null)}
          changed=${changed} />
      `}
    </section>
  `;
}

function Row({ row, classes, isOpen, open, isChosen, pick }) {
  const title = row.text || row.task;
  const place = useRef(null);
  useEffect(() => {
    if (isOpen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const states = [
    row.truth !== null && ["good", row.truth, "judged"],
    row.checked !== null && row.truth === null && ["good", row.checked, "checked at random"],
    row.accepted && ["", "accepted", ""],
    row.sent_back && ["warn", "sent back", ""],
  ].filter(Boolean);
  const alone = (does) => (event) => {
    event.stopPropagation();
    does();
  };
  return html`
    <tr ref=${place} aria-selected=${isOpen} data-task=${row.task} onClick=${open}>
      <td class="pick" onClick=${alone(() => {})}>
        <input type="checkbox" aria-label="Choose ${row.task}" checked=${isChosen}
          onChange=${(event) => pick(event.target.checked)} />
      </td>
      <td class="title">
        <button class="plain" dir="auto" title=${title} onClick=${alone(open)}>${title}</button>
        <span class="under">
          ${row.text && html`<small>${row.task}</small>`}
          ${row.comment && html`<small class="said" dir="auto">“${row.comment}”</small>`}
        </span>
      </td>
      <td><${Label} place=${classes.indexOf(row.label)}>${row.label}<//></td>
      <td><${Meter} value=${row.confidence} /></td>
      <td class="number roomy">${number(row.n_votes)}</td>
      <td class="roomy">
        <span class="row">
          ${row.marks
            .filter((mark) => mark !== "unanimous" && !(mark === "contested" && row.marks.includes("tied")))
            .map((mark) => html`<${Badge} key=${mark}>${MARKS[mark]}<//>`)}
          ${states.map(([kind, text, about]) => html`<${Badge} key=${text} kind=${kind} title=${about}>${text}<//>`)}
        </span>
      </td>
    </tr>
  `;
}

// Several tasks at once.
function Bulk({ project, chosen, choose, classes, isSets, changed }) {
  const tasks = [...chosen.values()].map((row) => row.name);
  const say = async (body) => {
    if (await attempt(() => post(`/projects/${project.id}/judgements`, { tasks, ...body }))) {
      choose(new Map());
      changed();
    }
  };
  const options = [["", "They are all …"], ...classes.map((name, k) => [String(k), name])];
  const give = (k) => k !== "" && say({ label: classes[Number(k)] });
  return html`
    <div class="bulk" id="bulk" role="group" aria-label="The chosen tasks">
      <b>${count(tasks.length, "task")} chosen</b>
      ${!isSets && html`<${Select} aria-label="The class of all" value="" options=${options} onChange=${give} />`}
      <${Button} kind="small" onClick=${() => say({ kind: "send_back" })}>Ask for more votes<//>
      <button class="small quiet" onClick=${() => choose(new Map())}>None</button>
    </div>
  `;
}
