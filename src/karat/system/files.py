"""Files that are replaced as a whole.

New content is written to a temporary file beside its target. The process that writes it holds a lock on it, so that
the next run can remove what a killed process left behind, and leaves alone what another process is still writing.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.errors import KaratError, OutputError
from karat.system.locks import is_same_file, try_lock

__all__ = [
    "PLACED",
    "STANDARD_OUTPUT",
    "abandoned",
    "attached_folder",
    "check_writable",
    "move",
    "prepared",
    "print_bytes",
    "replacing",
    "reserved",
    "temporary_name",
    "uninterrupted",
    "write_bytes",
]

STANDARD_OUTPUT = "-"
HEX = 6  # random bytes in the name of a temporary file
PLACED: list[Path] = []  # outputs that this process has written

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
    """Yield a temporary path, which replaces `path` if the block ends without an error and is removed otherwise.

    A path that an outer `replacing` of this process yielded is written to directly.
    """
    target = Path(path).expanduser()
    if target in _reserved:
        yield target
        return
    with _explained(target):
        _refuse_wrong_place(target)
        with reserved(target) as temporary:
            yield temporary
            with uninterrupted():
                _put_in_place(temporary, target)
                PLACED.append(target)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C for the moment that it takes to move files to their places."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


@contextmanager
def reserved(target: Path) -> Iterator[Path]:
    """Yield an empty file beside the target, locked while the block runs: moves are atomic only within one disk.

    Devices keep their place. The name ends as that of the target does, since the suffix tells the format.
    """
    for leftover in abandoned(target):
        shutil.rmtree(attached_folder(leftover), ignore_errors=True)
        leftover.unlink(missing_ok=True)
    temporary, handle = _reserve(target)
    _reserved.add(temporary)
    try:
        yield temporary
    finally:
        _reserved.discard(temporary)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def attached_folder(temporary: Path) -> Path:
    """Return the folder that belongs to a reserved file, and is removed with it if its process was killed."""
    return temporary.with_name(f"{temporary.name}.d")


def abandoned(target: Path) -> Iterator[Path]:
    """Yield the temporary files of a target whose processes are gone, each locked until the next."""
    pattern = f"{glob.escape(_prefix(target))}{'[0-9a-f]' * 2 * HEX}.part*"
    for found in _folder_of_temporary(target).glob(pattern):
        if found.is_dir() or found.is_symlink():
            continue
        with suppress(OSError):  # somebody else removed it, or it cannot be told whether its process lives
            handle = os.open(found, os.O_RDWR)
            try:
                if sys.platform != "win32" and try_lock(handle):
                    yield found
            finally:
                os.close(handle)


_reserved: set[Path] = set()


@contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """Create the folder if needed. Remove it again if it is new and the block fails."""
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
    """Write all of the data or nothing; "-" is standard output."""
    if os.fspath(path) == STANDARD_OUTPUT:
        print_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def print_bytes(data: bytes) -> None:
    """Write all bytes to standard output, which may take a part at a time if it is unbuffered."""
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse, before the long work, a path that cannot be written."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return
    target = Path(path).expanduser()
    with _explained(target):
        _refuse_wrong_place(target)
        with reserved(target):  # the one sure way to know
            pass


def _refuse_wrong_place(target: Path) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file")
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}; create it first")


def temporary_name(target: Path) -> Path:
    """Return a new name beside the target, for what is to take its place.

    It ends as the target does, since the suffix tells the format. This is the only pattern of temporary names.
    """
    name = f"{_prefix(target)}{secrets.token_hex(HEX)}.part{''.join(target.suffixes)[-20:]}"
    return _folder_of_temporary(target) / name


def move(temporary: Path, target: Path) -> None:
    """Put a whole file or folder in its place: the only rename. A folder that is there is not replaced."""
    temporary.replace(target)


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _folder_of_temporary(target: Path) -> Path:
    return target.resolve().parent if _is_replaceable(target) else Path(tempfile.gettempdir())


def _reserve(target: Path) -> tuple[Path, int | None]:
    """Create a file and return the handle that locks it. Windows cannot move an open file, so none is locked there."""
    while True:
        temporary = temporary_name(target)
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)  # the user's umask applies
        if sys.platform == "win32":
            os.close(handle)
            return temporary, None
        if _is_held(handle) and is_same_file(temporary, handle):
            return temporary, handle
        os.close(handle)  # another run took it for abandoned before it was locked


def _is_held(handle: int) -> bool:
    try:
        return try_lock(handle)
    except OSError:  # a disk without locks: nobody will take it for abandoned
        return True


def _put_in_place(temporary: Path, target: Path) -> None:
    if not _is_replaceable(target):
        with temporary.open("rb") as source, target.open("wb") as device:
            shutil.copyfileobj(source, device)
        return
    final = target.resolve()  # a link stays a link, to the new content
    if final.exists():
        shutil.copymode(final, temporary)
    _to_disk(temporary)
    move(temporary, final)
    with suppress(OSError):  # some file systems cannot do this for folders
        _to_disk(final.parent)


def _is_replaceable(target: Path) -> bool:
    return target.is_file() or target.is_dir() or not target.exists()


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, KaratError):
            raise
        raise OutputError(_explain(target, error)) from error


def _explain(target: Path, error: OSError) -> str:
    number = error.errno or (errno.ENOSPC if "No space left" in str(error) else 0)
    remedy = REMEDIES.get(number, error.strerror or str(error))
    return f"{target} cannot be written: {remedy}"
