// Annotators: how good they are and whose votes count. Reviewers: who checks, how far they are, and their links.

import { del, me, patch, post, query } from "./api.js";
import { Badge, Button, Empty, Failed, Field, Interval, Label, Loading, Meter, Note, Pager, Search, Section, SortHead, ago, count, html, number, percent, toast, useEffect, useLoad, useState } from "./ui.js";

const PAGE = 50;

export function People({ project, at }) {
  const [tab, setTab] = useState(at.params.get("tab") === "reviewers" || project.shown === null ? "reviewers" : "annotators");
  const tabs = [["annotators", "Annotators"], ["reviewers", "Reviewers"]];
  return html`<div class="stack wide-gap"><div class="spread"><h1>People</h1><div class="switch" role="group" aria-label="Which people">${tabs.map(([name, text]) => html`<button key=${name} aria-pressed=${tab === name} onClick=${() => setTab(name)}>${text}</button>`)}</div></div>
    ${tab === "annotators" ? html`<${Annotators} project=${project} search=${at.params.get("search") ?? ""} />` : html`<${Reviewers} project=${project} />`}</div>`;
}

function Annotators({ project, search }) {
  const [asked, setAsked] = useState({ search, sort: "n_votes", descending: true, first: 0 });
  const [open, setOpen] = useState(null);
  const change = (values) => setAsked({ ...asked, first: 0, ...values });
  const { data, problem } = useLoad(project.shown === null ? null : `/projects/${project.id}/annotators${query({ ...asked, most: PAGE })}`, project.shown);
  if (project.shown === null) return html`<${Empty} title="There are no votes yet"><a class="button" href="#/p/${project.id}/read">Read the votes</a><//>`;
  if (problem && !data) return html`<${Failed} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  const hasKnown = data.rows.some((row) => row.n_known);
  const exclude = (name, on) => patch(`/projects/${project.id}`, { excluded: on ? [...project.excluded, name] : project.excluded.filter((one) => one !== name), version: project.version });
  return html`<section class="tasks ${open === null ? "" : "with-panel"}"><div class="main">
    <p class="muted">How often each annotator is right, judged by the labels${hasKnown ? ", and as random tasks show that people checked" : ". Checking random tasks under Measure shows it without the labels"}.</p>
    <div class="toolbar"><${Search} value=${asked.search} onChange=${(text) => change({ search: text })} words="Search people" /></div>
    ${data.rows.length ? html`<div class="scroll"><table class="rows" id="annotators"><thead><tr><${SortHead} name="annotator" asked=${asked} change=${change}>Annotator<//><${SortHead} name="n_votes" kind="number" asked=${asked} change=${change}>Votes<//><${SortHead} name="accuracy" asked=${asked} change=${change}>Expected right<//><${SortHead} name="agreement" kind="roomy" asked=${asked} change=${change}>Agrees with the labels<//>${hasKnown ? html`<th class="roomy">On random tasks</th>` : null}<td></td></tr></thead><tbody>
      ${data.rows.map((row) => html`<tr key=${row.at} aria-selected=${row.at === open} onClick=${() => setOpen(row.at === open ? null : row.at)}><td class="title"><button class="plain" dir="auto" onClick=${(event) => (event.stopPropagation(), setOpen(row.at))}>${row.annotator}</button>${row.suspicion ? html`<span class="under"><small class="warn-text">${row.suspicion}</small></span>` : null}</td><td class="number">${number(row.n_votes)}</td><td><${Meter} value=${row.accuracy} /></td><td class="roomy"><${Meter} value=${row.agreement} /></td>
        ${hasKnown ? html`<td class="roomy">${row.n_known ? html`${percent(row.right / row.n_known, 0)} <small>of ${row.n_known}</small>${row.low === null ? null : html`<${Interval} low=${row.low} high=${row.high} />`}` : html`<small>none</small>`}</td>` : null}
        <td class="end">${me.isOwner ? html`<${Button} kind="quiet small" aria-label="Exclude ${row.annotator}" onClick=${() => exclude(row.annotator, true)}>Exclude<//>` : null}</td></tr>`)}</tbody></table></div><${Pager} total=${data.total} first=${asked.first} most=${PAGE} go=${(first) => setAsked({ ...asked, first })} />` : html`<${Empty} title="Nobody is called so" />`}
    ${project.excluded.length ? html`<${Note} id="excluded"><span>The votes of ${project.excluded.join(", ")} do not count.</span>${project.excluded.map((name) => html`<${Button} key=${name} kind="small" onClick=${() => exclude(name, false)}>Count ${name} again<//>`)}<//>` : null}
    <${Advice} advice=${data.advice} />
    <${Section} project=${project} name=${project.fit?.facts?.is_sets ? "set-annotators" : "annotators"} title="Charts, copies and confusions" fit=${project.shown} />
  </div>${open === null ? null : html`<${AnnotatorPanel} project=${project} at=${open} onClose=${() => setOpen(null)} />`}</section>`;
}

function Advice({ advice }) {
  if (!advice.length) return null;
  return html`<section><h2>Worth a talk</h2><ul class="list">${advice.map((one) => html`<li key=${one.annotator}><span class="what"><b>${one.annotator}</b><small>${one.why}</small></span><${Badge} kind="warn">${one.advice === "drop" ? "consider excluding" : "consider training"}<//></li>`)}</ul></section>`;
}

function AnnotatorPanel({ project, at, onClose }) {
  const { data } = useLoad(`/projects/${project.id}/annotators/${at}`, project.shown);
  if (!data) return html`<aside class="panel"><${Loading} /></aside>`;
  return html`<aside class="panel" aria-label="Annotator"><header><h2 dir="auto">${data.row.annotator}</h2><button class="quiet close" aria-label="Close" onClick=${onClose}>×</button></header>
    <p>${count(data.row.n_votes, "vote")}, ${number(data.n_mistakes)} for another class than the label.</p>
    ${data.confusion ? html`<h3>What they say when the label is …</h3><div class="scroll"><table class="matrix"><thead><tr><th scope="col">label</th>${data.classes.map((name) => html`<th key=${name} scope="col" title=${name}>${name}</th>`)}</tr></thead><tbody>${data.confusion.map((row, r) => html`<tr key=${r}><th scope="row" title=${data.classes[r]}>${data.classes[r]}</th>${row.map((share, c) => html`<td key=${c} class="heat-${Math.min(9, Math.floor(10 * share))}">${Math.round(100 * share)}</td>`)}</tr>`)}</tbody></table></div><small>Per cent of their votes.</small>` : null}
    ${data.mistakes.length ? html`<h3>Where they differ from the sure labels</h3><ul class="list">${data.mistakes.map((row) => html`<li key=${row.at}><a class="what" href="#/p/${project.id}/labels/${row.at}" dir="auto">${row.text || row.task}</a><span class="row"><${Label}>${row.vote}<//><small>label ${row.label}, ${percent(row.confidence, 0)}</small></span></li>`)}</ul>` : null}</aside>`;
}

function Reviewers({ project }) {
  const people = useLoad(`/projects/${project.id}/people`, project.version);
  const [name, setName] = useState("");
  const [made, setMade] = useState(null);
  useEffect(() => setMade(null), [project.id]);
  if (!people.data) return html`<${Loading} />`;
  const rows = people.data.people;
  const address = people.data.door ?? location.origin;
  const invite = async (who) => {
    const found = await post(`/projects/${project.id}/people`, { name: who });
    setMade({ name: found.name, link: `${address}/?token=${found.token}` });
    setName("");
    people.again();
  };
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return html`<div class="stack wide-gap">
    <section class="card" id="invite"><header><div><h2>Invite a reviewer</h2><span class="muted">Each gets a link of their own. ${project.blind ? "They see a task and the guidelines, and judge; votes, labels and exports stay hidden from them." : "They also see votes and labels; only you add files, invite people and compute labels."}</span></div></header>
      <div class="row"><input id="invite-name" type="text" placeholder="Name" aria-label="The name of the reviewer" value=${name} maxlength="100" onInput=${(event) => setName(event.target.value)} /><${Button} kind="primary" id="make-link" disabled=${!name.trim()} onClick=${() => invite(name)}>Make a link<//></div>
      ${made ? html`<${Note} kind="good"><span>Send this link to ${made.name}. It is shown once.</span><input id="invite-link" type="text" readonly value=${made.link} aria-label="The link" onFocus=${(event) => event.target.select()} /><${Button} kind="small" onClick=${() => navigator.clipboard.writeText(made.link).then(() => toast("Copied."))}>Copy<//><//>` : null}
      ${people.data.door ? html`<${Note} kind="good" id="door-open">Reviewers on other computers of this network reach the studio at <b>${people.data.door}</b> until it ends. Only people with a link enter there; you work here. The link travels unencrypted: use it in a network that you trust.<//>` : local ? html`<${Note} id="door"><span>The studio is closed to other computers: links work on this one only. “Let others in” opens ${"a second address"} in your network for people with a link, until the studio ends. Nobody becomes the lead there.</span><${Button} kind="small" id="let-in" onClick=${async () => (await post("/door"), people.again())}>Let others in<//><//>` : null}</section>
    <section><h2>Progress</h2>${rows.length ? html`<table class="rows" id="people"><thead><tr><th>Reviewer</th><th class="number">Judged</th><th class="number">Checked at random</th><th class="number roomy">Sent back</th><th class="number roomy" title="how often the label was the class that they chose">Agrees with labels</th><th class="roomy">Last</th><td></td></tr></thead><tbody>${rows.map((one) => html`<${Reviewer} key=${one.name} project=${project} did=${one} invite=${invite} again=${people.again} />`)}</tbody></table>` : html`<${Empty} title="Nobody has judged yet">Invite somebody above, or judge yourself.<//>`}</section>
    <${History} project=${project} /></div>`;
}

function Reviewer({ project, did, invite, again }) {
  const who = did.name;
  const revoke = () => del(`/projects/${project.id}/people${query({ name: who })}`).then(again);
  return html`<tr><td>${who || "You, without a name"}</td><td class="number">${number(did.judged ?? 0)}</td><td class="number">${number(did.checked ?? 0)}</td><td class="number roomy">${number(did.sent_back ?? 0)}</td><td class="number roomy">${did.compared ? percent(did.agreed / did.compared, 0) : ""}</td><td class="roomy">${did.last ? ago(did.last) : ""}</td>
    <td class="end">${did.revoked === undefined ? null : did.revoked ? html`<${Badge}>link taken back<//>` : html`<${Button} kind="quiet small" aria-label="Revoke ${who}" onClick=${revoke}>Take the link back<//>`}${did.revoked !== undefined ? html`<${Button} kind="quiet small" aria-label="New link for ${who}" onClick=${() => invite(who)}>New link<//>` : null}</td></tr>`;
}

function History({ project }) {
  const [isOpen, open] = useState(false);
  const { data } = useLoad(isOpen ? `/projects/${project.id}/history` : null, project.version);
  return html`<details class="section" id="history" onToggle=${(event) => open(event.target.open)}><summary>What happened in this project</summary>${!data ? null : html`<ul class="list">${data.map((event, n) => html`<li key=${n}><span class="what"><span>${event.who ? html`<b>${event.who}</b> ` : ""}${event.words}</span></span><small>${ago(event.at)}</small></li>`)}</ul>`}</details>`;
}
