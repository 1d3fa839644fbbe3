// The quality of the labels, and what to do next.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { modelsCard } from "../predictions.js";
import { nextStep, progressCard } from "../next.js";
import { isOwner } from "../reviewer.js";
import { isActive } from "../watch.js";
import { count, number, percent, seconds } from "../format.js";
import { card, classLabel, convergence, histogram, later, meter, tile } from "../parts.js";

const BAND_COLOURS = ["var(--sure0)", "var(--sure1)", "var(--sure2)", "var(--sure3)"];
const BUDGET = 200; // tasks that a person can judge in an afternoon

export async function render(root, { project, again }) {
  const progress = h("div", {}, progressCard(project));
  const base = `/projects/${project.id}/results`;
  const overview = await get(base);
  const quality = overview.quality;
  const fit = project.fits.find((one) => one.id === project.shown);
  fill(
    root,
    h(
      "div",
      { class: "head" },
      h("div", { class: "words" }, h("h1", {}, quality.headline), h("p", { class: "muted" }, quality.sentences.join(" "))),
    ),
    progress,
    fit?.method === "mv" ? majority(project) : nextSteps(project, overview),
    h(
      "div",
      { class: "tiles" },
      tile(number(quality.n_tasks), "tasks", `#/p/${project.id}/tasks`),
      tile(number(quality.n_votes), "votes"),
      tile(number(quality.n_annotators), "annotators", `#/p/${project.id}/annotators`),
      tile(number(overview.doubts.contested), "contested tasks", `#/p/${project.id}/tasks?doubt=contested`),
      tile(number(overview.doubts.flipped), "against the majority", `#/p/${project.id}/tasks?doubt=flipped`),
      tile(number(overview.doubts.tied), "tied", `#/p/${project.id}/tasks?doubt=tied`),
      tile(number(quality.n_gold), "truths used", `#/p/${project.id}/tasks?judged=true`),
    ),
    effect(project, fit, overview.classes),
    h(
      "div",
      { class: "grid" },
      sureness(quality),
      modelsCard(project, overview),
      card("Distribution of the probabilities", histogram(quality.histogram)),
      later("Classes", get(`${base}/classes`), (classes) => balance(classes, overview.classes)),
      later("How it was computed", get(`${base}/record`), computed),
      later("Agreement of the annotators", get(`${base}/trust`), agreementCard),
    ),
  );
  return {
    async update(now, before) {
      if (now.shown !== before?.shown || isActive(now.job) !== isActive(before?.job)) return again();
      fill(progress, progressCard(now));
      const isMeasured = now.version !== before?.version && (await get(base)).quality.headline !== quality.headline;
      if (isMeasured) again(); // since then
    },
  };
}

function majority(project) {
  if (isActive(project.job)) return null;
  return h("div", { class: "stack tight" }, h("div", { class: "note" }, "This is the plain majority vote, in which every annotator counts alike."), isOwner() ? nextStep(project) : null);
}

// What a person does next: judge, look at an annotator, export.
function nextSteps(project, overview) {
  const step = (words, address, about, kind = "") => h("li", {}, h("a", { class: `button ${kind}`, href: `#/p/${project.id}/${address}` }, words), h("span", { class: "muted" }, about));
  const list = h("ul", { class: "list", id: "next-steps" });
  const judge = overview.doubts.any
    ? step("Judge doubtful tasks", "judge", `Start with the ${number(Math.min(BUDGET, overview.doubts.any))} tasks that gain most.`, "primary")
    : step("Judge tasks", "judge", "No votes are tied or contested; the least certain tasks come first.");
  const measure = step("Measure the labels", "measure", `A random sample shows how many of the ${number(overview.quality.n_tasks + overview.n_predicted)} labels are right.`);
  const look = step("Look at the annotators", "annotators", "See who is often wrong, and who votes alike.");
  fill(list, judge, measure, look, step("Export the labels", "export", "As a table, into your file, or back into your tool."));
  get(`/projects/${project.id}/plan?budget=1`).then((plan) => {
    const first = plan.annotators[0];
    if (first) look.replaceWith(step(`Look at annotator ${first.annotator}`, `annotators?search=${encodeURIComponent(first.annotator)}`, `${first.why}.`));
  }, () => {});
  return h("section", { class: "card" }, h("h2", {}, "What next"), list);
}

function sureness(quality) {
  const shown = quality.bands.map((band, i) => ({ ...band, colour: BAND_COLOURS[i] }));
  return card(
    "Confidence of the labels",
    h("div", { class: "bands" }, shown.filter((band) => band.n).map((band) => h("i", { style: { flex: band.share, background: band.colour }, title: `${band.word}: ${number(band.n)}` }))),
    h("div", { class: "legend" }, shown.map((band) => [h("i", { style: { background: band.colour } }), h("span", {}, band.word, " ", h("small", {}, band.range)), h("b", {}, number(band.n)), h("small", {}, `about ${number(Math.round(band.errors))} wrong`)])),
  );
}

function balance(classes, names) {
  const rows = classes.rows.slice(0, 8);
  const rest = classes.rows.length - rows.length;
  return card(
    "Classes",
    h("div", { class: "stack tight" }, rows.map((row) => h("div", { class: "spread" }, classLabel(row.label, names), meter(row.share)))),
    rest > 0 ? h("a", { href: "#classes", onclick: (event) => (event.preventDefault(), (location.hash = location.hash.replace(/[^/]*$/, "classes"))) }, `and ${count(rest, "class", "classes")} more`) : null,
    classes.mistakes.length ? h("p", {}, h("small", {}, "Most often confused: "), `${classes.mistakes[0].truth} is confused with ${classes.mistakes[0].vote} (${percent(classes.mistakes[0].share, 0)} of its votes).`) : null,
  );
}

function agreementCard(trust) {
  const figures = trust.figures.filter((figure) => figure.value !== null);
  if (!figures.length) return null;
  return card("Agreement of the annotators", h("dl", {}, figures.map((figure) => [h("dt", {}, figure.name), h("dd", {}, h("b", {}, figure.value.toFixed(2)), " ", h("small", {}, figure.words))])));
}

export function effect(project, fit, classes) {
  const changes = fit?.facts?.changes;
  if (!changes) return null;
  const words = changes.labels ? `${count(changes.labels, "label")} changed` : "No label changed";
  const beyond = fit.facts.gold && changes.labels ? `, ${number(changes.beyond_gold)} of them on tasks without a judgement` : "";
  const examples = changes.examples.slice(0, 12);
  return h(
    "section",
    { class: "card", id: "effect" },
    h("h2", {}, `Compared with the previous result (${changes.method})`),
    h("p", {}, `${words}${beyond}; the mean probability of a label went from ${percent(changes.confidence_before, 2)} to ${percent(fit.facts.mean_confidence, 2)}.`),
    examples.length
      ? h("details", {}, h("summary", {}, "Which"), h("ul", { class: "list" }, examples.map((one) => h("li", {}, h("a", { href: `#/p/${project.id}/tasks/${one.task}` }, `task ${one.name}`), classLabel(classes[one.before], classes), "→", classLabel(classes[one.after], classes)))))
      : null,
  );
}

function computed(record) {
  const left = [
    [record.missing, "without a label"],
    [record.repeated, "repeated"],
  ].filter(([n]) => n).map(([n, words]) => `${number(n)} ${words}`);
  const steps = record.steps.map((step) => [step.iteration, step.change, step.bound]);
  return card(
    "How it was computed",
    h("p", {}, h("b", {}, record.method), " ", h("small", {}, record.about)),
    h("dl", {}, [
      ["rows", `${number(record.rows)}${left.length ? `, left out: ${left.join(", ")}` : ""}`],
      ["ended", `${record.stopped}, ${seconds(record.seconds)}`],
      ...record.settings.filter((setting) => setting.is_known && !setting.is_default).map((setting) => [setting.name, setting.value]),
      ...record.notes.map((note) => ["note", note]),
    ].map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    convergence(steps, 0),
    steps.filter(([, change]) => change > 0).length > 1 ? h("small", {}, "Largest change of a probability in each iteration, on a logarithmic scale.") : null,
  );
}
