"""Helpers that several views use: names as text, how much of a list is shown, intervals."""

from __future__ import annotations

import math
import platform
import shlex
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finegold.methods.lookup import method_class, method_names
from finegold.results.data import ResultData
from finegold.votes.encoding import Names, to_list

Floats = NDArray[np.float64]
# truth in rows, vote in columns
Matrix = list[list[float]]

# a narrow no-break space: 95 %
NARROW_SPACE = "\u202f"
# some tasks are named by their whole text
MAX_NAME_LENGTH = 200
# enough for a probability, and keeps the file small
DIGITS = 4

# The tables that hold what a list of the report leaves out. The report does not write them.
ANNOTATORS_TABLE = "the table of annotators (finegold aggregate --annotators FILE)"
LABELS_TABLE = "the table of labels (finegold aggregate -o FILE)"


@dataclass(frozen=True)
class Shown:
    """How much of a list is shown, in which order, and where the rest is."""

    shown: int
    total: int
    order: str
    rest: str

    @property
    def is_cut(self) -> bool:
        return self.shown < self.total

    @property
    def words(self) -> str:
        if not self.is_cut:
            return f"All {self.total:,}, ordered by {self.order}."
        return (
            f"{self.shown:,} of {self.total:,} shown, ordered by {self.order}; the rest is in"
            f" {self.rest}."
        )


def texts(names: Names, codes: ArrayLike | None = None) -> list[str]:
    """Return the names of these codes (default: all) as visible text, shortened if they are long."""
    chosen = names if codes is None else names.take(np.asarray(codes, dtype=np.int32))
    shown = [text if text.strip() else "(blank)" for text in map(str, to_list(chosen))]
    return [
        text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"
        for text in shown
    ]


def plain(values: ArrayLike) -> Any:
    """Convert to rounded floats for JSON: a number, a list or a list of lists."""
    return np.asarray(values, dtype=float).round(DIGITS).tolist()


def percent(share: float, digits: int = 0) -> str:
    """Format a share, e.g. 94 %. It is never rounded to 100 % or 0 % unless it is exactly that."""
    text = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share < 1 and float(text) >= 100:
        return f"over {100 - least:.{digits}f}{NARROW_SPACE}%"
    if share > 0 and float(text) <= 0:
        return f"under {least:.{digits}f}{NARROW_SPACE}%"
    return f"{text}{NARROW_SPACE}%"


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


PACKAGES = ("finegold", "numpy", "scipy", "numba", "polars")
# in the curve; more cannot be told apart
MAX_STEPS = 400


@dataclass(frozen=True)
class Setting:
    name: str
    value: str
    is_default: bool
    # whether the method has this setting; others were added to its result
    is_known: bool


@dataclass(frozen=True)
class StepRow:
    restart: int
    iteration: int
    change: float | None
    bound: float | None


@dataclass(frozen=True)
class Record:
    method: str
    # the first line of the method's documentation
    about: str
    settings: list[Setting]
    rows: int
    missing: int
    repeated: int
    gold_unused: int
    # number of records of an export that were left out, by reason
    left_out: dict[str, int]
    converged: bool
    stopped: str
    iterations: int
    seconds: float
    steps: list[StepRow]
    # the curve shows one of this many iterations
    every: int
    notes: list[str]
    versions: dict[str, str]
    command: str


def record(result: ResultData, command: str | None = None) -> Record:
    method = method_class(result.method) if result.method in method_names() else None
    defaults = (
        {}
        if method is None
        else {name: _as_text(value) for name, value in method().settings.items()}
    )
    values = {name: _as_text(value) for name, value in result.all_settings.items()}
    known = [
        Setting(name, value, defaults.get(name) == value, name in defaults)
        for name, value in values.items()
    ]
    changed = [
        f"{name}={value}" for name, value in values.items() if defaults.get(name, value) != value
    ]
    settings = " ".join(f"--set {shlex.quote(each)}" for each in changed)
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        # run from a source folder, not installed
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    every = -(-len(result.steps) // MAX_STEPS)
    return Record(
        method=result.method,
        about="" if method is None else (method.__doc__ or "").strip().partition("\n")[0],
        settings=known,
        **{
            name: getattr(result.counts, name)
            for name in ("rows", "missing", "repeated", "gold_unused", "left_out")
        },
        **{name: getattr(result, name) for name in ("converged", "stopped", "iterations", "notes")},
        seconds=round(result.seconds, 3),
        steps=[
            StepRow(step.restart, step.iteration, finite(step.change), finite(step.bound))
            for step in [*result.steps[:-1][::every], result.steps[-1]]
        ],
        every=every,
        versions=versions,
        command=command
        or f"finegold aggregate votes.csv -o labels.csv --method {result.method} {settings}".strip(),
    )


def _as_text(value: object) -> str:
    return (
        repr(np.asarray(value).tolist())
        if isinstance(value, np.ndarray | list | tuple)
        else str(value)
    )


def finite(value: float) -> float | None:
    """Return a number that JSON has; None for the others."""
    return float(value) if math.isfinite(value) else None
