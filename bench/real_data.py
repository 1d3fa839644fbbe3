"""The real data sets: votes and truths of ../shared/real, in families and kinds, and of the paper's ten."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.votes.annotations import Annotations

__all__ = ["KINDS", "PAPER", "RealSet", "load", "without_labels"]

KINDS = ("human", "experts", "llm", "systems", "weak")
PAPER = "paper"
FAST = 400_000  # votes x classes of the sets that the fast mode takes

Codes = NDArray[np.int64]


class RealSet(NamedTuple):
    """A data set. Tasks, annotators and classes are numbered from 0."""

    name: str
    kind: str
    family: str
    votes: Codes  # [L, 3] task, annotator, class
    truth: Codes  # [T] -1 where it is unknown; a class nobody voted for may lie beyond the classes of the votes

    @property
    def n_classes(self) -> int:
        return int(self.votes[:, 2].max()) + 1

    @property
    def size(self) -> int:
        return len(self.votes) * self.n_classes

    @property
    def votes_per_task(self) -> float:
        return len(self.votes) / len(self.truth)

    @property
    def counts(self) -> NDArray[np.float64]:
        """[T, K] The votes of each task for each class."""
        counts = np.zeros((len(self.truth), self.n_classes))
        np.add.at(counts, (self.votes[:, 0], self.votes[:, 2]), 1.0)
        return counts

    @property
    def shares(self) -> NDArray[np.float64]:
        """[T, K] The majority vote's posterior."""
        counts = self.counts
        shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return shares

    def thin(self, n_votes: int, draw: int) -> RealSet:
        """So many votes of each task, drawn without replacement; all of a task with fewer."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), n_votes, draw])
        votes = self.votes[rng.permutation(len(self.votes))]
        votes = votes[np.argsort(votes[:, 0], kind="stable")]
        first = np.searchsorted(votes[:, 0], votes[:, 0])
        return self._replace(votes=votes[np.arange(len(votes)) - first < n_votes])

    def annotations(self, n_tasks: int | None = None) -> Annotations:
        """All votes, or those of the first tasks only."""
        votes = self.votes if n_tasks is None else self.votes[self.votes[:, 0] < n_tasks]
        return Annotations.from_arrays(*votes.T, classes=list(range(self.n_classes)))

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "family": self.family,
            "tasks": len(self.truth),
            "annotators": int(self.votes[:, 1].max()) + 1,
            "classes": self.n_classes,
            "votes": len(self.votes),
            "truths": int((self.truth >= 0).sum()),
        }


def load(shared: Path, only: Collection[str] = (), fast: bool = False) -> list[RealSet]:
    """All data sets below the folder, the smallest first.

    Raises
    ------
    InputError
        If a data set is absent, or a name in `only` is none of them.
    """
    places = _places(shared)
    unknown = sorted(set(only) - set(places))
    if unknown:
        raise InputError(
            f"there is no data set {unknown[0]!r} in {shared}; choose from {', '.join(sorted(places))}"
        )
    found = [_read(name, *places[name]) for name in places if not only or name in only]
    return sorted((one for one in found if not fast or one.size < FAST), key=lambda one: one.size)


def without_labels(shared: Path) -> list[str]:
    """The paper's sets that cannot be used because their votes are not public."""
    return sorted(
        path.parent.name
        for path in (shared / "datasets").glob("*/truth.csv")
        if not _has_votes(path.parent)
    )


def _places(shared: Path) -> dict[str, tuple[str, str, Path]]:
    """Of each set its kind, family and folder. A family has the name of its first set."""
    listed = shared / "real" / "families.json"
    if not listed.is_file():
        raise InputError(
            f"the real data sets are absent: there is no {listed}; name their folder with --shared"
        )
    families = json.loads(listed.read_text())
    places = {
        name: (kind, family[0], shared / "real" / name)
        for kind in KINDS
        for family in families[kind]
        for name in family
    }
    paper = sorted(
        path.parent for path in (shared / "datasets").glob("*/truth.csv") if _has_votes(path.parent)
    )
    return places | {path.name: (PAPER, path.name, path) for path in paper}


def _has_votes(folder: Path) -> bool:
    return (folder / "label.csv").is_file()


def _read(name: str, kind: str, family: str, folder: Path) -> RealSet:
    rows, truths = _integers(folder, "label"), _integers(folder, "truth")
    tasks, task = np.unique(rows[:, 0], return_inverse=True)
    annotator = np.unique(rows[:, 1], return_inverse=True)[1]
    truth = np.full(len(tasks), -1, np.int64)
    has_votes = np.isin(truths[:, 0], tasks)
    truth[np.searchsorted(tasks, truths[has_votes, 0])] = truths[has_votes, 1]
    return RealSet(name, kind, family, np.column_stack([task, annotator, rows[:, 2]]), truth)


def _integers(folder: Path, name: str) -> Codes:
    path = next(
        (path for path in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if path.is_file()),
        None,
    )
    if path is None:
        raise InputError(
            f"the data set {folder.name} is incomplete: there is no {name}.csv or {name}.csv.gz in {folder}"
        )
    return np.loadtxt(path, dtype=np.int64, delimiter=",", skiprows=1, ndmin=2)
