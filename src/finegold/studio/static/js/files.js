// Choose a file of the folder, or one of this computer.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { select } from "./parts.js";

// `bring` gets the name of the file, and the file itself if it is one of this computer.
export function filePicker(id, words, bring, { folders = false, own = true } = {}) {
  const files = h("span", { class: "row" });
  const input = h("input", { type: "file", id: `${id}-file`, hidden: true, onchange: () => input.files.length && bring(input.files[0].name, input.files[0]) });
  get("/folder").then((folder) => {
    const names = [...folder.files.map((file) => [file.name, file.name]), ...(folders ? folder.folders.map((name) => [name, `${name} (folder)`]) : [])];
    const chosen = select([["", folders ? "(a file or folder here)" : "(a file of the folder)"], ...names], "", (name) => name && bring(name, null));
    chosen.id = `${id}-name`;
    chosen.setAttribute("aria-label", words);
    if (names.length) fill(files, chosen);
  });
  return h("div", { class: "row" }, files, own ? [h("button", { onclick: () => input.click() }, "Choose a file"), input] : null);
}
