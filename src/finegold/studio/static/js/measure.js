// How many labels are right: a random sample that people check blindly, and which labels may be accepted.

import { del, me, post } from "./api.js";
import {
  Badge, Button, Check, Empty, Failed, Field, Loading, Measured, Note, Select, Sure,
  ago, count, html, number, percent, useLoad, useState,
} from "./ui.js";

const RISKS = [
  ["0.02", "2 in 100 wrong"],
  ["0.05", "5 in 100 wrong"],
  ["0.1", "10 in 100 wrong"],
];
const OVERLAPS = [0, 10, 20, 50, 100].map((share) => [String(share), share ? `${share} %` : "none"]);

export function Measure({ project }) {
  const hasLabels = project.shown !== null;
  const when = [project.version, project.shown];
  const samples = useLoad(hasLabels ? `/projects/${project.id}/samples` : null, ...when);
  const summary = useLoad(hasLabels ? `/projects/${project.id}/summary` : null, ...when);
  const [isDrawing, draw] = useState(false);
  if (!hasLabels) {
    return html`
      <${Empty} title="There is nothing to measure yet">
        <a class="button" href="#/p/${project.id}/read">Read the votes</a>
      <//>
    `;
  }
  const problem = samples.problem ?? summary.problem;
  if (problem && !samples.data) return html`<${Failed} problem=${problem} />`;
  if (!samples.data || !summary.data) return html`<${Loading} />`;
  const again = () => {
    samples.again();
    summary.again();
    draw(false);
  };
  const { measured } = summary.data;
  const open = samples.data.find((sample) => !sample.is_over);
  const newest = samples.data.find((sample) => sample.is_over);
  const isFirst = !samples.data.length;
  const exported = `/api/projects/${project.id}/export`;
  const unknown = html`
    <h1>How many labels are right?</h1>
    <p class="muted">
      Check tasks that are drawn at random, without seeing votes or labels. Nothing else can tell: tasks that were
      judged because they are doubtful say nothing of the others.
    </p>
  `;
  return html`
    <div class="stack wide-gap">
      <section class="hero">
        <div class="first">
          ${measured
            ? html`
                <${Measured} measured=${measured}>
                  ${measured.sentences.map((text) => html`<p key=${text} class="muted">${text}</p>`)}
                  <p class="row">
                    <a class="button small" href="${exported}/certificate.html" download>Certificate</a>
                    <a class="button small" href="${exported}/checks.csv" download>All answers</a>
                  </p>
                <//>
              `
            : unknown}
        </div>
        ${me.isOwner &&
        !open &&
        !isFirst &&
        !isDrawing && html`
          <div class="next">
            <button id="draw" onClick=${() => draw(true)}>Draw another sample</button>
            <small class="muted">Earlier samples are kept and count as well.</small>
          </div>
        `}
      </section>
      ${(isDrawing || (isFirst && me.isOwner)) &&
      !open &&
      html`<${Draw} project=${project} n=${summary.data.n_tasks} done=${again} />`}
      ${open && html`<${Running} project=${project} sample=${open} again=${again} />`}
      ${newest && html`<${Accept} project=${project} sample=${newest} summary=${summary.data} again=${again} />`}
      ${!isFirst && html`<${Samples} samples=${samples.data} />`}
    </div>
  `;
}

function Samples({ samples }) {
  const about = (sample) => {
    const who = sample.auditors.map((one) => `${one.name || "you"} ${one.done}`).join(", ") || "nobody yet";
    const same = sample.shared ? `${sample.agreed} of ${sample.shared} shared tasks with the same answer` : "";
    return [ago(sample.at), who, same].filter(Boolean).join(" · ");
  };
  return html`
    <section>
      <h2>Samples</h2>
      <ul class="list" id="samples">
        ${samples.map((sample) => html`
          <li key=${sample.id}>
            <span class="what">
              <b>Sample ${sample.id}: ${count(sample.n, "task")} of fit ${sample.fit}</b>
              <small>${about(sample)}</small>
            </span>
            <${Badge} kind=${sample.is_over ? "good" : "warn"}>
              ${sample.is_over ? "checked" : `${sample.done} of ${sample.n}`}
            <//>
          </li>
        `)}
      </ul>
    </section>
  `;
}

function Draw({ project, n: most, done }) {
  const people = useLoad(`/projects/${project.id}/people`);
  const [n, setN] = useState(Math.min(100, most));
  const [risk, setRisk] = useState("0.05");
  const [who, setWho] = useState([]);
  const [overlap, setOverlap] = useState("20");
  const names = (people.data?.people ?? []).filter((one) => one.revoked === false).map((one) => one.name);
  const points = Math.round((98 / Math.sqrt(Math.max(1, n))) * 0.85);
  const minutes = Math.max(1, Math.round(n / 3));
  const draw = async () => {
    const wanted = { n: Number(n), risk: Number(risk), auditors: who, overlap: Number(overlap) / 100 };
    await post(`/projects/${project.id}/samples`, wanted);
    done();
  };
  const alone = html`
    <p class="muted">
      You check them yourself. Two people are better:${" "}
      <a href="#/p/${project.id}/people?tab=reviewers">invite somebody</a>.
    </p>
  `;
  const person = (name) => html`
    <${Check} key=${name} data-name=${name} checked=${who.includes(name)}
      onChange=${(on) => setWho(on ? [...who, name] : who.filter((one) => one !== name))}>
      ${name}
    <//>
  `;
  const input = (event) => setN(event.target.value);
  return html`
    <section class="card" id="draw-card">
      <header>
        <h2>A new sample</h2>
        <${Button} kind="primary" id="draw-sample" onClick=${draw}>Draw ${number(n)} tasks<//>
      </header>
      <div class="fields">
        <${Field} title="Tasks to check"
          about=${`${points} points to either side, about; it takes ${minutes} minutes.`}>
          <input id="sample-n" type="number" min="1" max=${most} value=${n} onInput=${input} />
        <//>
        <${Field} title="Labels may be accepted with at most"
          about="wrong labels among them; smaller shares need more checks.">
          <${Select} id="sample-risk" value=${risk} options=${RISKS} onChange=${setRisk} />
        <//>
        ${names.length
          ? html`
              <div class="field">
                <span>Who checks</span>
                ${names.map(person)}<small>Nobody chosen: anybody who opens it.</small>
              </div>
            `
          : alone}
        ${who.length > 1 && html`
          <${Field} title="Tasks that all of them check"
            about="They show how often people err; the interval allows for it.">
            <${Select} id="sample-overlap" value=${overlap} options=${OVERLAPS} onChange=${setOverlap} />
          <//>
        `}
      </div>
    </section>
  `;
}

function Running({ project, sample, again }) {
  const { auditors } = sample;
  const settle = (task, text) => {
    const label = sample.classes.find((name) => String(name) === text) ?? text.split(", ");
    const said = { kind: "settle", tasks: [task], label, sample: sample.id };
    return post(`/projects/${project.id}/judgements`, said).then(again);
  };
  const close = () => post(`/projects/${project.id}/samples/${sample.id}/close`).then(again);
  const open = sample.disagreements.filter((one) => one.settled === null);
  const isMine = auditors.length < 2 || auditors.some((one) => one.name === me.name);
  const answers = (one) => Object.entries(one.labels).map(([who, label]) => `${who || "you"}: ${label}`);
  const check = html`
    <a class="button primary" id="check" href="#/p/${project.id}/judge?sample=${sample.id}">Check tasks</a>
  `;
  return html`
    <section class="card" id="running">
      <header>
        <div>
          <h2>${number(sample.done)} of ${number(sample.n)} tasks checked</h2>
          <span class="muted" id="next-step">${sample.next_step}</span>
        </div>
        ${isMine && check}
      </header>
      <progress value=${sample.done / sample.n} aria-label="Progress of the sample" />
      ${sample.promise && html`<p class="muted">${sample.promise}</p>`}
      ${auditors.length > 0 && html`
        <ul class="list">
          ${auditors.map((one) => html`
            <li key=${one.name}>
              <span class="what">${one.name || "you"}</span>
              <progress value=${one.total ? one.done / one.total : 1} aria-label="Progress of ${one.name}" />
              <small>${one.done} of ${one.total}</small>
            </li>
          `)}
        </ul>
      `}
      ${sample.shared > 0 && html`
        <p id="agreement">
          ${number(sample.agreed)} of ${count(sample.shared, "task")} that several checked got the same answer.
        </p>
      `}
      ${open.length > 0 && html`
        <h3>Which is right?</h3>
        <ul class="list" id="disagreements">
          ${open.map((one) => html`
            <li key=${one.text} class="disagreement">
              <span class="what"><b>${one.text}</b><small>${answers(one).join(" · ")}</small></span>
              <span class="row">
                ${[...new Set(Object.values(one.labels))].map((label) => html`
                  <${Button} key=${label} kind="small" onClick=${() => settle(one.task, label)}>${label}<//>
                `)}
              </span>
            </li>
          `)}
        </ul>
      `}
      ${sample.done > 0 &&
      me.isOwner && html`
        <p>
          <${Sure} id="close" ask="End it early" about="Tasks without an answer make the interval wider."
            yes="End it here" no="Go on" onYes=${close} />
        </p>
      `}
    </section>
  `;
}

function Accept({ project, sample, summary, again }) {
  const risk = percent(sample.risk, 0);
  const base = `/projects/${project.id}`;
  if (summary.n_accepted) {
    const rest = html`<a href="#/p/${project.id}/judge">Judge the other ${number(summary.n_open)}</a>${", or "}`;
    const back = () => del(`${base}/accepted`).then(again);
    const accepted = count(summary.n_accepted, "label was", "labels were");
    return html`
      <${Note} kind="good" id="accepted">
        <span>
          ${accepted} accepted unchecked.${" "}${summary.n_open > 0 && rest}
          <a href="#/p/${project.id}/labels?state=accepted">${summary.n_open ? "look" : "Look"} at those accepted</a>.
        </span>
        ${me.isOwner && html`<${Button} kind="small" onClick=${back}>Take it back<//>`}
      <//>
    `;
  }
  if (!sample.acceptable) {
    return html`
      <${Note} id="accept-none">
        By these checks no label may be accepted unchecked if at most ${risk} of those accepted may be wrong. More
        checks may change that, and judging the doubtful tasks makes labels better.
      <//>
    `;
  }
  const accept = () => post(`${base}/samples/${sample.id}/accept`).then(again);
  return html`
    <section class="card" id="accept">
      <header>
        <div>
          <h2>${count(sample.acceptable, "label")} may be accepted unchecked</h2>
          <span class="muted">
            The most confident ones. At most ${risk} of them are wrong, with 95 % certainty, by sample ${sample.id}.
          </span>
        </div>
        ${me.isOwner && html`
          <${Button} kind="primary" id="accept-them" onClick=${accept}>Accept ${number(sample.acceptable)} labels<//>
        `}
      </header>
      <p class="muted">
        They get the mark “accepted” in lists and exports, and nobody is asked to judge them. The others stay in the
        queue.
      </p>
    </section>
  `;
}
