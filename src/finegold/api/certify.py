"""Check some tasks, know the rest: draw the tasks to check, and certify the labels from a filled sheet.

A `Sample` is a sheet that a person fills in and the plan of how its tasks were drawn. The plan says which result the
sheet belongs to, so that it cannot be confused with another one's, and what was promised before any task was checked.
A `Certificate` is what the filled sheet shows. Truths that were not drawn by a plan teach a method, but they never
become an interval: nobody knows how they were chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, use
from finegold.insight import certify as maths
from finegold.insight.certify import CERTAINTY, Acceptance, Interval, Recalibration
from finegold.results.data import ResultData
from finegold.system.files import replacing_all
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.names import match, text_of

__all__ = ["Certificate", "Plan", "Purpose", "Sample", "certify", "draw", "read_plan"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Purpose = Literal["accuracy", "acceptance", "choice"]

PURPOSES = ("accuracy", "acceptance", "choice")
FORMAT = "finegold plan 1"
TRUTH, SAMPLE = "truth", "sample"  # columns of a sheet beside that of the tasks
LEAST_FOR_PART = 20  # checks of a class or a band of confidence that get an interval of their own
BANDS = (0.0, 0.66, 0.9, 0.99, 1.0)
FOLDS = 10


@dataclass(frozen=True)
class Plan:
    """How the tasks of a sheet were drawn, and what that promises.

    Attributes
    ----------
    purpose : {"accuracy", "acceptance", "choice"}
        What the checks are for.
    n, seed, looks : int
        The number of checks, the seed of the draw, and how often the sheet may be evaluated.
    risk : float
        The share of wrong labels that is accepted at most, for the purpose "acceptance".
    method : str
        The method that made the labels.
    votes, labels : str
        Checksums of the votes and of the labels.
    tasks : int
        The number of tasks that the sample speaks for.
    sizes, checks, confidence : list
        The tasks, the checks and the mean confidence of each stratum.
    first, last : int
        The nested sets that are tested for acceptance, in steps of 5 % of the tasks.
    rows : list
        For each checked task its name, stratum and rank by falling confidence.
    expected : dict
        What was expected of these checks before they were made.
    """

    purpose: Purpose
    n: int
    seed: int
    looks: int
    risk: float
    method: str
    votes: str
    labels: str
    tasks: int
    sizes: list[int]
    checks: list[int]
    confidence: list[float]
    first: int
    last: int
    rows: list[tuple[str, int, int]]
    expected: dict[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A short name that the sheet and the certificate carry."""
        return self.digest[:8]

    @property
    def digest(self) -> str:
        """A checksum of everything in the plan."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the plan as it is kept beside the sheet."""
        return json.dumps({"format": FORMAT, "digest": self.digest, **asdict(self)}, indent=1)


@dataclass(frozen=True)
class Sample:
    """The tasks to check: a sheet with an empty column of truths, and its plan."""

    plan: Plan
    sheet: pl.DataFrame

    @property
    def promise(self) -> list[str]:
        """Sentences that say what these checks can show."""
        return promise_of(self.plan)

    def save(self, path: str | Path) -> Path:
        """Write the sheet (.csv, .xlsx or another table) and the plan beside it.

        Parameters
        ----------
        path : path
            The file of the sheet.

        Returns
        -------
        Path
            The file of the plan: NAME.plan.json.
        """
        from finegold.io.writers import write_frame

        sheet, plan = Path(path), plan_path(path)
        with replacing_all([sheet, plan]) as (sheet_part, plan_part):
            write_frame(self.sheet, sheet_part)
            plan_part.write_text(self.plan.to_json(), encoding="utf-8")
        return plan


def plan_path(sheet: str | Path) -> Path:
    """Return the file of a sheet's plan."""
    path = Path(sheet)
    return path.with_name(f"{path.name.split('.')[0]}.plan.json")


def draw(
    result: ResultData,
    n: int = 100,
    *,
    purpose: Purpose = "accuracy",
    risk: float = 0.05,
    seed: int = 0,
    looks: int = 1,
    differing: NDArray[np.bool_] | None = None,
) -> Sample:
    """Draw the tasks to check.

    Parameters
    ----------
    result : ResultData
        The labels.
    n : int
        The number of tasks to check.
    purpose : {"accuracy", "acceptance", "choice"}
        To measure the accuracy of all labels, to accept as many as possible at a risk, or to choose a method.
    risk : float
        The share of wrong labels among the accepted ones that is tolerated.
    seed : int
        The seed of the draw.
    looks : int
        How often the sheet may be evaluated while it is being filled.
    differing : ndarray of bool, optional
        For the purpose "choice": the tasks on which methods differ.
    """
    if purpose not in PURPOSES:
        raise InputError(f"{purpose!r} is not a purpose of checks; choose from {', '.join(PURPOSES)}")
    if not 1 <= looks <= 20 or not 0 < risk < 0.5 or n < 1 or seed < 0:
        raise InputError("checks need n of 1 or more, 1 to 20 looks, a risk between 0 and 50 %, and a seed from 0")
    tasks = np.flatnonzero(result.gold == MISSING)
    if purpose == "choice" and differing is not None:
        tasks = tasks[differing[tasks]]
    if not len(tasks):
        raise InputError("there is nothing to check: every label is a known truth, or the methods never differ")
    n = min(n, len(tasks))
    generator = np.random.default_rng(seed)
    confidence = result.confidence[tasks].astype(np.float64)
    order, ends = maths.nested_sets(confidence)
    rank = np.empty(len(tasks), np.int64)
    rank[order] = np.arange(len(tasks))
    alpha = (1 - CERTAINTY) / looks
    plan_sets = Acceptance(1, maths.GRID, 0.0)
    stratum = np.zeros(len(tasks), np.int64)
    population = len(tasks)
    if purpose == "accuracy":
        stratum = maths.stratify(confidence, maths.strata_for(n))
        plan_sets = maths.plan_acceptance(confidence, n, risk, seed, 1 - alpha)
    elif purpose == "acceptance":
        plan_sets = maths.plan_acceptance(confidence, n, risk, seed, 1 - alpha)
        stratum = np.where(rank < ends[plan_sets.last - 1], 0, 1)  # checks are drawn from the last set only
        n = min(n, int(ends[plan_sets.last - 1]))
    sizes = np.bincount(stratum)
    checks = maths.allocate(sizes, n) if purpose == "accuracy" else np.array([n, *[0] * (len(sizes) - 1)])
    chosen = _draw(stratum, checks, looks, generator)
    mean = np.bincount(stratum, confidence) / sizes
    expected = {"width": maths.expected_width(confidence, n, alpha), "accepted": max(plan_sets.expected, 0.0)}
    names = [text_of(name) for name in to_list(result.task_names[tasks[chosen]])]
    plan = Plan(
        purpose=purpose,
        n=n,
        seed=seed,
        looks=looks,
        risk=risk,
        method=result.method,
        votes=votes_digest(result),
        labels=labels_digest(result),
        tasks=population,
        sizes=sizes.tolist(),
        checks=checks.tolist(),
        confidence=[round(float(value), 6) for value in mean],
        first=plan_sets.first,
        last=plan_sets.last,
        rows=list(zip(names, stratum[chosen].tolist(), rank[chosen].tolist(), strict=True)),
        expected={name: round(value, 4) for name, value in expected.items()},
    )
    votes = result.annotations
    column = votes.columns[0] if votes is not None and getattr(votes, "columns", None) else "task"
    sheet = pl.DataFrame({column: names, TRUTH: pl.Series([None] * len(names), dtype=pl.String), SAMPLE: plan.id})
    return Sample(plan, sheet)


def _draw(stratum: Codes, checks: Codes, looks: int, generator: np.random.Generator) -> Codes:
    """Return the tasks to check in random order; every look ends with the same share of each stratum."""
    parts: list[list[int]] = [[] for _ in range(looks)]
    for number, n in enumerate(checks.tolist()):
        some = generator.choice(np.flatnonzero(stratum == number), n, replace=False)
        for look in range(looks):
            parts[look].extend(some[n * look // looks : n * (look + 1) // looks].tolist())
    return np.array([task for part in parts for task in generator.permutation(np.array(part, np.int64))], np.int64)


def promise_of(plan: Plan) -> list[str]:
    """Return sentences that say what the checks of a plan can show, before any of them is made."""
    width, share = plan.expected["width"], plan.expected["accepted"]
    fewest = maths.fewest_checks(plan.risk, 1 - (1 - CERTAINTY) / plan.looks)
    said = []
    if plan.purpose == "accuracy":
        said.append(
            f"{plan.n:,} checks will show the share of right labels to about ±{100 * width / 2:.0f} points (95 %)."
        )
    if plan.purpose == "choice":
        said.append(
            f"{plan.n:,} checks of tasks on which methods differ show which method is better here. They say nothing of "
            "the accuracy of all labels: that needs a sample of its own."
        )
    elif plan.n < fewest:
        said.append(
            f"Fewer than {fewest} checks cannot certify any label at a risk of {plan.risk:.0%}; here are {plan.n:,}."
        )
    elif plan.purpose == "acceptance":
        said.append(
            f"About {share:.0%} of the labels are expected to be accepted unseen, with at most {plan.risk:.0%} of them "
            "wrong (with 95 % certainty)."
        )
    return said


@dataclass(frozen=True)
class Part:
    """The accuracy of a part of the labels: a class, or a band of confidence."""

    name: str
    estimate: float
    low: float
    high: float
    checked: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a filled sheet shows about all labels.

    Attributes
    ----------
    accuracy : Interval or None
        The share of right labels among all tasks: estimate, low, high, checked. None if the plan had another purpose.
    accepted : int
        How many of the most confident labels may be accepted unseen at the risk of the plan.
    recalibration : Recalibration
        The map of confidences that the checks support.
    calibration_before, calibration_after : float
        The expected calibration error on the checked tasks, before and after; after by cross-validation.
    missing : int
        Tasks of the sheet without an answer. The interval allows for any answer that they might have got.
    classes, bands : list of Part
        The accuracy by label and by confidence, where there are enough checks.
    width_with_50_more : float
        The expected width of the interval with 50 more checks.
    plan : Plan
        How the tasks were drawn.
    date : str
        When the certificate was made.
    """

    accuracy: Interval | None
    accepted: int
    recalibration: Recalibration
    calibration_before: float
    calibration_after: float
    missing: int
    classes: list[Part]
    bands: list[Part]
    width_with_50_more: float | None
    plan: Plan
    checks: str
    date: str

    @property
    def accepted_share(self) -> float:
        """The share of the tasks whose labels may be accepted."""
        return self.accepted / self.plan.tasks

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plan = self.plan
        return {
            "accuracy": None if self.accuracy is None else self.accuracy._asdict(),
            "accepted": {"risk": plan.risk, "share": self.accepted_share, "tasks": self.accepted},
            "calibration": {
                "before": self.calibration_before,
                "after": self.calibration_after,
                **self.recalibration._asdict(),
            },
            "missing": self.missing,
            "classes": [asdict(part) for part in self.classes],
            "bands": [asdict(part) for part in self.bands],
            "width_with_50_more": self.width_with_50_more,
            "sample": {"plan": plan.id, "purpose": plan.purpose, "n": plan.n, "seed": plan.seed, "looks": plan.looks},
            "method": plan.method,
            "tasks": plan.tasks,
            "digests": {"votes": plan.votes, "labels": plan.labels, "plan": plan.digest, "checks": self.checks},
            "date": self.date,
        }

    def sentences(self) -> list[str]:
        """Return what the certificate says, in words."""
        plan, said = self.plan, []
        if self.accuracy is not None:
            a = self.accuracy
            said.append(
                f"{a.estimate:.1%} of the {plan.tasks:,} labels are right: between {a.low:.1%} and {a.high:.1%}, with "
                f"95 % certainty, by {a.checked:,} checks of a random sample."
            )
        if self.missing:
            said.append(
                f"{self.missing:,} tasks of the sheet have no answer; the interval allows for any answer they might get."
            )
        if plan.purpose != "choice":
            said.append(self._acceptance_sentence())
        if self.width_with_50_more is not None:
            said.append(
                f"With 50 more checks, the interval would be about {100 * self.width_with_50_more:.0f} points wide."
            )
        said.append(
            f"Confidences were off by {100 * self.calibration_before:.0f} points on average (calibration error); with "
            f"these checks, by {100 * self.calibration_after:.0f}."
        )
        return said

    def _acceptance_sentence(self) -> str:
        plan = self.plan
        fewest = maths.fewest_checks(plan.risk, 1 - (1 - CERTAINTY) / plan.looks)
        if self.accepted:
            return (
                f"The {self.accepted:,} most confident labels ({self.accepted_share:.0%}) may be accepted unseen: with "
                f"95 % certainty, at most {plan.risk:.0%} of them are wrong."
            )
        if plan.n - self.missing < fewest:
            return f"No label may be accepted unseen at a risk of {plan.risk:.0%}: that takes {fewest} checks or more."
        return f"No label may be accepted unseen at a risk of {plan.risk:.0%} by these checks."


def certify(result: ResultData, answers: Mapping[str, str | None], plan: Plan) -> Certificate:
    """Return what the answers to a plan's tasks show about all labels of the result.

    Parameters
    ----------
    result : ResultData
        The labels.
    answers : mapping of str to str or None
        The truth of each task of the sheet, None where it was not filled in.
    plan : Plan
        How the tasks were drawn.
    """
    check_belongs(result, plan)
    names = [row[0] for row in plan.rows]
    stranger = next((task for task in answers if task not in set(names)), None)
    if stranger is not None:
        raise InputError(
            f"the task {stranger!r} is not one of this sample's; checks of other tasks were not drawn at random"
        )
    code = match(names, result.task_names).astype(np.int64)
    labels = [text_of(name) for name in to_list(result.class_names[result.label_codes[code].astype(np.int32)])]
    classes = {text_of(name) for name in to_list(result.class_names)}
    given = [answers.get(name) for name in names]
    unknown = next((truth for truth in given if truth is not None and truth not in classes), None)
    if unknown is not None:
        raise InputError(
            f"the truth {unknown!r} is not a class of the votes ({', '.join(sorted(classes)[:10])})",
            remedies=[use(text="write classes in the sheet as they are written in the votes")],
        )
    look = _look(given, plan)
    given, rows, code, labels = given[:look], plan.rows[:look], code[:look], labels[:look]
    answered = np.array([truth is not None for truth in given])
    if not answered.any():
        raise InputError("no task of the sheet has a truth; fill in its column of truths first")
    right = np.array([truth == label for truth, label in zip(given, labels, strict=True)])
    stratum = np.array([row[1] for row in rows])
    rank = np.array([row[2] for row in rows])
    confidence = result.confidence[code].astype(np.float64)
    alpha = (1 - CERTAINTY) / plan.looks
    accuracy = _accuracy(plan, stratum, answered, right, alpha) if plan.purpose == "accuracy" else None
    known = np.flatnonzero(answered)
    recalibration = maths.recalibrate(confidence[known], right[known].astype(float))
    weight = (np.array(plan.sizes) / np.maximum(np.bincount(stratum, minlength=len(plan.sizes)), 1))[stratum]
    before, after = _calibration_error(confidence[known], right[known], weight[known])
    return Certificate(
        accuracy=accuracy,
        accepted=_accepted(plan, stratum, rank, answered, right, alpha),
        recalibration=recalibration,
        calibration_before=before,
        calibration_after=after,
        missing=int((~answered).sum()),
        classes=_parts(np.array(labels), right, weight, answered, alpha) if plan.purpose == "accuracy" else [],
        bands=_parts(_band_of(confidence), right, weight, answered, alpha) if plan.purpose == "accuracy" else [],
        width_with_50_more=_width_with(result, plan, len(known) + 50, alpha) if accuracy is not None else None,
        plan=plan,
        checks=hashlib.sha256(
            json.dumps(sorted((n, t or "") for n, t in zip(names, given, strict=False))).encode()
        ).hexdigest(),
        date=datetime.now(UTC).date().isoformat(),
    )


def _look(given: Sequence[str | None], plan: Plan) -> int:
    """Return how many rows of the sheet this look is about: the first of the planned ones that hold all answers."""
    last = max((row for row, truth in enumerate(given, 1) if truth is not None), default=0)
    ends = [_look_end(plan, look) for look in range(1, plan.looks + 1)]
    return next(end for end in ends if end >= last)


def _look_end(plan: Plan, look: int) -> int:
    return sum(n * look // plan.looks for n in plan.checks)


def _accuracy(
    plan: Plan, stratum: Codes, answered: NDArray[np.bool_], right: NDArray[np.bool_], alpha: float
) -> Interval:
    sizes, confidence = np.array(plan.sizes), np.array(plan.confidence)

    def interval(counted: NDArray[np.bool_], hits: NDArray[np.bool_]) -> Interval:
        checks = np.bincount(stratum[counted], minlength=len(sizes))
        return maths.accuracy_interval(
            sizes, checks, np.bincount(stratum[hits & counted], minlength=len(sizes)).astype(float), confidence, alpha
        )

    found = interval(answered, right)
    if answered.all():
        return found
    everything = np.ones_like(answered)
    low, high = interval(everything, right & answered), interval(everything, right | ~answered)
    return Interval(found.estimate, min(low.low, found.low), max(high.high, found.high), found.checked)


def _accepted(
    plan: Plan, stratum: Codes, rank: Codes, answered: NDArray[np.bool_], right: NDArray[np.bool_], alpha: float
) -> int:
    """Return how many labels are accepted; a task without an answer counts as wrong."""
    ends = np.ceil(np.arange(1, maths.GRID + 1) * plan.tasks / maths.GRID).astype(np.int64)
    wrong = ~(right & answered)
    if plan.purpose == "acceptance":
        return maths.accepted_share(rank, wrong, Acceptance(plan.first, plan.last, 0.0), ends, plan.risk, 1 - alpha)
    if plan.purpose == "choice":
        return 0
    return maths.accepted_strata(np.array(plan.sizes), stratum, wrong, np.array(plan.confidence), plan.risk, alpha)


def _parts(
    part: NDArray[Any], right: NDArray[np.bool_], weight: Floats, answered: NDArray[np.bool_], alpha: float
) -> list[Part]:
    parts = []
    for name in np.unique(part):
        inside = (part == name) & answered
        if inside.sum() >= LEAST_FOR_PART:
            found = maths.weighted_interval(weight[inside], right[inside], alpha)
            parts.append(Part(str(name), *found))
    return parts


def _band_of(confidence: Floats) -> NDArray[np.str_]:
    names = [f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in zip(BANDS, BANDS[1:], strict=False)]
    return np.array(names)[np.clip(np.searchsorted(BANDS, confidence, side="right") - 1, 0, len(names) - 1)]


def _calibration_error(confidence: Floats, right: NDArray[np.bool_], weight: Floats) -> tuple[float, float]:
    """Return the calibration error before and after, the latter by cross-validation over the checks."""
    after = confidence.copy()
    fold = np.arange(len(confidence)) % FOLDS
    for number in range(min(FOLDS, len(confidence))):
        out = fold == number
        after[out] = maths.recalibrate(confidence[~out], right[~out].astype(float)).apply(confidence[out])
    return maths.calibration_error(confidence, right, weight), maths.calibration_error(after, right, weight)


def _width_with(result: ResultData, plan: Plan, n: int, alpha: float) -> float:
    tasks = np.flatnonzero(result.gold == MISSING)
    return maths.expected_width(result.confidence[tasks].astype(np.float64), min(n, plan.tasks), alpha)


def check_belongs(result: ResultData, plan: Plan) -> None:
    """Refuse a plan that was made for other labels."""
    if plan.labels == labels_digest(result):
        return
    what = "other votes" if plan.votes != votes_digest(result) else f"other labels ({plan.method})"
    raise InputError(
        f"this sheet was drawn for {what}: its checks say nothing about these labels",
        remedies=[use(text="certify the votes and the method that the sample was drawn for, or draw a new sample")],
    )


def read_plan(path: str | Path) -> Plan:
    """Read a plan, and refuse one that was edited."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        digest = content.pop("digest")
        if content.pop("format") != FORMAT:
            raise ValueError
        content["rows"] = [(str(task), int(stratum), int(rank)) for task, stratum, rank in content["rows"]]
        plan = Plan(**content)
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError("this is not a plan of a sample", where=str(path)) from None
    if replace(plan, rows=[tuple(row) for row in plan.rows]).digest != digest:
        raise InputError(
            "the plan was edited since the sample was drawn", where=str(path), remedies=[use(text="draw a new sample")]
        )
    return plan


def votes_digest(result: ResultData) -> str:
    """Return a checksum of the votes, the same whatever the order of their rows."""
    votes = result.annotations
    if votes is None:
        return ""
    arrays = (votes.task_ptr, votes.cell_ptr, votes.cell_class, votes.annotator)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array).astype("<i8").tobytes() for array in arrays))
    for names in (votes.task_names, votes.annotator_names, votes.class_names):
        digest.update("\n".join(text_of(name) for name in to_list(names)).encode())
    return digest.hexdigest()


def labels_digest(result: ResultData) -> str:
    """Return a checksum of the tasks and their labels."""
    names = (text_of(name) for name in to_list(result.task_names))
    labels = (text_of(name) for name in to_list(result.label))
    return hashlib.sha256("\n".join(f"{a}\t{b}" for a, b in zip(names, labels, strict=True)).encode()).hexdigest()


def answers_of(rows: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Return the truth of each task of a sheet; a task that is there twice is refused."""
    answers: dict[str, str | None] = {}
    for task, truth in rows:
        if task in answers:
            raise InputError(f"the task {task!r} is in the sheet more than once; keep one row of it")
        answers[task] = truth
    return answers
