"""Which columns of a table without known names may hold tasks, annotators and labels: a proposal for the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, Role
from finegold.votes.names import text_of

__all__ = ["propose"]

MOST_COLUMNS = 100  # of which a proposal is more than a guess


def propose(
    columns: Sequence[Any], values: Sequence[Sequence[Any]], lost: Sequence[Role], found: Sequence[Any]
) -> dict[str, str | None]:
    """Return options that name a column for each lost role, or none if there are too few or too many columns.

    A label has the fewest different values, a task the most, and an annotator few of them.
    """
    if len(columns) > MOST_COLUMNS:
        return {}
    distinct = {
        str(name): len({text_of(value) for value in column if value is not None})
        for name, column in zip(columns, values, strict=True)
        if name not in found and str(name).strip()
    }
    chosen: dict[str, str | None] = {}
    for role in (LABEL, ANNOTATOR, TASK):
        wanted = next((one for one in lost if one.option.endswith(role.option)), None)
        if wanted is None or not wanted.option:
            continue
        free = [name for name in distinct if name not in chosen.values()]
        if not free:
            return {}
        chosen[f"--{wanted.option}"] = _best(role, free, distinct)
    return dict(reversed(chosen.items()))


def _best(role: Role, names: list[str], distinct: dict[str, int]) -> str:
    if role.name == TASK.name:
        return max(names, key=lambda name: distinct[name])
    return min(reversed(names), key=lambda name: (distinct[name] < 2, distinct[name]))
