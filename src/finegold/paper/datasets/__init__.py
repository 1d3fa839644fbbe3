"""The public data sets of the PTBCC paper, and those that users register: names, sources, checksums, loading.

A data set is a folder with label.csv (one row per vote) and truth.csv (one row per task with a known truth).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from finegold.errors import InputError
from finegold.io.read import read
from finegold.paper.datasets.downloads import Bar, copy, download, sha256
from finegold.paper.datasets.registry import FILES, DataSet, add, data_set, data_sets
from finegold.system.memory import system_cache_folder
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

__all__ = [
    "FILES",
    "DataSet",
    "Finding",
    "Votes",
    "cache_folder",
    "data_set",
    "data_sets",
    "fetch",
    "find",
    "load_dataset",
    "refusal",
    "register",
    "verify",
]


@dataclass(frozen=True, eq=False)
class Votes:
    """A data set in memory: the result of `finegold.load_dataset`.

    Attributes
    ----------
    info : DataSet
        Name, title, source and checksums.
    annotations : Annotations
        The votes.
    truth : ndarray of shape (n_tasks,)
        The true class of each task, as a position in `annotations.class_names`; -1 where it is not known.
    verified : bool
        Whether both files have the checksums of the registry.
    """

    info: DataSet
    annotations: Annotations
    truth: Codes
    verified: bool

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """The numbers of tasks, annotators, truths, classes and votes."""
        return _counts(self.annotations, self.truth)


class Finding(NamedTuple):
    """A file of a data set on disk, with its actual and its expected checksum."""

    name: str
    file: str
    origin: str  # the path or the address
    expected: str
    found: str  # empty if there is no such file

    @property
    def is_good(self) -> bool:
        return self.found == self.expected


def register(
    name: str, folder: str | Path, *, title: str | None = None, domain: str = "", address: str = ""
) -> DataSet:
    """Register a data set of your own for this session, with the counts and checksums of its files.

    `folder` contains label.csv and truth.csv. `address` is the web folder from which others can fetch them.
    Afterwards `load_dataset(name, folder's parent)`, `verify` and `fetch` treat it like the others.
    """
    folder = Path(folder)
    absent = [file for file in FILES if not (folder / file).is_file()]
    if absent:
        raise InputError(f"there is no {' and no '.join(absent)} in {folder}")
    annotations, truth = _read(folder)
    counts = _counts(annotations, truth)
    sums = {file: sha256(folder / file) for file in FILES}
    return add(DataSet(name, title or name, domain, *counts, sha256=sums, address=address))


def cache_folder() -> Path:
    """Return the folder of fetched data sets: FINEGOLD_CACHE, or the system's cache folder."""
    if chosen := os.environ.get("FINEGOLD_CACHE"):
        return Path(chosen).expanduser()
    return system_cache_folder()


def find(name: str, folder: str | Path) -> Path | None:
    """Return the data set's own folder, under Finegold's name or the source's; None if a file is missing."""
    entry = data_set(name)
    candidates = (Path(folder) / place for place in (entry.name, entry.source_folder) if place)
    return next((place for place in candidates if all((place / file).is_file() for file in FILES)), None)


def load_dataset(name: str, folder: str | Path | None = None, *, verified: bool = True) -> Votes:
    """Load votes and truths of a public data set.

    Parameters
    ----------
    name : str
        The name of a data set, as `finegold datasets` lists them.
    folder : str or Path, optional
        A folder of data sets. By default the cache is used, and the data set is fetched if it is not there.
    verified : bool, default True
        Refuse files whose checksums differ from those of the registry.

    Returns
    -------
    Votes
        The votes (`annotations`) and the true classes (`truth`).

    Raises
    ------
    InputError
        If there is no such data set, if it is not in the folder, or if its files are not the original ones.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.load_dataset("val5", "my/sets")  # doctest: +SKIP
    >>> finegold.aggregate(votes.annotations)  # doctest: +SKIP
    """
    entry = data_set(name)
    if folder is None and find(name, cache_folder()) is None:
        fetch([name])
    place = find(name, folder or cache_folder())
    if place is None:
        raise InputError(f"{entry.name} is not in {folder}: expected {entry.name}/label.csv and {entry.name}/truth.csv")
    wrong = [finding for finding in _findings(entry, place) if not finding.is_good]
    if wrong and verified:
        raise InputError(refusal(wrong[0]))
    annotations, truth = _read(place)
    return Votes(entry, annotations, truth, verified=not wrong)


def verify(folder: str | Path) -> list[Finding]:
    """Check both files of every registered data set that has at least one of them in this folder."""
    found: list[Finding] = []
    for entry in data_sets().values():
        places = [Path(folder) / place for place in (entry.name, entry.source_folder) if place]
        there = [place for place in places if any((place / file).is_file() for file in FILES)]
        found += _findings(entry, there[0]) if there else []
    return found


def refusal(finding: Finding) -> str:
    """Return which file is wrong, both checksums, and what to do."""
    if not finding.found:
        return f"{finding.origin} is missing; run `finegold datasets fetch {finding.name}`"
    return (
        f"{finding.origin} is not {finding.file} of the data set {finding.name}: its SHA-256 is {finding.found}, "
        f"expected {finding.expected}; delete it and run `finegold datasets fetch {finding.name}`, "
        "or copy it from a folder with `--from DIR`"
    )


def fetch(
    names: Iterable[str] = (),
    *,
    source: str | Path | None = None,
    folder: str | Path | None = None,
    bar: Bar | None = None,
) -> dict[str, Path]:
    """Fetch data sets (by default all) into the cache and return their folders.

    `source` is a folder of data sets that are already on disk. `bar` makes a progress bar for a file.
    Files that are already complete are not fetched again, so the same call resumes after an interruption.
    """
    goal = Path(folder or cache_folder())
    entries = [data_set(name) for name in names] or list(data_sets().values())
    places = [_source_of(entry, source) for entry in entries]  # check all before the first is fetched
    for entry, place in zip(entries, places, strict=True):
        _fetch_files(entry, goal / entry.name, place, bar)
    return {entry.name: goal / entry.name for entry in entries}


def _source_of(entry: DataSet, source: str | Path | None) -> Path | None:
    """Return the folder on disk, or None for the entry's address."""
    if source is None:
        if not entry.address:
            raise InputError(f"{entry.name} has no address to fetch it from; use --from DIR")
        return None
    place = find(entry.name, source)
    if place is None:
        names = " or ".join(dict.fromkeys(f"{name}/" for name in (entry.name, entry.source_folder) if name))
        raise InputError(f"{entry.name} is not in {source}: expected {names} with {' and '.join(FILES)}")
    return place


def _fetch_files(entry: DataSet, goal: Path, place: Path | None, bar: Bar | None) -> None:
    for file in FILES:
        target = goal / file
        if target.is_file() and sha256(target) == entry.sha256[file]:
            continue
        if place is not None:
            copy(place / file, target, partial(_check, entry, file, str(place / file)))
        else:
            address = f"{entry.address.rstrip('/')}/{file}"
            download(address, target, partial(_check, entry, file, address), bar)


def _check(entry: DataSet, file: str, origin: str, path: Path) -> None:
    finding = Finding(entry.name, file, origin, entry.sha256[file], sha256(path))
    if not finding.is_good:
        raise InputError(refusal(finding))


def _findings(entry: DataSet, folder: Path) -> list[Finding]:
    paths = [folder / file for file in FILES]
    return [
        Finding(entry.name, path.name, str(path), entry.sha256[path.name], sha256(path) if path.is_file() else "")
        for path in paths
    ]


def _read(folder: Path) -> tuple[Annotations, Codes]:
    """Read votes and truths. As gold, a truth without votes becomes a class, too, and counts as missed."""
    taught = read(folder / FILES[0], gold=folder / FILES[1])
    return replace(taught, gold=np.full_like(taught.gold, MISSING)), taught.gold


def _counts(annotations: Annotations, truth: Codes) -> tuple[int, int, int, int, int]:
    n_truths = int((truth != MISSING).sum())
    return annotations.n_tasks, annotations.n_annotators, n_truths, annotations.n_classes, annotations.n_votes
