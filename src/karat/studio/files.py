"""The files that a user may name: those in the folder where the studio was started, and those that were sent."""

from __future__ import annotations

import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from karat.errors import InputError, KaratError
from karat.studio.problems import Problem
from karat.studio.store import Row, Store

__all__ = ["Files", "Listed"]

TABLES = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx"}
READABLE = TABLES | {".json", ".manifest", ".eval", ".zip", ".gz", ".zst", ".zstd"}
MOST_LISTED = 500


class Listed(NamedTuple):
    name: str
    size: int
    changed: float


class Files:
    """Nothing outside the folder can be named, however it is written."""

    def __init__(self, folder: Path, store: Store, also: str | None = None) -> None:
        """`also` is a file of the folder that the user named, whatever its extension."""
        self.folder, self.also = folder.resolve(), also
        self.store = store
        self._scratch = tempfile.TemporaryDirectory(prefix="karat-studio-")
        self.scratch = Path(self._scratch.name)

    def close(self) -> None:
        self._scratch.cleanup()

    def temporary(self, suffix: str = "") -> Path:
        """A path in the scratch folder that nobody else has."""
        return self.scratch / f"{secrets.token_hex(8)}{suffix}"

    def list(self) -> list[Listed]:
        """Data files of the folder itself, the newest first."""
        found = [self._listed(path) for path in self.folder.iterdir() if self._is_data(path)]
        return sorted(found, key=lambda file: -file.changed)[:MOST_LISTED]

    def resolve(self, name: str) -> Path:
        """The file of this name in the folder; links that lead out of it are not followed."""
        try:
            path = (self.folder / name).resolve()
            fine = path.is_relative_to(self.folder) and self._is_data(path)
        except (OSError, ValueError):
            fine = False
        if not fine:
            raise Problem(
                404,
                "There is no such file in the folder",
                f"The studio opens data files in {self.folder}; put the file there, or drop it on the page.",
            )
        return path

    @contextmanager
    def of(self, project: Row) -> Iterator[Path]:
        """The file with a project's votes. Messages about it call it by its own name."""
        if project["place"] is not None:
            path = self.resolve(project["place"])
        elif project["upload"] is not None:
            path = self.scratch / str(project["upload"]) / safe_name(project["file"])
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                self.store.copy_to(project["upload"], path)
        else:
            raise Problem(409, "This project has no file", "Its votes were posted; post more, or drop a file.")
        try:
            yield path
        except KaratError as error:
            raise InputError(str(error).replace(f"{path.parent}/", "")) from error

    def _is_data(self, path: Path) -> bool:
        is_listed = path.suffix.lower() in READABLE and not path.name.startswith(".")
        return (is_listed or path.name == self.also) and path.is_file() and self._is_inside(path)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.folder)

    def _listed(self, path: Path) -> Listed:
        status = path.stat()
        return Listed(path.name, status.st_size, status.st_mtime)


def safe_name(name: str | None) -> str:
    """A name that a file can have on any disk; its extension tells the format, so that stays."""
    plain = re.sub(r"[^\w. -]", "_", Path(name or "").name)[-100:].lstrip(". ")
    return plain or "votes"
