"""One case of the reading corpus: files, how they are read, and what has to come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Case:
    """Small files and their expected outcome.

    The command is ``finegold aggregate FILES ARGUMENTS``, run in the folder of the files. A file whose name starts with
    an underscore is written beside the others but not named as votes (``_gold.csv`` for ``--gold _gold.csv``).
    """

    name: str
    kind: Literal["good", "dirty", "not votes"]
    dirt: str  # one phrase for the table in the documentation
    files: Mapping[str, bytes]
    arguments: tuple[str, ...] = ()  # further arguments of the command line
    votes: int | None = None  # votes counted; None if the files are refused
    says: tuple[str, ...] = field(default=())  # texts that standard error has to contain
    pasted: int | None = None  # votes counted by the command that the error proposes; None if it proposes none
