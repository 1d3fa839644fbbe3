"""Sort, filter, search and paginate the tasks and annotators of a result, also with a million tasks.

Orders and masks are NumPy arrays over all rows. They are computed on first use and cached with the result.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.api.result import Result
from finegold.errors import InputError
from finegold.report.views.annotators import AnnotatorRow, Suspects, ranking, suspects
from finegold.report.views.common import plain, texts
from finegold.report.views.tasks import REASONS, Doubts, TaskRow, doubts, task_rows
from finegold.results.data import ResultData, votes_of
from finegold.results.tables import with_predicted_tasks
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Names, rank_of
from finegold.votes.frames import to_list
from finegold.votes.key import make_key
from finegold.votes.names import match

__all__ = ["AnnotatorQuery", "Browser", "Page", "TaskQuery"]


PREDICTED = "predicted"  # marks tasks that have predictions but no votes
MARKS = (*REASONS, PREDICTED)
View = TypeVar("View")
Mask = NDArray[np.bool_]
Order = NDArray[np.int64]


@dataclass(frozen=True)
class TaskQuery:
    """Filters and order for a page of tasks. A filter that is None is not applied."""

    search: str = ""
    sort: str = "confidence"
    descending: bool = False
    label: int | None = None  # the code of a class
    doubt: str | None = None  # one of MARKS
    judged: bool | None = None
    confidence_from: float = 0.0
    confidence_to: float = 1.0
    first: int = 0
    most: int = 50


@dataclass(frozen=True)
class AnnotatorQuery:
    search: str = ""
    sort: str = "accuracy"
    descending: bool = False
    first: int = 0
    most: int = 50


class Page(NamedTuple):
    total: int  # number of rows that passed the filters
    codes: list[int]  # the rows of this page, in order


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
        found, n = doubts(self.result), len(self.labelled.label_codes) - len(self.result.label_codes)
        if not n:
            return found
        return Doubts(*(np.append(mask, np.zeros(n, bool)) for mask in (found.contested, found.tied, found.flipped)))

    def marks(self, code: int) -> list[str]:
        """Return the doubts about a task, or that it has predictions only."""
        return [mark for mark in MARKS if self._marked(mark)[code]]

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
        found: View = self._views[make]
        return found

    def tasks(self, query: TaskQuery, gold: Mapping[int, int], with_text: Sequence[Any] = ()) -> Page:
        """Return a page of tasks.

        `gold` maps tasks to the truths that people have given since the fit. `with_text` are the names of tasks whose
        content contains what is searched for.
        """
        order = self._order("task", query.sort, self._task_keys())
        if query.descending:
            order = order[::-1]
        mask = self._mask(query, gold, with_text)
        return _page(order if mask is None else order[mask[order]], query.first, query.most)

    def annotators(self, query: AnnotatorQuery) -> Page:
        order = self._order("annotator", query.sort, self._annotator_keys())
        if query.descending:
            order = order[::-1]
        if query.search:
            order = order[_contains(self._annotator_text, query.search)[order]]
        return _page(order, query.first, query.most)

    def annotator_rows(self, codes: list[int]) -> list[AnnotatorRow]:
        return [self._annotator_row(code) for code in codes]

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

    def _annotator_row(self, code: int) -> AnnotatorRow:
        result, weights = self.result, self.result.learned.weights
        found: Suspects | None = self._views.get(suspects)  # takes seconds, so nobody waits for it here
        return AnnotatorRow(
            code=code,
            rank=int(self._rank[code]),
            annotator=texts(result.annotator_names, [code])[0],
            n_votes=int(result.votes_per_annotator[code]),
            accuracy=plain(result.accuracy[code]),
            low=plain(result.accuracy_low[code]),
            high=plain(result.accuracy_high[code]),
            agreement=plain(result.agreement[code]),
            weights=[] if weights is None else plain(weights[code]),
            group=None if found is None or found.group[code] == MISSING else int(found.group[code]) + 1,
            suspicion="" if found is None else found.kind[code],
            measured=None,
            n_measured=0,
        )

    @cached_property
    def _rank(self) -> NDArray[np.int32]:
        return rank_of(ranking(self.result)) + np.int32(1)

    def _mask(self, query: TaskQuery, gold: Mapping[int, int], with_text: Sequence[Any]) -> Mask | None:
        """Return which tasks pass the filters, or None if there is no filter."""
        masks = []
        if query.label is not None:
            masks.append(self.labelled.label_codes == query.label)
        if query.doubt is not None:
            masks.append(self._marked(query.doubt))
        if query.judged is not None:
            masks.append(self._is_judged(gold) == query.judged)
        if query.confidence_from > 0 or query.confidence_to < 1:
            masks.append((self.confidence >= query.confidence_from) & (self.confidence <= query.confidence_to))
        if query.search:
            found = _contains(self._task_text, query.search)
            codes = match(with_text, self.labelled.task_names)
            found[codes[codes != MISSING]] = True
            masks.append(found)
        return np.logical_and.reduce(masks) if masks else None

    def _marked(self, mark: str) -> Mask:
        found: Mask = self._is_predicted if mark == PREDICTED else getattr(self.doubts, mark)
        return found

    @cached_property
    def _is_predicted(self) -> Mask:
        return np.arange(len(self.labelled.label_codes)) >= len(self.result.label_codes)

    def _is_judged(self, gold: Mapping[int, int]) -> Mask:
        judged = np.zeros(len(self.labelled.label_codes), dtype=bool)
        judged[list(gold)] = True
        return judged

    def _task_keys(self) -> dict[str, Callable[[], Any]]:
        result = self.labelled
        return {
            "task": lambda: np.arange(len(result.label_codes)),  # names are already sorted
            "label": lambda: result.label_codes,
            "confidence": lambda: self.confidence,
            "n_votes": lambda: result.votes_per_task,
        }

    def _annotator_keys(self) -> dict[str, Callable[[], Any]]:
        result = self.result
        return {
            "annotator": lambda: np.arange(len(result.accuracy)),
            "n_votes": lambda: result.votes_per_annotator,
            "accuracy": lambda: result.accuracy,
            "agreement": lambda: result.agreement,
        }

    def _order(self, kind: str, sort: str, keys: dict[str, Callable[[], Any]]) -> Order:
        if sort not in keys:
            raise InputError(f"tables are sorted by {', '.join(keys)}, not by {sort!r}")
        if (kind, sort) not in self._orders:
            self._orders[kind, sort] = np.argsort(keys[sort](), kind="stable")
        return self._orders[kind, sort]

    @cached_property
    def _task_text(self) -> pl.Series:
        return _lower(self.labelled.task_names)

    @cached_property
    def _annotator_text(self) -> pl.Series:
        return _lower(self.result.annotator_names)


def _page(order: Order, first: int, most: int) -> Page:
    return Page(len(order), order[first : first + most].tolist())


def _lower(names: Names) -> pl.Series:
    native = names.to_native() if isinstance(names, nw.Series) else None
    if isinstance(native, pl.Series):
        return native.cast(pl.String).str.to_lowercase()
    return pl.Series([str(name).lower() for name in to_list(names)], dtype=pl.String)


def _contains(text: pl.Series, part: str) -> Mask:
    return text.str.contains(part.lower(), literal=True).to_numpy(writable=True)
