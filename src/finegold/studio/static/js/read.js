// What arrived in the project: files and how they are read, and what looks wrong in them.

import { del, get, patch, post, query } from "./api.js";
import { addFile, Drop } from "./home.js";
import {
  Badge, Button, Check, Details, Failed, Field, Figures, Loaded, Loading, Note, Pairs, Select, Sure,
  ago, attempt, count, html, isBusy, number, percent, sentence, size, toast, useEffect, useLoad, useState,
} from "./ui.js";
import { Form } from "./form.js";

const KINDS = {
  votes: "Votes",
  items: "Texts and images",
  predictions: "Predictions of a model",
  truths: "Known truths",
};
const NO_VOTE = ["NA", "N/A", "#N/A", "NaN", "null", "{}", "None", "-", "?"];
const ADD =
  "More votes, texts or images of the tasks, predictions of a model, or known truths: what is in a file is seen" +
  " before anything changes.";
const BEGIN =
  "A table with a column of tasks, one of annotators and one of labels, a workbook, or an export of a labelling tool.";

export function Read({ project }) {
  const { data, problem, again } = useLoad(`/projects/${project.id}/sources`, project.version);
  const { data: folder } = useLoad("/folder");
  if (problem && !data) return html`<${Failed} problem=${problem} />`;
  if (!data || !folder) return html`<${Loading} />`;
  const add = async (files) => {
    for (const file of files) await addFile(project.id, file);
    again();
  };
  const drafts = data.filter((source) => source.state === "draft");
  const used = data.filter((source) => source.state === "in");
  const waiting = folder.files.filter((file) => !data.some((source) => source.name === file.name));
  const hasLabels = project.shown !== null;
  const readAll = async () => {
    for (const one of drafts) await patch(`/projects/${project.id}/sources/${one.id}`, { state: "in" });
    again();
  };
  return html`
    <div class="stack wide-gap">
      <h1 class="hidden">Read</h1>
      <${Status} project=${project} />
      ${drafts.map((source) => html`
        <${Draft} key=${source.id} project=${project} source=${source}
          isFirst=${!used.some((one) => one.kind === "votes")} isSeveral=${drafts.length > 1} again=${again} />
      `)}
      ${drafts.length > 1 &&
      html`<${Button} kind="primary" id="read-all" onClick=${readAll}>Read all ${drafts.length} files<//>`}
      ${hasLabels && html`<${Found} project=${project} sources=${used} />`}
      ${used.length > 0 && html`
        <section>
          <h2>What arrived</h2>
          <ul class="list" id="sources">
            ${used.map((source) => html`<${Source} key=${source.id} project=${project} source=${source} />`)}
          </ul>
        </section>
      `}
      <section id="add">
        <h2>${data.length ? "Add another file" : "Add the votes"}</h2>
        <p class="muted">${data.length ? ADD : BEGIN}</p>
        <${Drop} words="or drop them here" limit=${folder.upload_limit} onFiles=${add} />
        <div class="row files">
          ${waiting.slice(0, 12).map((file) => html`
            <${Button} key=${file.name} kind="small" title=${size(file.size)} onClick=${() => add([file.name])}>
              ${file.name}
            <//>
          `)}
          ${folder.folders.map(
            (name) => html`<${Button} key=${name} kind="small" onClick=${() => add([name])}>${name}/<//>`,
          )}
        </div>
      </section>
      ${hasLabels && html`<${Judging} project=${project} />`} ${hasLabels && html`<${Method} project=${project} />`}
    </div>
  `;
}

function Status({ project }) {
  const { job } = project;
  if (isBusy(project)) {
    const step = job.step ? `Computing the labels: step ${job.step}` : `Reading: ${number(job.rows)} rows`;
    return html`
      <${Note}>
        <span class="row"><span class="spin" />${job.message || step}</span>
        <${Button} kind="small" onClick=${() => del(`/projects/${project.id}/job`)}>Stop<//>
      <//>
    `;
  }
  if (job?.state !== "failed") return null;
  // a choice that repairs what failed, for the newest file with votes
  const repair = async () => {
    const sources = await get(`/projects/${project.id}/sources`);
    const source = sources.filter((one) => one.kind === "votes").at(-1);
    await patch(`/projects/${project.id}/sources/${source.id}`, { reading: job.repair, state: "in" });
  };
  return html`
    <${Note} kind="bad" role="alert" id="failure">
      <span>${sentence(job.message)}</span>
      ${job.repair && html`<${Button} kind="small primary" onClick=${repair}>${choiceWords(job.repair)}<//>`}
    <//>
  `;
}

function choiceWords(choices) {
  const said = {
    normalise: "Merge these spellings",
    repeated: "Change which vote counts",
    alias: "Use this spelling",
    header: "Change the line of the names",
    format: "Read it as a plain table",
    shape: "Change what a row is",
  };
  const [name, value] = Object.entries(choices)[0] ?? ["", ""];
  if (name === "missing") return value?.length ? `Count ${value.join(", ")} as no vote` : "Keep them as classes";
  return said[name] ?? `Set ${name} to ${value}`;
}

// How a file is read, with what was changed on the page.
function useReading(path, isOpen, version) {
  const [reading, setReading] = useState(null);
  const asked = query({ reading: reading && JSON.stringify(reading) });
  const { data, problem } = useLoad(isOpen ? `${path}${asked}` : null, version);
  const current = { ...data?.preview?.guess, ...data?.reading, ...reading };
  const change = (values) => setReading({ ...reading, ...values });
  return { seen: data, problem, reading, current, change, forget: () => setReading(null) };
}

// A file that is looked at before it is used.
function Draft({ project, source, isFirst, isSeveral, again }) {
  const [isOpen, open] = useState(!isSeveral);
  const path = `/projects/${project.id}/sources/${source.id}`;
  const { seen, problem, reading, current, change } = useReading(path, isOpen, `${source.kind} ${project.version}`);
  const save = async (values) => {
    await patch(path, values);
    again();
  };
  const isVotes = source.kind === "votes";
  const hasAnnotator = (role) => role === "annotator" && current.one_annotator;
  const isTable = isVotes && seen?.preview && !seen.preview.is_export && (current.shape ?? "long") === "long";
  const roles = isTable ? ["task", "annotator", "label"] : [];
  const missing = roles.filter((role) => !current[role] && !hasAnnotator(role));
  const take = html`
    <${Button} kind="primary" id="take" disabled=${!seen || missing.length > 0 || Boolean(seen.problem)}
      onClick=${() => save({ state: "in", reading: reading ?? {} })}>
      ${isFirst ? "Read and compute labels" : "Take it in"}
    <//>
  `;
  const waiting = problem ? html`<${Failed} problem=${problem} />` : html`<${Loading} what="Looking at it" />`;
  const repair = seen?.preview?.repair;
  const Proposal = isVotes ? Arrival : Fits;
  const body = seen && html`
    ${seen.problem && html`
      <${Note} kind="bad" role="alert">
        <span>${sentence(seen.problem)}</span>
        ${repair && html`<${Button} kind="small primary" onClick=${() => change(repair)}>${choiceWords(repair)}<//>`}
        ${seen.preview?.ways.map(({ words, choices }) => html`
          <${Button} key=${words} kind="small" onClick=${() => change(choices)}>
            ${sentence(words.replace(/^if (it is|these are|those are) /, "")).slice(0, -1)}
          <//>
        `)}
      <//>
    `}
    ${missing.length > 0 &&
    !seen.problem &&
    html`<${Note} kind="warn">No column was found for the ${missing.join(" or the ")}: choose it below.<//>`}
    ${seen.proposal &&
    html`<${Proposal} kind=${source.kind} proposal=${seen.proposal} reading=${current} change=${change} />`}
    ${seen.warnings.map((text) => html`<${Note} key=${text} kind="warn">${sentence(text)}<//>`)}
    ${isVotes &&
    seen.preview && html`<${Form} preview=${seen.preview} reading=${current} change=${change} name=${source.name} />`}
    ${seen.preview?.rows.length > 0 && html`<${Rows} preview=${seen.preview} reading=${isVotes ? current : {}} />`}
  `;
  return html`
    <section class="card draft" data-source=${source.name}>
      <header>
        <div><h2>${source.name}</h2><span class="muted">${seen?.preview?.format ?? ""}</span></div>
        <${Select} aria-label="What it holds" value=${source.kind} options=${Object.entries(KINDS)}
          onChange=${(kind) => attempt(() => save({ kind }))} />
        <span class="row">
          <${Button} kind="quiet small" onClick=${() => save({ state: "out" })}>Leave it out<//>
          ${isOpen ? take : html`<button class="small" onClick=${() => open(true)}>Look at it</button>`}
        </span>
      </header>
      ${isOpen && (body ?? waiting)}
    </section>
  `;
}

// What votes that arrive would change, with a button for what looks misspelled.
function Arrival({ proposal, reading, change }) {
  const parts = [
    ["votes", proposal.votes],
    ["new", proposal.new],
    ["there already", proposal.repeated],
    ["replace another vote of the same person", proposal.changed],
    ["tasks that are new", proposal.new_tasks],
    ["rows without a label", proposal.missing],
  ].filter(([, n]) => n);
  const near = Object.entries(proposal.near);
  const strange = proposal.new_classes.filter((name) => !proposal.near[name]);
  const spell = () => change({ alias: { ...reading.alias, ...proposal.near } });
  const drop = () => change({ missing: [...(reading.missing ?? NO_VOTE), ...strange] });
  return html`
    <div class="stack" id="arrival">
      <${Figures} pairs=${parts} />
      ${near.length > 0 && html`
        <${Note} kind="warn">
          <span>${near.map(([spelling, name]) => `“${spelling}” may be a misspelled ${name}`).join("; ")}.</span>
          <button class="small primary" id="repair-spelling" onClick=${spell}>
            ${near.length > 1 ? "Correct them" : `Read it as ${near[0][1]}`}
          </button>
        <//>
      `}
      ${strange.length > 0 && html`
        <${Note} kind="warn">
          <span>
            Nobody has voted for ${strange.slice(0, 8).join(", ")} so far:${" "}
            ${count(strange.length, "new class", "new classes")}.
          </span>
          <button class="small" onClick=${drop}>Count as no vote</button>
        <//>
      `}
      ${proposal.new_annotators.length > 0 &&
      html`<p class="muted">New people: ${proposal.new_annotators.slice(0, 12).join(", ")}</p>`}
      ${proposal.examples.length > 0 && html`
        <details>
          <summary>Votes that would change</summary>
          <ul class="list">
            ${proposal.examples.map(
              (one, n) => html`<li key=${n}>${one.annotator} on ${one.task}: ${one.before} → ${one.after}</li>`,
            )}
          </ul>
        </details>
      `}
    </div>
  `;
}

// What a file other than of votes would add.
function Fits({ kind, proposal, change }) {
  const columns = (proposal.columns ?? []).map((name) => [name, name]);
  const tasks = (n) => count(n, "task");
  const said = {
    items: () => [
      `${tasks(proposal.matched)} found`,
      proposal.without && `${tasks(proposal.without)} without`,
      proposal.unmatched && `${count(proposal.unmatched, "id belongs", "ids belong")} to no task of today`,
    ],
    predictions: () => [
      `${tasks(proposal.n_tasks)} with a prediction`,
      proposal.n_without_prediction && `${number(proposal.n_without_prediction)} without`,
      proposal.n_without_votes && `${tasks(proposal.n_without_votes)} without votes get a label from it`,
    ],
    truths: () => [
      `${count(proposal.used, "truth")} of tasks with votes`,
      proposal.without_votes && `${number(proposal.without_votes)} of tasks without votes`,
      proposal.unknown_classes.length && `${proposal.unknown_classes.join(", ")} are no classes and are left out`,
    ],
  }[kind]().filter(Boolean);
  const example = Object.entries(proposal.examples?.[0] ?? {});
  return html`
    <div class="stack" id="matched">
      <p>${said.join("; ")}.</p>
      ${columns.length > 0 && html`
        <div class="fields">
          <${Field} title="The column of the tasks">
            <${Select} value=${proposal.task ?? ""} options=${[["", "(found by itself)"], ...columns]}
              onChange=${(task) => change({ task: task || null })} />
          <//>
        </div>
      `}
      <${Pairs} pairs=${example.map(([name, value]) => [name === "#" ? "task" : name, value])} />
    </div>
  `;
}

function Rows({ preview, reading }) {
  const isLog = reading.shape === "judges";
  const roles = ["task", "annotator", "label", "gold"];
  const names = { gold: "truth", ...(isLog ? { task: "item", annotator: "judge", label: "verdict" } : {}) };
  const has = (name, column) => (preview.is_export ? column === name : reading[name] === column);
  const role = (column) => {
    const found = roles.find((name) => has(name, column)) ?? (reading.columns?.includes(column) ? "votes" : "");
    return names[found] ?? found;
  };
  const kind = (column) => (role(column) ? "chosen" : "");
  const head = (column) => html`
    <th key=${column} class=${kind(column)}>${role(column) && html`<small>${role(column)}</small>`}${column}</th>
  `;
  const cell = (value, k) => html`
    <td key=${k} class=${kind(preview.columns[k])} dir="auto">${value ?? html`<span class="muted">blank</span>`}</td>
  `;
  return html`
    <details open>
      <summary>The first rows</summary>
      <div class="scroll" tabindex="0">
        <table class="preview">
          <thead><tr>${preview.columns.map(head)}</tr></thead>
          <tbody>${preview.rows.map((row, n) => html`<tr key=${n}>${row.map(cell)}</tr>`)}</tbody>
        </table>
      </div>
    </details>
  `;
}

// A file that is used: read it again otherwise, or take it out.
function Source({ project, source }) {
  const [isOpen, open] = useState(false);
  const { facts, kind } = source;
  const path = `/projects/${project.id}/sources/${source.id}`;
  const { seen, reading, current, change, forget } = useReading(path, isOpen, project.version);
  const about = {
    items: facts.matched !== undefined && `${count(facts.matched, "task")} found`,
    predictions: facts.n_tasks !== undefined && `${count(facts.n_tasks, "task")} with a prediction`,
    truths: facts.used !== undefined && `${count(facts.used, "truth")} used`,
  }[kind];
  const again = async () => {
    await patch(path, { reading: reading ?? {}, state: "in" });
    open(false);
    forget();
  };
  const form = seen?.preview && html`
    ${seen.problem && html`<${Note} kind="bad">${sentence(seen.problem)}<//>`}
    <${Form} preview=${seen.preview} reading=${current} change=${change} name=${source.name} />
    <${Rows} preview=${seen.preview} reading=${current} />
    <div class="row">
      <${Button} kind="primary" id="again" disabled=${isBusy(project)} onClick=${again}>Read it again<//>
      <small class="muted">Spellings and what people judged are kept.</small>
    </div>
  `;
  return html`
    <li class="open-row">
      <div class="what">
        <b>${source.name}</b>
        <small>${[KINDS[kind], about, ago(source.at)].filter(Boolean).join(" · ")}</small>
      </div>
      ${!source.is_used && html`<${Badge} kind="warn">not in the labels yet<//>`}
      ${kind === "votes" && html`
        <button class="quiet small" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>How it is read</button>
      `}
      <${Sure} ask="Take out" label=${`Take out ${source.name}`} about="Without it, labels are computed again."
        yes="Take it out" no="Keep" kind="danger" onYes=${() => patch(path, { state: "out" })} />
      ${isOpen && html`<div class="whole stack">${seen ? form : html`<${Loading} />`}</div>`}
    </li>
  `;
}

// What was read: the classes, which can be merged or dropped, and what looks wrong.
function Found({ project, sources }) {
  const facts = project.fit?.facts;
  const first = sources.find((source) => source.kind === "votes");
  const [meant, setMeant] = useState({});
  useEffect(() => setMeant({}), [project.shown]);
  if (!facts || !first) return null;
  const { reading } = first;
  const use = (change) =>
    attempt(() => patch(`/projects/${project.id}/sources/${first.id}`, { reading: change, state: "in" }));
  const apply = () => {
    const pairs = Object.entries(meant).filter(([, target]) => target);
    const dropped = pairs.filter(([, target]) => target === "\n").map(([name]) => name);
    const alias = { ...reading.alias, ...Object.fromEntries(pairs.filter(([, target]) => target !== "\n")) };
    const missing = dropped.length ? [...(reading.missing ?? NO_VOTE), ...dropped] : (reading.missing ?? null);
    return use({ alias: Object.keys(alias).length ? alias : null, missing });
  };
  const forget = (name) => {
    const { [name]: _, ...rest } = reading.alias;
    return use({ alias: Object.keys(rest).length ? rest : null });
  };
  const busy = isBusy(project);
  const changed = Object.values(meant).filter(Boolean).length;
  const near = Object.entries(facts.near).filter(([name]) => !meant[name]);
  const spell = () => setMeant({ ...meant, ...Object.fromEntries(near) });
  const isSaid = ({ kind }) => kind !== "merged" && !(kind === "misspelt" && Object.keys(facts.near).length);
  const noVotes = Object.entries(facts.no_vote);
  const left = [
    ["rows without a label", facts.counts.missing - noVotes.reduce((sum, [, n]) => sum + n, 0)],
    ...noVotes.map(([word, n]) => [`“${word}”, which means no vote`, n]),
    ["repeated votes", facts.counts.repeated],
    ["tasks without any vote", facts.n_unlabelled],
    ...Object.entries(facts.counts.left_out ?? {}),
  ].filter(([, n]) => n > 0);
  const sizes = [
    `${count(facts.n_votes, "vote")} by ${count(facts.n_annotators, "annotator")} on ${count(facts.n_tasks, "task")}`,
    count(facts.n_classes, "class", "classes"),
    ...(facts.is_sets ? ["several of which may apply to a task"] : []),
  ];
  return html`
    <section id="found" class="stack">
      <h2>What was read</h2>
      <p class="lead">${sizes.join(", ")}.</p>
      ${facts.findings
        .filter(isSaid)
        .map((finding) => html`
          <${Finding} key=${finding.text} finding=${finding} reading=${reading} use=${use} disabled=${busy} />
        `)}
      ${near.length > 0 && html`
        <${Note} kind="warn">
          <span>
            ${near
              .slice(0, 4)
              .map(([name, target]) => `“${name}” may be a misspelled ${target}`)
              .join("; ")}.
          </span>
          <button class="small primary" id="use-near" onClick=${spell}>
            Correct ${near.length > 1 ? "them" : "it"} in the table
          </button>
        <//>
      `}
      <div class="two">
        <${Classes} facts=${facts} meant=${meant} setMeant=${setMeant} />
        <div class="stack">
          ${left.length > 0 && html`<h3>Left out</h3><${Pairs} pairs=${left.map(([what, n]) => [what, number(n)])} />`}
          ${reading.alias && html`<h3>Spellings in use</h3><${Spellings} alias=${reading.alias} forget=${forget} />`}
          ${reading.normalise && html`
            <p>
              Labels that differ only in case, spaces or number format are one class.${" "}
              <${Button} kind="quiet small" onClick=${() => use({ normalise: false })}>Keep them apart<//>
            </p>
          `}
        </div>
      </div>
      ${changed > 0 && html`
        <div class="row">
          <${Button} kind="primary" id="use-table" disabled=${isBusy(project)} onClick=${apply}>
            Use ${count(changed, "change")} and compute again
          <//>
          <button class="quiet small" onClick=${() => setMeant({})}>Forget them</button>
        </div>
      `}
    </section>
  `;
}

const Spellings = ({ alias, forget }) => html`
  <ul class="list" id="aliases">
    ${Object.entries(alias).map(([from, to]) => html`
      <li key=${from}>
        <span class="what">${from} → ${to}</span>
        <${Button} kind="quiet small" aria-label="Forget ${from}" onClick=${() => forget(from)}>×<//>
      </li>
    `)}
  </ul>
`;

// A name whose spaces would not be seen is in quotation marks.
const visible = (name) => (name === name.split(/\s+/).filter(Boolean).join(" ") ? name : `"${name}"`);

// The classes of the votes, and what each counts as.
function Classes({ facts, meant, setMeant }) {
  const most = Math.max(1, ...facts.classes.map(([, n]) => n));
  const options = (name) => {
    const others = facts.classes.filter(([one]) => one !== name).map(([one]) => [one, one]);
    return [["", "itself"], ["\n", "no vote"], ...others];
  };
  const choice = (name) => html`
    <td>
      <${Select} aria-label="What ${name} counts as" value=${meant[name] ?? ""} options=${options(name)}
        onChange=${(target) => setMeant({ ...meant, [name]: target })} />
    </td>
  `;
  const row = ([name, n]) => html`
    <tr key=${name}>
      <td dir="auto">
        <span class="bar"><i style=${{ width: `${(100 * n) / most}%` }} /><span>${visible(name)}</span></span>
      </td>
      <td class="number">${number(n)}</td>
      ${!facts.is_sets && choice(name)}
    </tr>
  `;
  return html`
    <table class="classes" id="classes">
      <thead>
        <tr><th>Label in the votes</th><th class="number">Votes</th>${!facts.is_sets && html`<th>Counts as</th>`}</tr>
      </thead>
      <tbody>${facts.classes.map(row)}</tbody>
    </table>
  `;
}

function Finding({ finding, reading, use, disabled }) {
  const isPeople = finding.kind === "ids";
  const groups = finding.groups ?? [];
  const same = () => {
    const pairs = groups.flatMap(([[name], ...others]) => others.map(([other]) => [other, name]));
    return use({ people: { ...reading.people, ...Object.fromEntries(pairs) } });
  };
  const advice = isPeople ? [] : finding.advice;
  return html`
    <${Note} kind="warn">
      <span>${sentence(finding.text)}</span>
      ${isPeople &&
      groups.length > 0 &&
      html`<${Button} kind="small" disabled=${disabled} onClick=${same}>They are the same people<//>`}
      ${advice.map(({ words, choices }) => html`
        ${words && html`<small key=${words}>${sentence(words)}</small>`}
        ${choices &&
        html`<${Button} kind="small" disabled=${disabled} onClick=${() => use(choices)}>${choiceWords(choices)}<//>`}
      `)}
    <//>
  `;
}

// What people see who judge.
function Judging({ project }) {
  const [guidelines, setGuidelines] = useState(project.guidelines);
  const save = (values) =>
    attempt(async () => {
      await patch(`/projects/${project.id}`, values);
      toast("Saved.");
    });
  return html`
    <${Details} id="how-shown" title="Guidelines, and what people see who judge">
      <div class="stack">
        <${Field} title="Guidelines"
          about="What annotators were told. It stands beside the task while people judge; Markdown.">
          <textarea id="guidelines" rows="6" dir="auto" value=${guidelines}
            onInput=${(event) => setGuidelines(event.target.value)} onChange=${() => save({ guidelines })} />
        <//>
        <${Check} id="blind" checked=${project.blind} onChange=${(blind) => save({ blind })}>
          Hide votes and labels from people until they have judged a task
        <//>
        <${Check} id="remote" checked=${project.remote} onChange=${(remote) => save({ remote })}>
          Load images and sounds from other servers (these learn who looks at them; reload the page afterwards)
        <//>
      </div>
    <//>
  `;
}

// The way in which labels are computed: for those who want to compare.
function Method({ project }) {
  const [method, choose] = useState("");
  const start = () => post(`/projects/${project.id}/fits`, { method: method || null });
  const text = (one) => `${one.name}${one.is_default ? " (recommended)" : ""}: ${one.about}`;
  const options = (methods) => [["", "as before"], ...methods.map((one) => [one.name, text(one)])];
  const show = (fit) => patch(`/projects/${project.id}`, { shown: fit.id });
  const row = (fit) => html`
    <tr key=${fit.id}>
      <td>fit ${fit.id} <small>${ago(fit.started)}</small></td>
      <td>${fit.method}</td>
      <td class="number">${number(fit.facts.truths)}</td>
      <td>${fit.facts.measured ? percent(fit.facts.measured.estimate) : ""}</td>
      <td>
        ${fit.id === project.shown
          ? html`<${Badge} kind="good">shown<//>`
          : html`<${Button} kind="small" onClick=${() => show(fit)}>Show<//>`}
      </td>
    </tr>
  `;
  return html`
    <${Details} id="method" title="How labels are computed">
      <div class="stack">
        <div class="row">
          <${Loaded} path="/methods">
            ${(methods) => html`
              <${Select} aria-label="Method" value=${method} options=${options(methods)} onChange=${choose} />
            `}
          <//>
          <${Button} id="fit" disabled=${isBusy(project)} onClick=${start}>Compute<//>
        </div>
        <${Loaded} path=${`/projects/${project.id}/fits`} values=${[project.version]}>
          ${(fits) => html`
            <table>
              <thead>
                <tr><th>Result</th><th>Method</th><th class="number">Truths</th><th>Measured</th><td></td></tr>
              </thead>
              <tbody>${fits.filter((fit) => fit.facts).toReversed().map(row)}</tbody>
            </table>
          `}
        <//>
      </div>
    <//>
  `;
}
