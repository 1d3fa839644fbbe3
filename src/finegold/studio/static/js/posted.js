// Posted votes, one row per batch. Each batch can be removed.

import { del, get } from "./api.js";
import { h, toast } from "./dom.js";
import { ago, count } from "./format.js";
import { badge, card } from "./parts.js";
import { isActive } from "./watch.js";

const MOST_BATCHES = 50;

export async function postedCard(project) {
  const batches = await get(`/projects/${project.id}/posted`);
  const failed = project.job?.kind === "remove" && project.job.state === "failed" ? project.job.message : null;
  if (!batches.length && !failed) return null;
  return card(
    "Posted votes",
    failed ? h("div", { class: "note bad", role: "alert" }, failed) : null,
    h("ul", { class: "list", id: "posted" }, batches.slice(0, MOST_BATCHES).map((batch) => row(project, batch))),
    batches.length > MOST_BATCHES ? h("small", {}, `and ${count(batches.length - MOST_BATCHES, "older batch", "older batches")}`) : null,
  );
}

function row(project, batch) {
  return h(
    "li",
    {},
    h("div", { class: "what" }, h("span", {}, count(batch.n_votes, "vote")), h("small", {}, batch.at ? ago(batch.at) : "")),
    batch.taken ? null : badge("waits for the next fit"),
    h("button", { class: "quiet danger small", disabled: isActive(project.job), "aria-label": `Remove batch ${batch.id}`, onclick: () => remove(project, batch) }, "Remove"),
  );
}

async function remove(project, batch) {
  const effect = batch.taken ? " The votes are read again without them, and the fits of this project are dropped." : "";
  if (!confirm(`Remove ${count(batch.n_votes, "posted vote")}?${effect} This cannot be undone.`)) return;
  await del(`/projects/${project.id}/posted/${batch.id}`).catch((problem) => toast(problem.message, "bad"));
}
