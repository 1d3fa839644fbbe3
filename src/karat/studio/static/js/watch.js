// The current project, updated by server-sent events.

import { get } from "./api.js";

export class ProjectWatch {
  constructor(heard, lost) {
    this.heard = heard;
    this.lost = lost;
    this.project = null;
    this.source = null;
  }

  // Load the project and listen to its changes from now on.
  async follow(id) {
    if (this.project?.id !== id) this.stop();
    this.project = await get(`/projects/${id}`);
    if (this.source === null) this.#listen(id);
    return this.project;
  }

  stop() {
    this.source?.close();
    this.source = null;
    this.project = null;
    return null;
  }

  #listen(id) {
    this.source = new EventSource(`/api/projects/${id}/events`);
    let complained = false;
    this.source.onmessage = (event) => {
      complained = false;
      const before = this.project;
      this.project = JSON.parse(event.data);
      if (JSON.stringify(before) !== event.data) this.heard(this.project, before);
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
}

export const isActive = (job) => job !== null && ["queued", "running"].includes(job.state);
