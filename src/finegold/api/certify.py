"""Check some tasks, know the rest: draw the tasks to check, and certify the labels from a filled sheet.

A `Sample` is a sheet that a person fills in and the plan of how its tasks were drawn. The plan says which result the
sheet belongs to, so that it cannot be confused with another one's, and what was promised before any task was checked.
A `Certificate` is what the filled sheet shows. Truths that were not drawn by a plan teach a method, but they never
become an interval: nobody knows how they were chosen.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.api.job import fit, job_of, refuse_for_model, saved
from finegold.api.result import Result
from finegold.errors import FinegoldWarning, InputError, Placeholder, use
from finegold.insight import certify as maths
from finegold.insight.certify import CERTAINTY, Acceptance, Interval, Recalibration
from finegold.insight.votes import votes_of
from finegold.io.columns import TASK, TRUTH, candidates
from finegold.io.options import ReadOptions
from finegold.io.sheets import KEY, content_of_votes, read_answers
from finegold.io.tables import open_table
from finegold.io.writers import write_frame
from finegold.methods.lookup import make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.data import ResultData
from finegold.results.sets import refuse_sets
from finegold.results.tables import labels_pieces, natural_order, with_predicted_tasks
from finegold.system.files import replacing_all, write_bytes
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, text_of, to_list
from finegold.votes.frames import to_polars
from finegold.votes.names import match

if TYPE_CHECKING:
    from finegold.api.options import Fitting
    from finegold.methods.base import Method

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Purpose = Literal["accuracy", "acceptance", "choice"]

PURPOSES = ("accuracy", "acceptance", "choice")
RIVALS = ("mv", "ds", "glad", "bwa", "ibcc", "ptbcc")  # what the labels are compared with to choose a method
FORMAT = "finegold plan 1"
SAMPLE = "sample"  # the column of a sheet that says which plan it belongs to
LEAST_FOR_PART = 20  # checks of a class or a band of confidence that get an interval of their own
BANDS = (0.0, 0.66, 0.9, 0.99, 1.0)
FOLDS = 10
DIGITS = 6  # of confidences by which tasks are ranked, so that rounding on another machine changes nothing


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
    columns : list of str
        The columns of the tasks and of the truths in the sheet.
    rivals : list of str
        The methods that are compared with the labels, for the purpose "choice".
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
    columns: list[str]
    rivals: list[str]
    rows: list[tuple[str, int, int]]
    expected: dict[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """A short name that the sheet and the certificate carry."""
        return f"s{self.digest[:7]}"  # with a letter in front, so that no spreadsheet takes it for a number

    @property
    def digest(self) -> str:
        """A checksum of everything in the plan."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the plan as it is kept beside the sheet."""
        return json.dumps({"format": FORMAT, "digest": self.digest, **asdict(self)}, indent=1)


@dataclass(frozen=True, eq=False)
class Sample:
    """The tasks to check.

    Attributes
    ----------
    plan : Plan
        How they were drawn.
    sheet : DataFrame
        One row per task, with an empty column for the truth.
    """

    plan: Plan
    sheet: pl.DataFrame = field(repr=False)

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
        sheet, plan = Path(path), plan_path(path)
        with replacing_all([sheet, plan]) as (sheet_part, plan_part):
            write_frame(self.sheet, sheet_part)
            self.write_plan(plan_part)
        return plan

    def write_plan(self, path: Path) -> None:
        """Write the plan alone.

        Parameters
        ----------
        path : Path
            The file to write.
        """
        path.write_text(self.plan.to_json(), encoding="utf-8")


def plan_path(sheet: str | Path) -> Path:
    """Return the file of a sheet's plan."""
    path = Path(sheet)
    return path.with_name(f"{path.name.split('.')[0]}.plan.json")


def sample(
    votes: Any,
    n: int = 100,
    *,
    purpose: Purpose = "accuracy",
    risk: float = 0.05,
    seed: int = 0,
    looks: int = 1,
    truth_column: str = "truth",
    items: Any = None,
    show_labels: bool = False,
    method: str | Method | None = None,
    **keywords: Unpack[Fitting],
) -> Sample:
    """Draw the tasks that a person checks, so that `certify` can tell how right all labels are.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, Annotations, or Result
        The votes, as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
    n : int, default 100
        The number of tasks to check.
    purpose : {"accuracy", "acceptance", "choice"}, default "accuracy"
        To measure the accuracy of all labels; to accept as many labels as possible unseen; or to choose a method.
    risk : float, default 0.05
        The share of wrong labels among the accepted ones that is tolerated.
    seed : int, default 0
        The seed of the draw.
    looks : int, default 1
        How often the sheet may be evaluated while it is being filled in.
    truth_column : str, default "truth"
        The name of the empty column for the truths.
    items : path, data frame or mapping, optional
        What is shown of each task: a table with a column of tasks, or task -> text. By default, the columns of the
        votes' own table that are the same in all rows of a task.
    show_labels : bool, default False
        Show the labels, which influences the person who checks.
    method : str or Method, optional
        The method that is fitted to votes. The default is that of `finegold.aggregate`.
    **keywords : dict
        What a fit takes, and how to read the votes, as in `finegold.aggregate`.

    Returns
    -------
    Sample
        `save(path)` writes the sheet and its plan, `promise` says what the checks can show.

    Raises
    ------
    InputError
        If the votes cannot be read, or there is nothing to check.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxxy"))
    >>> finegold.sample(votes, 2).sheet.columns
    ['task', 'truth', 'sample']
    """
    result = saved(votes)
    if result is not None:
        refuse_for_model({"method": method, **keywords})
    else:
        job = job_of(votes, keywords, method=method or DEFAULT_METHOD)
        result = job.run()
        if items is None and not isinstance(votes, Annotations):
            items = Content(votes, ReadOptions(**job.reading_keywords))
    options: dict[str, Any] = {"purpose": purpose, "risk": risk, "seed": seed, "looks": looks}
    return draw(result, n, **options, truth_column=truth_column, items=items, show_labels=show_labels)


@dataclass(frozen=True)
class Content:
    """The votes' own table, whose other columns are shown in a sheet."""

    votes: Any
    options: ReadOptions


def draw(
    result: ResultData,
    n: int = 100,
    *,
    purpose: Purpose = "accuracy",
    risk: float = 0.05,
    seed: int = 0,
    looks: int = 1,
    truth_column: str = "truth",
    items: Any = None,
    show_labels: bool = False,
) -> Sample:
    """Draw tasks of a result; see `sample`."""
    if purpose not in PURPOSES:
        raise InputError(f"{purpose!r} is not a purpose of checks; choose from {', '.join(PURPOSES)}")
    if not 1 <= looks <= 20 or not 0 < risk < 0.5 or n < 1 or seed < 0:
        raise InputError("checks need n of 1 or more, 1 to 20 looks, a risk between 0 and 50 %, and a seed from 0")
    own, result = result, _all_labels(result)
    rivals = [] if purpose != "choice" else [name for name in RIVALS if name != result.method]
    ranked = _Ranked.of(result, _differing(own, rivals) if rivals else None)
    n = min(n, len(ranked.tasks))
    alpha = (1 - CERTAINTY) / looks
    sets = Acceptance(1, maths.GRID, 0.0)
    stratum = np.zeros(len(ranked.tasks), np.int64)
    if purpose == "accuracy":
        stratum = maths.stratify(ranked.confidence, maths.strata_for(n))
    elif purpose == "acceptance":
        sets = maths.plan_acceptance(ranked.confidence, n, risk, seed, 1 - alpha)
        last = int(maths.set_sizes(len(ranked.tasks))[sets.last - 1])
        stratum = np.where(ranked.rank < last, 0, 1)  # checks are drawn from the last set only
        n = min(n, last)
    sizes = np.bincount(stratum)
    checks = maths.allocate(sizes, n) if purpose == "accuracy" else np.array([n, *[0] * (len(sizes) - 1)])
    chosen = _draw(stratum, checks, looks, np.random.default_rng(seed))
    names = [text_of(name) for name in to_list(result.task_names[ranked.tasks[chosen]])]
    column = "task" if result.annotations is None else str(result.annotations.columns[0])
    if truth_column in (column, SAMPLE, ""):
        raise InputError(f'"{truth_column}" cannot be the column of the truths; choose another name')
    plan = Plan(
        purpose=purpose,
        n=n,
        seed=seed,
        looks=looks,
        risk=risk,
        method=result.method,
        votes=votes_digest(result),
        labels=labels_digest(result),
        tasks=len(ranked.tasks),
        sizes=sizes.tolist(),
        checks=checks.tolist(),
        confidence=[round(float(value), DIGITS) for value in np.bincount(stratum, ranked.confidence) / sizes],
        first=sets.first,
        last=sets.last,
        columns=[column, truth_column],
        rivals=rivals,
        rows=list(zip(names, stratum[chosen].tolist(), ranked.rank[chosen].tolist(), strict=True)),
        expected={
            "width": round(maths.expected_width(ranked.confidence, n, alpha), 4),
            "accepted": round(sets.expected, 4),
        },
    )
    sheet = pl.DataFrame({column: names}).with_columns(_shown(items, result, plan, names))
    if show_labels:
        label = [text_of(name) for name in to_list(result.label[ranked.tasks[chosen]])]
        sheet = sheet.with_columns(pl.Series("label", label))
    empty = pl.Series(truth_column, [None] * len(names), dtype=pl.String)
    return Sample(plan, sheet.with_columns(empty, pl.Series(SAMPLE, [plan.id] * len(names))))


@dataclass(frozen=True)
class _Ranked:
    """The tasks that a sample speaks for, with their confidences and their ranks, the surest first."""

    tasks: Codes
    confidence: Floats
    rank: Codes

    @classmethod
    def of(cls, result: ResultData, among: Bools | None = None) -> _Ranked:
        unknown = result.gold == MISSING
        tasks = np.flatnonzero(unknown if among is None else unknown & among)
        if not len(tasks):
            raise InputError("there is nothing to check: every label is a known truth, or the methods never differ")
        confidence = np.asarray(np.round(result.confidence[tasks], DIGITS), np.float64)
        rank = np.empty(len(tasks), np.int64)
        rank[maths.ranked(confidence)] = np.arange(len(tasks))
        return cls(tasks, confidence, rank)


def _all_labels(result: ResultData) -> ResultData:
    refuse_sets(result, "sample of checks")
    return with_predicted_tasks(result)


def _rival_labels(result: ResultData, rivals: Sequence[str]) -> list[Codes]:
    votes = votes_of(result)
    return [fit(make_method(name, {}), votes).label_codes.astype(np.int64) for name in rivals]


def _differing(result: ResultData, rivals: Sequence[str]) -> Bools:
    if result.combined is not None:
        raise InputError("methods cannot be compared on labels that were combined with predictions")
    return np.asarray(np.any([codes != result.label_codes for codes in _rival_labels(result, rivals)], axis=0))


def _shown(items: Any, result: ResultData, plan: Plan, names: list[str]) -> list[pl.Series]:
    """Return the columns of the sheet that show what the tasks are about."""
    if items is None:
        return []
    if isinstance(items, Content):
        classes = [text_of(name) for name in to_list(result.class_names)]
        content = content_of_votes(items.votes, items.options, names, classes)
    elif isinstance(items, Mapping):
        content = pl.DataFrame({KEY: [text_of(k) for k in items], "item": [text_of(v) for v in items.values()]})
    else:
        opened = open_table(items)
        columns = [str(column) for column in opened.columns]
        by_task = next((name for name in (plan.columns[0], *candidates(columns, TASK)) if name in columns), None)
        if by_task is None:
            raise InputError(f'the items have no column "{plan.columns[0]}"; the columns are {", ".join(columns)}')
        frame = to_polars(opened.load(columns).frame.to_native())
        keys = pl.Series(KEY, [text_of(name) for name in frame[by_task].to_list()])
        content = frame.drop([by_task, *candidates(columns, TRUTH)]).with_columns(keys).unique(KEY, keep="first")
    row_of = {key: row for row, key in enumerate(content[KEY].to_list())}
    rows = [row_of.get(name) for name in names]
    taken = {KEY, *plan.columns, SAMPLE}
    return [
        pl.Series(name, [None if row is None else content[name][row] for row in rows])
        for name in content.columns
        if name not in taken
    ]


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
    if plan.looks > 1:
        ends = ", ".join(f"{_look_end(plan, look):,}" for look in range(1, plan.looks + 1))
        said.append(f"Looks are planned when rows 1 to {ends} are filled in.")
    return said


class Choice(NamedTuple):
    """How a method fares against the labels, on checked tasks on which methods differ."""

    method: str
    right: int
    gain: float  # its share of right labels less that of the labels
    standard_error: float

    @property
    def is_better(self) -> bool:
        """Whether it is better by more than a standard error."""
        return self.gain > self.standard_error


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
    classes, bands : dict of str to Interval
        The accuracy by label and by confidence, where there are enough checks.
    choices : list of Choice
        How other methods fare, for the purpose "choice".
    width_with_50_more : float
        The expected width of the interval with 50 more checks.
    plan : Plan
        How the tasks were drawn.
    checks : str
        A checksum of the answers.
    date : str
        When the certificate was made.
    """

    accuracy: Interval | None
    accepted: int
    recalibration: Recalibration
    calibration_before: float
    calibration_after: float
    missing: int
    classes: dict[str, Interval]
    bands: dict[str, Interval]
    choices: list[Choice]
    width_with_50_more: float | None
    plan: Plan
    checks: str
    date: str

    @property
    def accepted_share(self) -> float:
        """The share of the tasks whose labels may be accepted."""
        return self.accepted / self.plan.tasks

    @property
    def switch_to(self) -> str | None:
        """The best other method, if it is better by more than a standard error."""
        best = max(self.choices, key=lambda each: each.gain, default=None)
        return best.method if best is not None and best.is_better else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Returns
        -------
        dict
            With `accuracy`, `accepted`, `calibration`, and what they were computed from.
        """
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
            "classes": {name: part._asdict() for name, part in self.classes.items()},
            "bands": {name: part._asdict() for name, part in self.bands.items()},
            "choices": [each._asdict() for each in self.choices],
            "switch_to": self.switch_to,
            "width_with_50_more": self.width_with_50_more,
            "sample": {"plan": plan.id, "purpose": plan.purpose, "n": plan.n, "seed": plan.seed, "looks": plan.looks},
            "method": plan.method,
            "tasks": plan.tasks,
            "digests": {"votes": plan.votes, "labels": plan.labels, "plan": plan.digest, "checks": self.checks},
            "date": self.date,
        }

    def sentences(self) -> list[str]:
        """Return what the certificate says, in words.

        Returns
        -------
        list of str
            One sentence per finding.
        """
        plan, said = self.plan, []
        if self.accuracy is not None:
            a = self.accuracy
            said.append(
                f"{a.estimate:.1%} of the {plan.tasks:,} labels are right: between {a.low:.1%} and {a.high:.1%}, with "
                f"95 % certainty, by {a.checked:,} checks of a random sample."
            )
        if self.missing:
            said.append(
                f"{self.missing:,} of {plan.n:,} tasks of the sheet lack an answer: the interval allows for any, "
                "and they count as wrong for acceptance."
            )
        if plan.purpose == "choice":
            return [*said, self._choice_sentence()]
        said.append(self._acceptance_sentence())
        if self.width_with_50_more is not None:
            said.append(
                f"With 50 more checks, the interval would be about {100 * self.width_with_50_more:.0f} points wide."
            )
        return [
            *said,
            f"Confidences were off by {100 * self.calibration_before:.0f} points on average (calibration error); with "
            f"these checks, by {100 * self.calibration_after:.0f}.",
        ]

    def _choice_sentence(self) -> str:
        best = max(self.choices, key=lambda each: each.gain)
        found = (
            f"{100 * best.gain:+.0f} ± {100 * best.standard_error:.0f} points on {self.plan.n - self.missing:,} checks"
        )
        if self.switch_to is None:
            return (
                f"Keep {self.plan.method}: no method is better by more than a standard error ({best.method} {found})."
            )
        return (
            f"{best.method} is better here ({found}, of tasks on which methods differ). How right its labels are needs "
            "another sample: draw it from the labels of that method."
        )

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

    def apply(self, result: ResultData) -> Result:
        """Return the same labels with recalibrated probabilities.

        Parameters
        ----------
        result : Result
            The labels that were checked.

        Returns
        -------
        Result
            Its confidences are those that the checks support; known truths stay as they are.
        """
        check_belongs(_all_labels(result), self.plan)
        return Result.of(maths.recalibrated(result, self.recalibration))

    def labels(self, result: ResultData) -> pl.DataFrame:
        """Return the table of labels with recalibrated confidences and a column `accepted`.

        Parameters
        ----------
        result : Result
            The labels that were checked.

        Returns
        -------
        DataFrame
            As `finegold aggregate` writes it. `accepted` is true for labels that may be accepted unseen, and for known
            truths.
        """
        if self.plan.purpose == "choice":
            raise InputError("checks for the choice of a method accept no labels; draw a sample for acceptance")
        whole = _all_labels(self.apply(result))
        ranking = _Ranked.of(_all_labels(result))
        accepted = np.ones(len(whole.label_codes), np.bool_)
        accepted[ranking.tasks] = ranking.rank < self.accepted
        order = natural_order(whole.task_names)
        shown = np.append(accepted if order is None else accepted[order], np.zeros(len(whole.unlabelled), np.bool_))
        table = pl.concat(labels_pieces(whole, for_users=True))
        return table.insert_column(table.columns.index("is_gold") + 1, pl.Series("accepted", shown))

    def save(self, path: str | Path) -> None:
        """Write the certificate as one page (.html) or as data (.json).

        Parameters
        ----------
        path : path
            The file to write.
        """
        kind = Path(path).suffix.lower()
        if kind not in (".html", ".json"):
            raise InputError(f"a certificate is written as .html or .json, not {kind or 'without an extension'}")
        text = self._repr_html_() if kind == ".html" else json.dumps(self.to_dict(), indent=1)
        write_bytes(Path(path), text.encode())

    def _repr_html_(self) -> str:
        parts = {f"labelled {name}": part for name, part in self.classes.items()}
        parts |= {f"confidence {name}": part for name, part in self.bands.items()}
        measured = "".join(
            f"<tr><td>{escape(name)}<td>{p.estimate:.1%}<td>{p.low:.1%} to {p.high:.1%}<td>{p.checked:,}"
            for name, p in parts.items()
        )
        plan, digests = self.plan, self.to_dict()["digests"]
        about = {
            "method": plan.method,
            "sample": f"{plan.id}: {plan.n:,} tasks for {plan.purpose}, seed {plan.seed}, {plan.looks} planned look(s)",
            "strata": ", ".join(f"{c:,} of {size:,}" for c, size in zip(plan.checks, plan.sizes, strict=True)),
            "date": self.date,
            **{f"SHA-256 of {name}": value for name, value in digests.items()},
        }
        rows = "".join(f"<tr><th>{escape(name)}<td>{escape(str(value))}" for name, value in about.items())
        table = f"<table><tr><th>labels<th>right<th>95 %<th>checks{measured}</table>" if parts else ""
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>How right these labels are</title>'
            "<style>body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
            "th,td{text-align:left;padding:.2em 1em .2em 0;vertical-align:top;overflow-wrap:anywhere}</style>"
            "<h1>How right these labels are</h1>"
            + "".join(f"<p>{escape(each)}" for each in self.sentences())
            + f"{table}<h2>How it was measured</h2><table>{rows}</table><p>To recompute it: "
            "<code>finegold certify VOTES --checks SHEET --verify CERTIFICATE.json</code></html>"
        )


def certify(
    votes: Any,
    checks: Any,
    *,
    plan: Plan | Sample | str | Path | None = None,
    method: str | Method | None = None,
    **keywords: Unpack[Fitting],
) -> Certificate:
    """Tell how right all labels are, from a filled sheet of a sample.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, Annotations, or Result
        The votes that the sample was drawn from; or a result, or the path of a saved one.
    checks : path, data frame or mapping
        The filled sheet, or task -> truth. Rows may be blank; these are counted, and the interval allows for them.
    plan : Plan, Sample or path, optional
        The plan. By default, the file beside the sheet.
    method : str or Method, optional
        The method that made the labels. The default is that of the plan.
    **keywords : dict
        What a fit takes, and how to read the votes, as in `finegold.aggregate`.

    Returns
    -------
    Certificate
        The accuracy of all labels with a 95 % interval, labels that may be accepted unseen, recalibrated confidences.

    Raises
    ------
    InputError
        If the sheet belongs to other labels, or its tasks were not drawn by a plan.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxyy"))
    >>> drawn = finegold.sample(votes, 2)
    >>> finegold.certify(votes, {1: "x", 2: "x"}, plan=drawn).accuracy.estimate
    0.5
    """
    found = find_plan(checks, plan)
    result = saved(votes)
    if result is not None:
        refuse_for_model({"method": method, **keywords})
    else:
        result = job_of(votes, keywords, method=method or found.method).run()
    return certify_result(result, checks, found)


def find_plan(checks: Any, plan: Any = None) -> Plan:
    """Return the plan of a sheet: the given one, the one beside it, or the one with the id that its rows carry."""
    if isinstance(plan, Plan | Sample):
        return plan if isinstance(plan, Plan) else plan.plan
    if plan is not None:
        return read_plan(plan)
    remedies = [use(plan=Placeholder("FILE"), text="to name it"), use(text="draw a sample")]
    if not isinstance(checks, str | Path):
        raise InputError("checks need the plan that they were drawn by", remedies=remedies)
    sheet = Path(checks)
    beside, ids = plan_path(sheet), _sample_ids(checks)
    if beside.exists() and (not ids or read_plan(beside).id in ids):
        return read_plan(beside)
    for file in sorted(sheet.parent.glob("*.plan.json")) if ids else []:
        if (found := _plan_or_none(file)) is not None and found.id in ids:
            return found
    if not ids:
        raise InputError(
            "these truths were not drawn by a plan, so nobody knows what they say about the other labels: they can "
            "teach a method (as gold) or judge it (finegold evaluate), but give no interval",
            str(checks),
            remedies,
        )
    raise InputError(f"the plan {', '.join(sorted(ids))} of this sheet is not beside it", str(checks), remedies)


def _sample_ids(checks: Any) -> set[str]:
    opened = open_table(checks)
    columns = [column for column in opened.columns if str(column).strip().casefold() == SAMPLE]
    values = to_list(opened.load(columns).column(columns[0])) if columns else []
    return {text_of(each).strip() for each in values if each is not None} - {""}


def _plan_or_none(file: Path) -> Plan | None:
    try:
        return read_plan(file)
    except InputError:
        return None


def certify_result(result: ResultData, checks: Any, plan: Plan) -> Certificate:
    """Return what the answers to a plan's tasks show about all labels of the result."""
    own, result = result, _all_labels(result)
    check_belongs(result, plan)
    names = [row[0] for row in plan.rows]
    classes = [text_of(name) for name in to_list(result.class_names)]
    by_task, by_truth = plan.columns
    answers = read_answers(checks, by_task, by_truth, SAMPLE, names, classes)
    if answers.samples - {plan.id}:
        raise InputError(f"the sheet belongs to sample {min(answers.samples - {plan.id})}, and the plan is {plan.id}")
    if stranger := next((task for task in answers.truths if task not in set(names)), None):
        raise InputError(
            f"the task {stranger!r} is not one of this sample's; checks of other tasks were not drawn at random"
        )
    given = [answers.truths.get(name) for name in names]
    _check_classes([truth for truth in given if truth is not None], classes)
    look = _look(given, plan)
    given, rows = given[:look], plan.rows[:look]
    code = match(names[:look], result.task_names).astype(np.int64)
    labels = np.array([classes[label] for label in result.label_codes[code].tolist()])
    answered = np.array([truth is not None for truth in given])
    right = np.array([truth == label for truth, label in zip(given, labels, strict=True)])
    stratum, rank = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    confidence = result.confidence[code].astype(np.float64)
    alpha = (1 - CERTAINTY) / plan.looks
    is_measured, known = plan.purpose == "accuracy", np.flatnonzero(answered)
    weight = (np.array(plan.sizes) / np.maximum(np.bincount(stratum, minlength=len(plan.sizes)), 1))[stratum]
    before, after = _calibration_error(confidence[known], right[known], weight[known])
    content = json.dumps(sorted((name, truth or "") for name, truth in zip(names, given, strict=False)))
    return Certificate(
        accuracy=_accuracy(plan, stratum, answered, right, alpha) if is_measured else None,
        accepted=_accepted(plan, stratum, rank, answered, right, alpha),
        recalibration=maths.recalibrate(confidence[known], right[known].astype(float)),
        calibration_before=before,
        calibration_after=after,
        missing=int((~answered).sum()),
        classes=_parts(labels, right, weight, answered, alpha) if is_measured else {},
        bands=_parts(_band_of(confidence), right, weight, answered, alpha) if is_measured else {},
        choices=_choices(own, plan, code, given, right) if plan.rivals else [],
        width_with_50_more=_width_with(result, plan, len(known) + 50, alpha) if is_measured else None,
        plan=plan,
        checks=hashlib.sha256(content.encode()).hexdigest(),
        date=datetime.now(UTC).date().isoformat(),
    )


def _check_classes(truths: list[str], classes: list[str]) -> None:
    if not truths:
        raise InputError("no task of the sheet has a truth", remedies=[use(text="fill in its column of truths first")])
    unknown = [truth for truth in truths if truth not in classes]
    if not unknown:
        return
    words = f"{len(unknown):,} of {len(truths):,} truths are not classes of the votes ({unknown[0]!r})"
    if 2 * len(unknown) > len(truths):
        remedy = use(text=f"write them as in the votes: {', '.join(classes[:10])}")
        raise InputError(words, remedies=[remedy])
    warnings.warn(FinegoldWarning(f"{words}: the labels of these tasks count as wrong"), stacklevel=4)


def _choices(result: ResultData, plan: Plan, code: Codes, given: list[str | None], right: Bools) -> list[Choice]:
    """Compare the labels of other methods with these, by the differences on checked tasks."""
    names = [text_of(name) for name in to_list(result.class_names)]
    known = np.array([truth is not None for truth in given])
    found = []
    for name, labels in zip(plan.rivals, _rival_labels(result, plan.rivals), strict=True):
        theirs = np.array([names[label] == truth for label, truth in zip(labels[code].tolist(), given, strict=True)])
        gain = (theirs[known].astype(float) - right[known]) if known.any() else np.zeros(1)
        error = float(gain.std(ddof=1) / math.sqrt(len(gain))) if len(gain) > 1 else 1.0
        found.append(Choice(name, int(theirs[known].sum()), float(gain.mean()), error))
    return found


def differences(certificate: str | Path, found: Certificate) -> list[str]:
    """Return what a written certificate says otherwise than the one that was computed again; dates do not count."""
    try:
        written = json.loads(Path(certificate).read_text(encoding="utf-8"))
        if not {"accuracy", "digests"} <= written.keys():
            raise ValueError
    except (OSError, ValueError, AttributeError):
        raise InputError(
            "this is not a certificate that can be verified: it must be a .json", str(certificate)
        ) from None
    fresh = json.loads(json.dumps(found.to_dict()))
    return [name for name in fresh if name != "date" and not _same(written.get(name), fresh[name])]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    return bool(a == b)


def _look(given: Sequence[str | None], plan: Plan) -> int:
    """Return how many rows of the sheet this look is about: the first of the planned ones that hold all answers."""
    last = max((row for row, truth in enumerate(given, 1) if truth is not None), default=0)
    ends = [_look_end(plan, look) for look in range(1, plan.looks + 1)]
    return next(end for end in ends if end >= last)


def _look_end(plan: Plan, look: int) -> int:
    return sum(n * look // plan.looks for n in plan.checks)


def _accuracy(plan: Plan, stratum: Codes, answered: Bools, right: Bools, alpha: float) -> Interval:
    sizes, confidence = np.array(plan.sizes), np.array(plan.confidence)

    def interval(counted: Bools, hits: Bools) -> Interval:
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


def _accepted(plan: Plan, stratum: Codes, rank: Codes, answered: Bools, right: Bools, alpha: float) -> int:
    """Return how many labels are accepted; a task without an answer counts as wrong."""
    ends = maths.set_sizes(plan.tasks)
    wrong = ~(right & answered)
    if plan.purpose == "acceptance":
        return maths.accepted_share(rank, wrong, Acceptance(plan.first, plan.last, 0.0), ends, plan.risk, 1 - alpha)
    if plan.purpose == "choice":
        return 0
    return maths.accepted_strata(np.array(plan.sizes), stratum, wrong, np.array(plan.confidence), plan.risk, alpha)


def _parts(part: NDArray[Any], right: Bools, weight: Floats, answered: Bools, alpha: float) -> dict[str, Interval]:
    inside = {str(name): (part == name) & answered for name in np.unique(part)}
    return {
        name: maths.weighted_interval(weight[some], right[some], alpha)
        for name, some in inside.items()
        if some.sum() >= LEAST_FOR_PART
    }


def _band_of(confidence: Floats) -> NDArray[np.str_]:
    names = [f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in pairwise(BANDS)]
    return np.array(names)[np.clip(np.searchsorted(BANDS, confidence, side="right") - 1, 0, len(names) - 1)]


def _calibration_error(confidence: Floats, right: Bools, weight: Floats) -> tuple[float, float]:
    """Return the calibration error before and after, the latter by cross-validation over the checks."""
    after = confidence.copy()
    fold = np.arange(len(confidence)) % FOLDS
    for number in range(min(FOLDS, len(confidence))):
        out = fold == number
        after[out] = maths.recalibrate(confidence[~out], right[~out].astype(float)).apply(confidence[out])
    return maths.calibration_error(confidence, right, weight), maths.calibration_error(after, right, weight)


def _width_with(result: ResultData, plan: Plan, n: int, alpha: float) -> float:
    return maths.expected_width(_Ranked.of(result).confidence, min(n, plan.tasks), alpha)


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
    if plan.digest != digest:
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
