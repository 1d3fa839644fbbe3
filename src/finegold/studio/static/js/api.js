// Requests to the server. Every error becomes a Problem with a sentence for the user.

export class Problem extends Error {
  constructor(status, title, detail = "", body = {}) {
    super(detail ? `${title}. ${detail}` : title);
    Object.assign(this, { status, title, detail, body });
  }
}

// Who works here: the owner may give a name, which is kept in this browser.
export const me = { name: localStorage.getItem("reviewer") ?? "", isOwner: false, project: null };

export function setName(name) {
  me.name = name.trim();
  localStorage.setItem("reviewer", me.name);
}

async function call(method, path, body, headers = {}) {
  const options = { method, headers: { "x-finegold-reviewer": encodeURIComponent(me.name), ...headers } };
  if (body instanceof Blob) options.body = body;
  else if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api${path}`, options);
  } catch {
    const detail = "Is it still running? Nothing that was confirmed is lost.";
    throw new Problem(0, "The studio does not respond", detail);
  }
  if (response.status === 204) return null;
  const type = response.headers.get("content-type") ?? "";
  const answer = type.includes("json") ? await response.json().catch(() => ({})) : await response.text();
  if (response.ok) return answer;
  throw new Problem(response.status, answer.title ?? `Error ${response.status}`, answer.detail, answer);
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);
export const patch = (path, body = {}) => call("PATCH", path, body);
export const del = (path) => call("DELETE", path);
export const send = (path, file) => call("POST", path, file, { "content-type": "application/octet-stream" });

// Lists become repeated values; what is blank is left out.
export function query(values) {
  const pairs = Object.entries(values).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const given = pairs.filter(([, value]) => !["", null, undefined, false].includes(value));
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
