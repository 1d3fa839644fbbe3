// The current project, updated by server-sent events.

import { get } from "./api.js";

export class ProjectWatch {
  constructor(heard, lost) {
    this.heard = heard;
    this.lost = lost;
    this.id = null;
    this.project = null;
    this.source = null;
    this.latest = null; // the last event that no view has shown
    this.isTelling = false;
  }

  // Load the project and listen to its changes from now on. An event that arrives meanwhile is kept: if it is older than
  // what was loaded, another one follows.
  async follow(id) {
    if (this.id !== id) this.stop();
    this.id = id;
    const before = this.project;
    const loaded = await get(`/projects/${id}`);
    if (this.id !== id) return null; // another project was opened meanwhile
    if (this.project === before) this.project = loaded;
    if (this.source === null) this.#listen(id);
    return this.project;
  }

  stop() {
    this.source?.close();
    this.id = this.source = this.project = this.latest = null;
    return null;
  }

  #listen(id) {
    this.source = new EventSource(`/api/projects/${id}/events`);
    let complained = false;
    this.source.onmessage = (event) => {
      complained = false;
      this.latest = event.data;
      this.#tell();
    };
    this.source.addEventListener("gone", () => {
      this.stop();
      this.lost(true);
    });
    this.source.onerror = () => {
      if (!complained && this.source) this.lost(false);
      complained = true;
    };
  }

  // A view is updated once at a time, so that requests of a slow studio do not pile up. What arrives meanwhile is shown
  // after it. If the studio does not respond, `onerror` says so.
  async #tell() {
    if (this.isTelling) return;
    this.isTelling = true;
    try {
      while (this.latest !== null) {
        const [before, data] = [this.project, this.latest];
        this.latest = null;
        if (JSON.stringify(before) === data) continue;
        this.project = JSON.parse(data);
        await this.heard(this.project, before);
      }
    } catch (problem) {
      if (problem.status !== 0) throw problem;
    } finally {
      this.isTelling = false;
    }
  }
}

export const isActive = (job) => job !== null && ["queued", "running"].includes(job.state);
