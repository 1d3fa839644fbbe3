// The content of a task: texts, links, images and sounds. Other servers are asked only with the user's consent.

import { get, patch, query } from "./api.js";
import { fill, h } from "./dom.js";
import { markdown } from "./markdown.js";
import { isOwner } from "./reviewer.js";

// The content loads later and may be empty. `fit` is the result that the index of the task belongs to.
export function contentOf(project, at, fit = null) {
  const place = h("div", { class: "content" });
  get(`/projects/${project.id}/tasks/${at}/content${query({ fit })}`).then(
    (items) => fill(place, shownItems(items, project)),
    () => {}, // the task can still be judged by its name
  );
  return place;
}

export function shownItems(items, project) {
  return [items.map((item) => h("div", {}, item.name === null ? null : h("small", {}, item.name), shown(item, project))), consent(items, project)];
}

function shown(item, project) {
  if (item.kind === "text") return h("p", {}, item.text);
  if (item.kind === "markdown") return markdown(item.text);
  // Without allow-scripts and allow-same-origin, and under the page's own policy: it can neither run nor load anything.
  if (item.kind === "html") return h("iframe", { class: "media page", sandbox: "", srcdoc: item.text, title: "content of the task" });
  if (item.kind === "pdf") return h("div", { class: "stack tight" }, h("iframe", { class: "media page", src: item.href, title: item.text }), h("p", {}, link(item)));
  if (item.kind === "link" || (item.is_remote && !project.remote)) return h("p", {}, link(item));
  if (item.kind === "image") return h("img", { class: "media", src: item.href, alt: item.name ?? "image of the task", referrerpolicy: "no-referrer" });
  return h(item.kind, { class: "media", src: item.href, controls: true, "aria-label": item.name ?? item.kind });
}

function link(item) {
  return h("a", { href: item.href, target: "_blank", rel: "noopener noreferrer" }, item.text);
}

function consent(items, project) {
  const hosts = [...new Set(items.filter((item) => item.is_remote && item.kind !== "link").map((item) => new URL(item.href).host))];
  if (!hosts.length || project.remote || !isOwner()) return null;
  const agree = async () => {
    await patch(`/projects/${project.id}`, { remote: true });
    location.reload(); // the page may load images of other servers from now on
  };
  return h("div", { class: "note" }, `This project shows files of ${hosts.join(", ")}. Loading them tells that server which tasks you look at. `, h("button", { class: "small", id: "load-remote", onclick: agree }, "Load them"));
}
