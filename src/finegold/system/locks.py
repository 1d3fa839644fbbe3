"""Locks between processes. They go with their last uses, checkpoints and the cache of kernels."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from finegold.errors import OutputError

# seconds between two attempts
RETRY_SECONDS = 0.05

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def _open_locked(path: Path, flags: int, is_leftover: bool = False) -> int | None:
    """Open a file and lock it; None if another process holds the lock."""
    # A leftover is locked only if it is this user's. On a file system without locks, nothing is
    # taken for a leftover.
    while True:
        # the user's umask applies
        handle, is_locked = os.open(path, flags, 0o666), False
        try:
            if sys.platform == "win32":
                # a locked byte cannot be read, so lock one after the content
                os.lseek(handle, 2**30, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                is_locked = True
            elif not is_leftover or os.fstat(handle).st_uid == os.getuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_locked = True
        except BlockingIOError:
            pass
        except OSError:
            is_locked = not is_leftover and sys.platform != "win32"
        finally:
            if sys.platform == "win32":
                os.lseek(handle, 0, os.SEEK_SET)
        if not is_locked:
            os.close(handle)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        # another process has just removed it
        os.close(handle)


@contextmanager
def locked(target: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep other Finegold processes from using `target` in the same way."""
    # If another process holds the lock, raise an OutputError. If `wait` is given, call it with a
    # message and wait.
    resolved = target.resolve()
    path, has_waited = resolved.with_name(f".{resolved.name[:200]}.lock"), False
    while True:
        try:
            handle = _open_locked(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise OutputError(f"{target} cannot be locked: {error.strerror} ({path})") from error
        if handle is not None:
            break
        holder = ""
        # it has just finished
        with suppress(OSError):
            holder = path.read_bytes()[:20].decode(errors="replace")
        used = f"{target} is in use by {f'process {holder}' if holder else 'another process'}"
        if wait is None:
            raise OutputError(f"{used}; wait until it has finished, or name another file")
        if not has_waited:
            wait(f"{used}; waiting until it has finished")
            has_waited = True
        time.sleep(RETRY_SECONDS)
    try:
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        if sys.platform == "win32":
            os.close(handle)
        # on Windows, a waiting process may have it open
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)
