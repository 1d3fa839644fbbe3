// People: invite reviewers by a link, revoke it, and see who did what.

import { del, get, post } from "../api.js";
import { fill, h, toast } from "../dom.js";
import { ago, number } from "../format.js";
import { field } from "../parts.js";

const LOCAL = ["127.0.0.1", "localhost", "[::1]"];

export async function render(root, { project }) {
  const list = h("div", {});
  const made = h("div", {});
  const name = h("input", { type: "text", id: "invite-name", maxlength: 100, onkeydown: (event) => event.key === "Enter" && invite(name.value) });
  const base = `/projects/${project.id}/people`;

  async function invite(who) {
    if (!who.trim()) return name.focus();
    try {
      const { name: given, token } = await post(base, { name: who });
      const link = `${location.origin}/?token=${token}`;
      const box = h("input", { type: "text", id: "invite-link", readonly: true, value: link, "aria-label": `Link for ${given}`, onclick: () => box.select() });
      const copy = () => navigator.clipboard?.writeText(link).then(() => toast("Copied."), () => box.select());
      fill(made, h("div", { class: "note good stack tight" }, h("span", {}, `Send this link to ${given}. It is shown once; a new one can be made at any time.`), box, h("div", { class: "row" }, h("button", { class: "small", onclick: copy }, "Copy the link"))));
      name.value = "";
    } catch (problem) {
      toast(problem.message, "bad");
    }
    await load();
  }
  const revoke = async (one) => {
    if (!confirm(`Revoke the link of ${one.name}? What they judged stays.`)) return;
    await del(`${base}?name=${encodeURIComponent(one.name)}`);
    await load();
  };
  async function load() {
    const people = await get(base);
    const cells = ["judged", "checked", "skipped", "sent_back"];
    fill(
      list,
      people.length
        ? h(
            "div",
            { class: "scroll", tabindex: "0" },
            h(
              "table",
              { id: "people" },
              h("thead", {}, h("tr", {}, ["who", "judged", "checked at random", "skipped", "sent back", "last", "link"].map((text, i) => h("th", { class: `${i && i < 5 ? "number" : ""} ${i > 2 && i < 6 ? "wide-only" : ""}` }, text)))),
              h("tbody", {}, people.map((one) => h("tr", {}, h("td", {}, one.name || "without a name"), cells.map((key, i) => h("td", { class: i > 1 ? "number wide-only" : "number" }, number(one[key]))), h("td", { class: "wide-only" }, one.last ? ago(one.last) : ""), h("td", {}, one.invited ? h("span", { class: "row" }, h("button", { class: "quiet small", onclick: () => invite(one.name) }, "New link"), h("button", { class: "quiet danger small", "aria-label": `Revoke ${one.name}`, onclick: () => revoke(one) }, "Revoke")) : null)))),
            ),
          )
        : h("p", { class: "muted inner" }, "Nobody has judged a task yet."),
    );
  }
  await load();
  const sees = project.blind ? "They see the tasks of this project, and the votes and the label of a task after they have judged it." : "They see everything in this project, also votes and labels.";
  fill(
    root,
    h("div", { class: "head" }, h("div", { class: "words" }, h("h1", {}, "People"), h("p", { class: "muted" }, `${sees} They change nothing but judgements, and see no other project.`))),
    h(
      "section",
      { class: "card", id: "invite" },
      h("h2", {}, "Invite a reviewer"),
      h("div", { class: "fields" }, field("Name", name)),
      h("div", { class: "row" }, h("button", { class: "primary", id: "make-link", onclick: () => invite(name.value) }, "Make a link")),
      LOCAL.includes(location.hostname) ? h("div", { class: "note" }, "This studio listens to this computer only, so the link works in browsers of this computer. The guide of the studio says how people on other computers reach it.") : null,
      made,
    ),
    h("section", { class: "card flush" }, h("div", { class: "inner" }, h("h2", {}, "Who did what")), list),
  );
  return { update: (now, before) => now.version !== before?.version && load() };
}
