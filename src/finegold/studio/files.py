"""The files that a user may open: those in the folder where the studio was started, and uploads."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from finegold.errors import FinegoldError
from finegold.io.source import READABLE
from finegold.studio.problems import Problem
from finegold.studio.scratch import Scratch
from finegold.studio.store import Row, Store
from finegold.studio.wording import without_folder
from finegold.system.files import move, temporary_name

__all__ = ["CRASHED", "Files", "Listed"]

MAX_LISTED = 500
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # such a name is no file on Windows
CRASHED = "It may be damaged or need more memory than is available. It is read again only if you ask for it."


class Listed(NamedTuple):
    name: str
    size: int
    changed: float


class Files:
    """Access to the data files of one folder. Paths outside the folder are refused."""

    def __init__(self, folder: Path, store: Store, also: str | None = None) -> None:
        """`also` is a file in the folder that is listed whatever its extension."""
        self.folder, self.also = folder.resolve(), also
        self.store = store
        self._scratch = Scratch()
        self.scratch = self._scratch.path

    def close(self) -> None:
        self._scratch.close()

    def temporary(self, suffix: str = "") -> Path:
        """Return a new, unique path in the scratch folder."""
        return self.scratch / f"{secrets.token_hex(8)}{suffix}"

    def list(self) -> list[Listed]:
        """List the data files directly in the folder, the newest first."""
        found = [self._listed(path) for path in self.folder.iterdir() if self._is_data(path)]
        return sorted(found, key=lambda file: -file.changed)[:MAX_LISTED]

    def resolve(self, name: str) -> Path:
        """Return the path of a file in the folder. Links that lead out of the folder are refused."""
        try:
            path = (self.folder / name).resolve()
            fine = Path(name).name == name and self._is_data(path)
        except (OSError, ValueError):
            fine = False
        if not fine:
            raise Problem(
                404,
                "There is no such file in the folder",
                f"The studio opens data files in {self.folder}; put the file there, or drop it on the page.",
            )
        return path

    def path_of(self, project: Row) -> Path:
        """Return the path of a project's file."""
        if project["place"] is not None:
            return self.resolve(project["place"])
        if project["upload"] is None:
            raise Problem(409, "This project has no file", "Its votes were posted; post more, or drop a file.")
        return self.stored(project["upload"], project["file"])

    def stored(self, blob: int, name: str) -> Path:
        """Return the path of a file that is kept in the project."""
        path = self.scratch / str(blob) / safe_name(name)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            copy = temporary_name(path)
            self.store.copy_to(blob, copy)
            move(copy, path)  # other threads see the whole file or none
        return path

    @contextmanager
    def of(self, project: Row, *, again: bool = False) -> Iterator[Path]:
        """Yield the path of a project's file while it is read. Error messages use the file's own name.

        A file that crashed the studio before is read again only with `again`.
        """
        if project["crashed"] and not again:
            raise Problem(409, "The studio ended while it read this file", CRASHED)
        path = self.path_of(project)
        self.store.run("UPDATE project SET opening = opening + 1 WHERE id = ?", project["id"])
        try:
            yield path
        except FinegoldError as error:
            raise without_folder(error, path.parent) from error
        finally:
            with suppress(sqlite3.ProgrammingError):  # the studio was closed meanwhile
                self.store.run("UPDATE project SET opening = opening - 1, crashed = 0 WHERE id = ?", project["id"])

    def _is_data(self, path: Path) -> bool:
        is_listed = path.suffix.lower() in READABLE and not path.name.startswith(".")
        return (is_listed or path.name == self.also) and path.is_file() and self._is_inside(path)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.folder)

    def _listed(self, path: Path) -> Listed:
        status = path.stat()
        return Listed(path.name, status.st_size, status.st_mtime)


def safe_name(name: str | None) -> str:
    """Return a name that is valid on any file system. The extension is kept because it determines the format."""
    plain = re.sub(r"[^\w. -]", "_", Path(name or "").name)[-100:].strip(". ")
    return f"_{plain}" if DEVICE.match(plain) else plain or "votes"
