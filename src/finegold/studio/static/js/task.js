// One task: what it looks like, what was voted, and what people say about it.

import { get, post } from "./api.js";
import {
  Badge, Button, Check, Dialog, Failed, Label, Loading, Meter,
  ago, attempt, count, html, percent, useEffect, useRef, useState, words,
} from "./ui.js";

export const MARKS = {
  tied: "tied votes",
  contested: "close",
  flipped: "against the majority",
  unanimous: "all agree",
  predicted: "model only",
};
const MOST_BUTTONS = 12;

// Two answers to compare, such as response_1 and response_2, stand side by side where there is room.
const stem = ({ name, kind }) => `${kind} ${name?.match(/^(.*?)[ _-]?[12ab]$/i)?.[1]}`;
const hasTwin = (items, item) =>
  /[12ab]$/i.test(item.name ?? "") && items.filter((one) => stem(one) === stem(item)).length === 2;

export function Content({ items, remote, big = false }) {
  const [zoomed, zoom] = useState(null);
  if (!items.length) return null;
  return html`
    <div class="content ${big ? "big" : ""}">
      ${items.map((item, place) => html`
        <div key=${place} class=${hasTwin(items, item) ? "item half" : "item"}>
          ${item.name && items.length > 1 && html`<small class="name">${item.name}</small>`}
          <${Item} item=${item} remote=${remote} zoom=${zoom} />
        </div>
      `)}
      ${zoomed && html`
        <${Dialog} title=${zoomed.name ?? "Image"} kind="zoom" onClose=${() => zoom(null)}>
          <${Zoomable} src=${zoomed.href} alt=${zoomed.text} />
        <//>
      `}
    </div>
  `;
}

function Item({ item, remote, zoom }) {
  const { kind, text, href } = item;
  if (kind === "text") return html`<p class="text" dir="auto">${text}</p>`;
  if (kind === "link" || (item.is_remote && !remote)) {
    return html`<a href=${href} target="_blank" rel="noopener noreferrer">${text}</a>`;
  }
  if (kind === "image") {
    return html`
      <button class="thumb" aria-label="Enlarge ${text}" onClick=${() => zoom(item)}>
        <img src=${href} alt=${text} loading="lazy" />
      </button>
    `;
  }
  if (kind === "pdf") return html`<iframe src=${href} title=${text} />`;
  return kind === "video" ? html`<video src=${href} controls />` : html`<audio src=${href} controls />`;
}

// An image that the wheel, the keys + and - and the buttons enlarge; it is moved by its scroll bars.
function Zoomable({ src, alt }) {
  const [scale, setScale] = useState(1);
  const by = (factor) => setScale((now) => Math.min(8, Math.max(1, now * factor)));
  const wheel = (event) => {
    event.preventDefault();
    by(event.deltaY < 0 ? 1.2 : 1 / 1.2);
  };
  const press = (event) => by({ "+": 1.4, "=": 1.4, "-": 1 / 1.4 }[event.key] ?? 1);
  return html`
    <div class="zoomable" onWheel=${wheel} onKeyDown=${press} tabindex="0">
      <img src=${src} alt=${alt} style=${{ width: `${100 * scale}%` }} />
    </div>
    <div class="row">
      <button class="small" onClick=${() => by(1.4)}>Larger</button>
      <button class="small" onClick=${() => by(1 / 1.4)}>Smaller</button>
      <small>${Math.round(100 * scale)} %</small>
    </div>
  `;
}

export function Votes({ view, classes }) {
  const most = Math.max(0.01, ...view.votes.map((vote) => Math.abs(vote.weight ?? 0)));
  const label = (name) => html`<${Label} place=${classes.indexOf(name)}>${name}<//>`;
  const counts = view.rival ? `, and how much it counts for ${view.label} rather than ${view.rival}` : "";
  return html`
    <div class="stack">
      <div class="tally">
        ${view.tally.map((one) => html`
          <div key=${one.label}>
            ${label(one.label)}
            <span class="muted">${count(one.votes, "vote")}</span>
            <${Meter} value=${one.probability} />
          </div>
        `)}
      </div>
      ${view.predictions.map((one) => html`
        <p key=${one.model}>
          <span class="muted">${one.model} says</span> ${label(one.label)}${" "}
          <small>${percent(one.probability, 0)}</small>
        </p>
      `)}
      ${view.votes.length > 0 && html`
        <table class="votes">
          <caption>${`Who voted what${counts}`}</caption>
          <tbody>
            ${view.votes.map((vote, n) => html`<${Vote} key=${n} vote=${vote} label=${label} most=${most} />`)}
          </tbody>
        </table>
      `}
      ${view.votes_left_out > 0 && html`<small>and ${count(view.votes_left_out, "more vote")}</small>`}
    </div>
  `;
}

function Vote({ vote, label, most }) {
  const { weight } = vote;
  const half = (50 * Math.abs(weight)) / most;
  const style = { width: `${half}%`, left: `${weight > 0 ? 50 : 50 - half}%` };
  const bar = html`
    <span class="weight" role="img" aria-label=${weight > 0 ? "for it" : "against it"}>
      <i class=${weight > 0 ? "for" : "against"} style=${style} />
    </span>
  `;
  return html`
    <tr>
      <td>
        ${vote.annotator}${" "}
        <small title="share of their votes that is right">${percent(vote.accuracy, 0)}</small>
      </td>
      <td>${label(vote.label)}</td>
      <td>${weight !== null && bar}</td>
    </tr>
  `;
}

export function Comments({ project, view, changed }) {
  const [text, setText] = useState("");
  const add = async () => {
    await post(`/projects/${project.id}/judgements`, { kind: "note", tasks: [view.name], text });
    setText("");
    await changed();
  };
  return html`
    <div class="comments stack">
      ${view.comments.map((one, n) => html`
        <div key=${n} class="comment">
          <small><b>${one.reviewer || "You"}</b> ${ago(one.at)}</small>
          <p dir="auto">${one.text}</p>
        </div>
      `)}
      <div class="row">
        <input type="text" value=${text} placeholder="Write a comment" aria-label="Comment" maxlength="10000"
          onInput=${(event) => setText(event.target.value)}
          onKeyDown=${(event) => event.key === "Enter" && text.trim() && attempt(add)} />
        <${Button} kind="small" disabled=${!text.trim()} onClick=${add}>Comment<//>
      </div>
    </div>
  `;
}

// The true class: buttons, a list where there are many, check boxes for sets of labels.
function TruthPicker({ classes, value, isSets, give }) {
  const [chosen, setChosen] = useState(Array.isArray(value) ? value.map(String) : []);
  const toggle = (name, on) => setChosen(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  if (isSets) {
    return html`
      <div class="stack">
        <div class="boxes">
          ${classes.map((name) => html`
            <${Check} key=${name} checked=${chosen.includes(name)} onChange=${(on) => toggle(name, on)}>${name}<//>
          `)}
        </div>
        <${Button} kind="small primary" onClick=${() => give(classes.filter((name) => chosen.includes(name)))}>
          ${chosen.length ? "These apply" : "None applies"}
        <//>
      </div>
    `;
  }
  const isChosen = (name) => name === String(value ?? "\n");
  if (classes.length > MOST_BUTTONS) {
    const take = (event) => event.target.value !== "" && attempt(() => give(classes[Number(event.target.value)]));
    return html`
      <select aria-label="The true class" onChange=${take}>
        <option value="">choose the class</option>
        ${classes.map((name, k) => html`<option key=${k} value=${k} selected=${isChosen(name)}>${name}</option>`)}
      </select>
    `;
  }
  return html`
    <div class="row">
      ${classes.map((name) => html`
        <${Button} key=${name} kind=${isChosen(name) ? "small chosen" : "small"} onClick=${() => give(name)}>${name}<//>
      `)}
    </div>
  `;
}

// A task beside the list.
export function TaskPanel({ project, at, classes, isSets, onClose, changed }) {
  const [view, setView] = useState(null);
  const [problem, setProblem] = useState(null);
  const place = useRef(null);
  const see = (found) => {
    setView(found);
    setProblem(null);
  };
  const load = () => get(`/projects/${project.id}/tasks/${at}`).then(see, setProblem);
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
  const isJudged = view.judged_by !== null;
  return html`
    <aside class="panel" id="task" ref=${place} aria-label="Task ${view.task}">
      <header>
        <small>${view.task}</small>
        <button class="quiet close" aria-label="Close the task" onClick=${onClose}>×</button>
      </header>
      <${Content} items=${view.content} remote=${project.remote} />
      <div class="row">
        <${Label} place=${classes.indexOf(view.label)}>${view.label}<//>
        <span class="muted">${percent(view.confidence)} sure</span>
        ${view.marks.map(
          (mark) => html`<${Badge} key=${mark} kind=${mark === "unanimous" ? "" : "warn"}>${MARKS[mark]}<//>`,
        )}
      </div>
      <section class="stack">
        <h3>
          ${isJudged ? html`${words(view.truth)} <small>said ${view.judged_by || "you"}</small>` : "What is right?"}
        </h3>
        <${TruthPicker} key=${at} classes=${classes} value=${view.truth} isSets=${isSets} give=${give} />
        <div class="row">
          <${Button} kind="quiet small" onClick=${() => say({ kind: "send_back" })}>Ask for more votes<//>
          ${isJudged && html`<${Button} kind="quiet small" onClick=${() => give(null)}>Remove the truth<//>`}
        </div>
      </section>
      <${Votes} view=${view} classes=${classes} />
      <${Comments} project=${project} view=${view} changed=${load} />
    </aside>
  `;
}
