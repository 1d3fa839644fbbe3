"""Estimate how accurate all labels are from checks of some: `finegold.certify`.

A `Certificate` is what the filled sheet of a sample shows. Truths that were not drawn by a plan
teach a method, but they never become an interval: nobody knows how they were chosen.
"""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from finegold.api import sample as samples
from finegold.api.fit import result_of
from finegold.api.options import Fitting
from finegold.api.result import Result
from finegold.api.sample import Bools, Plan, Sample, read_plan
from finegold.errors import InputError, Placeholder, use, warn_user
from finegold.insight import certify as maths
from finegold.insight.certify import Interval, Recalibration
from finegold.io.sheets import read_answers
from finegold.io.tables import open_table
from finegold.io.truth import read_truth
from finegold.methods.base import Method
from finegold.results.data import ResultData
from finegold.results.tables import labels_pieces, natural_order
from finegold.system.files import write_bytes
from finegold.votes.encoding import match, text_of, to_list
from finegold.votes.notebook import Figure, rows_html

# checks of a class or a band of confidence that get an interval of their own
LEAST_FOR_PART = 20
BANDS = (0.0, 0.66, 0.9, 0.99, 1.0)
FOLDS = 10
TITLE = "How accurate these labels are"


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a completed sheet shows about all labels.

    Attributes:
        accuracy: The share of right labels among all tasks: estimate, low, high, checked.
        accepted: How many of the most confident labels may be accepted unchecked at the risk of the
            plan.
        recalibration: The map of confidences that the checks support.
        calibration_before, calibration_after: The expected calibration error on the checked tasks,
            before and after; after by cross-validation.
        missing: Tasks of the sheet without an answer. The interval allows for any answer that they
            might have got.
        classes, bands: The accuracy by label and by confidence, where there are enough checks.
        width_with_50_more: The expected width of the interval with 50 more checks.
        plan: How the tasks were drawn.
        checks_digest: A checksum of the answers.
        date: When the certificate was made.
    """

    accuracy: Interval
    accepted: int
    recalibration: Recalibration
    calibration_before: float
    calibration_after: float
    missing: int
    classes: dict[str, Interval]
    bands: dict[str, Interval]
    width_with_50_more: float
    plan: Plan
    checks_digest: str
    date: str

    @property
    def accepted_share(self) -> float:
        """The share of the tasks whose labels may be accepted."""
        return self.accepted / self.plan.n_tasks

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        plan, accepted = self.plan, {"share": self.accepted_share, "tasks": self.accepted}
        error = {"before": self.calibration_before, "after": self.calibration_after}
        return {
            "accuracy": self.accuracy._asdict(),
            "accepted": {"risk": plan.risk, **accepted},
            "calibration": error | self.recalibration._asdict(),
            "missing": self.missing,
            "classes": {name: part._asdict() for name, part in self.classes.items()},
            "bands": {name: part._asdict() for name, part in self.bands.items()},
            "width_with_50_more": self.width_with_50_more,
            "sample": {"plan": plan.id}
            | {name: getattr(plan, name) for name in ("n", "seed", "looks")},
            "method": plan.method,
            "tasks": plan.n_tasks,
            "digests": {
                "labels": plan.labels_digest,
                "plan": plan.digest,
                "checks": self.checks_digest,
            },
            "date": self.date,
        }

    def sentences(self) -> list[str]:
        """Return what the certificate says, one sentence per finding."""
        plan, a = self.plan, self.accuracy
        said = [
            f"{a.estimate:.1%} of the {plan.n_tasks:,} labels are right: between {a.low:.1%} and"
            f" {a.high:.1%}, with 95 % certainty, by {a.checked:,} checks of a random sample."
        ]
        if self.missing:
            said.append(
                f"{self.missing:,} of the {plan.n:,} tasks of the sheet have no answer: the"
                " interval allows for any, and they count as wrong for acceptance."
            )
        if self.accepted:
            said.append(
                f"The {self.accepted:,} most confident labels ({self.accepted_share:.0%}) may be"
                f" accepted unchecked: with 95 % certainty, at most {plan.risk:.0%} of them are"
                " wrong."
            )
        else:
            few = plan.n - self.missing < plan.fewest_checks
            why = f": that takes {plan.fewest_checks} checks or more" if few else " by these checks"
            said.append(f"No label may be accepted unchecked at a risk of {plan.risk:.0%}{why}.")
        width = f"{100 * self.width_with_50_more:.0f} points"
        said.append(f"With 50 more checks, the interval would be about {width} wide.")
        before, after = 100 * self.calibration_before, 100 * self.calibration_after
        said.append(
            f"Confidences were off by {before:.0f} points on average (calibration error); with these"
            f" checks, by {after:.0f}."
        )
        return said

    def apply(self, result: ResultData) -> Result:
        """Return the same labels with the probabilities that the checks support. Known truths stay.

        Args:
            result (Result): The labels that were checked.
        """
        _check_belongs(samples.all_labels(result), self.plan)
        return Result.from_data(maths.recalibrated(result, self.recalibration))

    def labels(self, result: ResultData) -> pl.DataFrame:
        """Return the table of labels with recalibrated confidences and a column `accepted`, which is
        true for labels that may be accepted unchecked, and for known truths.

        Args:
            result (Result): The labels that were checked.
        """
        whole = samples.all_labels(self.apply(result))
        tasks, confidence = samples.unknown_tasks(samples.all_labels(result))
        accepted = np.ones(len(whole.label_codes), np.bool_)
        accepted[tasks[maths.by_confidence(confidence)[self.accepted :]]] = False
        if (order := natural_order(whole.task_names)) is not None:
            accepted = accepted[order]
        shown = np.append(accepted, np.zeros(len(whole.unlabelled), np.bool_))
        table = pl.concat(labels_pieces(whole, for_users=True))
        return table.insert_column(table.columns.index("is_gold") + 1, pl.Series("accepted", shown))

    def save(self, path: str | Path) -> None:
        """Write the certificate as one page (.html) or as data (.json).

        Args:
            path: The file to write.
        """
        kind = Path(path).suffix.lower()
        if kind not in (".html", ".json"):
            raise InputError(
                f"a certificate is written as .html or .json, not {kind or 'without an extension'}"
            )
        text = json.dumps(self.to_dict(), indent=1)
        if kind == ".html":
            text = f"<!doctype html><meta charset=utf-8><title>{TITLE}</title>{self._repr_html_()}"
        write_bytes(Path(path), text.encode())

    def _repr_html_(self) -> str:
        plan, digests = self.plan, self.to_dict()["digests"]
        parts = {f"labelled {name}": part for name, part in self.classes.items()}
        parts |= {f"confidence {name}": part for name, part in self.bands.items()}
        measured = [
            {"labels": name, "right": Figure(f"{p.estimate:.1%}"), "checks": p.checked}
            | {"95 %": Figure(f"{p.low:.1%} to {p.high:.1%}")}
            for name, p in parts.items()
        ]
        strata = zip(plan.checks, plan.sizes, strict=True)
        about = {
            "method": plan.method,
            "sample": f"{plan.id}: {plan.n:,} tasks, seed {plan.seed}, {plan.looks} planned look(s)",
            "strata": ", ".join(f"{checks:,} of {size:,}" for checks, size in strata),
            "date": self.date,
            **{f"SHA-256 of {name}": text for name, text in digests.items()},
        }
        rows = [{"_": name, "__": Figure(text)} for name, text in about.items()]
        found = rows_html(f"<b>{TITLE}</b>", measured, self.sentences())
        return found + rows_html("<b>How it was measured</b>", rows)


def certify(
    votes: Any,
    checks: Any,
    *,
    plan: Plan | Sample | str | Path | None = None,
    drawn_at_random: bool = False,
    method: str | Method | None = None,
    **keywords: Unpack[Fitting],
) -> Certificate:
    """Estimate how accurate all labels are, from a completed sheet of a sample.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes
            that the sample was drawn from; or a result, or the path of a saved one.
        checks (path, data frame or mapping): The filled sheet, or task -> truth. Rows may be blank;
            these are counted, and the interval allows for them.
        plan: The plan. By default, the file beside the sheet.
        drawn_at_random: There is no plan, but you drew these tasks at random from all tasks, each
            with the same chance, and checked all of them.
        method: The method that made the labels. The default is that of the plan.
        **keywords: What a fit takes, and how to read the votes, as in `finegold.aggregate`.

    Returns:
        The accuracy of all labels with a 95 % interval, labels that may be accepted unchecked, and
        recalibrated confidences.

    Raises:
        InputError: If the sheet belongs to other labels, or its tasks were not drawn by a plan.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxyy"))
        >>> drawn = finegold.sample(votes, 2)
        >>> finegold.certify(votes, {1: "x", 2: "x"}, plan=drawn).accuracy.estimate
        0.5
    """
    if drawn_at_random:
        fitted = result_of(votes, method, keywords)
        plan = plan_of_random(samples.all_labels(fitted), checks)
    else:
        plan = find_plan(checks, plan)
        fitted = result_of(votes, method, keywords, otherwise=plan.method)
    result = samples.all_labels(fitted)
    _check_belongs(result, plan)
    classes = [text_of(name) for name in to_list(result.class_names)]
    given = _truths_of(checks, plan, classes)
    names = [name for name, _ in plan.rows[: len(given)]]

    # What the rows up to this look show
    code = match(names, result.task_names).astype(np.int64)
    labels = np.array([classes[label] for label in result.label_codes[code].tolist()])
    answered = np.array([truth is not None for truth in given])
    right = np.array([truth == label for truth, label in zip(given, labels, strict=True)])
    # a task without an answer counts as wrong for acceptance
    wrong = ~(right & answered)
    stratum = np.array([stratum for _, stratum in plan.rows[: len(given)]])
    sizes, expected = np.array(plan.sizes), np.array(plan.confidence)
    confidence = result.confidence[code].astype(np.float64)
    weight = (sizes / np.maximum(np.bincount(stratum, minlength=len(sizes)), 1))[stratum]
    # by label and by confidence
    parts: tuple[dict[str, Interval], dict[str, Interval]] = ({}, {})

    def interval(counted: Bools, hits: Bools) -> Interval:
        checked = np.bincount(stratum[counted], minlength=len(sizes))
        n_right = np.bincount(stratum[hits & counted], minlength=len(sizes)).astype(float)
        return maths.accuracy_interval(sizes, checked, n_right, expected, plan.alpha)

    accuracy = interval(answered, right)
    # wide enough for any answer to tasks without one
    if not answered.all():
        every = np.ones_like(answered)
        low, high = interval(every, ~wrong).low, interval(every, right | ~answered).high
        accuracy = accuracy._replace(low=min(low, accuracy.low), high=max(high, accuracy.high))
    width = (accuracy.high - accuracy.low) * math.sqrt(answered.sum() / (answered.sum() + 50))
    ends = pairwise(BANDS)
    bands = np.array([f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in ends])
    band = np.clip(np.searchsorted(BANDS, confidence, side="right") - 1, 0, len(bands) - 1)
    for part, measured in zip((labels, bands[band]), parts, strict=True):
        for name in np.unique(part):
            some = (part == name) & answered
            if some.sum() >= LEAST_FOR_PART:
                found = maths.weighted_interval(weight[some], right[some], plan.alpha)
                measured[str(name)] = found
    accepted = maths.accepted_strata(sizes, stratum, wrong, expected, plan.risk, plan.alpha)

    # How well confidences are calibrated before and after (by cross-validation)
    known = np.flatnonzero(answered)
    confidence, right, weight = confidence[known], right[known], weight[known]
    after, fold = confidence.copy(), np.arange(len(known)) % FOLDS
    for number in range(min(FOLDS, len(known))):
        out = fold == number
        fitted_without = maths.recalibrate(confidence[~out], right[~out].astype(float))
        after[out] = fitted_without.apply(confidence[out])
    content = sorted((name, truth or "") for name, truth in zip(names, given, strict=True))
    return Certificate(
        accuracy=accuracy,
        accepted=accepted,
        recalibration=maths.recalibrate(confidence, right.astype(float)),
        calibration_before=maths.calibration_error(confidence, right, weight),
        calibration_after=maths.calibration_error(after, right, weight),
        missing=int((~answered).sum()),
        classes=parts[0],
        bands=parts[1],
        width_with_50_more=width,
        plan=plan,
        checks_digest=hashlib.sha256(json.dumps(content).encode()).hexdigest(),
        date=datetime.now(UTC).date().isoformat(),
    )


def _truths_of(checks: Any, plan: Plan, classes: list[str]) -> list[str | None]:
    """Return the truth of each task of the plan up to the last planned look that has begun, None
    where there is none.
    """
    names, (task, truth) = [name for name, _ in plan.rows], plan.columns
    answers = read_answers(checks, task, truth, samples.SAMPLE, names, classes)
    if others := answers.samples - {plan.id}:
        raise InputError(f"the sheet belongs to sample {min(others)}, and the plan is {plan.id}")
    if strangers := [task for task in answers.truths if task not in set(names)]:
        raise InputError(
            f"the task {strangers[0]!r} is not one of this sample's; checks of other tasks were not"
            " drawn at random"
        )
    given = [answers.truths.get(name) for name in names]
    truths = [truth for truth in given if truth is not None]
    if not truths:
        remedy = use(text="fill in its column of truths first")
        raise InputError("no task of the sheet has a truth", remedies=[remedy])
    if unknown := [truth for truth in truths if truth not in classes]:
        n_unknown = f"{len(unknown):,} of {len(truths):,} truths"
        words = f"{n_unknown} are not classes of the votes ({unknown[0]!r})"
        if 2 * len(unknown) > len(truths):
            remedy = use(text=f"write them as in the votes: {', '.join(classes[:10])}")
            raise InputError(words, remedies=[remedy])
        warn_user(f"{words}: the labels of these tasks count as wrong")
    last = max(row for row, truth in enumerate(given, 1) if truth is not None)
    return given[: next(end for end in plan.look_ends if end >= last)]


def plan_of_random(result: ResultData, checks: Any) -> Plan:
    """Return the plan of checks that a user drew at random: one stratum with all tasks."""
    tasks, _ = samples.unknown_tasks(result)
    codes = match(read_truth(checks).task, result.task_names)
    chosen = np.flatnonzero(np.isin(tasks, codes))
    if not len(chosen):
        raise InputError("no check belongs to a task with a label that is not known", str(checks))
    return samples.plan_of(result, chosen, np.zeros_like(tasks), seed=0, looks=1, risk=0.05)


def find_plan(checks: Any, plan: Any = None) -> Plan:
    """Return the plan of a sheet: the given one, or one beside it with the id that its rows carry."""
    if isinstance(plan, Plan | Sample):
        return plan if isinstance(plan, Plan) else plan.plan
    if plan is not None:
        return read_plan(plan)
    remedies = [use(plan=Placeholder("FILE"), text="to name it"), use(text="draw a sample")]
    if not isinstance(checks, str | Path):
        raise InputError("checks need the plan that they were drawn by", remedies=remedies)
    opened, beside = open_table(checks), samples.plan_path(checks)
    columns = [name for name in opened.columns if str(name).strip().casefold() == samples.SAMPLE]
    values = opened.read(columns).to_series().to_list() if columns else []
    ids = {text_of(each).strip() for each in values if each is not None} - {""}
    if beside.exists() and (not ids or read_plan(beside).id in ids):
        return read_plan(beside)
    for file in sorted(Path(checks).parent.glob("*.plan.json")) if ids else ():
        with suppress(InputError):
            if (other := read_plan(file)).id in ids:
                return other
    if ids:
        problem = f"the plan {', '.join(sorted(ids))} of this sheet is not beside it"
        raise InputError(problem, str(checks), remedies)
    raise InputError(
        "these truths were not drawn by a plan, so nobody knows what they say about the other"
        " labels: they can teach a method (as gold) or judge it (finegold evaluate), but give no"
        " interval",
        str(checks),
        remedies,
    )


def _check_belongs(result: ResultData, plan: Plan) -> None:
    """Refuse a plan that was made for other labels."""
    if plan.labels_digest != samples.labels_digest(result):
        raise InputError(
            f"this sheet was drawn for the labels of other votes, or of another method than"
            f" {plan.method}: its checks say nothing about these",
            remedies=[
                use(text="certify the votes and the method that the sample was drawn for"),
                use(text="draw a new sample"),
            ],
        )
