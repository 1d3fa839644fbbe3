// Annotators: how good they are and whose votes count. Reviewers: who checks, how far they are, and their links.

import { del, me, patch, post, query } from "./api.js";
import {
  Badge, Button, Details, Empty, Interval, Loaded, Meter, Note, Pager, Search, Section, SortHead,
  ago, count, html, number, percent, toast, useState,
} from "./ui.js";

const PAGE = 50;
const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

export function People({ project, at }) {
  const first = at.params.get("tab") === "reviewers" || project.shown === null ? "reviewers" : "annotators";
  const [tab, setTab] = useState(first);
  const button = (name, text) => html`
    <button aria-pressed=${tab === name} onClick=${() => setTab(name)}>${text}</button>
  `;
  return html`
    <div class="stack wide-gap">
      <div class="spread">
        <h1>People</h1>
        <div class="switch" role="group" aria-label="Which people">
          ${button("annotators", "Annotators")} ${button("reviewers", "Reviewers")}
        </div>
      </div>
      ${tab === "annotators"
        ? html`<${Annotators} project=${project} search=${at.params.get("search") ?? ""} />`
        : html`<${Reviewers} project=${project} />`}
    </div>
  `;
}

function Annotators({ project, search }) {
  const [asked, setAsked] = useState({ search, sort: "n_votes", descending: true, first: 0 });
  const [open, setOpen] = useState(null);
  if (project.shown === null) {
    return html`
      <${Empty} title="There are no votes yet"><a class="button" href="#/p/${project.id}/read">Read the votes</a><//>
    `;
  }
  const change = (values) => setAsked({ ...asked, first: 0, ...values });
  const { excluded, version } = project;
  const path = `/projects/${project.id}`;
  const leave = (names) => patch(path, { excluded: names, version });
  const include = (name) => leave(excluded.filter((one) => one !== name));
  const sets = project.fit?.facts?.is_sets;
  const list = ({ rows, total, advice }) => html`
    <${Table} rows=${rows} asked=${asked} change=${change} open=${open} setOpen=${setOpen}
      exclude=${(name) => leave([...excluded, name])} />
    ${rows.length > 0 &&
    html`<${Pager} total=${total} first=${asked.first} most=${PAGE} go=${(first) => setAsked({ ...asked, first })} />`}
    ${excluded.length > 0 && html`
      <${Note} id="excluded">
        <span>The votes of ${excluded.join(", ")} do not count.</span>
        ${excluded.map(
          (name) => html`<${Button} key=${name} kind="small" onClick=${() => include(name)}>Count ${name} again<//>`,
        )}
      <//>
    `}
    ${advice.length > 0 && html`<${Advice} advice=${advice} />`}
  `;
  return html`
    <section class="tasks ${open === null ? "" : "with-panel"}">
      <div class="main">
        <div class="toolbar">
          <${Search} value=${asked.search} onChange=${(text) => change({ search: text })} words="Search people" />
        </div>
        <${Loaded} path=${`${path}/annotators${query({ ...asked, most: PAGE })}`} values=${[project.shown]}>
          ${list}
        <//>
        <${Section} project=${project} name=${sets ? "set-annotators" : "annotators"}
          title="Charts, copies and confusions" fit=${project.shown} />
      </div>
      ${open !== null && html`<${AnnotatorPanel} project=${project} at=${open} onClose=${() => setOpen(null)} />`}
    </section>
  `;
}

function Table({ rows, asked, change, open, setOpen, exclude }) {
  if (!rows.length) return html`<${Empty} title="Nobody is called so" />`;
  const hasKnown = rows.some((row) => row.n_known);
  const known = ", and as random tasks show that people checked";
  const unknown = ". Checking random tasks under Measure shows it without the labels";
  const head = (name, text, kind) => html`
    <${SortHead} name=${name} kind=${kind} asked=${asked} change=${change}>${text}<//>
  `;
  return html`
    <p class="muted">How often each annotator is right, judged by the labels${hasKnown ? known : unknown}.</p>
    <div class="scroll">
      <table class="rows" id="annotators">
        <thead>
          <tr>
            ${head("annotator", "Annotator")} ${head("n_votes", "Votes", "number")}
            ${head("accuracy", "Expected right")}
            ${head("agreement", "Agrees with the labels", "roomy")}
            ${hasKnown && html`<th class="roomy">On random tasks</th>`}
            <td></td>
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => html`
            <${Annotator} key=${row.at} row=${row} hasKnown=${hasKnown} isOpen=${row.at === open}
              open=${() => setOpen(row.at === open ? null : row.at)} exclude=${() => exclude(row.annotator)} />
          `)}
        </tbody>
      </table>
    </div>
  `;
}

function Annotator({ row, hasKnown, isOpen, open, exclude }) {
  const click = (event) => {
    event.stopPropagation();
    open();
  };
  const known = row.n_known
    ? html`
        ${percent(row.right / row.n_known, 0)} <small>of ${row.n_known}</small>
        ${row.low !== null && html`<${Interval} low=${row.low} high=${row.high} />`}
      `
    : html`<small>none</small>`;
  return html`
    <tr aria-selected=${isOpen} onClick=${open}>
      <td class="title">
        <button class="plain" dir="auto" onClick=${click}>${row.annotator}</button>
        ${row.suspicion && html`<span class="under"><small class="warn-text">${row.suspicion}</small></span>`}
      </td>
      <td class="number">${number(row.n_votes)}</td>
      <td><${Meter} value=${row.accuracy} /></td>
      <td class="roomy"><${Meter} value=${row.agreement} /></td>
      ${hasKnown && html`<td class="roomy">${known}</td>`}
      <td class="end">
        ${me.isOwner && html`
          <${Button} kind="quiet small" aria-label="Exclude ${row.annotator}" onClick=${exclude}>Exclude<//>
        `}
      </td>
    </tr>
  `;
}

const Advice = ({ advice }) => html`
  <section>
    <h2>Worth a talk</h2>
    <ul class="list">
      ${advice.map((one) => html`
        <li key=${one.annotator}>
          <span class="what"><b>${one.annotator}</b><small>${one.why}</small></span>
          <${Badge} kind="warn">${one.advice === "drop" ? "consider excluding" : "consider training"}<//>
        </li>
      `)}
    </ul>
  </section>
`;

const AnnotatorPanel = ({ project, at, onClose }) => html`
  <aside class="panel" aria-label="Annotator">
    <${Loaded} path=${`/projects/${project.id}/annotators/${at}`} values=${[project.shown]}>
      ${({ row, n_mistakes, confusion, classes }) => html`
        <header>
          <h2 dir="auto">${row.annotator}</h2>
          <button class="quiet close" aria-label="Close" onClick=${onClose}>×</button>
        </header>
        <p>
          ${count(row.n_votes, "vote")},${" "}
          <a href="#/p/${project.id}/labels?mistakes_of=${at}">${number(n_mistakes)} for another class</a>${" "}
          than the label.
        </p>
        ${confusion && html`<${Confusion} classes=${classes} shares=${confusion} />`}
      `}
    <//>
  </aside>
`;

const Confusion = ({ classes, shares }) => html`
  <h3>What they say when the label is …</h3>
  <div class="scroll">
    <table class="matrix">
      <thead>
        <tr>
          <th scope="col">label</th>
          ${classes.map((name) => html`<th key=${name} scope="col" title=${name}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${shares.map((row, r) => html`
          <tr key=${r}>
            <th scope="row" title=${classes[r]}>${classes[r]}</th>
            ${row.map((share, c) => html`
              <td key=${c} class="heat-${Math.min(9, Math.floor(10 * share))}">${Math.round(100 * share)}</td>
            `)}
          </tr>
        `)}
      </tbody>
    </table>
  </div>
  <small>Per cent of their votes.</small>
`;

const Reviewers = ({ project }) => html`
  <${Loaded} path=${`/projects/${project.id}/people`} values=${[project.version]}>
    ${(found, again) => html`
      <div class="stack wide-gap">
        <${Invite} project=${project} door=${found.door} again=${again} />
        <section>
          <h2>Progress</h2>
          ${found.people.length
            ? html`<${Progress} project=${project} people=${found.people} />`
            : html`<${Empty} title="Nobody has judged yet">Invite somebody above, or judge yourself.<//>`}
        </section>
        <${History} project=${project} />
      </div>
    `}
  <//>
`;

function Invite({ project, door, again }) {
  const [name, setName] = useState("");
  const [made, setMade] = useState(null);
  const invite = async () => {
    const found = await post(`/projects/${project.id}/people`, { name });
    setMade({ name: found.name, link: `${door ?? location.origin}/?token=${found.token}` });
    setName("");
    again();
  };
  const letIn = () => post("/door").then(again);
  const copy = () => navigator.clipboard.writeText(made.link).then(() => toast("Copied."));
  const blind = "They see a task and the guidelines, and judge; votes, labels and exports stay hidden from them.";
  const sees = "They also see votes and labels; only you add files, invite people and compute labels.";
  return html`
    <section class="card" id="invite">
      <header>
        <div>
          <h2>Invite a reviewer</h2>
          <span class="muted">
            Each gets a link of their own; a new one replaces the one before. ${project.blind ? blind : sees}
          </span>
        </div>
      </header>
      <div class="row">
        <input id="invite-name" type="text" placeholder="Name" aria-label="The name of the reviewer" value=${name}
          maxlength="100" onInput=${(event) => setName(event.target.value)} />
        <${Button} kind="primary" id="make-link" disabled=${!name.trim()} onClick=${invite}>Make a link<//>
      </div>
      ${made && html`
        <${Note} kind="good">
          <span>Send this link to ${made.name}. It is shown once.</span>
          <input id="invite-link" type="text" readonly value=${made.link} aria-label="The link"
            onFocus=${(event) => event.target.select()} />
          <${Button} kind="small" onClick=${copy}>Copy<//>
        <//>
      `}
      ${door && html`
        <${Note} kind="good" id="door-open">
          Reviewers on other computers of this network reach the studio at <b>${door}</b> until it ends. Only people
          with a link enter there; you work here. The link travels unencrypted: use it in a network that you trust.
        <//>
      `}
      ${!door &&
      LOCAL.includes(location.hostname) && html`
        <${Note} id="door">
          <span>
            The studio is closed to other computers: links work on this one only. “Let others in” opens a second
            address in your network for people with a link, until the studio ends. Nobody becomes the lead there.
          </span>
          <${Button} kind="small" id="let-in" onClick=${letIn}>Let others in<//>
        <//>
      `}
    </section>
  `;
}

const Progress = ({ project, people }) => html`
  <table class="rows" id="people">
    <thead>
      <tr>
        <th>Reviewer</th>
        <th class="number">Judged</th>
        <th class="number">Checked at random</th>
        <th class="number roomy">Sent back</th>
        <th class="number roomy" title="how often the label was the class that they chose">Agrees with labels</th>
        <th class="roomy">Last</th>
        <td></td>
      </tr>
    </thead>
    <tbody>${people.map((one) => html`<${Reviewer} key=${one.name} project=${project} did=${one} />`)}</tbody>
  </table>
`;

function Reviewer({ project, did }) {
  const revoke = () => del(`/projects/${project.id}/people${query({ name: did.name })}`);
  return html`
    <tr>
      <td>${did.name || "You, without a name"}</td>
      <td class="number">${number(did.judged ?? 0)}</td>
      <td class="number">${number(did.checked ?? 0)}</td>
      <td class="number roomy">${number(did.sent_back ?? 0)}</td>
      <td class="number roomy">${did.compared ? percent((did.agreed ?? 0) / did.compared, 0) : ""}</td>
      <td class="roomy">${did.last ? ago(did.last) : ""}</td>
      <td class="end">
        ${did.revoked === true && html`<${Badge}>link taken back<//>`}
        ${did.revoked === false && html`
          <${Button} kind="quiet small" aria-label="Revoke ${did.name}" onClick=${revoke}>Take the link back<//>
        `}
      </td>
    </tr>
  `;
}

const History = ({ project }) => html`
  <${Details} id="history" title="What happened in this project">
    <${Loaded} path=${`/projects/${project.id}/history`} values=${[project.version]}>
      ${(events) => html`
        <ul class="list">
          ${events.map((event, n) => html`
            <li key=${n}>
              <span class="what"><span>${event.who && html`<b>${event.who}</b> `}${event.words}</span></span>
              <small>${ago(event.at)}</small>
            </li>
          `)}
        </ul>
      `}
    <//>
  <//>
`;
