// All projects, and how to begin one.

import { Problem, del, me, post, send } from "./api.js";
import {
  Badge, Button, Empty, Loading, Note, Sure, ago, attempt, count, html, percent, size, useLoad, useState,
} from "./ui.js";

const open = (project) => (location.hash = `#/p/${project.id}`);

// A project with these files: several files of votes, such as one of each judge, become one project.
export async function begin(files, limit) {
  const large = files.find((file) => file instanceof File && file.size > limit);
  if (large) {
    const detail = "Put it into the folder where the studio was started, and open it there.";
    throw new Problem(413, `${large.name} is too large to be sent`, detail);
  }
  const first = files[0].name ?? files[0];
  const project = await post("/projects", { name: first.replace(/\.[^.]+$/, "") || first });
  for (const file of files) await addFile(project.id, file);
  location.hash = `#/p/${project.id}/read`;
}

// A file that is sent, or the name of one in the folder of the studio.
export function addFile(project, file) {
  const path = `/projects/${project}/sources?name=${encodeURIComponent(file.name ?? file)}`;
  return send(path, file instanceof File ? file : new Blob([]));
}

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
  const over = (is) => (event) => {
    event.preventDefault();
    setOver(is);
    if (event.type === "drop") take(event.dataTransfer.files);
  };
  const choose = html`
    <label class="button primary">
      <input type="file" id="file" multiple class="hidden" onChange=${(event) => take(event.target.files)} />
      Choose files
    </label>
    <span class="muted">${words}</span>
    ${children}
  `;
  return html`
    <div id="drop" class="drop ${isOver ? "over" : ""}" onDragOver=${over(true)} onDragLeave=${() => setOver(false)}
      onDrop=${over(false)}>
      ${busy ? html`<${Loading} what=${`Sending ${busy}`} />` : choose}
    </div>
  `;
}

export function Home() {
  const { data: folder } = useLoad(me.isOwner ? "/folder" : null);
  const { data: list, again } = useLoad("/projects");
  if (!list) return html`<${Loading} />`;
  const rows = html`
    <ul class="list" id="projects">
      ${list.map((project) => html`<${Row} key=${project.id} project=${project} again=${again} />`)}
    </ul>
  `;
  const nothing = html`<${Empty} title="No project yet">The lead has no project for you yet.<//>`;
  return html`
    <div class="narrow stack wide-gap">
      <h1>${list.length ? "Projects" : "From votes to labels that you can trust"}</h1>
      ${!list.length && html`
        <p class="lead">
          Drop what your annotators, judges or models said. See which labels hold, check a few at random to know how
          many are right, judge the doubtful ones, and export.
        </p>
      `}
      ${folder && html`
        <${Drop} words="or drop them here: tables, workbooks, exports of labelling tools" limit=${folder.upload_limit}
          onFiles=${begin}>
          <${Button} kind="quiet" id="sample" onClick=${async () => open(await post("/sample"))}>Try a sample<//>
        <//>
      `}
      ${list.length ? rows : !me.isOwner && nothing} ${folder && html`<${Folder} folder=${folder} />`}
    </div>
  `;
}

function Row({ project, again }) {
  const facts = project.fit?.facts;
  const share = facts?.measured;
  const failed = project.job?.state === "failed" ? project.job.message : "not read yet";
  const read = facts && `${count(facts.n_votes, "vote")} on ${count(facts.n_tasks, "task")} · ${ago(project.created)}`;
  const remove = () => del(`/projects/${project.id}`).then(again);
  return html`
    <li>
      <a class="what" href="#/p/${project.id}"><b>${project.name}</b><small>${read ?? failed}</small></a>
      ${share && html`<${Badge} kind="good">${percent(share.estimate)} right<//>`}
      ${project.n_truths > 0 && html`<${Badge}>${count(project.n_truths, "truth")}<//>`}
      ${me.isOwner && html`
        <${Sure} ask="Delete" label=${`Delete ${project.name}`} about="With all that was judged?" yes="Delete it"
          no="Keep it" kind="danger" onYes=${remove} />
      `}
    </li>
  `;
}

function Folder({ folder }) {
  const [chosen, choose] = useState([]);
  const where = html`
    Everything is stored in <code>${folder.project_file}</code> on this computer. Nothing is sent anywhere.
  `;
  if (!folder.files.length) return html`<${Note}><span>${where}</span><//>`;
  const toggle = (name, on) => choose(on ? [...chosen, name] : chosen.filter((one) => one !== name));
  return html`
    <section>
      <h2>Files in this folder</h2>
      <ul class="list" id="folder">
        ${folder.files.map((file) => html`
          <li key=${file.name}>
            <label class="what check">
              <input type="checkbox" checked=${chosen.includes(file.name)}
                onChange=${(event) => toggle(file.name, event.target.checked)} />
              <span><b>${file.name}</b><small>${size(file.size)} · ${ago(1000 * file.changed)}</small></span>
            </label>
            <${Button} kind="small" onClick=${() => begin([file.name], folder.upload_limit)}>Open<//>
          </li>
        `)}
      </ul>
      ${chosen.length > 1 && html`
        <${Button} kind="primary" onClick=${() => begin(chosen, folder.upload_limit)}>
          Open these ${chosen.length} together
        <//>
      `}
      <p><small>${where}</small></p>
    </section>
  `;
}
