"""Results in memory, loaded when they are first requested; their tasks and annotators sorted, filtered and searched."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from finegold.api.result import Result, load
from finegold.errors import FinegoldError
from finegold.io.sheets import KEY, MAX_LENGTH
from finegold.report.views.annotators import AnnotatorRow, annotator_rows, suspects
from finegold.report.views.common import texts
from finegold.report.views.tasks import REASONS, Doubts, doubts
from finegold.results.data import ResultData, votes_of
from finegold.results.tables import with_predicted_tasks
from finegold.studio.files import Files
from finegold.studio.problems import NO_VOTES, Problem
from finegold.studio.store import Store
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, match, text_of, to_list
from finegold.votes.key import make_key

MAX_LOADED = 2  # a result of a million tasks takes a few hundred megabytes
PREDICTED = "predicted"  # marks tasks that have predictions but no votes
View = TypeVar("View")
Mask = NDArray[np.bool_]


class Workspace:
    """Browsers by the ids of their project and fit. A finished fit never changes."""

    def __init__(self, store: Store, files: Files) -> None:
        self.store, self.files = store, files
        self._loaded: OrderedDict[tuple[int, int], Browser] = OrderedDict()
        self._lock = threading.RLock()

    def shown(self, project: int) -> Browser:
        while True:
            fit = self.store.project(project)["shown"]
            if fit is None:
                raise Problem(*NO_VOTES)
            try:
                return self.of(project, fit)
            except Problem:  # another fit may have replaced this one meanwhile
                if self.store.project(project)["shown"] == fit:
                    raise

    def of(self, project: int, fit: int) -> Browser:
        with self._lock:  # two tabs that open a project at the same time load it once
            key = (project, fit)
            if key not in self._loaded:
                self.remember(project, fit, Browser(self._load(project, fit)))
            self._loaded.move_to_end(key)
            return self._loaded[key]

    def votes(self, project: int) -> Annotations:
        """Return the votes of a project with the gold of their file."""
        base = self.store.project(project)["base"]
        if base is None:
            raise Problem(*NO_VOTES)
        return self.of(project, base).votes

    def contents(self, project: int) -> Contents:
        row = self.store.project(project)
        added = self.store.rows("SELECT file FROM layer WHERE project = ? ORDER BY id", project)
        blobs = [
            blob for blob in (row["content"], *(each["file"] for each in added)) if blob is not None
        ]
        return Contents(
            [self.files.stored(blob, "content.parquet") for blob in blobs],
            Questions(row["options"]),
        )

    def contents_for_tables(self, project: int) -> Contents:
        """Return the content of the tasks; nothing if it is damaged, because tables can do without it."""
        with suppress(FinegoldError):
            return self.contents(project)
        return Contents([], Questions(None))

    def remember(self, project: int, fit: int, browser: Browser) -> None:
        with self._lock:
            self._loaded[project, fit] = browser
            while len(self._loaded) > MAX_LOADED:
                self._loaded.popitem(last=False)

    def forget(self, project: int, fits: list[int]) -> None:
        with self._lock:
            for fit in fits:
                self._loaded.pop((project, fit), None)

    @contextmanager
    def opening(self, project: int, fit: int) -> Iterator[None]:
        """Mark a result on disk while it is opened. A result that crashes the studio is not opened again."""
        if self.is_damaged(fit):
            detail = (
                "It may be damaged or need more memory than is available. It is opened again only if you ask for it; "
                "reading the votes again replaces it."
            )
            raise Problem(
                409,
                "The studio ended while it opened this result",
                detail,
                project=project,
                fit=fit,
            )
        more = "INSERT INTO opening (fit, threads) VALUES (?, 1) ON CONFLICT DO UPDATE SET threads = threads + 1"
        self.store.run(more, fit)
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # the studio was closed meanwhile
                self.store.run("UPDATE opening SET threads = threads - 1 WHERE fit = ?", fit)
                self.store.run("DELETE FROM opening WHERE fit = ? AND threads = 0", fit)

    def is_damaged(self, fit: int | None) -> bool:
        return self.store.row("SELECT 1 FROM opening WHERE fit = ? AND crashed", fit) is not None

    def _load(self, project: int, fit: int) -> Result:
        def model() -> int:
            row = self.store.row("SELECT model FROM fit WHERE project = ? AND id = ?", project, fit)
            if row is None:
                raise Problem(404, "There is no such fit", "It may have been deleted.")
            if row["model"] is None:
                raise Problem(
                    409,
                    "This fit has no result",
                    "Choose one that has finished and was not replaced.",
                )
            return int(row["model"])

        blob = model()
        try:
            with self.files.temporary(".finegold") as path, self.opening(project, fit):
                self.store.copy_to(blob, path)
                return load(path)
        except FinegoldError:
            model()  # raises if the fit was replaced meanwhile
            raise


class Browser:
    """A result with a cache of the views that were computed from it."""

    def __init__(self, result: Result) -> None:
        self.result, self.votes = result, votes_of(result)
        self.classes, self.class_texts = to_list(result.class_names), texts(result.class_names)
        self._orders: dict[tuple[str, str], NDArray[np.int64]] = {}
        self._texts: dict[str, pl.Series] = {}
        self._views: dict[Callable[[Result], Any], Any] = {}
        self._making: defaultdict[Callable[[Result], Any], threading.Lock] = defaultdict(
            threading.Lock
        )

    @cached_property
    def labelled(self) -> ResultData:
        """The result with the tasks that have predictions but no votes, after those with votes."""
        return with_predicted_tasks(self.result)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        return self.labelled.confidence

    def task_name(self, code: int) -> Any:
        """Return the name of a task as it is in the data."""
        return to_list(self.labelled.task_names[np.array([code])])[0]

    @cached_property
    def doubts(self) -> Doubts:
        """The doubts about all labelled tasks. Those with predictions only are not counted, but marked as such."""
        known, n = (
            doubts(self.result),
            len(self.labelled.label_codes) - len(self.result.label_codes),
        )
        if not n:
            return known
        return Doubts(
            *(
                np.append(mask, np.zeros(n, bool))
                for mask in (known.contested, known.tied, known.flipped)
            )
        )

    @cached_property
    def marks(self) -> dict[str, Mask]:
        """Which tasks have each doubt, or have predictions only."""
        masks = {reason: getattr(self.doubts, reason) for reason in REASONS}
        return masks | {
            PREDICTED: np.arange(len(self.labelled.label_codes)) >= len(self.result.label_codes)
        }

    def view(self, make: Callable[[Result], View]) -> View:
        """Return a view of the report, computed once, even if several tabs request it at the same time."""
        with self._making[make]:
            if make not in self._views:
                self._views[make] = make(self.result)
        view: View = self._views[make]
        return view

    def page(
        self,
        keys: Mapping[str, Any],
        sort: str,
        descending: bool,
        first: int,
        most: int,
        mask: Mask | None,
    ) -> tuple[int, list[int]]:
        """Return the number of rows that the mask lets pass, and those of a page in the order of a key."""
        kind = next(iter(keys))  # the first key names the table
        if (kind, sort) not in self._orders:
            self._orders[kind, sort] = np.argsort(keys[sort], kind="stable")
        order = self._orders[kind, sort][:: -1 if descending else 1]
        codes = order if mask is None else order[mask[order]]
        return len(codes), codes[first : first + most].tolist()

    def containing(self, part: str, kind: Literal["task", "annotator"]) -> Mask:
        """Return which tasks or annotators have this text in their names, whatever its case."""
        if kind not in self._texts:
            names = self.labelled.task_names if kind == "task" else self.result.annotator_names
            self._texts[kind] = names.values.cast(pl.String).str.to_lowercase()
        return self._texts[kind].str.contains(part.lower(), literal=True).to_numpy(writable=True)

    def among(self, names: Sequence[Any]) -> Mask:
        mask = np.zeros(len(self.labelled.label_codes), dtype=bool)
        codes = match(names, self.labelled.task_names)
        mask[codes[codes != MISSING]] = True
        return mask

    def codes_of(self, gold: Mapping[Any, Any]) -> dict[int, int]:
        """Return truths by name as codes, without those of tasks and classes that the votes do not have."""
        if not gold:
            return {}
        codes = make_key(
            list(gold), list(gold.values()), self.result.task_names, self.result.class_names
        ).codes
        known = np.flatnonzero((codes != MISSING) & (codes < len(self.result.class_names)))
        return dict(zip(known.tolist(), codes[known].tolist(), strict=True))

    def annotator_rows(self, codes: list[int]) -> list[AnnotatorRow]:
        """Return all details of some annotators. Suspects are marked once their view was requested, which is slow."""
        return annotator_rows(
            self.result, np.array(codes, np.int64), found=self._views.get(suspects)
        )


class Questions:
    """How tasks are called if votes are sets of labels: each task of the file and label (option) is a question."""

    def __init__(self, options: Sequence[str] | None) -> None:
        self.options = options or []
        self._ends = {f": {option}": code for code, option in enumerate(self.options)}
        self._longest_first = sorted(self._ends, key=len, reverse=True)

    def split(self, name: str) -> tuple[str, int]:
        """Return the task of the file and the option that a task asks about; the task itself and -1 if it does not."""
        end = next((end for end in self._longest_first if name.endswith(end)), "")
        return name.removesuffix(end), self._ends.get(end, -1)

    def of(self, task: str) -> list[str]:
        return [f"{task}{end}" for end in self._ends] or [task]


class Contents:
    """The content of all tasks, in Parquet files that are read by need. The last file with a field of a task counts."""

    def __init__(self, paths: Sequence[Path], questions: Questions) -> None:
        self.questions = questions
        self._files = [pl.scan_parquet(path) for path in paths]
        self._names = [
            [name for name in rows.collect_schema().names() if name != KEY] for rows in self._files
        ]
        self.names = list(dict.fromkeys(name for names in self._names for name in names))

    def table(self, tasks: Sequence[Any]) -> list[dict[str, str]]:
        keys = [self.questions.split(text_of(task))[0] for task in tasks]
        fields: dict[str, dict[str, str]] = {key: {} for key in keys}
        for rows in self._files:
            for row in (
                rows.filter(pl.col(KEY).is_in(keys)).unique(KEY, keep="first").collect().to_dicts()
            ):
                for name, text in row.items():
                    if name != KEY and text and text.strip():
                        fields[row[KEY]][name] = (
                            text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..."
                        )
        return [fields[key] for key in keys]

    def lines(self, tasks: Sequence[Any], length: int) -> list[str]:
        """Return the beginning of the longest field of each task, in one line."""
        longest = [max(fields.values(), key=len, default="") for fields in self.table(tasks)]
        return [" ".join(text.split())[:length] for text in longest]

    def containing(self, part: str) -> list[str]:
        """Return the names of the tasks with a field that contains this text, whatever its case."""
        tasks: list[str] = []
        for rows, names in zip(self._files, self._names, strict=True):
            texts = [selectors.by_name(name).as_expr().str.to_lowercase() for name in names]
            if texts:
                inside = pl.any_horizontal(
                    [text.str.contains(part.lower(), literal=True) for text in texts]
                )
                tasks += (
                    rows.filter(inside)
                    .select(KEY)
                    .collect(engine="streaming")
                    .get_column(KEY)
                    .to_list()
                )
        return [question for task in tasks for question in self.questions.of(task)]
