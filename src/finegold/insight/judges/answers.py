"""The answers of judges as votes, and the intervals of shares and means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from finegold.errors import InputError
from finegold.insight.votes import Floats
from finegold.io.judge_logs import Answers, JudgeLog
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

# items with a known truth from which figures are shown; bench/trust/judges.py measures the coverage
MIN_GOLD = 10


def whole(log: JudgeLog, answers: Answers) -> Annotations | None:
    """Return the decided answers as votes, one per judge and item; None if there are none."""
    label = np.maximum(answers.answer, MISSING)
    if (label == MISSING).all():
        return None
    return votes_of(log, answers.item, answers.judge, label, answers.names)


def votes_of(
    log: JudgeLog, item: Any, judge: Any, label: Any, classes: list[Any], **how: Any
) -> Annotations:
    """Return labels as votes, with the truths of the items that have any."""
    if (label == MISSING).all():
        raise InputError("every verdict is a tie, but no truth is: there is nothing to label by")
    voted = np.bincount(item[label >= 0], minlength=log.n_items) > 0
    known = np.flatnonzero(voted & (log.gold != MISSING))
    names = []
    for values in (log.item_names, log.judge_names, classes):
        names.append(np.empty(len(values), dtype=object))
        names[-1][:] = values
    codes = (part.astype(np.int32) for part in (item, judge, label))
    gold = known.astype(np.int32), log.gold[known]
    return Annotations.from_codes(*codes, *names, gold=gold, **how)


# Intervals.


class Share(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


NOTHING = Share(np.nan, np.nan, np.nan)


def interval(value: float, centre: float, error: float, n: float, low: float, high: float) -> Share:
    """Return the interval around a centre by Student's distribution, inside the values that are
    possible.
    """
    half = float(stdtrit(max(n - 1, 1), 0.975)) * error
    return Share(
        float(value), min(max(centre - half, low), value), max(min(centre + half, high), value)
    )


def mean_of(values: Floats, low: float = 0.0, high: float = 1.0, *, at_ends: int = 2) -> Share:
    """Return the mean of values between two ends; NaN are left out."""
    # Two further values at each end, as Agresti and Coull add them, make the interval hold where
    # all values are alike.
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return NOTHING
    more = np.concatenate([values, np.repeat([low, high], at_ends)])
    error = float(more.std() / np.sqrt(len(more)))
    return interval(float(values.mean()), float(more.mean()), error, len(values), low, high)


def share_of(part: float, n: float) -> Share:
    """Return the share of n trials, with its interval."""
    return mean_of(np.repeat([1.0, 0.0], [int(part), int(n - part)]))


def jackknife(value: float, without: Floats) -> Share:
    """Return a figure with an interval, from its values without one item at a time."""
    if not np.isfinite([value, *without]).all():
        return NOTHING
    n = len(without)
    error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return interval(value, value, error, n, -1.0, 1.0)


def flat(row: Any) -> dict[str, Any]:
    """Return the figures of a dataclass as cells of a table, with the ends of their intervals."""
    cells: dict[str, Any] = {}
    for name, value in vars(row).items():
        if isinstance(value, Share):
            known = value if value.value == value.value else (None,) * 3
            cells |= dict(zip((name, f"{name}_low", f"{name}_high"), known, strict=True))
        else:
            cells[name] = plain(value)
    return cells


def plain(value: Any) -> Any:
    """Return figures as JSON has them: dataclasses as objects, and null for what is not known."""
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, Share):
        return None if value.value != value.value else value._asdict()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(each) for name, each in vars(value).items()}
    return value.item() if isinstance(value, np.generic) else value
