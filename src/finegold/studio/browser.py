"""Sort, filter, search and paginate the tasks and annotators of a result, also with a million tasks.

Orders and masks are NumPy arrays over all rows. They are computed on first use and cached with the result.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.api.result import Result
from finegold.errors import InputError
from finegold.report.views.annotators import AnnotatorRow, Suspects, interval_of, ranking, suspects
from finegold.report.views.common import plain, texts
from finegold.report.views.tasks import REASONS, Doubts, TaskRow, doubts, task_rows
from finegold.results.data import ResultData, votes_of
from finegold.results.tables import with_predicted_tasks
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, rank_of, to_list
from finegold.votes.key import make_key
from finegold.votes.names import match

PREDICTED = "predicted"  # marks tasks that have predictions but no votes
MARKS = (*REASONS, PREDICTED)
View = TypeVar("View")
Mask = NDArray[np.bool_]
Order = NDArray[np.int64]


class Browser:
    """A result with a cache of the views that were computed from it."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._orders: dict[tuple[str, str], Order] = {}
        self._views: dict[Callable[[Result], Any], Any] = {}
        self._making: defaultdict[Callable[[Result], Any], threading.Lock] = defaultdict(threading.Lock)

    @property
    def votes(self) -> Annotations:
        return votes_of(self.result)

    @cached_property
    def labelled(self) -> ResultData:
        """The result with the tasks that have predictions but no votes, after those with votes."""
        return with_predicted_tasks(self.result)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        return self.labelled.confidence

    @cached_property
    def classes(self) -> list[Any]:
        return to_list(self.result.class_names)

    @cached_property
    def class_texts(self) -> list[str]:
        return texts(self.result.class_names)

    def task_texts(self, codes: list[int]) -> list[str]:
        return texts(self.labelled.task_names, codes) if codes else []

    def task_name(self, code: int) -> Any:
        """Return the name of a task as it is in the data."""
        return to_list(self.labelled.task_names[np.array([code])])[0]

    @cached_property
    def doubts(self) -> Doubts:
        """The doubts about all labelled tasks. Those with predictions only are not counted, but marked as such."""
        known, n = doubts(self.result), len(self.labelled.label_codes) - len(self.result.label_codes)
        if not n:
            return known
        return Doubts(*(np.append(mask, np.zeros(n, bool)) for mask in (known.contested, known.tied, known.flipped)))

    def marks(self, code: int) -> list[str]:
        """Return the doubts about a task, or that it has predictions only."""
        return [mark for mark in MARKS if self.marked(mark)[code]]

    def task_rows(self, codes: list[int]) -> list[TaskRow]:
        """Return all details of these tasks."""
        n_voted = len(self.result.label_codes)
        without_votes = replace(self.labelled, annotations=None)
        return [task_rows(self.result if code < n_voted else without_votes, [code], self.doubts)[0] for code in codes]

    def view(self, make: Callable[[Result], View]) -> View:
        """Return a view of the report, computed once, even if several tabs request it at the same time."""
        with self._making[make]:
            if make not in self._views:
                self._views[make] = make(self.result)
        view: View = self._views[make]
        return view

    def tasks(
        self, sort: str, descending: bool, first: int, most: int, masks: Sequence[Mask | None] = ()
    ) -> tuple[int, list[int]]:
        """Return the number of tasks that pass all filters, and those of a page in their order."""
        result, given = self.labelled, [mask for mask in masks if mask is not None]
        keys: dict[str, Callable[[], Any]] = {
            "task": lambda: np.arange(len(result.label_codes)),  # names are already sorted
            "label": lambda: result.label_codes,
            "confidence": lambda: self.confidence,
            "n_votes": lambda: result.votes_per_task,
        }
        return self._page("task", sort, keys, descending, first, most, np.logical_and.reduce(given) if given else None)

    def annotators(self, sort: str, descending: bool, first: int, most: int, search: str = "") -> tuple[int, list[int]]:
        """Return the number of annotators whose names contain a text, and those of a page in their order."""
        result = self.result
        keys: dict[str, Callable[[], Any]] = {
            "annotator": lambda: np.arange(len(result.accuracy)),
            "n_votes": lambda: result.votes_per_annotator,
            "accuracy": lambda: result.accuracy,
            "agreement": lambda: result.agreement,
        }
        mask = _contains(self._annotator_text, search) if search else None
        return self._page("annotator", sort, keys, descending, first, most, mask)

    def _page(
        self,
        table: str,
        sort: str,
        keys: Mapping[str, Callable[[], Any]],
        descending: bool,
        first: int,
        most: int,
        mask: Mask | None,
    ) -> tuple[int, list[int]]:
        if sort not in keys:
            raise InputError(f"tables are sorted by {', '.join(keys)}, not by {sort!r}")
        if (table, sort) not in self._orders:
            self._orders[table, sort] = np.argsort(keys[sort](), kind="stable")
        order = self._orders[table, sort][:: -1 if descending else 1]
        codes = order if mask is None else order[mask[order]]
        return len(codes), codes[first : first + most].tolist()

    def named(self, part: str, others: Sequence[Any] = ()) -> Mask:
        """Return which tasks have this text in their names, or are among others by name."""
        return _contains(self._task_text, part) | self.among(others)

    def among(self, names: Sequence[Any]) -> Mask:
        """Return which tasks are among some by name."""
        mask = np.zeros(len(self.labelled.label_codes), dtype=bool)
        codes = match(names, self.labelled.task_names)
        mask[codes[codes != MISSING]] = True
        return mask

    def marked(self, mark: str) -> Mask:
        """Return which tasks have one of MARKS."""
        mask: Mask = self._is_predicted if mark == PREDICTED else getattr(self.doubts, mark)
        return mask

    def task_code(self, name: Any) -> int:
        """Return the code of a task by its name, or MISSING."""
        return int(match([name], self.result.task_names)[0])

    def class_code(self, name: Any) -> int:
        return int(match([name], self.result.class_names)[0])

    def codes_of(self, gold: Mapping[Any, Any]) -> dict[int, int]:
        """Return truths by name as codes, without those of tasks and classes that the votes do not have."""
        if not gold:
            return {}
        codes = make_key(list(gold), list(gold.values()), self.result.task_names, self.result.class_names).codes
        known = np.flatnonzero((codes != MISSING) & (codes < len(self.result.class_names)))
        return dict(zip(known.tolist(), codes[known].tolist(), strict=True))

    def annotator_row(self, code: int) -> AnnotatorRow:
        result, weights = self.result, self.result.learned.weights
        groups: Suspects | None = self._views.get(suspects)  # takes seconds, so nobody waits for it here
        return AnnotatorRow(
            code=code,
            rank=int(self._rank[code]),
            annotator=texts(result.annotator_names, [code])[0],
            n_votes=int(result.votes_per_annotator[code]),
            accuracy=plain(result.accuracy[code]),
            low=interval_of(result, code)[0],
            high=interval_of(result, code)[1],
            agreement=plain(result.agreement[code]),
            weights=[] if weights is None else plain(weights[code]),
            group=None if groups is None or groups.group[code] == MISSING else int(groups.group[code]) + 1,
            suspicion="" if groups is None else groups.kind[code],
            measured=None,
            n_measured=0,
        )

    @cached_property
    def _rank(self) -> NDArray[np.int32]:
        return rank_of(ranking(self.result)) + np.int32(1)

    @cached_property
    def _is_predicted(self) -> Mask:
        return np.arange(len(self.labelled.label_codes)) >= len(self.result.label_codes)

    @cached_property
    def _task_text(self) -> pl.Series:
        return _lower(self.labelled.task_names)

    @cached_property
    def _annotator_text(self) -> pl.Series:
        return _lower(self.result.annotator_names)


def _lower(names: Names) -> pl.Series:
    native = names.to_native() if isinstance(names, nw.Series) else None
    if isinstance(native, pl.Series):
        return native.cast(pl.String).str.to_lowercase()
    return pl.Series([str(name).lower() for name in to_list(names)], dtype=pl.String)


def _contains(text: pl.Series, part: str) -> Mask:
    return text.str.contains(part.lower(), literal=True).to_numpy(writable=True)
