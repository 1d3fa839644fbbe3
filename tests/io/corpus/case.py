"""A case of the reading corpus (files, how they are read, what has to come out), and small tables for cases."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple


class Case(NamedTuple):
    """Small files and their expected outcome.

    The command is ``finegold aggregate FILES ARGUMENTS``, run in the folder of the files. A file whose name starts with
    an underscore is written beside the others but not named as votes (``_gold.csv`` for ``--gold _gold.csv``).
    """

    name: str
    files: Mapping[str, bytes]
    votes: int | None  # votes counted; None if the files are refused
    says: tuple[str, ...]  # texts that standard error has to contain
    arguments: list[str]  # further arguments of the command line
    pasted: (
        int | None
    )  # votes counted by the command that the error proposes; None if it proposes none

    def write(self, folder: Path) -> list[str]:
        """Write the files, and return the names of those that hold votes."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return [name for name in self.files if not name.startswith("_")]


def case(
    name: str,
    files: Mapping[str, bytes],
    votes: int | None,
    *says: str,
    asks: str = "",
    pasted: int | None = None,
) -> Case:
    return Case(name, files, votes, says, shlex.split(asks), pasted)


Row = Sequence[Any]
CLASSES = ("cat", "dog", "bird")


def joined(rows: Sequence[Row], separator: str = ",") -> str:
    """Write rows as text. Cells with the separator are quoted."""
    return "".join(separator.join(_cell(cell, separator) for cell in row) + "\n" for row in rows)


def table(rows: Sequence[Row], separator: str = ",") -> bytes:
    return joined(rows, separator).encode()


def lines(rows: Sequence[Row]) -> bytes:
    """Write rows as JSON Lines; the first row has the names."""
    return "".join(
        json.dumps(dict(zip(rows[0], row, strict=True))) + "\n" for row in rows[1:]
    ).encode()


def crowd(
    n_annotators: int = 3,
    n_tasks: int = 12,
    classes: Sequence[Any] = CLASSES,
    right: float = 0.8,
    seed: int = 0,
) -> list[list[Any]]:
    """Return the vote of each annotator (column) on each task (row)."""
    random = Random(seed)
    truths = [random.choice(classes) for _ in range(n_tasks)]
    return [
        [truth if random.random() < right else random.choice(classes) for _ in range(n_annotators)]
        for truth in truths
    ]


def wide_rows(names: Sequence[str], task: str = "id", **how: Any) -> list[list[Any]]:
    votes = crowd(len(names), **how)
    return [[task, *names], *([f"t{number}", *row] for number, row in enumerate(votes, 1))]


def long_rows(header: Row = ("task", "worker", "label"), **how: Any) -> list[list[Any]]:
    votes = crowd(**how)
    return [
        list(header),
        *(
            [f"t{t}", f"w{w}", label]
            for t, row in enumerate(votes, 1)
            for w, label in enumerate(row, 1)
        ),
    ]


def not_votes(header: Row, make: Callable[[Random], Row], rows: int = 12, seed: int = 1) -> bytes:
    """Return a table with an id in front of what `make` returns for each row."""
    random = Random(seed)
    return table([header, *([number, *make(random)] for number in range(1, rows + 1))])


def _cell(cell: Any, separator: str) -> str:
    text = "" if cell is None else str(cell)
    return f'"{text}"' if separator in text or "\n" in text else text
