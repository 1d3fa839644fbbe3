"""Readers: whatever holds votes -> Annotations. All checks of the input happen here, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karat.annotations import Annotations, Repeated
from karat.errors import InputError
from karat.readers.assemble import Wishes
from karat.readers.batches import Progress, WatchReading
from karat.readers.long import read_long
from karat.readers.table import open_table
from karat.readers.truth import Match, Truth, match_truth, read_truth, with_gold
from karat.readers.wide import read_wide

__all__ = ["Match", "Progress", "Truth", "match_truth", "read", "read_truth"]


def read(
    votes: Any,
    *,
    task: str | None = None,
    annotator: str | Sequence[str] | None = None,
    label: str | None = None,
    wide: bool = False,
    gold: Any = None,
    classes: Sequence[Any] | None = None,
    repeated: Repeated = "first",
    missing: Sequence[Any] | None = None,
    watch: WatchReading | None = None,
) -> Annotations:
    """Votes of any source as Annotations.

    votes: a path, several paths, a pattern or a folder; "-" for standard input, or a binary stream; any data
        frame that Narwhals knows; or Annotations, which come back as they are.
    task, annotator, label: the columns, where their names do not tell. With wide=True, annotator may list the
        columns of the annotators, and there is no label column.
    gold: known truths: a path, a data frame, a mapping {task: class}; the name of a column of the votes' own
        table, or True for the one called gold or truth. Such a column is never taken for an annotator.
    classes: all classes, in the order wanted; any other label is then an error.
    missing: labels that mean "no vote" beside null, NaN and blank; by default NA, null and NaN, and in wide
        tables of integers also -1.
    watch: is called with the Progress of reading long tables from files, now and then.
    """
    if isinstance(votes, Annotations):
        _refuse_options(task=task, annotator=annotator, label=label, wide=wide, classes=classes, missing=missing)
        return votes if gold is None else with_gold(votes, gold)
    wishes = Wishes(gold=gold, classes=classes, repeated=repeated, missing=_as_list(missing), watch=watch)
    if wide:
        if label is not None:
            raise InputError("a wide table has no label column: leave out --label, or --wide if there is one")
        return read_wide(open_table(votes), task, annotator, wishes)
    if annotator is not None and not isinstance(annotator, str):
        raise InputError("several annotator columns make a wide table: add --wide (wide=True in Python)")
    return read_long(open_table(votes), task, annotator, label, wishes)


def _as_list(missing: Sequence[Any] | None) -> list[Any] | None:
    if missing is None:
        return None
    return [missing] if isinstance(missing, str) else list(missing)


def _refuse_options(**options: Any) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(f"{', '.join(given)} cannot be applied to Annotations, which are read already")
