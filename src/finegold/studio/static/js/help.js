// Help: how the pages go together, the keys, and what reviewers see.

import { html } from "./ui.js";

const KEYS = [
  ["1 to 9, a to z", "the class beside the key"],
  ["u", "undo"],
  ["s", "later: the task comes again after all others"],
  ["m", "ask for more votes"],
  ["Enter", "of sets of labels: these apply"],
  ["↑ ↓", "in the list of labels: the task before or after"],
  ["Escape", "close what is beside the list"],
];
const PARTS = [
  [
    "Read",
    `Add files: votes, texts or images of the tasks, predictions of a model, known truths. Each file is looked at
    first; the page says what it would change. Labels that are misspelled or mean “no vote” are corrected in the
    table of classes. Files that arrive later are added in the same way: the newer vote of a person on a task counts.`,
  ],
  [
    "Labels",
    `The number that was measured, what to do next, and all tasks. Choose several tasks to judge them at once.`,
  ],
  [
    "Judge",
    `One task at a time, those whose truth helps most first. What you say teaches the method when labels are computed
    again. These tasks are chosen because they are doubtful, so they do not measure how good the labels are.`,
  ],
  [
    "Measure",
    `Tasks drawn at random, checked without seeing votes or labels. They say how many labels are right, with an
    interval, and how many of the most confident labels may be accepted unchecked. Answers of a sample never teach the
    method, so they measure the labels of later results as well.`,
  ],
  [
    "People",
    `How good annotators are and whose votes count; who reviews, how far they are, and their links. A link can be
    taken back at any time; what the person judged stays.`,
  ],
  ["Export", "The sheet has everything in one table."],
];

export const Help = () => html`
  <div class="narrow stack wide-gap">
    <h1>Help</h1>
    ${PARTS.map(([title, text]) => html`<section key=${title}><h2>${title}</h2><p>${text}</p></section>`)}
    <section>
      <h2>Keys</h2>
      <dl class="keys">
        ${KEYS.map(([key, does]) => html`
          <div key=${key} class="pair"><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>
        `)}
      </dl>
    </section>
    <section>
      <h2>What is kept where</h2>
      <p>
        Everything is in one file on this computer, which the first page names. What you confirm is on disk before the
        page goes on. Nothing is sent anywhere.
      </p>
    </section>
  </div>
`;
