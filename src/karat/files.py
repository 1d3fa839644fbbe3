"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.errors import OutputError

__all__ = ["check_writable", "replacing"]

REMEDY = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "your quota is used up; free some space or write elsewhere",
    errno.EACCES: "permission denied; choose a folder that you may write to",
    errno.EPERM: "permission denied; choose a folder that you may write to",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.ENOENT: "the folder does not exist; create it first",
    errno.ENOTDIR: "its folder is a file; choose another path",
    errno.EISDIR: "it is a folder; name a file in it",
}


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place on success, and vanishes on failure."""
    target = Path(path)
    temporary = None
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        _settle(temporary, target)
    except OSError as error:
        raise explain(target, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Fail before long work rather than after it."""
    target = Path(path)
    folder = target.parent
    problem = (
        errno.EISDIR
        if target.is_dir()
        else errno.ENOENT
        if not folder.exists()
        else errno.ENOTDIR
        if not folder.is_dir()
        else errno.EACCES
        if not os.access(folder, os.W_OK)
        else 0
    )
    if problem:
        raise explain(target, OSError(problem, os.strerror(problem)))


def explain(path: Path, error: OSError) -> OutputError:
    if isinstance(error, OutputError):
        return error
    remedy = REMEDY.get(error.errno or 0, str(error))
    return OutputError(f"cannot write {path}: {remedy}. Nothing was changed.")


def _settle(temporary: Path, target: Path) -> None:
    """On the disk first, then under its name: a crash in between leaves the old file."""
    with temporary.open("rb") as handle:
        os.fsync(handle.fileno())
    umask = os.umask(0)
    os.umask(umask)
    temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask)
    temporary.replace(target)
