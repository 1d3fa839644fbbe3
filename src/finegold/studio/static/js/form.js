// How a file of votes is read: its columns, and more options made from the declarations of the reader.

import { Check, Field, Select, html, useLoad } from "./ui.js";

const SHAPES = [["long", "one vote"], ["wide", "one task, with a column for each annotator"], ["transposed", "one annotator, with a column for each task"], ["judges", "one call of an LLM judge"]];
// Options that have a place of their own.
const PLACED = ["task", "annotator", "label", "question", "include", "alias", "normalise", "missing"];
const CHOICES = { first: "the first counts", last: "the last counts", majority: "the most frequent counts", all: "all count", error: "refuse the file" };
const list = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);

export function Form({ preview, reading, change, name }) {
  const options = useLoad("/reading");
  const columns = preview.columns.map((column) => [column, column]);
  const role = (key, title, none = "(choose)") => html`<${Field} key=${key} title=${title}><${Select} id=${`column-${key}`} value=${reading[key]} options=${[["", none], ...columns]} onChange=${(value) => change({ [key]: value || null })} /><//>`;
  const shape = reading.shape ?? "long";
  const stem = name.replace(/\.[^.]+$/, "");
  const votes = (key) => {
    const others = preview.columns.filter((column) => column !== reading[key] && column !== reading.gold);
    const chosen = reading.columns ?? others;
    return html`<div class="field across"><span>Columns with votes</span><div class="row">${others.slice(0, 60).map((column) => html`<${Check} key=${column} checked=${chosen.includes(column)} onChange=${(on) => change({ columns: others.filter((one) => (one === column ? on : chosen.includes(one))) })}>${column}<//>`)}</div></div>`;
  };
  const roles = {
    long: () => [role("task", "Task"), reading.one_annotator ? null : role("annotator", "Annotator"), role("label", "Label"), html`<div class="field" key="one"><${Check} id="one-annotator" checked=${Boolean(reading.one_annotator)} onChange=${(on) => change({ one_annotator: on ? stem : null, annotator: null })}>All votes are of one annotator<//>${reading.one_annotator ? html`<input type="text" aria-label="The annotator" value=${reading.one_annotator} onChange=${(event) => change({ one_annotator: event.target.value || stem })} />` : null}</div>`],
    wide: () => [role("task", "Task", "(row number)"), votes("task")],
    transposed: () => [role("annotator", "Annotator", "(row number)"), votes("annotator")],
    judges: () => [role("task", "Item"), role("annotator", "Judge"), role("label", "Verdict")],
  };
  const table = html`<${Field} title="One row is"><${Select} id="column-shape" value=${shape} options=${SHAPES} onChange=${(value) => change({ shape: value, task: null, annotator: null, label: null, columns: null })} /><//>${(roles[shape] ?? roles.long)()}${shape === "transposed" ? null : role("gold", "Known truth", "(none)")}`;
  const questions = preview.questions.map((question) => [question.name, `${question.name} (${question.n_votes} votes)`]);
  const exported = html`${preview.is_judge_log ? html`<${Field} title="One record is"><${Select} value=${shape} options=${SHAPES.filter(([key]) => ["long", "judges"].includes(key))} onChange=${(value) => change({ shape: value })} /><//>` : null}${questions.length > 1 ? html`<${Field} title="Question"><${Select} id="column-question" value=${reading.question} options=${questions} onChange=${(question) => change({ question })} /><//>` : null}${preview.has_gold ? html`<${Check} checked=${Boolean(reading.gold_marks)} onChange=${(gold_marks) => change({ gold_marks })}>Use the truths that the tool marks<//>` : null}${preview.includes.map((word) => html`<${Check} key=${word} checked=${reading.include?.includes(word)} onChange=${(on) => change({ include: [...(reading.include ?? []).filter((one) => one !== word), ...(on ? [word] : [])] })}>Include ${word}<//>`)}`;
  return html`<div class="stack">
    <div class="fields">${preview.sheets.length > 1 ? html`<${Field} title="Sheet"><${Select} id="sheet" value=${reading.sheet ?? preview.sheets[0]} options=${preview.sheets.map((one) => [one, one])} onChange=${(sheet) => change({ sheet })} /><//>` : null}${preview.is_export ? exported : table}</div>
    <details id="more"><summary>More options</summary><div class="fields">${(options.data ?? []).filter((option) => !PLACED.includes(option.name)).map((option) => html`<${Option} key=${option.name} option=${option} value=${reading[option.name]} set=${(value) => change({ [option.name]: value })} />`)}</div></details>
  </div>`;
}

function Option({ option, value, set }) {
  const { name, kind, title, help } = option;
  const id = `option-${name}`;
  if (kind === "flag") return html`<${Check} id=${id} checked=${Boolean(value)} onChange=${set}>${help.replace(/\.$/, "")}<//>`;
  if (kind === "switch") return html`<${Field} title=${title} about=${help}><${Select} id=${id} value=${value === null || value === undefined ? "" : String(value)} options=${[["", "(found by itself)"], ["true", "yes"], ["false", "no"]]} onChange=${(text) => set(text === "" ? null : text === "true")} /><//>`;
  if (kind === "choice") return html`<${Field} title=${title} about=${help}><${Select} id=${id} value=${value ?? option.choices[0]} options=${option.choices.map((one) => [one, CHOICES[one] ?? one])} onChange=${set} /><//>`;
  const read = { number: (text) => (text === "" ? null : Number(text)), list: (text) => (list(text).length ? list(text) : null) }[kind] ?? ((text) => text || null);
  return html`<${Field} title=${title} about=${help}><input id=${id} type=${kind === "number" ? "number" : "text"} min=${option.low} max=${option.high} value=${(Array.isArray(value) ? value.join(", ") : value) ?? ""} onChange=${(event) => set(read(event.target.value))} /><//>`;
}
