"""What several sections use: the subject of a report, names as text, shares, how much is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from finegold.errors import InputError
from finegold.insight.overview import Trust, trust
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, Names, to_list
from finegold.votes.key import Key

# the values that a template shows, by name
View = dict[str, Any]

# a narrow no-break space: 95 %
NARROW_SPACE = "\u202f"
# some tasks are named by their whole text
MAX_NAME_LENGTH = 200
# enough for a probability, and keeps the file small
DIGITS = 4

# The tables that hold what a list of the report leaves out. The report does not write them.
ANNOTATORS_TABLE = "the table of annotators (finegold aggregate --annotators FILE)"
LABELS_TABLE = "the table of labels (finegold aggregate -o FILE)"


@dataclass(frozen=True, eq=False)
class Subject:
    """A result, and what else is known of it."""

    result: ResultData
    # truths to compare the labels with
    key: Key | None = None
    # true sets, by task, where labels are sets
    true_sets: Any = None
    # what `measurement_of` returns
    measurement: View | None = None
    # of a log of LLM judges: `JudgeReport.view`
    judges: View | None = None
    command: str | None = None
    # whether classes are ordered
    scores: bool = False

    @cached_property
    def trust(self) -> Trust:
        """Agreement, correlation and calibration, computed once for all sections."""
        key = self.key
        has_truths = key is not None and (key.without(self.result.gold) != MISSING).any()
        return trust(self.result, key if has_truths else None)


def measurement_of(certificate: Any) -> View:
    """Return what a certificate measured: of a `Certificate`, its `to_dict`, or a .json file."""
    if isinstance(certificate, str | Path):
        try:
            certificate = json.loads(Path(certificate).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            words = f"{certificate} is not a certificate as .json ({error})"
            raise InputError(words) from None
    values = certificate.to_dict() if hasattr(certificate, "to_dict") else certificate
    try:
        measured = {
            name: values["accuracy"][name] for name in ("estimate", "low", "high", "checked")
        }
        about = {"method": values["method"], "n_tasks": values["tasks"]}
        return {**measured, **about, "date": str(values["date"])[:10]}
    except (KeyError, TypeError):
        raise InputError(
            "this certificate has no accuracy: certify writes one from a sample drawn for accuracy"
        ) from None


class Shown(NamedTuple):
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
        some = f"{self.shown:,} of {self.total:,} shown, ordered by {self.order}"
        return f"{some}; the rest is in {self.rest}."


def texts(names: Names, codes: ArrayLike | None = None) -> list[str]:
    """Return the names of these codes (default: all) as visible text, shortened if they are long."""
    chosen = names if codes is None else names.take(np.asarray(codes, dtype=np.int32))
    shown = [text if text.strip() else "(blank)" for text in map(str, to_list(chosen))]
    return [clip(text, MAX_NAME_LENGTH) for text in shown]


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def plain(values: ArrayLike) -> Any:
    """Convert to rounded floats: a number, a list or a list of lists."""
    return np.asarray(values, dtype=float).round(DIGITS).tolist()


def percent(share: float, digits: int = 0) -> str:
    """Format a share, e.g. 94 %. It is never rounded to 100 % or 0 % unless it is exactly that."""
    text = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share < 1 and float(text) >= 100:
        text = f"over {100 - least:.{digits}f}"
    elif share > 0 and float(text) <= 0:
        text = f"under {least:.{digits}f}"
    return f"{text}{NARROW_SPACE}%"


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
