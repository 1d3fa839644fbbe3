// Markdown as elements: headings, lists, quotes, code, bold, italics and links. Nothing is parsed as markup.

import { h } from "./dom.js";

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|__[^_]+__|\*[^*\s][^*]*\*|\[[^\]]+\]\(https?:\/\/[^\s)]+\))/;

function inline(text) {
  return text.split(INLINE).map((part) => {
    if (/^`.+`$/.test(part)) return h("code", {}, part.slice(1, -1));
    if (/^(\*\*|__).+(\*\*|__)$/.test(part)) return h("b", {}, part.slice(2, -2));
    const link = part.match(/^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/);
    if (link) return h("a", { href: link[2], target: "_blank", rel: "noopener noreferrer" }, link[1]);
    return /^\*.+\*$/.test(part) ? h("i", {}, part.slice(1, -1)) : part;
  });
}

export function markdown(text) {
  const blocks = text.split(/\n\s*\n/).map((block) => {
    const lines = block.split("\n");
    const heading = block.match(/^(#{1,6})\s+(.*)$/);
    if (heading) return h("h3", {}, inline(heading[2]));
    if (lines.every((line) => /^\s*[-*+]\s+/.test(line))) return h("ul", {}, lines.map((line) => h("li", {}, inline(line.replace(/^\s*[-*+]\s+/, "")))));
    if (lines.every((line) => /^\s*\d+[.)]\s+/.test(line))) return h("ol", {}, lines.map((line) => h("li", {}, inline(line.replace(/^\s*\d+[.)]\s+/, "")))));
    if (lines.every((line) => line.startsWith(">"))) return h("blockquote", {}, inline(lines.map((line) => line.replace(/^>\s?/, "")).join(" ")));
    return h("p", {}, inline(block));
  });
  return h("div", { class: "stack tight markdown" }, blocks);
}
