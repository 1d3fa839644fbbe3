// One task: what it looks like, what was voted, and what people say about it.

import { get, post } from "./api.js";
import { Badge, Button, Check, Dialog, Failed, Label, Loading, Meter, ago, attempt, count, html, percent, useEffect, useRef, useState, words } from "./ui.js";
import { Markdown } from "./markdown.js";

export const MARKS = { tied: "tied votes", contested: "close", flipped: "against the majority", unanimous: "all agree", predicted: "model only" };
const MOST_BUTTONS = 12;

export function Content({ items, remote, big = false }) {
  const [zoomed, zoom] = useState(null);
  if (!items.length) return null;
  return html`<div class="content ${big ? "big" : ""}">
    ${items.map((item, place) => html`<div key=${place} class="item">${item.name && items.length > 1 ? html`<small class="name">${item.name}</small>` : null}<${Item} item=${item} remote=${remote} zoom=${zoom} /></div>`)}
    ${zoomed && html`<${Dialog} title=${zoomed.name ?? "Image"} kind="zoom" onClose=${() => zoom(null)}><${Zoomable} src=${zoomed.href} alt=${zoomed.text} /><//>`}
  </div>`;
}

function Item({ item, remote, zoom }) {
  const { kind, text, href } = item;
  if (kind === "markdown") return html`<${Markdown} text=${text} />`;
  if (kind === "text") return html`<p class="text" dir="auto">${text}</p>`;
  if (kind === "link" || (item.is_remote && !remote)) return html`<a href=${href} target="_blank" rel="noopener noreferrer">${text}</a>`;
  if (kind === "image") return html`<button class="thumb" aria-label="Enlarge ${text}" onClick=${() => zoom(item)}><img src=${href} alt=${text} loading="lazy" /></button>`;
  if (kind === "pdf") return html`<iframe src=${href} title=${text} />`;
  return kind === "video" ? html`<video src=${href} controls />` : html`<audio src=${href} controls />`;
}

// An image that the wheel, the keys + and - and the buttons enlarge; it is moved by its scroll bars.
function Zoomable({ src, alt }) {
  const [scale, setScale] = useState(1);
  const by = (factor) => setScale((now) => Math.min(8, Math.max(1, now * factor)));
  const wheel = (event) => (event.preventDefault(), by(event.deltaY < 0 ? 1.2 : 1 / 1.2));
  const press = (event) => ["+", "="].includes(event.key) ? by(1.4) : event.key === "-" && by(1 / 1.4);
  return html`<div class="zoomable" onWheel=${wheel} onKeyDown=${press} tabindex="0"><img src=${src} alt=${alt} style=${{ width: `${100 * scale}%` }} /></div>
    <div class="row"><button class="small" onClick=${() => by(1.4)}>Larger</button><button class="small" onClick=${() => by(1 / 1.4)}>Smaller</button><small>${Math.round(100 * scale)} %</small></div>`;
}

export function Votes({ view, classes }) {
  const most = Math.max(0.01, ...view.votes.map((vote) => Math.abs(vote.weight ?? 0)));
  const place = (label) => classes.indexOf(label);
  return html`<div class="stack">
    <div class="tally">${view.tally.map((one) => html`<div key=${one.label}><${Label} place=${place(one.label)}>${one.label}<//><span class="muted">${count(one.votes, "vote")}</span><${Meter} value=${one.probability} /></div>`)}</div>
    ${view.predictions.map((one) => html`<p key=${one.model}><span class="muted">${one.model} says</span> <${Label} place=${place(one.label)}>${one.label}<//> <small>${percent(one.probability, 0)}</small></p>`)}
    ${view.votes.length ? html`<table class="votes"><caption>${view.rival ? `Who voted what, and how much it counts for ${view.label} rather than ${view.rival}` : "Who voted what"}</caption><tbody>
      ${view.votes.map((vote, n) => html`<tr key=${n}><td>${vote.annotator} <small title="share of their votes that is right">${percent(vote.accuracy, 0)}</small></td><td><${Label} place=${place(vote.label)}>${vote.label}<//></td><td>${vote.weight === null ? null : html`<${Weight} value=${vote.weight} most=${most} />`}</td></tr>`)}
    </tbody></table>` : null}
    ${view.votes_left_out ? html`<small>and ${count(view.votes_left_out, "more vote")}</small>` : null}
  </div>`;
}

function Weight({ value, most }) {
  const half = (50 * Math.abs(value)) / most;
  return html`<span class="weight" role="img" aria-label=${value > 0 ? "for it" : "against it"}><i class=${value > 0 ? "for" : "against"} style=${{ width: `${half}%`, left: `${value > 0 ? 50 : 50 - half}%` }} /></span>`;
}

export function Comments({ project, view, changed }) {
  const [text, setText] = useState("");
  const add = async () => {
    await post(`/projects/${project.id}/judgements`, { kind: "note", tasks: [view.name], text });
    setText("");
    await changed();
  };
  return html`<div class="comments stack">
    ${view.comments.map((one, n) => html`<div key=${n} class="comment"><small><b>${one.reviewer || "You"}</b> ${ago(one.at)}</small><p dir="auto">${one.text}</p></div>`)}
    <div class="row"><input type="text" value=${text} placeholder="Write a comment" aria-label="Comment" maxlength="10000" onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && text.trim() && attempt(add)} />
    <${Button} kind="small" disabled=${!text.trim()} onClick=${add}>Comment<//></div>
  </div>`;
}

// The true class of a task: buttons, a list of many classes, or check boxes for sets of labels.
export function TruthPicker({ classes, value, isSets, give }) {
  const [chosen, setChosen] = useState(Array.isArray(value) ? value.map(String) : []);
  if (isSets) {
    return html`<div class="stack"><div class="boxes">${classes.map((name) => html`<${Check} key=${name} checked=${chosen.includes(String(name))} onChange=${(on) => setChosen(on ? [...chosen, String(name)] : chosen.filter((one) => one !== String(name)))}>${String(name)}<//>`)}</div>
      <${Button} kind="small primary" onClick=${() => give(classes.filter((name) => chosen.includes(String(name))))}>${chosen.length ? "These apply" : "None applies"}<//></div>`;
  }
  if (classes.length > MOST_BUTTONS) {
    return html`<select aria-label="The true class" onChange=${(event) => event.target.value !== "" && attempt(() => give(classes[Number(event.target.value)]))}><option value="">choose the class</option>${classes.map((name, k) => html`<option key=${k} value=${k} selected=${name === value}>${String(name)}</option>`)}</select>`;
  }
  return html`<div class="row">${classes.map((name) => html`<${Button} key=${name} kind=${String(name) === String(value ?? "\n") ? "small chosen" : "small"} onClick=${() => give(name)}>${String(name)}<//>`)}</div>`;
}

// A task beside the list.
export function TaskPanel({ project, at, classes, isSets, onClose, changed }) {
  const [view, setView] = useState(null);
  const [problem, setProblem] = useState(null);
  const place = useRef(null);
  const load = () => get(`/projects/${project.id}/tasks/${at}`).then((found) => (setView(found), setProblem(null)), setProblem);
  useEffect(() => {
    load();
    place.current?.scrollTo?.(0, 0);
  }, [at, project.shown]);
  const say = async (body) => {
    await post(`/projects/${project.id}/judgements`, { tasks: [view.name], ...body });
    await load();
    changed();
  };
  const give = (label) => say({ label, before: view.truth });
  if (problem) return html`<aside class="panel"><${Failed} problem=${problem} /></aside>`;
  if (!view) return html`<aside class="panel"><${Loading} /></aside>`;
  return html`<aside class="panel" id="task" ref=${place} aria-label="Task ${view.task}">
    <header><small>${view.task}</small><button class="quiet close" aria-label="Close the task" onClick=${onClose}>×</button></header>
    <${Content} items=${view.content} remote=${project.remote} />
    <div class="row"><${Label} place=${classes.indexOf(view.label)}>${view.label}<//><span class="muted">${percent(view.confidence)} sure</span>${view.marks.map((mark) => html`<${Badge} key=${mark} kind=${mark === "unanimous" ? "" : "warn"}>${MARKS[mark]}<//>`)}</div>
    <section class="stack"><h3>${view.judged_by === null ? "What is right?" : html`${words(view.truth)} <small>said ${view.judged_by || "you"}</small>`}</h3>
      <${TruthPicker} key=${at} classes=${classes} value=${view.truth} isSets=${isSets} give=${give} />
      <div class="row"><${Button} kind="quiet small" onClick=${() => say({ kind: "send_back" })}>Ask for more votes<//>${view.judged_by === null ? null : html`<${Button} kind="quiet small" onClick=${() => give(null)}>Remove the truth<//>`}</div></section>
    <${Votes} view=${view} classes=${classes} />
    <${Comments} project=${project} view=${view} changed=${load} />
  </aside>`;
}
