"""The folder for temporary files of a running studio. Folders of killed studios are removed at the next start."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: it is not known which studios are running, so nothing is removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["LOCK", "Scratch"]

PREFIX = "finegold-studio-"
LOCK = "lock"  # a file that a running studio holds a lock on


class Scratch:
    """A temporary folder that only this user can read."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _hold(self.path)
        _remove_abandoned(self.path.parent)

    def close(self) -> None:
        self._lock.close()  # Windows removes no open file
        shutil.rmtree(self.path, ignore_errors=True)


def _hold(folder: Path) -> IO[Any]:
    """Create the lock file under its name only once it is locked, so that no other studio removes this folder."""
    if fcntl is None:
        return (folder / LOCK).open("wb")  # Windows renames no open file
    unnamed = folder / f"{LOCK}.new"
    file = unnamed.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unnamed.rename(folder / LOCK)
    return file


def _remove_abandoned(place: Path) -> None:
    for folder in place.glob(f"{PREFIX}*") if fcntl is not None else ():
        with suppress(OSError):
            if _is_own(folder) and _is_abandoned(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid()


def _is_abandoned(lock: Path) -> bool:
    """Return whether the lock exists and nobody holds it. A studio that is just starting has no lock yet."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
