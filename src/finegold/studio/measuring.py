"""Measure the labels: draw tasks at random, let people check them blindly, and say what that shows.

The answers of a sample never teach the method and never calibrate it, so the sample stays like all
other tasks: the same checks measure the labels of later fits as well. One measurement
(`measure`) stands wherever the studio says how good the labels are.

The interval is that of the library's certificates (`insight.certify`): strata by confidence, and an
effective number of checks. It is widened for wrong answers of the people who check. How often they
err is estimated from tasks that several of them checked, with a prior worth `PRIOR_SHARED` such
tasks and one disagreement in ten of them.
"""

from __future__ import annotations

import html
import json
from itertools import cycle
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.insight import certify as maths
from finegold.studio.loaded import LoadedResult, Mask
from finegold.studio.problems import Problem
from finegold.studio.security import MAX_REVIEWER_LENGTH, ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.services import Project, ProjectDep, plain_name
from finegold.studio.store import Row, name_key, now
from finegold.votes.encoding import MISSING, text_of, to_list

router = APIRouter(tags=["measuring"], prefix="/projects/{project:id}")

# of a row
SAMPLE = ("id", "fit", "at", "auditors")
PRIOR_SHARED = 20
PRIOR_ERROR = 0.05


class Wanted(BaseModel, extra="forbid"):
    # the number of tasks to check
    n: int = Field(default=100, ge=1, le=100_000)
    # the share of wrong labels that is accepted at most
    risk: float = Field(default=0.05, ge=0.001, le=0.4)
    # who checks them; empty: anybody
    auditors: list[Annotated[str, Field(max_length=MAX_REVIEWER_LENGTH)]] = Field([], max_length=20)
    # the share of the tasks that all auditors check
    overlap: float = Field(default=0.2, ge=0, le=1)
    seed: int | None = Field(default=None, ge=0, le=2**31)


class Checked(NamedTuple):
    task: Any
    label: Any
    by: str


class Sample:
    """A sample with its answers."""

    def __init__(self, row: Row) -> None:
        self.id, self.fit, self.at, self.auditors = itemgetter(*SAMPLE)(row)
        self.closed, self.overlap, plan = bool(row["closed"]), row["overlap"], row["plan"]
        self.risk: float = plan["risk"]
        # tasks that it speaks for, and tasks whose truth was known then
        self.population, self.known = plan["population"], plan["known"]
        # of each stratum: its tasks, and their mean confidence
        self.sizes, self.confidence = np.array(plan["sizes"]), np.array(plan["confidence"])
        # by their names, and the stratum of each
        self.tasks: list[Any] = [name for name, _ in plan["rows"]]
        self.stratum = np.array([stratum for _, stratum in plan["rows"]])
        # task -> auditor -> label, by keys of names
        self.answers: dict[str, dict[str, Any]] = {}
        self.settled: dict[str, Any] = {}
        self.skipped: set[tuple[str, str]] = set()
        self.last = ""

    @property
    def truths(self) -> dict[str, Any]:
        """The truth of each task by its key; not of those on which auditors disagree."""
        agreed = {key: next(iter(answers.values())) for key, answers in self.answers.items()}
        for key in self.apart:
            del agreed[key]
        return agreed | self.settled

    @property
    def shared(self) -> list[str]:
        """The keys of tasks that several auditors checked."""
        return [key for key, by_auditor in self.answers.items() if len(by_auditor) > 1]

    @property
    def apart(self) -> list[str]:
        """The keys of tasks on which they disagree."""
        labels = {key: set(map(name_key, self.answers[key].values())) for key in self.shared}
        return [key for key, different in labels.items() if len(different) > 1]

    @property
    def is_over(self) -> bool:
        return self.closed or len(self.checked) == len(self.tasks)

    @property
    def checked(self) -> dict[str, Checked]:
        truths = self.truths
        return {
            key: Checked(task, truths[key], ", ".join(self.answers.get(key, {})))
            for task in self.tasks
            if (key := name_key(task)) in truths
        }

    @property
    def people(self) -> list[str]:
        return sorted({who for by in self.answers.values() for who in by})

    def tasks_for(self, reviewer: str) -> list[Any]:
        """Return the tasks that a reviewer is asked to check, in the order of the draw."""
        if self.auditors and reviewer not in self.auditors:
            return []
        if len(self.auditors) < 2:
            return self.tasks
        # who checks the tasks that are not shared; shared ones are spread evenly
        turns, mine = cycle(self.auditors), []
        for place, task in enumerate(self.tasks):
            ends = [int(end * self.overlap + 1e-9) for end in (place, place + 1)]
            if ends[1] > ends[0] or next(turns) == reviewer:
                mine.append(task)
        return mine

    def waiting(self, reviewer: str, held: list[Any]) -> list[Any]:
        """Return the tasks that a reviewer still has to check, those that they skipped last."""
        is_split = len(self.auditors) > 1
        others = [] if is_split else list(map(name_key, held))
        waiting = []
        for task in self.tasks_for(reviewer) if not self.closed else []:
            key = name_key(task)
            is_done = reviewer in self.answers.get(key, {}) if is_split else key in self.answers
            if not is_done and key not in self.settled and key not in others:
                waiting.append(task)
        return sorted(waiting, key=lambda task: (name_key(task), reviewer) in self.skipped)


# ---- Reading samples


def all_samples(project: Project) -> list[Sample]:
    """Return the samples, the newest last. What an earlier one checked needs no second check."""
    rows = project.rows("SELECT * FROM sample WHERE project = ? ORDER BY id")
    samples = [Sample(row) for row in rows]
    answers = project.rows(
        "SELECT * FROM judgement WHERE project = ? AND sample NOT NULL AND NOT undone ORDER BY id"
    )
    checked: dict[str, Checked] = {}
    for sample in samples:
        for key in map(name_key, sample.tasks):
            if (known := checked.get(key)) is not None:
                sample.answers[key] = {known.by: known.label}
        for row in answers:
            key = name_key(row["task"])
            if row["sample"] != sample.id:
                continue
            if row["kind"] == "settle":
                sample.settled[key] = row["value"]
            elif row["kind"] == "skip":
                sample.skipped.add((key, row["reviewer"]))
            else:
                sample.answers.setdefault(key, {})[row["reviewer"]] = row["value"]
            sample.last = row["at"]
        checked |= sample.checked
    return samples


def checked_truths(project: Project) -> dict[str, Checked]:
    """Return the tasks that samples have checked, by the keys of their names."""
    checked: dict[str, Checked] = {}
    for sample in all_samples(project):
        checked |= sample.checked
    return checked


def find_sample(project: Project, sample: int | None) -> Sample:
    for each in all_samples(project):
        if each.id == sample:
            return each
    raise Problem(404, "There is no such sample", "Ask the lead to draw one under Measure.")


# ---- What samples show


def _compare(sample: Sample, result: LoadedResult) -> tuple[Mask, Mask]:
    """Return which tasks of a sample are checked, and for which of these the label is right."""
    truths, codes = sample.truths, result.codes_of(sample.tasks).tolist()
    answered, right = np.zeros(len(codes), np.bool_), np.zeros(len(codes), np.bool_)
    for place, (task, code) in enumerate(zip(sample.tasks, codes, strict=True)):
        truth = truths.get(name_key(task))
        if truth is not None and code != MISSING:
            answered[place] = True
            right[place] = _texts(result.label_value(code)) == _texts(truth)
    return answered, right


def _texts(label: Any) -> set[str]:
    return set(map(text_of, label if isinstance(label, list) else [label]))


def _interval(sample: Sample, result: LoadedResult) -> maths.Interval:
    """Return the share of right labels among the tasks that a sample speaks for."""
    answered, right = _compare(sample, result)
    sizes, confidence = sample.sizes, sample.confidence

    def interval(counted: Mask, hits: Mask) -> maths.Interval:
        n_checked = np.bincount(sample.stratum[counted], minlength=len(sizes))
        n_right = np.bincount(sample.stratum[hits & counted], minlength=len(sizes)).astype(float)
        return maths.accuracy_interval(sizes, n_checked, n_right, confidence)

    found = interval(answered, right)
    # wide enough for any answer to tasks without one
    if not answered.all():
        every = np.ones_like(answered)
        low, high = interval(every, right).low, interval(every, right | ~answered).high
        found = found._replace(low=min(low, found.low), high=max(high, found.high))
    return found


def acceptable(sample: Sample, result: LoadedResult) -> int:
    """Return how many of the labels that were most confident at the draw may be accepted."""
    answered, right = _compare(sample, result)
    if not answered.any():
        return 0
    # a task without an answer counts as wrong
    strata = (sample.sizes, sample.stratum, ~right, sample.confidence)
    return maths.accepted_strata(*strata, sample.risk)


def reviewer_error(n_shared: int, n_apart: int) -> float:
    """Return how often people who check err, by the tasks that several checked, and those apart."""
    # each of two answers is wrong as often, so a disagreement is half an error of either
    return (n_apart / 2 + PRIOR_ERROR * PRIOR_SHARED) / (n_shared + PRIOR_SHARED)


def measure(project: Project) -> Row | None:
    """Return how many labels are right by all samples that are over and of the same tasks."""
    every = all_samples(project)
    over = [each for each in every if each.is_over and each.truths]
    if not over:
        return None
    newest = over[-1]
    total = newest.population + newest.known
    samples = [each for each in over if each.population + each.known == total]
    result = project.shown
    n_shared, n_apart = (sum(len(getattr(e, name)) for e in every) for name in ("shared", "apart"))
    error = reviewer_error(n_shared, n_apart)
    half, estimate = np.zeros(2), 0.0
    n_all = sum(len(each.tasks) for each in samples)
    for sample in samples:
        found = _interval(sample, result)
        # known truths count as right
        share, weight = sample.population / total, len(sample.tasks) / n_all
        ends = (found.estimate, found.low, found.high)
        here, low, high = (share * value + 1 - share for value in ends)
        estimate += weight * here
        half += (weight * (here - low)) ** 2, (weight * (high - here)) ** 2
    # tasks that are in several samples say nothing twice
    keys = [key for each in samples for key in each.checked]
    n_checks = len({*keys})
    low_half, high_half = np.sqrt(half * len(keys) / max(n_checks, 1))
    n_truths = int((result.result.gold != MISSING).sum())
    measured: Row = {
        "estimate": estimate,
        "low": max(0.0, estimate - low_half - error * n_truths / max(total, 1)),
        "high": max(estimate, min(1.0, (estimate + high_half) / (1 - error))),
        "n_checks": n_checks,
        "at": max(each.last for each in samples),
        "by": list(dict.fromkeys(who for each in samples for who in each.people if who)),
        "samples": [each.id for each in samples],
        "fit": newest.fit,
        "shown": result.fit,
        "is_carried": newest.fit != result.fit,
        "n_tasks": total,
        "n_known": newest.known,
        "n_new": max(len(result.labelled.label_codes) - total, 0),
        "n_shared": n_shared,
        "n_apart": n_apart,
        "headline": f"{100 * estimate:.1f} % of the labels are right",
    }
    return measured | {"sentences": _explain(measured)}


def _explain(m: Row) -> list[str]:
    by = ", ".join(m["by"]) or "the lead"
    words = [
        f"Between {100 * m['low']:.1f} % and {100 * m['high']:.1f} %, with 95 % certainty: measured"
        f" on {m['n_checks']:,} of {m['n_tasks']:,} tasks, drawn at random and checked by {by}, the"
        f" last of them on {m['at'][:10]}."
    ]
    if m["is_carried"]:
        drawn = f"The tasks were drawn from fit {m['fit']}. The labels were computed again since"
        words.append(f"{drawn}, and the same checks were compared with the new labels.")
    if m["n_new"]:
        words.append(f"{m['n_new']:,} tasks came later: draw another sample to include them.")
    if m["n_known"]:
        words.append(f"{m['n_known']:,} of the tasks had a known truth, which counts as right.")
    if m["n_shared"]:
        both = f"Several people checked {m['n_shared']:,} of the tasks"
        words.append(f"{both} and disagreed on {m['n_apart']:,}: the interval allows for that.")
    else:
        words.append("Nobody checked a task twice, so one wrong check in twenty is allowed for.")
    return words


def for_report(project: Project) -> dict[str, Any] | None:
    measured = measure(project)
    if measured is None:
        return None
    accuracy = {name: measured[name] for name in ("estimate", "low", "high")}
    return {
        "accuracy": {**accuracy, "checked": measured["n_checks"]},
        "date": measured["at"],
        "method": project.shown.result.method,
        "tasks": measured["n_tasks"],
    }


def certificate_html(title: str, measured: Row) -> str:
    words = "".join(f"<p>{html.escape(each)}</p>" for each in measured["sentences"])
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>How many labels are right'
        "</title><style>body{font:16px/1.5 sans-serif;max-width:45em;margin:2em auto;padding:0 1em}"
        f"</style><p>{html.escape(title)}</p><h1>{measured['headline']}</h1>{words}</html>"
    )


# ---- Accepting


def accepted_row(project: Project) -> Row | None:
    """Return the newest acceptance that was not taken back."""
    sql = "SELECT * FROM judgement WHERE project = ? AND kind = 'accept' AND NOT undone ORDER BY id"
    return next(reversed(project.rows(sql)), None)


def accepted_mask(project: Project) -> Mask:
    """Return which labels were accepted, as far as they have not changed since."""
    result = project.shown
    mask = np.zeros(len(result.labelled.label_codes), np.bool_)
    row = accepted_row(project)
    if row is None:
        return mask
    if row["id"] not in result.accepted:
        path = project.files.stored(row["value"]["blob"], "accepted.parquet")
        table = pl.read_parquet(path)
        codes = result.codes_of([json.loads(task) for task in table["task"]])
        known = np.flatnonzero(codes != MISSING)
        then = np.array(table["label"].to_list(), dtype=object)[known]
        same = np.array(result.label_texts(codes[known]), dtype=object) == then
        mask[codes[known[same]]] = True
        result.accepted[row["id"]] = mask
    return result.accepted[row["id"]].copy()


# ---- Routes


@router.get("/samples", dependencies=REVIEWERS_WHO_SEE)
def samples(project: ProjectDep) -> list[Row]:
    """Return all samples, the newest first: how far each is checked, and what it shows."""
    return [view_sample(project, each) for each in reversed(all_samples(project))]


def view_sample(project: Project, sample: Sample) -> Row:
    # a fit that was replaced is not loaded again for its old samples
    result = project.shown
    n_done, n = len(sample.checked), len(sample.tasks)
    n_acceptable = acceptable(sample, result) if sample.is_over else 0
    accepted = (accepted_row(project) or {}).get("value", {})
    n_accepted = accepted["n"] if accepted.get("sample") == sample.id else 0
    names = {name_key(task): task for task in sample.tasks}
    apart = [
        {
            "task": plain_name(names[key]),
            "text": text_of(names[key]),
            "labels": {who: words_of_label(label) for who, label in sample.answers[key].items()},
            "settled": words_of_label(sample.settled[key]) if key in sample.settled else None,
        }
        for key in sample.apart
    ]
    next_step = f"Check {_count(n - n_done, 'more task')}."
    if n_open := sum(each["settled"] is None for each in apart):
        next_step = f"Settle {_count(n_open, 'disagreement')} of the auditors."
    auditors = [
        {
            "name": who,
            "done": sum(who in by for by in sample.answers.values()),
            "total": len(sample.tasks_for(who)),
        }
        for who in sample.auditors or sample.people
    ]
    # few checks measure the labels, but allow to accept none of them
    fewest = maths.fewest_checks(sample.risk)
    is_few = n < fewest and n < sample.population
    promise = f"To accept labels unchecked takes {fewest} checks or more." if is_few else ""
    return {
        **{name: getattr(sample, name) for name in ("id", "at", "fit", "risk", "is_over")},
        "n": n,
        "done": n_done,
        "promise": promise,
        "auditors": auditors,
        "shared": len(sample.shared),
        "agreed": len(sample.shared) - len(apart),
        "disagreements": apart,
        "classes": [plain_name(name) for name in result.classes],
        "acceptable": n_acceptable,
        "accepted": n_accepted,
        "next_step": next_step,
    }


def words_of_label(label: Any) -> str:
    return ", ".join(map(text_of, label)) if isinstance(label, list) else text_of(label)


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


@router.post("/samples", dependencies=ONLY_OWNER, status_code=201)
def draw(project: ProjectDep, wanted: Wanted) -> Row:
    """Draw tasks at random from the result that is shown. Earlier samples are kept."""
    people = list(dict.fromkeys(name.strip() for name in wanted.auditors))
    result, earlier = project.shown, all_samples(project)
    seed = len(earlier) if wanted.seed is None else wanted.seed
    plan = draw_plan(result, wanted.n, wanted.risk, seed)
    with project.changing():
        overlap = wanted.overlap if len(people) > 1 else 0.0
        more = {"plan": plan, "auditors": people, "overlap": overlap, "at": now()}
        sample = project.store.insert("sample", project=project.id, fit=result.fit, **more)
    return view_sample(project, find_sample(project, sample))


def draw_plan(result: LoadedResult, n: int, risk: float, seed: int) -> dict[str, Any]:
    """Draw n tasks without a known truth in strata of confidence."""
    tasks = np.flatnonzero(result.labelled.gold == MISSING)
    if not len(tasks):
        raise Problem(409, "There is nothing to check", "Every label is a known truth.")
    confidence = np.asarray(result.confidence[tasks], np.float64)
    n = min(n, len(tasks))
    stratum = maths.stratify(confidence, maths.strata_for(n))
    sizes = np.bincount(stratum)
    checks = maths.allocate(sizes, n)
    generator = np.random.default_rng(seed)
    chosen = [
        generator.choice(np.flatnonzero(stratum == number), n_checks, replace=False)
        for number, n_checks in enumerate(checks.tolist())
    ]
    order = generator.permutation(np.concatenate(chosen))
    names = to_list(result.labelled.task_names[tasks[order]])
    return {
        "risk": risk,
        "population": len(tasks),
        "known": len(result.labelled.gold) - len(tasks),
        "sizes": sizes.tolist(),
        "confidence": (np.bincount(stratum, confidence) / sizes).round(6).tolist(),
        "rows": list(zip(map(plain_name, names), stratum[order].tolist(), strict=True)),
    }


@router.post("/samples/{sample:id}/close", dependencies=ONLY_OWNER)
def close(project: ProjectDep, sample: int) -> Row:
    """End a sample before all its tasks are checked: the interval allows for any answer to them."""
    if not find_sample(project, sample).truths:
        raise Problem(409, "Nothing is checked yet", "Check some of its tasks first.")
    with project.changing():
        project.store.update("sample", sample, closed=1)
    return view_sample(project, find_sample(project, sample))


@router.post("/samples/{sample:id}/accept", dependencies=ONLY_OWNER)
def accept(project: ProjectDep, sample: int) -> Row:
    """Accept the most confident labels, as many as the sample allows."""
    found, shown = find_sample(project, sample), project.shown
    n = acceptable(found, shown) if found.is_over else 0
    if not n:
        detail = "More checks, or a higher risk, may allow some."
        raise Problem(409, "No label can be accepted by this sample", detail)
    drawn = project.services.loaded.of(project.id, found.fit)
    tasks = np.flatnonzero(drawn.labelled.gold == MISSING)
    surest = tasks[maths.by_confidence(np.asarray(drawn.confidence[tasks], np.float64))][:n]
    names = to_list(drawn.labelled.task_names[surest])
    codes = shown.codes_of(names).tolist()
    labels = [shown.label_texts([code])[0] if code != MISSING else "" for code in codes]
    table = pl.DataFrame({"task": list(map(name_key, names)), "label": labels})
    blob = project.files.keep(table.write_parquet, ".parquet")
    value = {"n": n, "sample": sample, "fit": found.fit, "risk": found.risk, "blob": blob}
    said = {"kind": "accept", "task": "", "value": value, "reviewer": "", "at": now()}
    with project.changing():
        project.store.insert("judgement", project=project.id, **said)
    return view_sample(project, found)


@router.delete("/accepted", dependencies=ONLY_OWNER, status_code=204, response_class=Response)
def undo_accept(project: ProjectDep) -> None:
    """Take back the acceptance of labels."""
    sql = "UPDATE judgement SET undone = 1 WHERE project = ? AND kind = 'accept'"
    with project.changing():
        project.store.run(sql, project.id)
