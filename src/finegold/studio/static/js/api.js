// Requests to the server. Every error becomes a Problem with a message for the user.

import { reviewer } from "./reviewer.js";

export class Problem extends Error {
  constructor(status, title, detail = "", body = {}) {
    super(detail ? `${title}. ${detail}` : title);
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.body = body;
  }
}

export async function call(method, path, body) {
  const options = { method, headers: { "x-finegold-reviewer": encodeURIComponent(reviewer()) } };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  return answer(await send(`/api${path}`, options));
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);
export const postNothing = (path) => call("POST", path);
export const put = (path, body = {}) => call("PUT", path, body);
export const patch = (path, body = {}) => call("PATCH", path, body);
export const del = (path) => call("DELETE", path);

export async function upload(file, limit) {
  if (file.size > limit) {
    const most = Math.floor(limit / 2 ** 20).toLocaleString("en");
    throw new Problem(
      413,
      "The file is too large to be sent",
      `At most ${most} MiB can be sent. Put the file into the folder where the studio was started and open it there.`,
    );
  }
  return sendFile(`/uploads?name=${encodeURIComponent(file.name)}`, file);
}

export async function sendFile(path, file) {
  const headers = { "content-type": "application/octet-stream" };
  return answer(await send(`/api${path}`, { method: "POST", headers, body: file }));
}

async function send(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    throw new Problem(0, "The studio does not respond", "Is it still running? If not, start it again.");
  }
}

async function answer(response) {
  if (response.status === 204) return null;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, body.title ?? `Error ${response.status}`, body.detail, body);
  return body;
}

export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
