"""Locks on files that the operating system frees when a process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.errors import OutputError

__all__ = ["is_same_file", "locked", "try_lock"]

PAUSE = 0.05  # seconds between two attempts

if sys.platform == "win32":
    import msvcrt

    BEYOND = 2**30  # the locked byte cannot be read, so it lies beyond what is written

    def try_lock(handle: int) -> bool:
        """Lock an open file; False if another process holds the lock."""
        os.lseek(handle, BEYOND, os.SEEK_SET)
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
        """Lock an open file; False if another process holds the lock. OSError where the disk has no locks."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def locked(target: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep other Karat processes from using `target` in the same way.

    If another process holds the lock: raise an OutputError, or with `wait` pass it one line of text and wait.
    """
    place = target.resolve()
    path = place.with_name(f".{place.name[:200]}.lock")
    handle = _acquired(path, target, wait)
    try:
        yield
    finally:
        if sys.platform == "win32":
            os.close(handle)
        with suppress(OSError):  # on Windows, somebody who waits may have it open
            path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)


def is_same_file(path: Path, handle: int) -> bool:
    """Whether the path still leads to the file that was opened."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _acquired(path: Path, target: Path, wait: Callable[[str], None] | None) -> int:
    while True:
        handle = _opened(path, target)
        if _is_free(handle):
            if is_same_file(path, handle):  # else its holder has just ended and removed it
                os.truncate(handle, 0)
                os.write(handle, str(os.getpid()).encode())
                return handle
            os.close(handle)
            continue
        holder = os.read(handle, 20).decode(errors="replace")
        os.close(handle)
        used = f"{target} is in use by {f'process {holder}' if holder else 'another process'}"
        if wait is None:
            raise OutputError(f"{used}; wait until it has ended, or name another file")
        wait(f"{used}; waiting until it has ended")
        wait = _silent
        time.sleep(PAUSE)


def _opened(path: Path, target: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(f"{target} cannot be locked: {error.strerror} ({path})") from error


def _is_free(handle: int) -> bool:
    try:
        return try_lock(handle)
    except OSError:  # a disk without locks: go on as if nobody else were there
        return True


def _silent(line: str) -> None:
    """Say it once."""
