// Markdown as elements: headings, lists, quotes, code, bold, italics and links. Nothing is parsed as markup.

import { html } from "./ui.js";

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|__[^_]+__|\*[^*\s][^*]*\*|\[[^\]]+\]\(https?:\/\/[^\s)]+\))/;
const BULLET = /^\s*[-*+]\s+/;
const NUMBER = /^\s*\d+[.)]\s+/;

function inline(text) {
  return text.split(INLINE).map((part) => {
    if (/^`.+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
    if (/^(\*\*|__).+(\*\*|__)$/.test(part)) return html`<b>${part.slice(2, -2)}</b>`;
    const link = part.match(/^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/);
    if (link) return html`<a href=${link[2]} target="_blank" rel="noopener noreferrer">${link[1]}</a>`;
    return /^\*.+\*$/.test(part) ? html`<i>${part.slice(1, -1)}</i>` : part;
  });
}

function block(text) {
  const lines = text.split("\n");
  const heading = text.match(/^(#{1,6})\s+(.*)$/);
  const items = (mark) => lines.map((line) => html`<li>${inline(line.replace(mark, ""))}</li>`);
  if (heading) return html`<h2>${inline(heading[2])}</h2>`;
  if (lines.every((line) => BULLET.test(line))) return html`<ul>${items(BULLET)}</ul>`;
  if (lines.every((line) => NUMBER.test(line))) return html`<ol>${items(NUMBER)}</ol>`;
  if (lines.every((line) => line.startsWith(">"))) {
    return html`<blockquote>${inline(lines.map((line) => line.replace(/^>\s?/, "")).join(" "))}</blockquote>`;
  }
  return html`<p>${inline(text)}</p>`;
}

export const Markdown = ({ text }) => html`
  <div class="markdown" dir="auto">${text.trim().split(/\n\s*\n/).map(block)}</div>
`;
