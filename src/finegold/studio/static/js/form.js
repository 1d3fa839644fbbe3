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
  const columns = preview.columns.map((column) => [column, column]);
  const shape = reading.shape ?? "long";
  const role = (key, title, none = "(choose)") => html`
    <${Field} key=${key} title=${title}>
      <${Select} id=${`column-${key}`} value=${reading[key]} options=${[["", none], ...columns]}
        onChange=${(value) => change({ [key]: value || null })} />
    <//>
  `;
  const reshape = (value) => change({ shape: value, task: null, annotator: null, label: null, columns: null });
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
  `;
  const sheets = preview.sheets.map((one) => [one, one]);
  return html`
    <div class="stack">
      <div class="fields">
        ${sheets.length > 1 && html`
          <${Field} title="Sheet">
            <${Select} id="sheet" value=${reading.sheet ?? sheets[0][0]} options=${sheets}
              onChange=${(sheet) => change({ sheet })} />
          <//>
        `}
        ${preview.is_export ? html`<${Exported} preview=${preview} reading=${reading} change=${change} />` : table}
      </div>
      <${Details} title="More options">
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
