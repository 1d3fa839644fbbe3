"""Draw the tasks that a person checks: `finegold.sample`.

A `Sample` is a sheet that a person fills in and the plan of how its tasks were drawn. The plan says
which result the sheet belongs to, so that it cannot be confused with another one's, and what was
promised before any task was checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.api.fit import given_result, result_of, split
from finegold.api.options import Fitting
from finegold.api.result import Result
from finegold.errors import InputError, use
from finegold.insight import certify as maths
from finegold.insight.certify import CERTAINTY
from finegold.io.options import ReadOptions
from finegold.io.sheets import KEY, content_of_table, content_of_votes
from finegold.io.tables import open_table
from finegold.io.writers import write_frame
from finegold.methods.base import Method
from finegold.results.data import ResultData
from finegold.results.sets import refuse_sets
from finegold.results.tables import with_predicted_tasks
from finegold.system.files import replacing
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, text_of, to_list
from finegold.votes.frames import make_frame

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FORMAT = "finegold plan 1"
# the column of a sheet that says which plan it belongs to
SAMPLE = "sample"
# of confidences by which tasks are ranked, so that rounding on another machine changes nothing
DIGITS = 6


@dataclass(frozen=True)
class Plan:
    """How the tasks of a sheet were drawn, and what that promises."""

    # checks
    n: int
    seed: int
    # how often the sheet may be evaluated
    looks: int
    # the share of wrong labels that is accepted at most
    risk: float
    # that made the labels
    method: str
    # a checksum of the tasks and their labels
    labels_digest: str
    # that the sample speaks for
    n_tasks: int
    # the tasks, the checks and the mean confidence of each stratum
    sizes: list[int]
    checks: list[int]
    confidence: list[float]
    # of the tasks and of the truths in the sheet
    columns: list[str]
    # the name and the stratum of each checked task
    rows: list[tuple[str, int]]
    # of the interval, as expected before any check
    width: float

    @property
    def id(self) -> str:
        """A short name that the sheet and the certificate carry."""
        # with a letter in front, so that no spreadsheet takes it for a number
        return f"s{self.digest[:7]}"

    @property
    def digest(self) -> str:
        """A checksum of everything in the plan."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def alpha(self) -> float:
        """One minus the certainty of each look, so that all looks together keep theirs."""
        return (1 - CERTAINTY) / self.looks

    @property
    def fewest_checks(self) -> int:
        """The number of checks below which no label can be accepted."""
        return maths.fewest_checks(self.risk, 1 - self.alpha)

    @property
    def look_ends(self) -> list[int]:
        """The number of rows that each planned look is about."""
        return [
            sum(n * look // self.looks for n in self.checks) for look in range(1, self.looks + 1)
        ]

    def write(self, path: Path) -> None:
        """Write the plan, with its checksum, as it is kept beside the sheet."""
        content = {"format": FORMAT, "digest": self.digest, **asdict(self)}
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def read_plan(path: str | Path) -> Plan:
    """Read a plan, and refuse one that was edited."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        digest, written_as = content.pop("digest"), content.pop("format")
        content["rows"] = [(str(task), int(stratum)) for task, stratum in content["rows"]]
        plan = Plan(**content)
        if written_as != FORMAT:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError("this is not a plan of a sample", where=str(path)) from None
    if plan.digest != digest:
        remedy = use(text="draw a new sample")
        raise InputError("the plan was edited since the sample was drawn", str(path), [remedy])
    return plan


@dataclass(frozen=True, eq=False)
class Sample:
    """The tasks to check.

    Attributes:
        plan: How they were drawn.
        sheet (DataFrame): One row per task, with an empty column for the truth, of the library that
            the votes came from.
    """

    plan: Plan
    sheet: Any = field(repr=False)

    @property
    def promise(self) -> list[str]:
        """Sentences that say what the checks can show, before any of them is made."""
        plan, half = self.plan, f"±{100 * self.plan.width / 2:.0f} points"
        said = [f"{plan.n:,} checks will show the share of right labels to about {half} (95 %)."]
        if plan.n < plan.fewest_checks:
            said.append(
                f"Fewer than {plan.fewest_checks} checks cannot certify any label at a risk of"
                f" {plan.risk:.0%}; here are {plan.n:,}."
            )
        if plan.looks > 1:
            ends = ", ".join(f"{end:,}" for end in plan.look_ends)
            said.append(f"Looks are planned when rows 1 to {ends} are filled in.")
        return said

    def save(self, path: str | Path) -> Path:
        """Write the sheet (.csv, .xlsx or another table) and the plan beside it.

        Args:
            path: The file of the sheet.

        Returns:
            The file of the plan: NAME.plan.json.
        """
        sheet, plan = Path(path), plan_path(path)
        with replacing(sheet, plan) as (sheet_part, plan_part):
            write_frame(self.sheet, sheet_part)
            self.plan.write(plan_part)
        return plan


def plan_path(sheet: str | Path) -> Path:
    """Return the file of a sheet's plan."""
    path = Path(sheet)
    return path.with_name(f"{path.name.split('.')[0]}.plan.json")


def sample(
    votes: Any,
    n: int = 100,
    *,
    risk: float = 0.05,
    seed: int = 0,
    looks: int = 1,
    items: Any = None,
    method: str | Method | None = None,
    **keywords: Unpack[Fitting],
) -> Sample:
    """Draw the tasks that a person checks, so that `certify` can estimate how accurate all labels
    are.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes,
            as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
        n: The number of tasks to check.
        risk: The share of wrong labels among the accepted ones that is tolerated.
        seed: The seed of the draw.
        looks: How often the sheet may be evaluated while it is being filled in.
        items (path, data frame or mapping): What is shown of each task: a table with a column of
            tasks, or task -> text. By default, the columns of the votes' own table that are the
            same in all rows of a task.
        method: The method that is fitted to votes. The default is that of `finegold.aggregate`.
        **keywords: What a fit takes, and how to read the votes, as in `finegold.aggregate`.

    Returns:
        `save(path)` writes the sheet and its plan, `promise` says what the checks can show.

    Raises:
        InputError: If the votes cannot be read, or there is nothing to check.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxxy"))
        >>> finegold.sample(votes, 2).sheet.columns
        ['task', 'truth', 'sample']
    """
    has_table = given_result(votes) is None and not isinstance(votes, Annotations)
    result = result_of(votes, method, keywords)
    source = (votes, split(keywords)[1]) if has_table else None
    return draw(result, n, risk=risk, seed=seed, looks=looks, items=items, source=source)


def draw(
    fitted: Result,
    n: int,
    *,
    risk: float,
    seed: int,
    looks: int,
    items: Any = None,
    source: tuple[Any, ReadOptions] | None = None,
) -> Sample:
    """Draw the tasks to check. `source` is the votes' own table, which may show what tasks are."""
    if not 1 <= looks <= 20 or not 0 < risk < 0.5 or n < 1 or seed < 0:
        raise InputError(
            "checks need n of 1 or more, 1 to 20 looks, a risk between 0 and 50 %, and a seed of 0"
            " or more"
        )
    result = all_labels(fitted)
    tasks, confidence = unknown_tasks(result)
    n = min(n, len(tasks))
    stratum = maths.stratify(confidence, maths.strata_for(n))
    checks = maths.allocate(np.bincount(stratum), n).tolist()
    chosen = _draw_rows(stratum, checks, looks, np.random.default_rng(seed))
    plan = plan_of(result, chosen, stratum, seed=seed, looks=looks, risk=risk)
    names, column = [name for name, _ in plan.rows], plan.columns[0]
    drawn = result.task_names[tasks[chosen]]
    columns: dict[str, Any] = {column: drawn}
    if items is not None:
        columns |= _shown_of(_content_of(items, column, names), names, plan)
    elif source is not None:
        classes = [text_of(name) for name in to_list(result.class_names)]
        columns |= _shown_of(content_of_votes(*source, names, classes), names, plan)
    columns |= {"truth": [None] * n, SAMPLE: [plan.id] * n}
    return Sample(plan, make_frame(columns, like=result.task_names))


def plan_of(
    result: ResultData, chosen: Codes, stratum: Codes, *, seed: int, looks: int, risk: float
) -> Plan:
    """Return the plan of checks of the chosen ones of the tasks without a known truth, which have
    these strata.
    """
    tasks, confidence = unknown_tasks(result)
    sizes, n = np.bincount(stratum), len(chosen)
    names = [text_of(name) for name in to_list(result.task_names[tasks[chosen]])]
    means = np.bincount(stratum, confidence) / sizes
    return Plan(
        n=n,
        seed=seed,
        looks=looks,
        risk=risk,
        method=result.method,
        labels_digest=labels_digest(result),
        n_tasks=len(tasks),
        sizes=sizes.tolist(),
        checks=np.bincount(stratum[chosen], minlength=len(sizes)).tolist(),
        confidence=[round(float(value), DIGITS) for value in means],
        columns=[str(result.annotations.columns[0]), "truth"],
        rows=list(zip(names, stratum[chosen].tolist(), strict=True)),
        width=round(maths.expected_width(confidence, n, (1 - CERTAINTY) / looks), 4),
    )


def _draw_rows(
    stratum: Codes, checks: list[int], looks: int, generator: np.random.Generator
) -> Codes:
    """Draw tasks of each stratum; every look ends with the same share of each."""
    parts: list[list[int]] = [[] for _ in range(looks)]
    for number, n_checks in enumerate(checks):
        some = generator.choice(np.flatnonzero(stratum == number), n_checks, replace=False)
        for look in range(looks):
            first, end = n_checks * look // looks, n_checks * (look + 1) // looks
            parts[look].extend(some[first:end].tolist())
    mixed = [generator.permutation(np.array(part, np.int64)) for part in parts]
    return np.concatenate(mixed)


def _content_of(items: Any, column: str, tasks: list[str]) -> pl.DataFrame:
    """Return what is shown of tasks, by task as text, from a mapping or a table."""
    if isinstance(items, Mapping):
        texts = [text_of(value) for value in items.values()]
        return pl.DataFrame({KEY: [text_of(key) for key in items], "item": texts})
    opened = open_table(items)
    content = content_of_table(opened, column if column in opened.columns else None, (), tasks)
    if content is None:
        listed = ", ".join(map(str, opened.columns))
        raise InputError(f'the items need a column "{column}" and others; they have {listed}')
    return content


def _shown_of(content: pl.DataFrame, names: list[str], plan: Plan) -> dict[str, Any]:
    """Return the columns of the content for these tasks."""
    joined = pl.DataFrame({KEY: names}).join(content, on=KEY, how="left", maintain_order="left")
    return joined.drop([KEY, *plan.columns, SAMPLE], strict=False).to_dict(as_series=False)


def unknown_tasks(result: ResultData) -> tuple[Codes, Floats]:
    """Return the tasks without a known truth, and the confidences of their labels."""
    tasks = np.flatnonzero(result.gold == MISSING)
    if not len(tasks):
        raise InputError("there is nothing to check: every label is a known truth")
    return tasks, np.asarray(np.round(result.confidence[tasks], DIGITS), np.float64)


def all_labels(result: ResultData) -> ResultData:
    """Return the result with the tasks that have predictions only."""
    refuse_sets(result, "sample of checks")
    return with_predicted_tasks(result)


def labels_digest(result: ResultData) -> str:
    """Return a checksum of the tasks and their labels."""
    pairs = zip(to_list(result.task_names), to_list(result.label), strict=True)
    text = "\n".join(f"{text_of(a)}\t{text_of(b)}" for a, b in pairs)
    return hashlib.sha256(text.encode()).hexdigest()
