// Helpers to create elements. Names from data become text nodes; nothing here parses markup.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(element, value);
    else if (name === "class") element.className = value;
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// Set styles one property at a time, because the content security policy forbids style attributes.
function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, String(value));
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

export function toast(text, kind = "") {
  const shown = h("div", { class: `toast ${kind}` }, text);
  const place = document.getElementById("toasts");
  place.append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 9000 : 3500);
}

// Run one piece of work at a time, so that an early key press is not applied to the wrong task; then `after`.
export function oneAtATime(state, after) {
  return async (work) => {
    if (state.busy) return;
    state.busy = true;
    try {
      await work();
    } catch (problem) {
      toast(problem.message, "bad");
    } finally {
      state.busy = false;
      await after();
    }
  };
}

export function downloadLink(address, text, props = {}) {
  return h("a", { class: "button", href: address, download: "", ...props }, text);
}
