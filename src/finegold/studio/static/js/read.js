// What arrived in the project: files and how they are read, what looks wrong in them, and how a task is shown.

import { del, get, patch, post, query } from "./api.js";
import { addFile, Drop } from "./home.js";
import { Badge, Button, Check, Empty, Failed, Field, Loading, Note, Select, ago, attempt, count, html, number, percent, sentence, size, toast, useEffect, useLoad, useState } from "./ui.js";
import { Content } from "./task.js";
import { Form } from "./form.js";

const KINDS = { votes: "Votes", items: "Texts and images", predictions: "Predictions of a model", truths: "Known truths" };
const isBusy = (project) => Boolean(project.job) && ["queued", "running"].includes(project.job.state);

export function Read({ project }) {
  const { data, problem, again } = useLoad(`/projects/${project.id}/sources`, project.version);
  const folder = useLoad("/folder");
  if (problem && !data) return html`<${Failed} problem=${problem} />`;
  if (!data || !folder.data) return html`<${Loading} />`;
  const add = async (files) => {
    for (const file of files) await addFile(project.id, file);
    again();
  };
  const drafts = data.filter((source) => source.state === "draft");
  const used = data.filter((source) => source.state === "in");
  const waiting = folder.data.files.filter((file) => !data.some((source) => source.name === file.name));
  return html`<div class="stack wide-gap"><h1 class="hidden">Read</h1>
    <${Status} project=${project} />
    ${drafts.map((source) => html`<${Draft} key=${source.id} project=${project} source=${source} isFirst=${!used.some((one) => one.kind === "votes")} isSeveral=${drafts.length > 1} again=${again} />`)}
    ${drafts.length > 1 ? html`<${Button} kind="primary" id="read-all" onClick=${async () => { for (const source of drafts) await patch(`/projects/${project.id}/sources/${source.id}`, { state: "in" }); again(); }}>Read all ${drafts.length} files<//>` : null}
    ${project.shown === null ? null : html`<${Found} project=${project} sources=${used} />`}
    ${used.length ? html`<section><h2>What arrived</h2><ul class="list" id="sources">${used.map((source) => html`<${Source} key=${source.id} project=${project} source=${source} />`)}</ul></section>` : null}
    <section id="add"><h2>${data.length ? "Add another file" : "Add the votes"}</h2><p class="muted">${data.length ? "More votes, texts or images of the tasks, predictions of a model, or known truths: what is in a file is seen before anything changes." : "A table with a column of tasks, one of annotators and one of labels, a workbook, or an export of a labelling tool."}</p>
      <${Drop} words="or drop them here" limit=${folder.data.upload_limit} onFiles=${add} />
      ${waiting.length || folder.data.folders.length ? html`<div class="row files">${waiting.slice(0, 12).map((file) => html`<${Button} key=${file.name} kind="small" title=${size(file.size)} onClick=${() => add([file.name])}>${file.name}<//>`)}${folder.data.folders.map((name) => html`<${Button} key=${name} kind="small" onClick=${() => add([name])}>${name}/<//>`)}</div>` : null}</section>
    ${project.shown === null ? null : html`<${Shown} project=${project} />`}
    ${project.shown === null ? null : html`<${Method} project=${project} />`}
  </div>`;
}

function Status({ project }) {
  const { job } = project;
  if (!job) return null;
  if (isBusy(project)) {
    return html`<${Note}><span class="row"><span class="spin" />${job.message || (job.step ? `Computing the labels: step ${job.step}` : `Reading: ${number(job.rows)} rows`)}</span><${Button} kind="small" onClick=${() => del(`/projects/${project.id}/job`)}>Stop<//><//>`;
  }
  return html`${job.state === "failed" ? html`<${Note} kind="bad" role="alert" id="failure"><span>${sentence(job.message)}</span>${job.repair ? html`<${Repair} project=${project} choices=${job.repair} />` : null}<//>` : null}`;
}

// A choice that repairs what failed, for the newest file with votes.
function Repair({ project, choices }) {
  const repair = async () => {
    const sources = await get(`/projects/${project.id}/sources`);
    const source = sources.filter((one) => one.kind === "votes").at(-1);
    await patch(`/projects/${project.id}/sources/${source.id}`, { reading: choices, state: "in" });
  };
  return html`<${Button} kind="small primary" onClick=${repair}>${choiceWords(choices)}<//>`;
}

export function choiceWords(choices) {
  const said = { normalise: "Merge these spellings", missing: "Use these as “no vote”", repeated: "Change which vote counts", alias: "Use this spelling", header: "Change the line of the names", format: "Read it as a plain table", shape: "Change what a row is" };
  const [name, value] = Object.entries(choices)[0] ?? ["", ""];
  if (name === "missing") return Array.isArray(value) && value.length ? `Count ${value.join(", ")} as no vote` : "Keep them as classes";
  return said[name] ?? `Set ${name} to ${value}`;
}

// A file that is looked at before it is used.
function Draft({ project, source, isFirst, isSeveral, again }) {
  const [reading, setReading] = useState(null);
  const [isOpen, open] = useState(!isSeveral);
  const path = `/projects/${project.id}/sources/${source.id}`;
  const { data, problem } = useLoad(isOpen ? `${path}${query({ reading: reading && JSON.stringify(reading) })}` : null, source.kind, project.version);
  const seen = data ?? null;
  const change = (values) => setReading({ ...(reading ?? seen.preview?.guess ?? {}), ...values });
  const save = async (values) => {
    await patch(path, values);
    again();
  };
  const take = () => save({ state: "in", reading: reading ?? undefined });
  const current = { ...(seen?.preview?.guess ?? {}), ...(seen?.reading ?? {}), ...(reading ?? {}) };
  const missing = source.kind === "votes" && seen?.preview && (current.shape ?? "long") === "long" && !seen.preview.is_export ? ["task", "annotator", "label"].filter((role) => !current[role] && !(role === "annotator" && current.one_annotator)) : [];
  return html`<section class="card draft" data-source=${source.name}>
    <header><div><h2>${source.name}</h2><span class="muted">${seen?.preview?.format ?? ""}</span></div>
      <${Select} aria-label="What it holds" value=${source.kind} options=${Object.entries(KINDS)} onChange=${(kind) => attempt(() => save({ kind }))} />
      <span class="row"><${Button} kind="quiet small" onClick=${() => save({ state: "out" })}>Leave it out<//>${isOpen ? html`<${Button} kind="primary" id="take" disabled=${!seen || missing.length > 0 || Boolean(seen.problem)} onClick=${take}>${isFirst ? "Read and compute labels" : "Take it in"}<//>` : html`<button class="small" onClick=${() => open(true)}>Look at it</button>`}</span></header>
    ${!isOpen ? null : problem && !seen ? html`<${Failed} problem=${problem} />` : !seen ? html`<${Loading} what="Looking at it" />` : html`
      ${seen.problem ? html`<${Note} kind="bad" role="alert"><span>${sentence(seen.problem)}</span>${seen.preview?.repair ? html`<${Button} kind="small primary" onClick=${() => change(seen.preview.repair)}>${choiceWords(seen.preview.repair)}<//>` : null}<//>` : null}
      ${missing.length && !seen.problem ? html`<${Note} kind="warn">No column was found for the ${missing.join(" or the ")}: choose it below.<//>` : null}
      ${source.kind === "votes" && seen.proposal ? html`<${Arrival} proposal=${seen.proposal} reading=${current} change=${change} />` : null}
      ${source.kind !== "votes" && seen.proposal ? html`<${Fits} kind=${source.kind} proposal=${seen.proposal} change=${change} />` : null}
      ${seen.warnings.map((text) => html`<${Note} key=${text} kind="warn">${sentence(text)}<//>`)}
      ${source.kind === "votes" && seen.preview ? html`<${Form} preview=${seen.preview} reading=${current} change=${change} name=${source.name} />` : null}
      ${seen.preview?.rows.length ? html`<${Rows} preview=${seen.preview} reading=${source.kind === "votes" ? current : {}} />` : null}`}
  </section>`;
}

// What votes that arrive would change, with a button for what looks misspelled.
function Arrival({ proposal, reading, change }) {
  if (proposal.new === undefined) return null;
  const parts = [[proposal.new, "new"], [proposal.repeated, "there already"], [proposal.changed, "replace another vote of the same person"], [proposal.new_tasks, "tasks that are new"], [proposal.missing, "rows without a label"]];
  const near = Object.entries(proposal.near);
  const strange = proposal.new_classes.filter((name) => !proposal.near[name]);
  return html`<div class="stack" id="arrival"><dl class="figures"><div><dd>${number(proposal.votes)}</dd><dt>votes</dt></div>${parts.filter(([n]) => n).map(([n, words]) => html`<div key=${words}><dd>${number(n)}</dd><dt>${words}</dt></div>`)}</dl>
    ${near.length ? html`<${Note} kind="warn"><span>${near.map(([spelling, name]) => `“${spelling}” may be a misspelled ${name}`).join("; ")}.</span><button class="small primary" id="repair-spelling" onClick=${() => change({ alias: { ...(reading.alias ?? {}), ...proposal.near } })}>${near.length > 1 ? "Correct them" : `Read it as ${near[0][1]}`}</button><//>` : null}
    ${strange.length ? html`<${Note} kind="warn"><span>Nobody has voted for ${strange.slice(0, 8).join(", ")} so far: ${count(strange.length, "new class", "new classes")}.</span><button class="small" onClick=${() => change({ missing: [...(reading.missing ?? []), ...strange] })}>Count as no vote</button><//>` : null}
    ${proposal.new_annotators?.length ? html`<p class="muted">New people: ${proposal.new_annotators.slice(0, 12).join(", ")}</p>` : null}
    ${proposal.examples?.length ? html`<details><summary>Votes that would change</summary><ul class="list">${proposal.examples.map((one, n) => html`<li key=${n}>${one.annotator} on ${one.task}: ${one.before} → ${one.after}</li>`)}</ul></details>` : null}</div>`;
}

function Fits({ kind, proposal, change }) {
  const columns = (proposal.columns ?? []).map((name) => [name, name]);
  const said = {
    items: () => [`${count(proposal.matched, "task")} found`, proposal.without && `${count(proposal.without, "task")} without`, proposal.unmatched && `${count(proposal.unmatched, "id belongs", "ids belong")} to no task of today`],
    predictions: () => [`${count(proposal.n_tasks, "task")} with a prediction`, proposal.n_without_prediction && `${number(proposal.n_without_prediction)} without`, proposal.n_without_votes && `${count(proposal.n_without_votes, "task")} without votes get a label from it`],
    truths: () => [`${count(proposal.used, "truth")} of tasks with votes`, proposal.without_votes && `${number(proposal.without_votes)} of tasks without votes`, proposal.unknown_classes.length && `${proposal.unknown_classes.join(", ")} are no classes and are left out`],
  }[kind]().filter(Boolean);
  return html`<div class="stack" id="matched"><p>${said.join("; ")}.</p>${columns.length && kind !== "predictions" ? html`<div class="fields"><${Field} title="The column of the tasks"><${Select} value=${proposal.task ?? ""} options=${[["", "(found by itself)"], ...columns]} onChange=${(task) => change({ task: task || null })} /><//></div>` : null}
    ${(proposal.examples ?? []).slice(0, 1).map((row, n) => html`<dl key=${n}>${Object.entries(row).map(([name, value]) => html`<div key=${name} class="pair"><dt>${name === "#" ? "task" : name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>`)}</div>`;
}

function Rows({ preview, reading }) {
  const role = (column) => ["task", "annotator", "label", "gold"].find((name) => (preview.is_export ? column === name : reading[name] === column)) ?? (reading.columns?.includes(column) ? "votes" : "");
  const names = { gold: "truth" };
  return html`<details open><summary>The first rows</summary><div class="scroll" tabindex="0"><table class="preview"><thead><tr>${preview.columns.map((column) => html`<th key=${column} class=${role(column) ? "chosen" : ""}>${role(column) ? html`<small>${names[role(column)] ?? role(column)}</small>` : null}${column}</th>`)}</tr></thead>
    <tbody>${preview.rows.map((row, n) => html`<tr key=${n}>${row.map((value, k) => html`<td key=${k} class=${role(preview.columns[k]) ? "chosen" : ""} dir="auto">${value ?? html`<span class="muted">blank</span>`}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

// A file that is used: read it again otherwise, or take it out.
function Source({ project, source }) {
  const [isOpen, open] = useState(false);
  const [isSure, ask] = useState(false);
  const [reading, setReading] = useState(null);
  const path = `/projects/${project.id}/sources/${source.id}`;
  const { data } = useLoad(isOpen ? `${path}${query({ reading: reading && JSON.stringify(reading) })}` : null, project.version);
  const facts = source.facts;
  const about = { items: facts.matched === undefined ? "" : `${count(facts.matched, "task")} found`, predictions: facts.n_tasks === undefined ? "" : `${count(facts.n_tasks, "task")} with a prediction`, truths: facts.used === undefined ? "" : `${count(facts.used, "truth")} used` }[source.kind];
  const current = { ...(data?.preview?.guess ?? {}), ...(data?.reading ?? {}), ...(reading ?? {}) };
  const again = async () => {
    await patch(path, { reading: reading ?? {}, state: "in" });
    open(false);
    setReading(null);
  };
  return html`<li class="open-row"><div class="what"><b>${source.name}</b><small>${[KINDS[source.kind], about, ago(source.at)].filter(Boolean).join(" · ")}</small></div>
    ${source.is_used ? null : html`<${Badge} kind="warn">not in the labels yet<//>`}
    ${source.kind === "votes" ? html`<button class="quiet small" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>How it is read</button>` : null}
    ${isSure ? html`<span class="row"><small>Without it, labels are computed again.</small><${Button} kind="small danger" onClick=${() => patch(path, { state: "out" })}>Take it out<//><button class="small quiet" onClick=${() => ask(false)}>Keep</button></span>` : html`<button class="quiet small" aria-label="Take out ${source.name}" onClick=${() => ask(true)}>Take out</button>`}
    ${!isOpen ? null : html`<div class="whole stack">${!data ? html`<${Loading} />` : data.preview === null ? null : html`${data.problem ? html`<${Note} kind="bad">${sentence(data.problem)}<//>` : null}<${Form} preview=${data.preview} reading=${current} change=${(values) => setReading({ ...(reading ?? {}), ...values })} name=${source.name} /><${Rows} preview=${data.preview} reading=${current} /><div class="row"><${Button} kind="primary" id="again" disabled=${isBusy(project)} onClick=${again}>Read it again<//><small class="muted">Spellings and what people judged are kept.</small></div>`}</div>`}</li>`;
}

// What was read: the classes, which can be merged or dropped, and what looks wrong.
function Found({ project, sources }) {
  const facts = project.fit?.facts;
  const votes = sources.filter((source) => source.kind === "votes");
  const [meant, setMeant] = useState({});
  useEffect(() => setMeant({}), [project.shown]);
  if (!facts || !votes.length) return null;
  const path = `/projects/${project.id}/sources/${votes[0].id}`;
  const reading = votes[0].reading;
  const use = (change) => attempt(() => patch(path, { reading: change, state: "in" }));
  const apply = () => {
    const alias = { ...(reading.alias ?? {}) };
    const missing = [...(reading.missing ?? [])];
    for (const [name, target] of Object.entries(meant)) {
      if (target === "\n") missing.push(name);
      else if (target) alias[name] = target;
    }
    return patch(path, { reading: { alias: Object.keys(alias).length ? alias : null, missing: missing.length ? ["NA", "N/A", "#N/A", "NaN", "null", "{}", "None", "-", "?", ...missing].filter((one, n, all) => all.indexOf(one) === n) : (reading.missing ?? null) }, state: "in" });
  };
  const names = facts.classes.map(([name]) => name);
  const most = Math.max(1, ...facts.classes.map(([, n]) => n));
  const changed = Object.values(meant).filter(Boolean).length;
  const near = Object.entries(facts.near).filter(([name]) => !meant[name]);
  const left = [[facts.counts.missing - Object.values(facts.no_vote).reduce((sum, n) => sum + n, 0), "rows without a label"], ...Object.entries(facts.no_vote).map(([word, n]) => [n, `“${word}”, which means no vote`]), [facts.counts.repeated, "repeated votes"], [facts.n_unlabelled, "tasks without any vote"], ...Object.entries(facts.counts.left_out ?? {}).map(([what, n]) => [n, what])].filter(([n]) => n > 0);
  return html`<section id="found" class="stack"><h2>What was read</h2>
    <p class="lead">${count(facts.n_votes, "vote")} by ${count(facts.n_annotators, "annotator")} on ${count(facts.n_tasks, "task")}, ${count(facts.n_classes, "class", "classes")}${facts.is_sets ? ", several of which may apply to a task" : ""}.</p>
    ${facts.findings.filter((one) => one.kind !== "merged" && !(one.kind === "misspelt" && Object.keys(facts.near).length)).map((finding) => html`<${Finding} key=${finding.text} finding=${finding} reading=${reading} use=${use} disabled=${isBusy(project)} />`)}
    ${near.length ? html`<${Note} kind="warn"><span>${near.slice(0, 4).map(([name, target]) => `“${name}” may be a misspelled ${target}`).join("; ")}.</span><button class="small primary" id="use-near" onClick=${() => setMeant({ ...meant, ...Object.fromEntries(near) })}>Correct ${near.length > 1 ? "them" : "it"} in the table</button><//>` : null}
    <div class="two"><table class="classes" id="classes"><thead><tr><th>Label in the votes</th><th class="number">Votes</th>${facts.is_sets ? null : html`<th>Counts as</th>`}</tr></thead><tbody>
      ${facts.classes.map(([name, n]) => html`<tr key=${name}><td dir="auto"><span class="bar"><i style=${{ width: `${(100 * n) / most}%` }} /><span>${visible(name)}</span></span></td><td class="number">${number(n)}</td>${facts.is_sets ? null : html`<td><${Select} aria-label="What ${name} counts as" value=${meant[name] ?? ""} options=${[["", "itself"], ["\n", "no vote"], ...names.filter((one) => one !== name).map((one) => [one, one])]} onChange=${(target) => setMeant({ ...meant, [name]: target })} /></td>`}</tr>`)}</tbody></table>
    <div class="stack">${left.length ? html`<h3>Left out</h3><dl>${left.map(([n, what]) => html`<div key=${what} class="pair"><dt>${what}</dt><dd>${number(n)}</dd></div>`)}</dl>` : null}
      ${Object.keys(reading.alias ?? {}).length ? html`<h3>Spellings in use</h3><ul class="list" id="aliases">${Object.entries(reading.alias).map(([from, to]) => html`<li key=${from}><span class="what">${from} → ${to}</span><${Button} kind="quiet small" aria-label="Forget ${from}" onClick=${() => { const rest = { ...reading.alias }; delete rest[from]; return use({ alias: Object.keys(rest).length ? rest : null }); }}>×<//></li>`)}</ul>` : null}
      ${reading.normalise ? html`<p>Labels that differ only in case, spaces or number format are one class. <${Button} kind="quiet small" onClick=${() => use({ normalise: false })}>Keep them apart<//></p>` : null}</div></div>
    ${changed ? html`<div class="row"><${Button} kind="primary" id="use-table" disabled=${isBusy(project)} onClick=${apply}>Use ${count(changed, "change")} and compute again<//><button class="quiet small" onClick=${() => setMeant({})}>Forget them</button></div>` : null}
  </section>`;
}

// A name whose spaces would not be seen is in quotation marks.
const visible = (name) => (name === name.split(/\s+/).filter(Boolean).join(" ") ? name : `"${name}"`);

function Finding({ finding, reading, use, disabled }) {
  const isPeople = finding.kind === "ids";
  const groups = finding.groups ?? [];
  const people = () => use({ people: { ...(reading.people ?? {}), ...Object.fromEntries(groups.flatMap(([[name], ...others]) => others.map(([other]) => [other, name]))) } });
  const advice = isPeople ? [] : finding.advice;
  return html`<${Note} kind="warn"><span>${sentence(finding.text)}</span>${isPeople && groups.length ? html`<${Button} kind="small" disabled=${disabled} onClick=${people}>They are the same people<//>` : null}
    ${advice.map((one) => html`${one.words ? html`<small key=${one.words}>${sentence(one.words)}</small>` : null}${one.choices ? html`<${Button} kind="small" disabled=${disabled} onClick=${() => use(one.choices)}>${choiceWords(one.choices)}<//>` : null}`)}<//>`;
}

// How a task is shown to those who judge, with an example.
function Shown({ project }) {
  const [template, setTemplate] = useState(project.template);
  const [guidelines, setGuidelines] = useState(project.guidelines);
  const [shown, setShown] = useState({ items: [], fields: [], problem: null });
  useEffect(() => {
    const timer = setTimeout(() => get(`/projects/${project.id}/tasks/0/content${query({ template })}`).then((found) => setShown({ ...found, problem: null }), (problem) => setShown((before) => ({ ...before, items: [], problem }))), 250);
    return () => clearTimeout(timer);
  }, [template, project.version]);
  const save = (values) => attempt(async () => (await patch(`/projects/${project.id}`, values), toast("Saved.")));
  return html`<details class="section" id="how-shown"><summary>How a task is shown, and the guidelines</summary><div class="two">
    <div class="stack"><${Field} title="What is shown of a task" about="Blank shows all columns. A line is shown as text, link, image, sound, video or PDF; markdown: at its beginning shows it so."><textarea id="template" rows="3" value=${template} onInput=${(event) => setTemplate(event.target.value)} onChange=${() => !shown.problem && save({ template: template.trim() })} /><//>
      <p class="row">${shown.fields.map((name) => html`<button key=${name} class="small quiet" onClick=${() => setTemplate(`${template}${template ? "\n" : ""}{${name}}`)}>{${name}}</button>`)}</p>
      <${Field} title="Guidelines" about="What annotators were told. It stands beside the task while people judge; Markdown."><textarea id="guidelines" rows="6" dir="auto" value=${guidelines} onInput=${(event) => setGuidelines(event.target.value)} onChange=${() => save({ guidelines })} /><//>
      <${Check} id="blind" checked=${project.blind} onChange=${(blind) => save({ blind })}>Hide votes and labels from people until they have judged a task<//>
      <${Check} id="remote" checked=${project.remote} onChange=${(remote) => save({ remote })}>Load images and sounds from other servers (these learn who looks at them; reload the page afterwards)<//></div>
    <div class="example" id="template-preview">${shown.problem ? html`<${Failed} problem=${shown.problem} />` : shown.items.length ? html`<${Content} items=${shown.items} remote=${project.remote} />` : html`<${Empty} title="Nothing to show">The votes have no texts. Add a table or a folder with them.<//>`}</div></div></details>`;
}

// The way in which labels are computed: for those who want to compare.
function Method({ project }) {
  const [isOpen, open] = useState(false);
  const [method, choose] = useState("");
  const methods = useLoad(isOpen ? "/methods" : null);
  const fits = useLoad(isOpen ? `/projects/${project.id}/fits` : null, project.version);
  const start = () => post(`/projects/${project.id}/fits`, { method: method || null });
  return html`<details class="section" id="method" onToggle=${(event) => open(event.target.open)}><summary>How labels are computed</summary>
    ${!methods.data || !fits.data ? html`<${Loading} />` : html`<div class="stack"><div class="row"><${Select} aria-label="Method" value=${method} options=${[["", "as before"], ...methods.data.map((one) => [one.name, `${one.name}${one.is_default ? " (recommended)" : ""}: ${one.about}`])]} onChange=${choose} /><${Button} id="fit" disabled=${isBusy(project)} onClick=${start}>Compute<//></div>
    <table><thead><tr><th>Result</th><th>Method</th><th class="number">Truths</th><th>Measured</th><td></td></tr></thead><tbody>${fits.data.filter((fit) => fit.facts).toReversed().map((fit) => html`<tr key=${fit.id}><td>fit ${fit.id} <small>${ago(fit.started)}</small></td><td>${fit.method}</td><td class="number">${number(fit.facts.truths)}</td><td>${fit.facts.measured ? percent(fit.facts.measured.estimate) : ""}</td><td>${fit.id === project.shown ? html`<${Badge} kind="good">shown<//>` : html`<${Button} kind="small" onClick=${() => patch(`/projects/${project.id}`, { shown: fit.id })}>Show<//>`}</td></tr>`)}</tbody></table></div>`}</details>`;
}
