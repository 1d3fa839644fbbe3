"""The files that a user may open: those in the folder where the studio was started, and uploads."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from finegold.errors import FinegoldError, InputError
from finegold.io.source import READABLE
from finegold.io.tables import open_table
from finegold.studio.problems import Problem, rename_files
from finegold.studio.store import Row, Store
from finegold.system.files import replacing

try:
    import fcntl
except ImportError:  # Windows: it is not known which studios are running, so nothing is removed
    fcntl = None  # type: ignore[assignment]

MAX_LISTED = 500
DEVICE = re.compile(
    r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE
)  # such a name is not a file on Windows
CRASHED = "It may be damaged or need more memory than is available. It is read again only if you ask for it."
PREFIX = "finegold-studio-"
# Suffixes of files that are shown, and their media types. SVG is left out because it may contain scripts.
MEDIA: dict[str, str] = {
    **{f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "avif", "bmp")},
    ".jpg": "image/jpeg",
    **{
        ".mp3": "audio/mpeg",
        ".wav": "audio/wav",
        ".ogg": "audio/ogg",
        ".flac": "audio/flac",
        ".m4a": "audio/mp4",
    },
    **{".mp4": "video/mp4", ".webm": "video/webm", ".pdf": "application/pdf"},
}
FILE_BODY = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}
}  # of a route
LOCK = "lock"  # a file that a running studio holds a lock on


class Listed(BaseModel):
    name: str
    size: int
    changed: float


class Files:
    """Access to the data files of one folder. Paths outside the folder are refused."""

    def __init__(self, folder: Path, store: Store, also: str | None = None) -> None:
        """`also` is a file in the folder that is listed whatever its extension."""
        self.folder, self.also, self.store = folder.resolve(), also, store
        self._scratch = Scratch()
        self.scratch, self.close = self._scratch.path, self._scratch.close

    def new_path(self, suffix: str = "") -> Path:
        return self.scratch / f"{secrets.token_hex(8)}{suffix}"

    @contextmanager
    def temporary(self, suffix: str = "") -> Iterator[Path]:
        """Yield the path of a file to be written, which is removed at the end."""
        path = self.new_path(suffix)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def keep(self, write: Callable[[Path], object], suffix: str) -> int:
        """Keep what `write` writes into a file in the project file, and return the id of its bytes."""
        with self.temporary(suffix) as path:
            write(path)
            return self.store.keep_file(path)

    def list(self) -> list[Listed]:
        """List the data files directly in the folder, the newest first."""
        states = {path.name: path.stat() for path in self.folder.iterdir() if self._is_data(path)}
        listed = [
            Listed(name=name, size=state.st_size, changed=state.st_mtime)
            for name, state in states.items()
        ]
        return sorted(listed, key=lambda file: -file.changed)[:MAX_LISTED]

    def resolve(self, name: str) -> Path:
        """Return the path of a file in the folder. Links that lead out of the folder are refused."""
        try:
            path = (self.folder / name).resolve()
            fine = Path(name).name == name and self._is_data(path)
        except (OSError, ValueError):
            fine = False
        if not fine:
            detail = f"The studio opens data files in {self.folder}; put the file there, or drop it on the page."
            raise Problem(404, "There is no such file in the folder", detail)
        return path

    def subfolder(self, name: str) -> Path | None:
        """Return a folder in the folder that holds files to be shown; None if there is none of this name."""
        with suppress(OSError, ValueError):
            path = (self.folder / name).resolve()
            is_inside = Path(name).name == name and path.parent == self.folder and path.is_dir()
            if is_inside and any(file.suffix.lower() in MEDIA for file in path.iterdir()):
                return path
        return None

    def path_of(self, project: Row) -> Path:
        if project["place"] is not None:
            return self.resolve(project["place"])
        if project["upload"] is None:
            raise Problem(
                409, "This project has no file", "Its votes were posted; post more, or drop a file."
            )
        return self.stored(project["upload"], project["file"])

    def stored(self, blob: int, name: str) -> Path:
        path = self.scratch / str(blob) / safe_name(name)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            # other threads see the whole file or none
            with replacing(path) as (copy,):
                self.store.copy_to(blob, copy)
        return path

    @contextmanager
    def of(self, project: Row, *, again: bool = False) -> Iterator[Path]:
        """Yield the path of a project's file while it is read; after a crash only with `again`."""
        if project["crashed"] and not again:
            raise Problem(409, "The studio ended while it read this file", CRASHED)
        path = self.path_of(project)
        self.store.run("UPDATE project SET opening = opening + 1 WHERE id = ?", project["id"])
        try:
            yield path
        except FinegoldError as error:
            raise rename_files(error, {f"{path.parent}{os.sep}": ""}) from error
        finally:
            with suppress(sqlite3.ProgrammingError):  # the studio was closed meanwhile
                self.store.run(
                    "UPDATE project SET opening = opening - 1, crashed = 0 WHERE id = ?",
                    project["id"],
                )

    def _is_data(self, path: Path) -> bool:
        is_listed = path.suffix.lower() in READABLE and not path.name.startswith(".")
        is_inside = path.resolve().is_relative_to(self.folder)
        return (is_listed or path.name == self.also) and path.is_file() and is_inside


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a table; none if it cannot be read."""
    with suppress(InputError):
        return [str(column) for column in open_table(str(path)).columns]
    return []


def safe_name(name: str | None) -> str:
    """Return a name that is valid on any file system. The extension is kept because it determines the format."""
    plain = re.sub(r"[^\w. -]", "_", Path(name or "").name)[-100:].strip(". ")
    return f"_{plain}" if DEVICE.match(plain) else plain or "votes"


class Scratch:
    """A temporary folder that only this user can read. Folders of killed studios are removed at the next start."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        if fcntl is None:
            self._lock: IO[Any] = (self.path / LOCK).open("wb")  # Windows renames no open file
            return
        # The lock gets its name only once it is held, so that no other studio removes this folder.
        unnamed = self.path / f"{LOCK}.new"
        self._lock = unnamed.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(self.path / LOCK)
        for folder in self.path.parent.glob(f"{PREFIX}*"):
            with suppress(
                OSError
            ):  # a studio that is just starting has no lock yet; one that runs holds it
                if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                    continue
                with (folder / LOCK).open("rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        self._lock.close()  # Windows removes no open file
        shutil.rmtree(self.path, ignore_errors=True)
