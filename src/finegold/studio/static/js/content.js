// The content of a task: texts, links, images and sounds. Other servers are asked only with the user's consent.

import { get, patch } from "./api.js";
import { fill, h } from "./dom.js";
import { isOwner } from "./reviewer.js";

// The content loads later and may be empty.
export function contentOf(project, at) {
  const place = h("div", { class: "content" });
  get(`/projects/${project.id}/tasks/${at}/content`).then(
    (items) => fill(place, items.map((item) => h("div", {}, item.name === null ? null : h("small", {}, item.name), shown(item, project))), consent(items, project)),
    () => {}, // the task can still be judged by its name
  );
  return place;
}

function shown(item, project) {
  if (item.kind === "text") return h("p", {}, item.text);
  const isMedia = item.kind !== "link";
  if (!isMedia || (item.is_remote && !project.remote)) return h("p", {}, link(item));
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
