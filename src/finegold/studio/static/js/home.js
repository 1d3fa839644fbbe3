// All projects, and how to begin one.

import { del, me, post, send } from "./api.js";
import { Badge, Button, Empty, Loading, Note, ago, attempt, count, html, percent, size, useLoad, useState } from "./ui.js";

const open = (project) => (location.hash = `#/p/${project.id}`);

// A project with these files: several files of votes, such as one of each judge, become one project.
export async function begin(files, limit) {
  const large = files.find((file) => file instanceof File && file.size > limit);
  if (large) throw Object.assign(new Error(`${large.name} is too large to be sent. Put it into the folder where the studio was started, and open it there.`), { status: 413 });
  const first = files[0].name ?? files[0];
  const project = await post("/projects", { name: first.replace(/\.[^.]+$/, "") || first });
  for (const file of files) await addFile(project.id, file);
  location.hash = `#/p/${project.id}/read`;
}

export function addFile(project, file) {
  const name = encodeURIComponent(file.name ?? file);
  return file instanceof File ? send(`/projects/${project}/sources?name=${name}`, file) : fromFolder(`/projects/${project}/sources?name=${name}`);
}

const fromFolder = (path) => send(path, new Blob([]));

export function Drop({ words, limit, onFiles, children }) {
  const [isOver, setOver] = useState(false);
  const [busy, setBusy] = useState("");
  const take = async (list) => {
    const files = [...list];
    if (!files.length) return;
    setBusy(files.length > 1 ? count(files.length, "file") : files[0].name);
    await attempt(() => onFiles(files, limit));
    setBusy("");
  };
  return html`<div id="drop" class="drop ${isOver ? "over" : ""}" onDragOver=${(event) => (event.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${(event) => (event.preventDefault(), setOver(false), take(event.dataTransfer.files))}>
    ${busy ? html`<${Loading} what=${`Sending ${busy}`} />` : html`<label class="button primary"><input type="file" id="file" multiple class="hidden" onChange=${(event) => take(event.target.files)} />Choose files</label><span class="muted">${words}</span>${children}`}
  </div>`;
}

export function Home() {
  const folder = useLoad(me.isOwner ? "/folder" : null);
  const projects = useLoad("/projects");
  if (!projects.data) return html`<${Loading} />`;
  const list = projects.data;
  return html`<div class="narrow stack wide-gap">
    <h1>${list.length ? "Projects" : "From votes to labels that you can trust"}</h1>
    ${list.length ? null : html`<p class="lead">Drop what your annotators, judges or models said. See which labels hold, check a few at random to know how many are right, judge the doubtful ones, and export.</p>`}
    ${me.isOwner && folder.data ? html`<${Drop} words="or drop them here: tables, workbooks, exports of labelling tools" limit=${folder.data.upload_limit} onFiles=${begin}><${Button} kind="quiet" id="sample" onClick=${async () => open(await post("/sample"))}>Try a sample<//><//>` : null}
    ${list.length ? html`<ul class="list" id="projects">${list.map((project) => html`<${Row} key=${project.id} project=${project} again=${projects.again} />`)}</ul>` : me.isOwner ? null : html`<${Empty} title="No project yet">The lead has no project for you yet.<//>`}
    ${me.isOwner && folder.data ? html`<${Folder} folder=${folder.data} />` : null}
  </div>`;
}

function Row({ project, again }) {
  const [isSure, ask] = useState(false);
  const facts = project.fit?.facts;
  const share = facts?.measured;
  const about = facts ? `${count(facts.n_votes, "vote")} on ${count(facts.n_tasks, "task")} · ${ago(project.created)}` : project.job?.state === "failed" ? project.job.message : "not read yet";
  return html`<li><a class="what" href="#/p/${project.id}"><b>${project.name}</b><small>${about}</small></a>
    ${share ? html`<${Badge} kind="good">${percent(share.estimate)} right<//>` : null}${project.n_truths ? html`<${Badge}>${count(project.n_truths, "truth")}<//>` : null}
    ${!me.isOwner ? null : isSure ? html`<span class="row"><small>With all that was judged?</small><${Button} kind="small danger" onClick=${() => del(`/projects/${project.id}`).then(again)}>Delete it<//><button class="small quiet" onClick=${() => ask(false)}>Keep it</button></span>` : html`<button class="quiet small" aria-label="Delete ${project.name}" onClick=${() => ask(true)}>Delete</button>`}
  </li>`;
}

function Folder({ folder }) {
  const [chosen, choose] = useState([]);
  if (!folder.files.length) return html`<${Note}>Nothing is sent anywhere: everything is stored in <code>${folder.project_file}</code> on this computer.<//>`;
  const toggle = (name, on) => choose(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  return html`<section><h2>Files in this folder</h2><ul class="list" id="folder">${folder.files.map((file) => html`<li key=${file.name}><label class="what check"><input type="checkbox" checked=${chosen.includes(file.name)} onChange=${(event) => toggle(file.name, event.target.checked)} /><span><b>${file.name}</b><small>${size(file.size)} · ${ago(1000 * file.changed)}</small></span></label><${Button} kind="small" onClick=${() => begin([file.name], folder.upload_limit)}>Open<//></li>`)}</ul>
    ${chosen.length > 1 ? html`<${Button} kind="primary" onClick=${() => begin(chosen, folder.upload_limit)}>Open these ${chosen.length} together<//>` : null}
    <p><small>Everything is stored in <code>${folder.project_file}</code> on this computer. Nothing is sent anywhere.</small></p></section>`;
}

