"""The public data sets of the PTBCC paper, and those that users register: names, sources, checksums, loading.

A data set is a folder with label.csv (one row per vote) and truth.csv (one row per task with a known truth).
"""

from __future__ import annotations

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
SOURCE = (
    "https://raw.githubusercontent.com/JuJuCHEN-HHU/CodeForFGBCC/3d1a21686dc710bbbf196504adb7802b4ceb6e2b/datasets/"
)


@dataclass(frozen=True)
class DataSet:
    """An entry of the registry. The counts are those of the paper's Table 3."""

    name: str
    title: str
    domain: str
    n_tasks: int
    n_annotators: int
    n_truths: int
    n_classes: int
    n_labels: int
    sha256: dict[str, str]  # file name -> checksum
    address: str = ""  # address of the folder with the two files; empty if it cannot be fetched

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Numbers of tasks, annotators, truths, classes and labels."""
        return self.n_tasks, self.n_annotators, self.n_truths, self.n_classes, self.n_labels

    @property
    def is_papers(self) -> bool:
        return self in _PAPER

    @property
    def source_folder(self) -> str:
        """Name of the folder at its source."""
        return self.address.rstrip("/").rpartition("/")[2]


def _paper(
    title: str, domain: str, counts: tuple[int, int, int, int, int], folder: str, label: str, truth: str
) -> DataSet:
    sums = dict(zip(FILES, (label, truth), strict=True))
    return DataSet(title.lower(), title, domain, *counts, sha256=sums, address=f"{SOURCE}{folder}/")


# In the order of the paper's Table 3: tasks, annotators, truths, classes, labels.
_PAPER = [
    _paper(
        *("Val7", "Sentiment", (100, 38, 100, 7, 1_000), "valence7"),
        label="3654bd7e4180c2b55440740c32fe908338d9a80a256d36a497dfcb65107df3f7",
        truth="cd2f61bdd7d5cc583a13db30ae1494e3438c15622f892611eee7ce41377cc870",
    ),
    _paper(
        *("Aircr", "Image", (593, 50, 593, 6, 1_588), "aircrowd6"),
        label="aa3864871a7cb322fa4507f2dcdfe0d0c6153333fedb3decdd7fa9802884d9df",
        truth="ceeee3f28c7a55978b6e10213bb00303dbd893a9005fd8f5a824fe45e9c0dcc7",
    ),
    _paper(
        *("CF", "Sentiment", (300, 461, 300, 5, 1_720), "CF"),
        label="b0f98ddc9afefffcaf9670f591a3441b1bfc3eab70f8e4c35746310962920f06",
        truth="8d8f1b773b310fa91e550658ef88baedc4c522ccd395a1ffa9c185327b88080f",
    ),
    _paper(
        *("Fact", "Text", (42_624, 57, 576, 3, 214_915), "fact_eval"),
        label="13bf72ca9c63ed1646a75109358acd5458908f7a14f6b85e2bb50f4abc1a0bdb",
        truth="5e0ea8af9d225cd4d03e175d279e5ab00958c6f74c3ebf85b068a271a83ad741",
    ),
    _paper(
        *("MS", "Audio", (700, 44, 700, 10, 2_945), "MS"),
        label="4e59b88dbe48a0cd545a745c9718f3955729205d29da1bf883adc64bf7a3e378",
        truth="981c635d5cde03cd903bf319b030178420bc8aa3b6a3b7846abea4e974bc2294",
    ),
    _paper(
        *("Dog", "Image", (807, 109, 807, 4, 8_070), "s4_Dog_data"),
        label="c240c0efc442e4936b35f28424d66fb04e687c0f29b254af94c26e15a71aa820",
        truth="b299494a7aba3cf5abcd3b0e002f6e899f3e1f1d864a26703325db355555cb76",
    ),
    _paper(
        *("Face", "Image", (584, 27, 584, 4, 5_242), "s4_Face_Sentiment_Identification"),
        label="fc10f625183432f6ed82d783ec0afb4a2e79009843a1c20757baad5c4e469686",
        truth="503987498b22b586a34bd9211cce88bf4fbb436396ccae3fd5e19a64a5a8dee9",
    ),
    _paper(
        *("Adult", "Level", (11_040, 825, 333, 4, 89_799), "s5_AdultContent"),
        label="61985f3c5bf0ab25ca7c8b1b9e4da80457a559dda1e62cf95daa9d4f34915e86",
        truth="1c52c5d528d16e031360d87ce384a80611bf23dedd5c7cfddf2c8ffc058772cb",
    ),
    _paper(
        *("Senti", "Sentiment", (98_980, 1_960, 1_000, 5, 569_274), "sentiment"),
        label="31e16268ae71c0af1ce09f2ea56b1b8a70786d2bd1af23701c4e2342b8d4b425",
        truth="26b6526a8ff541c86abbf57fa8736e0b4aea007c16bea4b0170cfd23ac5866e5",
    ),
    _paper(
        *("Val5", "Sentiment", (100, 38, 100, 5, 1_000), "valence5"),
        label="88642fccf917d5abae48b725466b00b121771d32cca1d4019da058343caa5b8a",
        truth="5f3ff6387d6bafd34f9b68823729ac8aa2d3b78da49fb32f3a2edf55d290d29c",
    ),
    _paper(
        *("Web", "Relevance", (2_665, 177, 2_653, 5, 15_567), "web"),
        label="90b6e66284288079fab48593c61fb7949f964d007fce077b13d21d0b7ab43211",
        truth="1b215fe642b88107fc07c0f4b9169b70e178f3a65f76926ea1fbeb86fd688c4d",
    ),
]
_REGISTRY = {entry.name: entry for entry in _PAPER}


def data_sets() -> dict[str, DataSet]:
    """Return all registered data sets by name, the paper's eleven first."""
    return dict(_REGISTRY)


def data_set(name: str) -> DataSet:
    """Return the registered data set of this name (case-insensitive)."""
    if name.lower() not in _REGISTRY:
        raise InputError(f"there is no data set {name!r}; choose from {', '.join(_REGISTRY)}")
    return _REGISTRY[name.lower()]


def add(entry: DataSet) -> DataSet:
    if entry.name.lower() != entry.name or not entry.name.isidentifier() or entry.name in _REGISTRY:
        raise InputError(
            f"{entry.name!r} is not a valid data set name: use a new name of lower-case letters, digits and _"
        )
    _REGISTRY[entry.name] = entry
    return entry


TIMEOUT = 30  # seconds without a response

Bar = Callable[[str], Any]  # name of a file -> a progress bar for Pooch
Check = Callable[[Path], None]  # raises if the file is not the expected one


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy(source: Path, target: Path, check: Check) -> None:
    with prepared(target.parent), replacing(target) as temporary:
        shutil.copyfile(source, temporary)
        check(temporary)


def download(address: str, target: Path, check: Check, bar: Bar | None = None) -> None:
    """Download with Pooch, which supports proxies, certificates and time limits."""
    try:
        from pooch import HTTPDownloader
    except ImportError:
        raise InputError(
            "downloads need Pooch: pip install 'finegold[data]'; or copy files from disk (--from DIR)"
        ) from None
    from requests import RequestException  # a dependency of Pooch

    get = HTTPDownloader(progressbar=bar(target.name) if bar else False, chunk_size=2**16, timeout=TIMEOUT)
    with prepared(target.parent), replacing(target) as temporary:
        try:
            get(address, str(temporary), None)
        except RequestException as error:
            answer = getattr(error.response, "status_code", None)
            reason = f"the server answers {answer}" if answer else f"no connection ({type(error).__name__})"
            raise FinegoldError(
                f"{address} cannot be downloaded: {reason}; check the network and try again, "
                "or obtain the file in another way and pass its folder with --from DIR"
            ) from error
        check(temporary)


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


class FileCheck(NamedTuple):
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
    wrong = [finding for finding in _check_files(entry, place) if not finding.is_good]
    if wrong and verified:
        raise InputError(refusal(wrong[0]))
    annotations, truth = _read(place)
    return Votes(entry, annotations, truth, verified=not wrong)


def verify(folder: str | Path) -> list[FileCheck]:
    """Check both files of every registered data set that has at least one of them in this folder."""
    checks: list[FileCheck] = []
    for entry in data_sets().values():
        places = [Path(folder) / place for place in (entry.name, entry.source_folder) if place]
        there = [place for place in places if any((place / file).is_file() for file in FILES)]
        checks += _check_files(entry, there[0]) if there else []
    return checks


def refusal(finding: FileCheck) -> str:
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
    finding = FileCheck(entry.name, file, origin, entry.sha256[file], sha256(path))
    if not finding.is_good:
        raise InputError(refusal(finding))


def _check_files(entry: DataSet, folder: Path) -> list[FileCheck]:
    paths = [folder / file for file in FILES]
    return [
        FileCheck(entry.name, path.name, str(path), entry.sha256[path.name], sha256(path) if path.is_file() else "")
        for path in paths
    ]


def _read(folder: Path) -> tuple[Annotations, Codes]:
    """Read votes and truths. As gold, a truth without votes becomes a class, too, and counts as missed."""
    taught = read(folder / FILES[0], gold=folder / FILES[1])
    return replace(taught, gold=np.full_like(taught.gold, MISSING)), taught.gold


def _counts(annotations: Annotations, truth: Codes) -> tuple[int, int, int, int, int]:
    n_truths = int((truth != MISSING).sum())
    return annotations.n_tasks, annotations.n_annotators, n_truths, annotations.n_classes, annotations.n_votes
