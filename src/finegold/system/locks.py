"""File locks, which the operating system releases when the process ends for any reason."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from finegold.errors import OutputError

__all__ = ["is_same_file", "locked", "try_lock"]

RETRY_SECONDS = 0.05  # seconds between two attempts

if sys.platform == "win32":
    import msvcrt

    LOCKED_BYTE = 2**30  # a locked byte cannot be read, so lock one after the content

    def try_lock(handle: int) -> bool:
        """Lock an open file; False if another process holds the lock."""
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def try_lock(handle: int) -> bool:
        """Lock an open file; False if another process holds the lock. Raise OSError if locks are not supported."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(target: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep other Finegold processes from using `target` in the same way.

    If another process holds the lock, raise an OutputError. If `wait` is given, call it with a message and wait.
    """
    place = target.resolve()
    path = place.with_name(f".{place.name[:200]}.lock")
    handle = _acquired(path, target, wait)
    try:
        yield
    finally:
        if sys.platform == "win32":
            os.close(handle)
        with suppress(OSError):  # on Windows, a waiting process may have it open
            path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)


def is_same_file(path: Path, handle: int) -> bool:
    """Return whether the path still refers to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _acquired(path: Path, target: Path, wait: Callable[[str], None] | None) -> int:
    while True:
        handle = _opened(path, target)
        if _is_acquired(handle):
            if is_same_file(path, handle):  # otherwise its holder has just removed it
                os.truncate(handle, 0)
                os.write(handle, str(os.getpid()).encode())
                return handle
            os.close(handle)
            continue
        holder = os.read(handle, 20).decode(errors="replace")
        os.close(handle)
        used = f"{target} is in use by {f'process {holder}' if holder else 'another process'}"
        if wait is None:
            raise OutputError(f"{used}; wait until it has finished, or name another file")
        wait(f"{used}; waiting until it has finished")
        wait = _silent
        time.sleep(RETRY_SECONDS)


def _opened(path: Path, target: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(f"{target} cannot be locked: {error.strerror} ({path})") from error


def _is_acquired(handle: int) -> bool:
    try:
        return try_lock(handle)
    except OSError:  # a file system without locks: continue without one
        return True


def _silent(line: str) -> None:
    """Ignore further messages."""
