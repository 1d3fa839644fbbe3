"""The eleven data sets of the paper: counts, checksums, and where they come from.

A data set is a folder with label.csv (one row per vote) and truth.csv (one row per task with a
known truth). `python -m paper.data FOLDER [NAME ...]` fetches them into a folder.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pooch
from numpy.typing import NDArray

import finegold

FILES = ("label.csv", "truth.csv")
COUNTS = ("tasks", "annotators", "truths", "classes", "labels")
SOURCE = (
    "https://raw.githubusercontent.com/JuJuCHEN-HHU/CodeForFGBCC/"
    "3d1a21686dc710bbbf196504adb7802b4ceb6e2b/datasets"
)


@dataclass(frozen=True)
class DataSet:
    """A row of the registry, datasets.csv. The counts are those of the paper's Table 3."""

    name: str
    title: str
    domain: str
    counts: tuple[int, ...]
    # file -> address
    addresses: dict[str, str]
    # file -> checksum, as Pooch writes it
    checksums: dict[str, str]


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of a data set, and the true class of each task by its position, or -1."""

    info: DataSet
    annotations: finegold.Annotations
    truth: NDArray[np.int32]

    @property
    def counts(self) -> tuple[int, ...]:
        votes, n_truths = self.annotations, int((self.truth >= 0).sum())
        return votes.n_tasks, votes.n_annotators, n_truths, votes.n_classes, votes.n_votes


def _registry() -> dict[str, DataSet]:
    with (Path(__file__).parent / "datasets.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["title"].lower(): DataSet(
                row["title"].lower(),
                row["title"],
                row["domain"],
                tuple(int(row[name]) for name in COUNTS),
                {name: f"{SOURCE}/{row['folder']}/{name}" for name in FILES},
                {name: f"sha256:{row[name]}" for name in FILES},
            )
            for row in csv.DictReader(file)
        }


# in the order of Table 3
DATA_SETS = _registry()


def present(folder: Path) -> list[str]:
    """Return the names of the data sets that are in a folder."""
    return [name for name in DATA_SETS if all((folder / name / file).is_file() for file in FILES)]


def fetch(name: str, folder: Path) -> None:
    """Download the files of a data set that are absent or are not those of the registry."""
    entry = DATA_SETS[name]
    files = pooch.create(folder / name, base_url="", registry=entry.checksums, urls=entry.addresses)
    for file in FILES:
        files.fetch(file)


def load(name: str, folder: Path) -> Votes:
    """Load votes and truths. Files with other checksums than the registry's are refused.

    A true class that nobody voted for is a class, too, and its tasks count as wrong.
    """
    entry, own = DATA_SETS[name], folder / name
    for file, expected in entry.checksums.items():
        if (found := f"sha256:{pooch.file_hash(str(own / file))}") != expected:
            raise finegold.InputError(
                f"{own / file} is not {file} of the data set {name}: its checksum is {found},"
                f" expected {expected}; fetch it with: python -m paper.data {folder} {name}"
            )
    votes = finegold.read(own / "label.csv", gold=own / "truth.csv")
    return Votes(entry, replace(votes, gold=np.full_like(votes.gold, -1)), votes.gold)


def main() -> int:
    """Fetch data sets into a folder, and go on where one cannot be fetched."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(DATA_SETS):
        print(f"usage: python -m paper.data FOLDER [NAME ...]; names: {', '.join(DATA_SETS)}")
        return 2
    failed = False
    for name in sys.argv[2:] or DATA_SETS:
        try:
            fetch(name, Path(sys.argv[1]))
        except (OSError, ValueError) as error:
            print(f"{name} cannot be fetched: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
