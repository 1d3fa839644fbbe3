// How a file of votes is read: its columns, and more options made from the declarations of the reader.

import { Check, Details, Field, Loaded, Select, html } from "./ui.js";

const SHAPES = [
  ["long", "one vote"],
  ["wide", "one task, with a column for each annotator"],
  ["transposed", "one annotator, with a column for each task"],
  ["judges", "one call of an LLM judge"],
];
const RECORDS = SHAPES.filter(([key]) => ["long", "judges"].includes(key));
const ROLES = {
  long: [["task", "Task"], ["annotator", "Annotator"], ["label", "Label"]],
  wide: [["task", "Task", "(row number)"]],
  transposed: [["annotator", "Annotator", "(row number)"]],
  judges: [["task", "Item"], ["annotator", "Judge"], ["label", "Verdict"]],
};
// Columns that only a log of judges has, and what else can be said of it.
const OF_A_LOG = [
  ["order", "Order of the answers"],
  ["system_a", "First system"],
  ["system_b", "Second system"],
  ["criterion", "Criterion"],
  ["repeat", "Repeat"],
  ["cost", "Price of the call"],
  ["error", "Error of the call"],
];
const KINDS = [["", "(found by itself)"], ["pairwise", "compare two answers"], ["pointwise", "judge one answer"]];
const MEANINGS = [["", "positions"], ["answer", "the answers themselves"]];
const WRITTEN = [
  ["people", "Judges who are people", "ann, bob, or columns"],
  ["verdict_map", "What verdicts mean", "good=A,bad=B"],
];
// what the server calls these columns of a log
const NAMES = {
  ...{ task: "item", annotator: "judge", label: "verdict", gold: "truth" },
  ...{ system_a: "first system", system_b: "second system" },
};
// Options that have a place of their own.
const PLACED = ["task", "annotator", "label", "question", "include", "alias", "normalise", "missing"];
const CHOICES = {
  first: "the first counts",
  last: "the last counts",
  majority: "the most frequent counts",
  all: "all count",
  error: "refuse the file",
};
const YES_OR_NO = [
  ["", "(found by itself)"],
  ["true", "yes"],
  ["false", "no"],
];

export function Form({ preview, reading, change, name }) {
  const shape = reading.shape ?? "long";
  const isLog = shape === "judges";
  const role = (key, title, none = "(choose)") => html`
    <${Role} key=${key} name=${key} title=${title} none=${isLog ? foundIn(preview.log, key) : none}
      columns=${preview.columns} value=${reading[key]} set=${(value) => change({ [key]: value })} />
  `;
  const unset = { task: null, annotator: null, label: null, columns: null, judges: null };
  const reshape = (value) => change({ ...unset, shape: value });
  const ofLog = (name, value) => {
    const { [name]: _, ...rest } = reading.judges ?? {};
    const judges = value ? { ...rest, [name]: value } : rest;
    change({ judges: Object.keys(judges).length ? judges : null });
  };
  const roles = ROLES[shape].filter(([key]) => !(key === "annotator" && reading.one_annotator));
  const table = html`
    <${Field} title="One row is">
      <${Select} id="column-shape" value=${shape} options=${SHAPES} onChange=${reshape} />
    <//>
    ${roles.map((one) => role(...one))}
    ${shape === "long" && html`<${OneAnnotator} reading=${reading} change=${change} name=${name} />`}
    ${["wide", "transposed"].includes(shape) &&
    html`<${VoteColumns} preview=${preview} reading=${reading} change=${change} ids=${ROLES[shape][0][0]} />`}
    ${shape !== "transposed" && role("gold", "Known truth", "(none)")}
    ${isLog &&
    OF_A_LOG.map(([name, title]) => html`
      <${Role} key=${name} name=${name} title=${title} none=${foundIn(preview.log, name)} columns=${preview.columns}
        value=${reading.judges?.[name]} set=${(value) => ofLog(name, value)} />
    `)}
    ${isLog &&
    (reading.judges?.criterion || preview.log?.roles.criterion) &&
    html`<${Written} name="question" title="Criterion to read" given=${reading.judges} set=${ofLog} />`}
  `;
  const sheets = preview.sheets.map((one) => [one, one]);
  return html`
    <div class="stack">
      ${preview.log && html`<${LogReading} log=${preview.log} />`}
      <div class="fields">
        ${sheets.length > 1 && html`
          <${Field} title="Sheet">
            <${Select} id="sheet" value=${reading.sheet ?? sheets[0][0]} options=${sheets}
              onChange=${(sheet) => change({ sheet })} />
          <//>
        `}
        ${preview.is_export ? html`<${Exported} preview=${preview} reading=${reading} change=${change} />` : table}
      </div>
      <${Details} id="more-options" title="More options">
        ${isLog && html`<${Verdicts} given=${reading.judges ?? {}} set=${ofLog} />`}
        <${Loaded} path="/reading">
          ${(options) => html`
            <div class="fields">
              ${options
                .filter((option) => !PLACED.includes(option.name))
                .map((option) => html`
                  <${Option} key=${option.name} option=${option} value=${reading[option.name]}
                    set=${(value) => change({ [option.name]: value })} />
                `)}
            </div>
          `}
        <//>
      <//>
    </div>
  `;
}

function Role({ name, title, none, columns, value, set }) {
  // several columns may be one role: model,prompt
  const known = !value || columns.includes(value) ? columns : [value, ...columns];
  const options = known.map((column) => [column, column.split(",").join(" + ")]);
  return html`
    <${Field} title=${title}>
      <${Select} id=${`column-${name}`} value=${value} options=${[["", none], ...options]}
        onChange=${(chosen) => set(chosen || null)} />
    <//>
  `;
}

// What was found for a role of a log where nothing is chosen.
function foundIn(log, name) {
  const found = log?.roles[NAMES[name] ?? name]?.columns.join(" + ");
  return found ? `${found} (found)` : "(none)";
}

// How a log of judges was understood, role by role.
const LogReading = ({ log }) => html`
  <dl class="reading" id="log-reading">
    ${Object.entries(log.roles).map(([name, { columns, about }]) => html`
      <div key=${name}>
        <dt>${name}</dt>
        <dd><b>${columns.join(" + ")}</b> <small>${about}</small></dd>
      </div>
    `)}
    ${log.unused.length > 0 &&
    html`<div key="unused"><dt>not used</dt><dd class="muted">${log.unused.join(", ")}</dd></div>`}
  </dl>
`;

function Verdicts({ given, set }) {
  const choice = (name, title, options) => html`
    <${Field} title=${title}>
      <${Select} id=${`log-${name}`} value=${given[name]} options=${options} onChange=${(value) => set(name, value)} />
    <//>
  `;
  return html`
    <div class="fields">
      ${choice("kind", "Verdicts", KINDS)} ${choice("verdicts", "A and B mean", MEANINGS)}
      ${WRITTEN.map(([name, title, example]) => html`
        <${Written} key=${name} name=${name} title=${title} example=${example} given=${given} set=${set} />
      `)}
    </div>
  `;
}

const Written = ({ name, title, example = "", given, set }) => html`
  <${Field} title=${title}>
    <input id=${`log-${name}`} type="text" placeholder=${example} value=${given?.[name] ?? ""}
      onChange=${(event) => set(name, event.target.value.trim())} />
  <//>
`;

function OneAnnotator({ reading, change, name }) {
  const stem = name.replace(/\.[^.]+$/, "");
  const one = reading.one_annotator;
  return html`
    <div class="field" key="one">
      <${Check} id="one-annotator" checked=${Boolean(one)}
        onChange=${(on) => change({ one_annotator: on ? stem : null, annotator: null })}>
        All votes are of one annotator
      <//>
      ${one && html`
        <input type="text" aria-label="The annotator" value=${one}
          onChange=${(event) => change({ one_annotator: event.target.value || stem })} />
      `}
    </div>
  `;
}

function VoteColumns({ preview, reading, change, ids }) {
  const others = preview.columns.filter((column) => column !== reading[ids] && column !== reading.gold);
  const chosen = reading.columns ?? others;
  const isKept = (one, column, on) => (one === column ? on : chosen.includes(one));
  const toggle = (column, on) => change({ columns: others.filter((one) => isKept(one, column, on)) });
  return html`
    <div class="field across">
      <span>Columns with votes</span>
      <div class="row">
        ${others.slice(0, 60).map((column) => html`
          <${Check} key=${column} checked=${chosen.includes(column)} onChange=${(on) => toggle(column, on)}>
            ${column}
          <//>
        `)}
      </div>
    </div>
  `;
}

// What an export of a tool asks for.
function Exported({ preview, reading, change }) {
  const questions = preview.questions.map((one) => [one.name, `${one.name} (${one.n_votes} votes)`]);
  const included = reading.include ?? [];
  const include = (word, on) => change({ include: [...included.filter((one) => one !== word), ...(on ? [word] : [])] });
  return html`
    ${preview.is_judge_log && html`
      <${Field} title="One record is">
        <${Select} value=${reading.shape} options=${RECORDS} onChange=${(shape) => change({ shape })} />
      <//>
    `}
    ${questions.length > 1 && html`
      <${Field} title="Question">
        <${Select} id="column-question" value=${reading.question} options=${questions}
          onChange=${(question) => change({ question })} />
      <//>
    `}
    ${preview.has_gold && html`
      <${Check} checked=${Boolean(reading.gold_marks)} onChange=${(gold_marks) => change({ gold_marks })}>
        Use the truths that the tool marks
      <//>
    `}
    ${preview.includes.map((word) => html`
      <${Check} key=${word} checked=${included.includes(word)} onChange=${(on) => include(word, on)}>Include ${word}<//>
    `)}
  `;
}

const list = (text) => {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  return parts.length ? parts : null;
};
const READ = { number: (text) => (text === "" ? null : Number(text)), list };

function Option({ option, value, set }) {
  const { name, kind, title, help, choices } = option;
  const id = `option-${name}`;
  if (kind === "flag") {
    return html`<${Check} id=${id} checked=${Boolean(value)} onChange=${set}>${help.replace(/\.$/, "")}<//>`;
  }
  if (kind === "switch") {
    const take = (text) => set(text === "" ? null : text === "true");
    return html`
      <${Field} title=${title} about=${help}>
        <${Select} id=${id} value=${String(value ?? "")} options=${YES_OR_NO} onChange=${take} />
      <//>
    `;
  }
  if (kind === "choice") {
    const options = choices.map((one) => [one, CHOICES[one] ?? one]);
    return html`
      <${Field} title=${title} about=${help}>
        <${Select} id=${id} value=${value ?? choices[0]} options=${options} onChange=${set} />
      <//>
    `;
  }
  const read = READ[kind] ?? ((text) => text || null);
  return html`
    <${Field} title=${title} about=${help}>
      <input id=${id} type=${kind === "number" ? "number" : "text"} min=${option.low} max=${option.high}
        value=${(Array.isArray(value) ? value.join(", ") : value) ?? ""}
        onChange=${(event) => set(read(event.target.value))} />
    <//>
  `;
}
