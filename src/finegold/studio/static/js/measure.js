// How many labels are right: a random sample that people check blindly, what it shows, and which labels may be accepted.

import { del, me, post } from "./api.js";
import { Badge, Button, Check, Empty, Failed, Field, Interval, Loading, Note, Select, ago, count, html, number, percent, useLoad, useState } from "./ui.js";

export function Measure({ project }) {
  const samples = useLoad(project.shown === null ? null : `/projects/${project.id}/samples`, project.version, project.shown);
  const summary = useLoad(project.shown === null ? null : `/projects/${project.id}/summary`, project.version, project.shown);
  const [isDrawing, draw] = useState(false);
  if (project.shown === null) return html`<${Empty} title="There is nothing to measure yet"><a class="button" href="#/p/${project.id}/read">Read the votes</a><//>`;
  const problem = samples.problem ?? summary.problem;
  if (problem && !samples.data) return html`<${Failed} problem=${problem} />`;
  if (!samples.data || !summary.data) return html`<${Loading} />`;
  const { measured } = summary.data;
  const open = samples.data.find((sample) => !sample.is_over);
  const newest = samples.data.find((sample) => sample.is_over);
  return html`<div class="stack wide-gap">
    <section class="hero"><div class="first">${measured ? html`<p class="huge" id="measured">${(100 * measured.estimate).toFixed(1)}<span class="unit"> %</span></p><h1>of the labels are right</h1><${Interval} low=${measured.low} high=${measured.high} at=${measured.estimate} />${measured.sentences.map((text) => html`<p key=${text} class="muted">${text}</p>`)}
      <p class="row"><a class="button small" href="/api/projects/${project.id}/export/certificate.html" download>Certificate</a><a class="button small" href="/api/projects/${project.id}/export/checks.csv" download>All answers</a></p>`
      : html`<h1>How many labels are right?</h1><p class="muted">Check tasks that are drawn at random, without seeing votes or labels. Nothing else can tell: tasks that were judged because they are doubtful say nothing of the others.</p>`}</div>
      ${me.isOwner && !open && !isDrawing ? html`<div class="next"><${Button} kind=${measured ? "" : "primary"} id="draw" onClick=${() => draw(true)}>${samples.data.length ? "Draw another sample" : "Draw a random sample"}<//>${samples.data.length ? html`<small class="muted">Earlier samples are kept and count as well.</small>` : null}</div>` : null}</section>
    ${isDrawing && !open ? html`<${Draw} project=${project} n=${summary.data.n_tasks} done=${() => (draw(false), samples.again())} />` : null}
    ${open ? html`<${Running} project=${project} sample=${open} again=${samples.again} />` : null}
    ${newest ? html`<${Accept} project=${project} sample=${newest} summary=${summary.data} again=${() => (samples.again(), summary.again())} />` : null}
    ${samples.data.length ? html`<section><h2>Samples</h2><ul class="list" id="samples">${samples.data.map((sample) => html`<li key=${sample.id}><span class="what"><b>Sample ${sample.id}: ${count(sample.n, "task")} of fit ${sample.fit}</b><small>${ago(sample.at)} · ${sample.auditors.map((one) => `${one.name || "you"} ${one.done}`).join(", ") || "nobody yet"}${sample.shared ? ` · ${sample.agreed} of ${sample.shared} shared tasks with the same answer` : ""}</small></span><${Badge} kind=${sample.is_over ? "good" : "warn"}>${sample.is_over ? "checked" : `${sample.done} of ${sample.n}`}<//></li>`)}</ul></section>` : null}
  </div>`;
}

function Draw({ project, n: most, done }) {
  const people = useLoad(`/projects/${project.id}/people`);
  const [n, setN] = useState(Math.min(100, most));
  const [risk, setRisk] = useState("0.05");
  const [who, setWho] = useState([]);
  const [overlap, setOverlap] = useState(20);
  const names = (people.data?.people ?? []).filter((one) => one.revoked === false).map((one) => one.name);
  const draw = async () => {
    await post(`/projects/${project.id}/samples`, { n: Number(n), risk: Number(risk), auditors: who, overlap: overlap / 100 });
    done();
  };
  return html`<section class="card" id="draw-card"><header><h2>A new sample</h2><${Button} kind="primary" id="draw-sample" onClick=${draw}>Draw ${number(n)} tasks<//></header>
    <div class="fields"><${Field} title="Tasks to check" about=${`${Math.round((98 / Math.sqrt(Math.max(1, n))) * 0.85)} points to either side, about; it takes ${Math.max(1, Math.round(n / 3))} minutes.`}><input id="sample-n" type="number" min="1" max=${most} value=${n} onInput=${(event) => setN(event.target.value)} /><//>
      <${Field} title="Labels may be accepted with at most" about="wrong labels among them; smaller shares need more checks."><${Select} id="sample-risk" value=${risk} options=${[["0.02", "2 in 100 wrong"], ["0.05", "5 in 100 wrong"], ["0.1", "10 in 100 wrong"]]} onChange=${setRisk} /><//>
      ${names.length ? html`<div class="field"><span>Who checks</span>${names.map((name) => html`<${Check} key=${name} data-name=${name} checked=${who.includes(name)} onChange=${(on) => setWho(on ? [...who, name] : who.filter((one) => one !== name))}>${name}<//>`)}<small>Nobody chosen: anybody who opens it.</small></div>` : html`<p class="muted field">You check them yourself. Two people are better: <a href="#/p/${project.id}/people?tab=reviewers">invite somebody</a>.</p>`}
      ${who.length > 1 ? html`<${Field} title="Tasks that all of them check" about="They show how often people err; the interval allows for it."><${Select} id="sample-overlap" value=${String(overlap)} options=${[["0", "none"], ["10", "10 %"], ["20", "20 %"], ["50", "50 %"], ["100", "all"]]} onChange=${(value) => setOverlap(Number(value))} /><//>` : null}</div></section>`;
}

function Running({ project, sample, again }) {
  const [isSure, ask] = useState(false);
  const settle = (task, label) => post(`/projects/${project.id}/judgements`, { kind: "settle", tasks: [task], label, sample: sample.id }).then(again);
  const open = sample.disagreements.filter((one) => one.settled === null);
  const mine = !sample.auditors.length || sample.auditors.some((one) => one.name === me.name) || sample.auditors.length < 2;
  return html`<section class="card" id="running"><header><div><h2>${number(sample.done)} of ${number(sample.n)} tasks checked</h2><span class="muted" id="next-step">${sample.next_step}</span></div>${mine ? html`<a class="button primary" id="check" href="#/p/${project.id}/judge?sample=${sample.id}">Check tasks</a>` : null}</header>
    <progress value=${sample.done / sample.n} aria-label="Progress of the sample" /><p class="muted">${sample.promise}</p>
    ${sample.auditors.length ? html`<ul class="list">${sample.auditors.map((one) => html`<li key=${one.name}><span class="what">${one.name || "you"}</span><progress value=${one.total ? one.done / one.total : 1} aria-label="Progress of ${one.name}" /><small>${one.done} of ${one.total}</small></li>`)}</ul>` : null}
    ${sample.shared ? html`<p id="agreement">${number(sample.agreed)} of ${count(sample.shared, "task")} that several checked got the same answer.</p>` : null}
    ${open.length ? html`<h3>Which is right?</h3><ul class="list" id="disagreements">${open.map((one) => html`<li key=${one.text} class="disagreement"><span class="what"><b>${one.text}</b><small>${Object.entries(one.labels).map(([who, label]) => `${who || "you"}: ${label}`).join(" · ")}</small></span><span class="row">${[...new Set(Object.values(one.labels))].map((label) => html`<${Button} key=${label} kind="small" onClick=${() => settle(one.task, sample.classes.find((name) => String(name) === label) ?? label.split(", "))}>${label}<//>`)}</span></li>`)}</ul>` : null}
    ${sample.done && me.isOwner ? html`<p>${isSure ? html`<span class="row"><small>Tasks without an answer make the interval wider.</small><${Button} kind="small" onClick=${() => post(`/projects/${project.id}/samples/${sample.id}/close`).then(again)}>End it here<//><button class="small quiet" onClick=${() => ask(false)}>Go on</button></span>` : html`<button class="quiet small" id="close" onClick=${() => ask(true)}>End it early</button>`}</p>` : null}</section>`;
}

function Accept({ project, sample, summary, again }) {
  if (summary.n_accepted) return html`<${Note} kind="good" id="accepted"><span>${count(summary.n_accepted, "label was", "labels were")} accepted unchecked. ${summary.n_open ? html`<a href="#/p/${project.id}/judge">Judge the other ${number(summary.n_open)}</a>, or ` : null}<a href="#/p/${project.id}/labels?state=accepted">${summary.n_open ? "look" : "Look"} at those accepted</a>.</span>${me.isOwner ? html`<${Button} kind="small" onClick=${() => del(`/projects/${project.id}/accepted`).then(again)}>Take it back<//>` : null}<//>`;
  if (!sample.acceptable) return html`<${Note} id="accept-none">By these checks no label may be accepted unchecked if at most ${percent(sample.risk, 0)} of those accepted may be wrong. More checks may change that, and judging the doubtful tasks makes labels better.<//>`;
  return html`<section class="card" id="accept"><header><div><h2>${count(sample.acceptable, "label")} may be accepted unchecked</h2><span class="muted">The most confident ones. At most ${percent(sample.risk, 0)} of them are wrong, with 95 % certainty, by sample ${sample.id}.</span></div>
    ${me.isOwner ? html`<${Button} kind="primary" id="accept-them" onClick=${() => post(`/projects/${project.id}/samples/${sample.id}/accept`).then(again)}>Accept ${number(sample.acceptable)} labels<//>` : null}</header><p class="muted">They get the mark “accepted” in lists and exports, and nobody is asked to judge them. The others stay in the queue.</p></section>`;
}
