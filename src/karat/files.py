"""Files that are replaced as a whole."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.errors import KaratError, OutputError

__all__ = ["STANDARD_OUTPUT", "check_writable", "prepared", "print_bytes", "replacing", "write_bytes"]

STANDARD_OUTPUT = "-"

REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "your disk quota is used up; free some space or write elsewhere",
    errno.EFBIG: "the file grows too big for this disk; write elsewhere",
    errno.EACCES: "there is no permission to write there; choose another folder or change the permissions",
    errno.EPERM: "there is no permission to write there; choose another folder or change the permissions",
    errno.EROFS: "that disk is read-only; write elsewhere",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to: it takes the place of `path` if the block ends well, else it is gone."""
    target = Path(path).expanduser()
    try:
        _refuse_wrong_place(target)
        temporary = _reserve(target)
        try:
            yield temporary
            _put_in_place(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, KaratError):
            raise
        raise OutputError(_explain(target, error)) from error


@contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """The folder, made if need be; if it is new, it does not outlive a failure."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be made: {error.strerror}") from error
    try:
        yield
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """All of the data or nothing; "-" is standard output."""
    if os.fspath(path) == STANDARD_OUTPUT:
        print_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def print_bytes(data: bytes) -> None:
    """An unbuffered standard output may take a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out before the long work, not after it, that the result cannot be written."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return
    target = Path(path).expanduser()
    try:
        _refuse_wrong_place(target)
        _reserve(target).unlink()  # the one sure way to know
    except OSError as error:
        if isinstance(error, KaratError):
            raise
        raise OutputError(_explain(target, error)) from error


def _refuse_wrong_place(target: Path) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file")
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}; create it first")


def _reserve(target: Path) -> Path:
    """An empty file beside the target: moves are atomic only within one disk. Devices stay as they are."""
    folder = target.resolve().parent if _is_replaceable(target) else Path(tempfile.gettempdir())
    temporary = folder / f".{target.name[:100]}.{secrets.token_hex(6)}.part"
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # the user's umask applies
    return temporary


def _put_in_place(temporary: Path, target: Path) -> None:
    if not _is_replaceable(target):
        with temporary.open("rb") as source, target.open("wb") as device:
            shutil.copyfileobj(source, device)
        return
    final = target.resolve()  # a link stays a link, to the new content
    if final.exists():
        shutil.copymode(final, temporary)
    _to_disk(temporary)
    temporary.replace(final)
    with suppress(OSError):  # some file systems cannot do this for folders
        _to_disk(final.parent)


def _is_replaceable(target: Path) -> bool:
    return target.is_file() or not target.exists()


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _explain(target: Path, error: OSError) -> str:
    number = error.errno or (errno.ENOSPC if "No space left" in str(error) else 0)
    remedy = REMEDIES.get(number, error.strerror or str(error))
    return f"{target} cannot be written: {remedy}"
