"""The public data sets of the PTBCC paper, and those that users register: names, sources,
checksums, loading.

A data set is a folder with label.csv (one row per vote) and truth.csv (one row per task with a
known truth).
"""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from finegold.errors import FinegoldError, InputError
from finegold.io.read import read
from finegold.system.files import prepared, replacing
from finegold.system.memory import system_cache_folder
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes

FILES = ("label.csv", "truth.csv")
COUNTS = ("tasks", "annotators", "truths", "classes", "labels")
SOURCE = "https://raw.githubusercontent.com/JuJuCHEN-HHU/CodeForFGBCC/3d1a21686dc710bbbf196504adb7802b4ceb6e2b/datasets/"
# seconds without a response
TIMEOUT = 30

# in the order of COUNTS
Counts = tuple[int, ...]
# name of a file -> a progress bar for Pooch
Bar = Callable[[str], Any]
# raises if the file is not the expected one
Check = Callable[[Path], None]


@dataclass(frozen=True)
class DataSet:
    """An entry of the registry. The counts are those of the paper's Table 3."""

    name: str
    title: str
    domain: str
    counts: Counts
    # file name -> checksum
    sha256: dict[str, str]
    # address of the folder with the two files; empty if it cannot be fetched
    address: str = ""

    @property
    def folders(self) -> list[str]:
        """The names that its folder may have: Finegold's and that of its source."""
        return list(
            dict.fromkeys(
                name for name in (self.name, self.address.rstrip("/").rpartition("/")[2]) if name
            )
        )


with (Path(__file__).parent / "datasets.csv").open(encoding="utf-8", newline="") as _file:
    # the data sets of the paper, in the order of its Table 3
    _REGISTRY = {
        row["title"].lower(): DataSet(
            row["title"].lower(),
            row["title"],
            row["domain"],
            tuple(int(row[name]) for name in COUNTS),
            {name: row[name] for name in FILES},
            f"{SOURCE}{row['folder']}/",
        )
        for row in csv.DictReader(_file)
    }
PAPER = list(_REGISTRY)


def data_sets() -> dict[str, DataSet]:
    """Return all registered data sets by name, the paper's eleven first."""
    return dict(_REGISTRY)


def data_set(name: str) -> DataSet:
    """Return the registered data set of this name (case-insensitive)."""
    if name.lower() not in _REGISTRY:
        raise InputError(f"there is no data set {name!r}; choose from {', '.join(_REGISTRY)}")
    return _REGISTRY[name.lower()]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(address: str, target: Path, check: Check, bar: Bar | None = None) -> None:
    """Download with Pooch, which supports proxies, certificates and time limits."""
    try:
        from pooch import HTTPDownloader
    except ImportError:
        raise InputError(
            "downloads need Pooch: pip install 'finegold[data]'; or copy files from disk (--from"
            " DIR)"
        ) from None
    # a dependency of Pooch
    from requests import RequestException

    get = HTTPDownloader(
        progressbar=bar(target.name) if bar else False, chunk_size=2**16, timeout=TIMEOUT
    )
    with prepared(target.parent), replacing(target) as (temporary,):
        try:
            get(address, str(temporary), None)
        except RequestException as error:
            answer = getattr(error.response, "status_code", None)
            reason = (
                f"the server answers {answer}"
                if answer
                else f"no connection ({type(error).__name__})"
            )
            raise FinegoldError(
                f"{address} cannot be downloaded: {reason}; check the network and try again, "
                "or obtain the file in another way and pass its folder with --from DIR"
            ) from error
        check(temporary)


@dataclass(frozen=True, eq=False)
class Votes:
    """A data set in memory: the result of `finegold.load_dataset`.

    Attributes:
        info: Name, title, source and checksums.
        annotations: The votes.
        truth (ndarray of shape (n_tasks,)): The true class of each task, as a position in
            `annotations.class_names`; -1 where it is not known.
        verified: Whether both files have the checksums of the registry.
    """

    info: DataSet
    annotations: Annotations
    truth: Codes
    verified: bool

    @property
    def counts(self) -> Counts:
        """The numbers of tasks, annotators, truths, classes and votes."""
        votes, n_truths = self.annotations, int((self.truth != MISSING).sum())
        return votes.n_tasks, votes.n_annotators, n_truths, votes.n_classes, votes.n_votes


class FileCheck(NamedTuple):
    """A file of a data set on disk, with its actual and its expected checksum."""

    name: str
    file: str
    # the path or the address
    origin: str
    expected: str
    # empty if there is no such file
    actual: str

    @property
    def is_good(self) -> bool:
        return self.actual == self.expected


def register(
    name: str, folder: str | Path, *, title: str | None = None, domain: str = "", address: str = ""
) -> DataSet:
    """Register a data set of your own for this session, with the counts and checksums of its files.

    `folder` contains label.csv and truth.csv. `address` is the web folder from which others can
    fetch them. Afterwards `load_dataset(name, folder's parent)`, `verify` and `fetch` treat it like
    the others.
    """
    folder = Path(folder)
    absent = [file for file in FILES if not (folder / file).is_file()]
    if absent:
        raise InputError(f"there is no {' and no '.join(absent)} in {folder}")
    if name.lower() != name or not name.isidentifier() or name in _REGISTRY:
        raise InputError(
            f"{name!r} is not a valid data set name: use a new name of lower-case letters, digits"
            " and _"
        )
    sums = {file: sha256(folder / file) for file in FILES}
    entry = DataSet(name, title or name, domain, (), sums, address)
    _REGISTRY[name] = replace(entry, counts=_read(entry, folder, verified=True).counts)
    return _REGISTRY[name]


def cache_folder() -> Path:
    """Return the folder of fetched data sets: FINEGOLD_CACHE, or the system's cache folder."""
    if chosen := os.environ.get("FINEGOLD_CACHE"):
        return Path(chosen).expanduser()
    return system_cache_folder()


def find(name: str, folder: str | Path) -> Path | None:
    """Return the data set's own folder, under Finegold's name or the source's; None if a file is
    missing.
    """
    candidates = (Path(folder) / own for own in data_set(name).folders)
    return next((own for own in candidates if all((own / file).is_file() for file in FILES)), None)


def load_dataset(name: str, folder: str | Path | None = None, *, verified: bool = True) -> Votes:
    """Load votes and truths of a public data set.

    Args:
        name: The name of a data set, as `finegold datasets` lists them.
        folder: A folder of data sets. By default the cache is used, and the data set is fetched if
            it is not there.
        verified: Refuse files whose checksums differ from those of the registry.

    Returns:
        The votes (`annotations`) and the true classes (`truth`).

    Raises:
        InputError: If there is no such data set, if it is not in the folder, or if its files are
            not the original ones.

    Examples:
        >>> import finegold
        >>> votes = finegold.load_dataset("val5", "my/sets")  # doctest: +SKIP
        >>> finegold.aggregate(votes.annotations)  # doctest: +SKIP
    """
    entry, own = data_set(name), find(name, folder or cache_folder())
    if folder is None and own is None:
        fetch([name])
        own = find(name, cache_folder())
    if own is None:
        raise InputError(
            f"{entry.name} is not in {folder}: expected {entry.name}/label.csv and"
            f" {entry.name}/truth.csv"
        )
    wrong = [finding for finding in _check_files(entry, own) if not finding.is_good]
    if wrong and verified:
        raise InputError(refusal(wrong[0]))
    return _read(entry, own, verified=not wrong)


def _read(entry: DataSet, folder: Path, *, verified: bool) -> Votes:
    """Read votes and truths. As gold, a truth without votes becomes a class, too, and counts as
    missed.
    """
    votes = read(folder / FILES[0], gold=folder / FILES[1])
    return Votes(
        entry, replace(votes, gold=np.full_like(votes.gold, MISSING)), votes.gold, verified
    )


def verify(folder: str | Path) -> list[FileCheck]:
    """Check both files of every registered data set that has at least one of them in this folder."""
    checks: list[FileCheck] = []
    for entry in data_sets().values():
        candidates = [Path(folder) / own for own in entry.folders]
        there = [own for own in candidates if any((own / file).is_file() for file in FILES)]
        checks += _check_files(entry, there[0]) if there else []
    return checks


def refusal(finding: FileCheck) -> str:
    """Return which file is wrong, both checksums, and what to do."""
    if not finding.actual:
        return f"{finding.origin} is missing; run `finegold datasets fetch {finding.name}`"
    return (
        f"{finding.origin} is not {finding.file} of the data set {finding.name}: its SHA-256 is"
        f" {finding.actual}, expected {finding.expected}; delete it and run `finegold datasets"
        f" fetch {finding.name}`, or copy it from a folder with `--from DIR`"
    )


def fetch(
    names: Iterable[str] = (),
    *,
    source: str | Path | None = None,
    folder: str | Path | None = None,
    bar: Bar | None = None,
) -> dict[str, Path]:
    """Fetch data sets (by default all) into the cache and return their folders.

    `source` is a folder of data sets that are already on disk. `bar` makes a progress bar for a
    file. Files that are already complete are not fetched again, so the same call resumes after an
    interruption.
    """
    goal = Path(folder or cache_folder())
    entries = [data_set(name) for name in names] or list(data_sets().values())
    # check all before the first is fetched
    for entry in entries:
        if source is None and not entry.address:
            raise InputError(f"{entry.name} has no address to fetch it from; use --from DIR")
        if source is not None and find(entry.name, source) is None:
            expected = " or ".join(f"{name}/" for name in entry.folders)
            raise InputError(
                f"{entry.name} is not in {source}: expected {expected} with {' and '.join(FILES)}"
            )
    for entry in entries:
        own = None if source is None else find(entry.name, source)
        for file in FILES:
            target = goal / entry.name / file
            origin = f"{entry.address.rstrip('/')}/{file}" if own is None else str(own / file)
            check = partial(
                _check_file, FileCheck(entry.name, file, origin, entry.sha256[file], "")
            )
            if target.is_file() and sha256(target) == entry.sha256[file]:
                continue
            if own is None:
                download(origin, target, check, bar)
                continue
            with prepared(target.parent), replacing(target) as (temporary,):
                shutil.copyfile(origin, temporary)
                check(temporary)
    return {entry.name: goal / entry.name for entry in entries}


def _check_file(expected: FileCheck, path: Path) -> None:
    finding = expected._replace(actual=sha256(path))
    if not finding.is_good:
        raise InputError(refusal(finding))


def _check_files(entry: DataSet, folder: Path) -> list[FileCheck]:
    paths = [folder / file for file in FILES]
    actual = [sha256(path) if path.is_file() else "" for path in paths]
    return [
        FileCheck(entry.name, p.name, str(p), entry.sha256[p.name], a)
        for p, a in zip(paths, actual, strict=True)
    ]
