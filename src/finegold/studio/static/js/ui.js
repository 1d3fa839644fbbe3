// Preact with htm, and what all pages are made of.

import { html, render, useState, useEffect, useLayoutEffect, useRef } from "../vendor/preact-htm.js";
import { get } from "./api.js";

export { html, render, useState, useEffect, useRef };

// ---- Numbers and times

export const number = (value) => Number(value).toLocaleString("en");
export const count = (value, thing, plural = `${thing}s`) => `${number(value)} ${value === 1 ? thing : plural}`;

// Never 100 % unless it is exactly that.
export function percent(share, digits = 1) {
  const text = (100 * share).toFixed(digits);
  if (share < 1 && Number(text) >= 100) return `>${(100 - 10 ** -digits).toFixed(digits)} %`;
  if (share > 0 && Number(text) <= 0) return `<${(10 ** -digits).toFixed(digits)} %`;
  return `${text} %`;
}

export function size(bytes) {
  const unit = Math.min(3, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const value = bytes / 1000 ** unit;
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${["bytes", "KB", "MB", "GB"][unit]}`;
}

export function ago(when) {
  const passed = (Date.now() - new Date(when).getTime()) / 1000;
  if (passed < 60) return "just now";
  if (passed < 3600) return `${count(Math.floor(passed / 60), "minute")} ago`;
  if (passed < 86400) return `${count(Math.floor(passed / 3600), "hour")} ago`;
  return new Date(when).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

export const isBusy = (project) => ["queued", "running"].includes(project.job?.state);
export const sentence = (text) => 
  text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}` : "";
export const words = (label) => (Array.isArray(label) ? label.join(", ") || "none" : String(label));

// ---- Messages: one at a time for each sentence

const toasts = { list: [], heard: () => {} };

export function toast(text, kind = "") {
  if (toasts.list.some((one) => one.text === text)) return;
  const one = { text, kind };
  toasts.list = [...toasts.list, one];
  toasts.heard();
  setTimeout(() => {
    toasts.list = toasts.list.filter((other) => other !== one);
    toasts.heard();
  }, kind === "bad" ? 8000 : 3500);
}

export function Toasts() {
  const [, draw] = useState(0);
  toasts.heard = () => draw((n) => n + 1);
  return html`
    <div class="toasts" role="status" aria-live="polite">
      ${toasts.list.map((one) => html`<div key=${one.text} class="toast ${one.kind}">${one.text}</div>`)}
    </div>
  `;
}

// Run something that may fail; the user is told. Returns undefined then.
export async function attempt(work) {
  try {
    return await work();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    toast(problem.message, "bad");
    return undefined;
  }
}

// A button that waits for what it does, so that a second click does nothing.
export function Button({ onClick, kind = "", disabled = false, children, ...more }) {
  const [busy, setBusy] = useState(false);
  const alive = useRef(true);
  useEffect(() => () => (alive.current = false), []);
  const click = async (event) => {
    event.stopPropagation();
    setBusy(true);
    await attempt(() => onClick(event));
    if (alive.current) setBusy(false);
  };
  return html`
    <button type="button" class=${kind} disabled=${disabled || busy} onClick=${click} ...${more}>
      ${busy && html`<span class="spin" />`}${children}
    </button>
  `;
}

// A button that asks before it does something.
export function Sure({ ask, label, about, yes, no, kind = "", onYes, ...more }) {
  const [isAsked, setAsked] = useState(false);
  const first = html`
    <button class="quiet small" aria-label=${label} onClick=${() => setAsked(true)} ...${more}>${ask}</button>
  `;
  const second = html`
    <span class="row">
      <small>${about}</small>
      <${Button} kind=${`small ${kind}`} onClick=${onYes}>${yes}<//>
      <button class="small quiet" onClick=${() => setAsked(false)}>${no}</button>
    </span>
  `;
  return isAsked ? second : first;
}

// ---- Data: what the server says, asked again when one of the values changes

// One question at a time: what changes while an answer is under way is asked after it.
export function useLoad(path, ...values) {
  const [state, setState] = useState({ data: null, problem: null });
  const [turn, setTurn] = useState(0);
  const now = useRef({ path: null, asked: null, isAlive: true, isStale: false });
  useEffect(() => () => (now.current.isAlive = false), []);
  useEffect(() => {
    const { current } = now;
    current.path = path;
    if (!path) return;
    if (current.asked === path) {
      current.isStale = true;
      return;
    }
    const ask = () => {
      Object.assign(current, { asked: path, isStale: false });
      const tell = (found) => {
        if (current.path !== path || !current.isAlive) return;
        current.asked = null;
        setState((before) => ({ data: before.data, ...found }));
        if (current.isStale) ask();
      };
      get(path).then((data) => tell({ data, problem: null }), (problem) => tell({ problem }));
    };
    ask();
  }, [path, turn, ...values]);
  return { ...state, again: () => setTurn((n) => n + 1) };
}

// Keys of a page. A key that types into a field is left alone.
export function useKeys(handle) {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const press = (event) => {
      const isField = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
      const isTyping = isField && event.target.type !== "checkbox";
      const isShortcut = event.ctrlKey || event.metaKey || event.altKey;
      if (isTyping || isShortcut || (event.repeat && !event.key.startsWith("Arrow"))) return;
      if (latest.current(event.key)) event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

// ---- Parts

export const Empty = ({ title, children }) => html`
  <div class="empty"><b>${title}</b><div class="muted">${children}</div></div>
`;
export const Badge = ({ kind = "", children, ...more }) => html`
  <span class="badge ${kind}" ...${more}>${children}</span>
`;
export const Note = ({ kind = "", children, ...more }) => html`<div class="note ${kind}" ...${more}>${children}</div>`;
export const Loading = ({ what = "Loading" }) => html`<p class="muted loading"><span class="spin" /> ${what}</p>`;
export const Failed = ({ problem }) => html`<${Note} kind="bad">${problem.message}<//>`;

export const Field = ({ title, about, wide, children }) => html`
  <label class="field ${wide ? "across" : ""}">
    <span>${title}</span>${children}${about && html`<small>${about}</small>`}
  </label>
`;

export const Check = ({ checked, onChange, disabled, children, ...more }) => html`
  <label class="check">
    <input type="checkbox" checked=${checked} disabled=${disabled} onChange=${(event) => onChange(event.target.checked)}
      ...${more} />
    <span>${children}</span>
  </label>
`;

export function Select({ value, options, onChange, ...more }) {
  const chosen = String(value ?? "");
  return html`
    <select value=${value ?? ""} onChange=${(event) => onChange(event.target.value)} ...${more}>
      ${options.map(
        ([key, text]) => html`<option key=${key} value=${key} selected=${String(key) === chosen}>${text}</option>`,
      )}
    </select>
  `;
}

// Pairs of words and values.
export const Pairs = ({ pairs }) => html`
  <dl>
    ${pairs.map(
      ([name, value]) => html`<div key=${name} class="pair"><dt>${name}</dt><dd dir="auto">${value}</dd></div>`,
    )}
  </dl>
`;

export const Figures = ({ pairs }) => html`
  <dl class="figures">
    ${pairs.map(([name, n]) => html`<div key=${name}><dd>${number(n)}</dd><dt>${name}</dt></div>`)}
  </dl>
`;

const COLOURS = ["--blue", "--orange", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const colour = (place) => (place < 0 ? "var(--line-strong)" : `var(${COLOURS[place % COLOURS.length]})`);
export const Label = ({ children, place = -1 }) => html`
  <span class="label" dir="auto" title=${children}>
    <i style=${{ background: colour(place) }} /><span>${children}</span>
  </span>
`;

export const Meter = ({ value, digits = 0 }) => html`
  <span class="meter">
    <span class="track"><i style=${{ width: `${100 * value}%` }} /></span>
    <span class="figure">${percent(value, digits)}</span>
  </span>
`;

// An interval on the scale from 0 to 100 %.
export function Interval({ low, high, at = null }) {
  const place = (value) => `${(100 * value).toFixed(2)}%`;
  return html`
    <span class="interval" role="img" aria-label="between ${percent(low)} and ${percent(high)}">
      <i style=${{ left: place(low), width: place(high - low) }} />
      ${at !== null && html`<b style=${{ left: place(at) }} />`}
    </span>
  `;
}

// What was measured, above everything else.
export const Measured = ({ measured, children }) => html`
  <p class="huge" id="measured">${(100 * measured.estimate).toFixed(1)}<span class="unit"> %</span></p>
  <h1>of the labels are right</h1>
  <${Interval} low=${measured.low} high=${measured.high} at=${measured.estimate} />
  ${children}
`;

export function SortHead({ name, asked, change, kind = "", children }) {
  const isOn = asked.sort === name;
  const isUp = ["task", "annotator", "confidence"].includes(name);
  const next = { sort: name, descending: isOn ? !asked.descending : !isUp };
  const order = asked.descending ? "descending" : "ascending";
  return html`
    <th class=${kind} aria-sort=${isOn ? order : "none"}>
      <button class="sort" onClick=${() => change(next)}>${children}</button>
    </th>
  `;
}

export function Pager({ total, first, most, go }) {
  if (total <= most) return html`<p class="pager muted">${count(total, "row")}</p>`;
  const last = Math.min(first + most, total);
  return html`
    <nav class="pager" aria-label="Rows">
      <span class="muted">${number(first + 1)} to ${number(last)} of ${number(total)}</span>
      <span class="row">
        <button class="small" disabled=${!first} onClick=${() => go(Math.max(0, first - most))}>Previous</button>
        <button class="small" disabled=${last >= total} onClick=${() => go(first + most)}>Next</button>
      </span>
    </nav>
  `;
}

export function Search({ value, onChange, words: hint }) {
  const timer = useRef(0);
  const type = (event) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(event.target.value), 250);
  };
  return html`
    <input type="search" class="search" value=${value} placeholder=${hint} aria-label=${hint} onInput=${type} />
  `;
}

// A button that opens a list of check boxes.
export function Choices({ title, options, chosen, onChange }) {
  const place = useRef(null);
  useEffect(() => {
    const close = (event) => place.current?.contains(event.target) || place.current?.removeAttribute("open");
    document.addEventListener("click", close);
    return () => document.removeEventListener("click", close);
  }, []);
  const toggle = (key, on) => onChange(on ? [...chosen, key] : chosen.filter((one) => one !== key));
  return html`
    <details class="choices-menu" ref=${place}>
      <summary class=${chosen.length ? "button small on" : "button small"}>
        ${title}${chosen.length > 0 && html` <b>${chosen.length}</b>`}
      </summary>
      <div class="menu">
        ${options.map(([key, text]) => html`
          <${Check} key=${key} checked=${chosen.includes(key)} onChange=${(on) => toggle(key, on)}>${text}<//>
        `)}
        ${chosen.length > 0 && html`<button class="quiet small" onClick=${() => onChange([])}>Clear</button>`}
      </div>
    </details>
  `;
}

// What lies over the page: closed by Escape, a click beside it, or its button. Focus stays inside and returns.
export function Dialog({ title, onClose, kind = "", children }) {
  const place = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    return () => before?.focus?.();
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  const click = (event) => event.target === place.current && onClose();
  return html`
    <dialog ref=${place} class=${kind} aria-label=${title} onCancel=${cancel} onClick=${click}>
      <div class="inside">
        <header><h2>${title}</h2><button class="quiet close" aria-label="Close" onClick=${onClose}>×</button></header>
        ${children}
      </div>
    </dialog>
  `;
}

// What opens on request.
export function Details({ title, children, ...more }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <details class="section" onToggle=${(event) => setOpen(event.target.open)} ...${more}>
      <summary>${title}</summary>
      ${isOpen && children}
    </details>
  `;
}

// What the server says at a path, once it is there.
export function Loaded({ path, values = [], children }) {
  const { data, problem, again } = useLoad(path, ...values);
  if (data !== null) return children(data, again);
  return problem ? html`<${Failed} problem=${problem} />` : html`<${Loading} />`;
}

// A section of the report, made by the server: escaped, without scripts and styles of its own.
export const Section = ({ project, name, title, fit }) => html`
  <${Details} title=${title}>
    <${Loaded} path=${`/projects/${project.id}/sections/${name}`} values=${[fit]}>
      ${(data) => html`<div class="report" dangerouslySetInnerHTML=${{ __html: data }} />`}
    <//>
  <//>
`;
