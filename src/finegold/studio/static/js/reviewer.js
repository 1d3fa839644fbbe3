// Who is working: the name that belongs to the token, or the name that the user gave in this browser.

const KEY = "finegold-reviewer";
let me = { reviewer: "", is_owner: true };

export function setMe(found) {
  me = found;
}

export const isOwner = () => me.is_owner;

// Whether the studio keeps votes and labels from this person until a task is judged.
export const judgesBlindly = (project) => project.blind && !isOwner();

export function reviewer() {
  return me.reviewer || remembered();
}

export function setReviewer(name) {
  try {
    localStorage.setItem(KEY, name.trim());
  } catch {
    // the browser forbids to remember it
  }
}

function remembered() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}
