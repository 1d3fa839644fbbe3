"""Results in memory, loaded when they are first requested, with what was computed from them."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.api.result import Result, load
from finegold.errors import FinegoldError
from finegold.insight.majority import CLOSE, flipped_tasks
from finegold.insight.next_votes import Advice, advice_on_annotators
from finegold.insight.spam import KINDS, spam
from finegold.insight.votes import single_labels
from finegold.results.data import ResultData, votes_of
from finegold.results.tables import with_predicted_tasks
from finegold.studio.files import Files
from finegold.studio.problems import NO_VOTES, Problem
from finegold.studio.store import Store
from finegold.votes.encoding import MISSING, as_text, match, text_of, to_list

# a result of a million tasks takes a few hundred megabytes
MAX_LOADED = 2
DOUBTS = ("tied", "contested", "flipped")
Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]


class Loaded:
    """Results by the ids of their project and fit. A finished fit never changes."""

    def __init__(self, store: Store, files: Files) -> None:
        self.store, self.files = store, files
        self._results: OrderedDict[tuple[int, int], LoadedResult] = OrderedDict()
        self._lock = threading.RLock()
        # how often each project is being loaded now
        self._loading: Counter[int] = Counter()

    def shown(self, project: int) -> LoadedResult:
        """Return the result that is looked at."""
        while True:
            fit = self.store.project(project)["shown"]
            if fit is None:
                raise Problem(*NO_VOTES)
            try:
                return self.of(project, fit)
            # another fit may have replaced this one meanwhile
            except (Problem, FinegoldError):
                if self.store.project(project)["shown"] == fit:
                    raise

    def of(self, project: int, fit: int) -> LoadedResult:
        # two tabs that open a project at the same time load it once
        with self._lock:
            key = (project, fit)
            if key not in self._results:
                self.remember(project, LoadedResult(self._load(project, fit), fit))
            self._results.move_to_end(key)
            return self._results[key]

    def remember(self, project: int, result: LoadedResult) -> None:
        with self._lock:
            self._results[project, result.fit] = result
            while len(self._results) > MAX_LOADED:
                self._results.popitem(last=False)

    def forget(self, project: int, fits: Sequence[int]) -> None:
        with self._lock:
            for fit in fits:
                self._results.pop((project, fit), None)

    @contextmanager
    def loading(self, project: int) -> Iterator[None]:
        """Note on disk that files are being read: if that ends the studio, the next one asks."""
        if self.store.project(project)["loading"] == 2:
            detail = (
                "Its files may be damaged, or need more memory than is available. They are loaded"
                " again only if you ask for it."
            )
            raise Problem(409, "The studio ended while it loaded this project", detail)
        with self.store.lock:
            self._loading[project] += 1
            self.store.run("UPDATE project SET loading = 1 WHERE id = ?", project)
        try:
            yield
        finally:
            # the studio may have been closed meanwhile
            with self.store.lock, suppress(sqlite3.ProgrammingError):
                self._loading[project] -= 1
                if not self._loading[project]:
                    self.store.run("UPDATE project SET loading = 0 WHERE id = ?", project)

    def _load(self, project: int, fit: int) -> Result:
        row = self.store.row("SELECT model FROM fit WHERE project = ? AND id = ?", project, fit)
        if row is None:
            raise Problem(404, "There is no such fit", "It may have been deleted.")
        if row["model"] is None:
            detail = "Choose one that has finished and was not replaced."
            raise Problem(409, "This fit has no result", detail)
        with self.files.temporary(".finegold") as path, self.loading(project):
            self.store.copy_to(row["model"], path)
            return load(path)


class LoadedResult:
    """A result with what was computed from it."""

    def __init__(self, result: Result, fit: int) -> None:
        self.result, self.votes, self.fit = result, votes_of(result), fit
        # which of its labels were accepted, by the id of the acceptance
        self.accepted: dict[int, Mask] = {}
        self.classes = to_list(result.class_names)
        self.class_texts = list(map(text_of, self.classes))

    def warm_up(self) -> None:
        """Compute what the first page needs."""
        assert self.marks

    @cached_property
    def labelled(self) -> ResultData:
        """The result with the tasks that have predictions but no votes, after those with votes."""
        return with_predicted_tasks(self.result)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        return self.labelled.confidence

    @property
    def is_sets(self) -> bool:
        return self.result.label_sets is not None

    @cached_property
    def sets(self) -> list[list[int]]:
        """The classes of each label code: one, or those of a set."""
        sets = self.result.label_sets
        n = len(self.classes)
        return [[code] for code in range(n)] if sets is None else [list(codes) for codes in sets]

    def label_value(self, code: int) -> Any:
        """Return the label of a task as JSON: the name of a class, or the list of a set."""
        names = [self.classes[each] for each in self.sets[self.labelled.label_codes[code]]]
        return names if self.is_sets else names[0]

    @cached_property
    def _label_names(self) -> NDArray[np.object_]:
        names = [", ".join(self.class_texts[k] for k in codes) for codes in self.sets]
        return np.array(names, dtype=object)

    def label_texts(self, codes: Sequence[int] | Codes) -> list[str]:
        """Return the labels of tasks as text; the classes of a set have commas between them."""
        labels = self.labelled.label_codes[np.asarray(codes, np.int64)]
        texts: list[str] = self._label_names[labels].tolist()
        return texts

    def task_name(self, code: int) -> Any:
        return to_list(self.labelled.task_names[np.array([code])])[0]

    def task_texts(self, codes: Sequence[int]) -> list[str]:
        names = to_list(self.labelled.task_names[np.array(codes, np.int64)]) if codes else []
        return [text_of(name) for name in names]

    def check(self, at: int) -> None:
        if at >= (n := len(self.labelled.label_codes)):
            raise Problem(404, "There is no such task", f"There are {n:,}, from zero.")

    def find(self, name: Any) -> int:
        """Return the code of a task; the text "7" matches the number 7 of the file."""
        code = int(self.codes_of([name])[0])
        if code == MISSING:
            raise Problem(404, "There is no such task", f"No task is called {name!r}.")
        return code

    @cached_property
    def _codes(self) -> pl.DataFrame:
        names = as_text(self.labelled.task_names.values)
        return pl.DataFrame({"name": names, "code": np.arange(len(names))})

    def codes_of(self, names: Sequence[Any]) -> Codes:
        """Return the codes of tasks; -1 for those that the result does not have."""
        wanted = pl.DataFrame({"name": list(map(text_of, names))}, schema={"name": pl.String})
        some = self._codes.filter(pl.col("name").is_in(wanted["name"].implode()))
        found = wanted.join(some, on="name", how="left", maintain_order="left")
        return found["code"].fill_null(MISSING).to_numpy(writable=True)

    def among(self, names: Sequence[Any]) -> Mask:
        mask = np.zeros(len(self.labelled.label_codes), np.bool_)
        codes = self.codes_of(names)
        mask[codes[codes != MISSING]] = True
        return mask

    def class_of(self, value: Any) -> Any:
        """Return a class, or the list of a set, as it is in the data."""
        wanted = value if self.is_sets and isinstance(value, list) else [value]
        codes = match(wanted, self.result.class_names).tolist()
        if MISSING in codes or isinstance(value, list) != self.is_sets:
            shown = ", ".join(self.class_texts[:30])
            what = "Send the list of all that apply. " if self.is_sets else ""
            raise Problem(422, "There is no such class", f"{what}The classes are {shown}.")
        return [self.classes[k] for k in sorted(codes)] if self.is_sets else self.classes[codes[0]]

    @cached_property
    def marks(self) -> dict[str, Mask]:
        """What may be said of each task: several classes have the most votes (tied), the label is
        hardly more probable than the next class (contested), another class has more votes
        (flipped), all votes are for one class (unanimous), or only models speak (predicted). Known
        truths are not in doubt.
        """
        votes, result = self.votes, self.result
        n = len(result.label_codes)
        unknown = result.gold == MISSING
        tied, unanimous = result.tied.copy(), np.zeros(n, np.bool_)
        contested = result.confidence < (1 + CLOSE) / 2
        if not self.is_sets:
            per_cell, first = np.diff(votes.cell_ptr), votes.task_ptr[:-1]
            most = np.maximum.reduceat(per_cell, first)
            n_cells = np.diff(votes.task_ptr)
            tied |= np.add.reduceat(per_cell == np.repeat(most, n_cells), first) > 1
            unanimous = (n_cells == 1) & (most > 1)
            second = (
                np.partition(result.posterior, -2, axis=1)[:, -2] if len(self.classes) > 1 else 0.0
            )
            contested = result.confidence - second < CLOSE
        masks = {
            "tied": tied & unknown,
            "contested": contested & unknown,
            "flipped": flipped_tasks(result),
            "unanimous": unanimous,
        }
        more = len(self.labelled.label_codes) - n
        masks = {name: np.append(mask, np.zeros(more, np.bool_)) for name, mask in masks.items()}
        masks["predicted"] = np.arange(n + more) >= n
        return masks

    def marks_of(self, code: int) -> list[str]:
        return [mark for mark, mask in self.marks.items() if mask[code]]

    def containing(self, part: str, kind: Literal["task", "annotator"]) -> Mask:
        """Return which tasks or annotators have this text in their names, whatever its case."""
        names = self.labelled.task_names if kind == "task" else self.result.annotator_names
        texts = names.values.cast(pl.String).str.to_lowercase()
        return texts.str.contains(part.lower(), literal=True).to_numpy(writable=True)

    @cached_property
    def advice(self) -> list[Advice]:
        """What to do about annotators."""
        return advice_on_annotators(single_labels(self.labelled))

    @cached_property
    def suspicions(self) -> list[str]:
        """What annotators do whose votes tell nothing."""
        if self.is_sets:
            return [""] * len(self.result.annotator_accuracy)
        return [KINDS.get(kind, "") for kind in spam(self.result).kind]

    @cached_property
    def by_gain(self) -> Codes:
        """All tasks, sorted by the expected gain of knowing their truth, the largest first."""
        # A label drawn from the posterior phi is right with probability sum_k phi_k^2, and with
        # probability 1 once the truth is known. Ties are broken by the number of votes, because a
        # truth then tells about more annotators.
        chance, posterior = np.asarray(self.result.confidence), self.result.posterior
        if not self.is_sets:
            chance = np.einsum("ik,ik->i", posterior, posterior)
        return np.lexsort((-self.result.votes_per_task, chance))
