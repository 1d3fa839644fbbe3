"""Atomic writes: a file is replaced completely or not at all.

New content is written to a temporary file in the folder of its target. The writing process locks
the temporary file, so that a later run can remove the files of killed processes and leave alone
those that are still being written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from finegold.errors import FinegoldError, OutputError

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


STANDARD_OUTPUT = "-"
# random bytes in the name of a temporary file
RANDOM_BYTES = 6
LIST_SUFFIX = ".moves"
# the outputs that this process has written
WRITTEN: list[Path] = []

ERROR_MESSAGES = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "your disk quota is used up; free some space or write elsewhere",
    errno.EFBIG: "the file is too large for this disk; write elsewhere",
    errno.EACCES: (
        "there is no permission to write there; choose another folder or change the permissions"
    ),
    errno.EPERM: (
        "there is no permission to write there; choose another folder or change the permissions"
    ),
    errno.EROFS: "that disk is read-only; write elsewhere",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """Yield a temporary path for each path; they replace the paths together if the block succeeds."""
    # A path that is itself a temporary path of an outer `replacing` is yielded unchanged. A process
    # that is killed between two moves leaves a list of them, and the next one makes the others.
    with ExitStack() as stack:
        targets = [Path(path).expanduser() for path in paths]
        written = {
            target: stack.enter_context(reserved(target))
            for target in targets
            if target not in _reserved
        }
        yield [written.get(target, target) for target in targets]
        with ExitStack() as moving:
            if threading.current_thread() is threading.main_thread():
                # Ctrl-C would leave new files beside old ones
                before = signal.signal(signal.SIGINT, signal.SIG_IGN)
                moving.callback(
                    signal.signal, signal.SIGINT, signal.SIG_DFL if before is None else before
                )
            # A symbolic link stays a link, and its target is replaced.
            moves = [
                (temporary, target.resolve())
                for target, temporary in written.items()
                if not _is_device(target)
            ]
            for temporary, final in moves:
                # Windows syncs only what it can write; the old mode may be read-only
                _sync(temporary, os.O_RDWR)
                # which cannot move or remove a read-only file
                if final.exists() and sys.platform != "win32":
                    shutil.copymode(final, temporary)
            # Several moves are listed in each of their folders while they are made.
            folders = (
                list(dict.fromkeys(final.parent for _, final in moves)) if len(moves) > 1 else []
            )
            name = f".{secrets.token_hex(RANDOM_BYTES)}{LIST_SUFFIX}"
            lists = [
                moving.enter_context(_reserving(partial(Path, folder, name))) for folder in folders
            ]
            text = json.dumps(
                {"moves": [list(map(str, pair)) for pair in moves], "lists": list(map(str, lists))}
            )
            for path in lists:
                path.write_text(text, encoding="utf-8")
                _sync(path, os.O_RDWR)
            for target, temporary in written.items():
                if _is_device(target):
                    with temporary.open("rb") as source, target.open("wb") as device:
                        shutil.copyfileobj(source, device)
            for temporary, final in moves:
                move(temporary, final)
                # some file systems cannot sync folders
                with suppress(OSError):
                    _sync(final.parent, os.O_RDONLY)
        WRITTEN.extend(written)


def finish_moves(folder: Path) -> list[Path]:
    """Make the moves that a killed process has left in a folder; return the files that are new now."""
    # The moves begin when all lists are whole, so a list that is not, or that lacks another, says
    # that all files are old.
    finished: list[Path] = []
    for path in folder.glob(f".{'[0-9a-f]' * 2 * RANDOM_BYTES}{LIST_SUFFIX}"):
        with suppress(OSError), _held(path) as is_abandoned:
            if not is_abandoned:
                continue
            moves, lists = _read_list(path)
            if all(_read_list(one) == (moves, lists) for one in lists):
                for temporary, final in moves:
                    if temporary.exists():
                        move(temporary, final)
                finished += [final for _, final in moves]
            for one in lists or [path]:
                one.unlink(missing_ok=True)
    return finished


def _read_list(path: Path) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """Return the moves and the lists of a list; nothing if it is not whole, or if Finegold cannot
    have written it.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        moves = [(Path(temporary), Path(final)) for temporary, final in told["moves"]]
        lists = [Path(one) for one in told["lists"]]
    except (OSError, ValueError, KeyError, TypeError):
        return [], []
    is_own = all(_is_temporary_of(*move) for move in moves) and {one.suffix for one in lists} == {
        LIST_SUFFIX
    }
    return (moves, lists) if is_own else ([], [])


def _is_temporary_of(temporary: Path, final: Path) -> bool:
    name = f"\\.{re.escape(final.name[:100])}\\.[0-9a-f]{{{2 * RANDOM_BYTES}}}\\.part.*"
    return (
        temporary.parent == final.parent
        and re.fullmatch(name, temporary.name, re.DOTALL) is not None
    )


@contextmanager
def reserved(target: Path, is_folder: bool = False) -> Iterator[Path]:
    """Yield an empty temporary file that is locked while the block runs, and explain the errors of
    the block.
    """
    # It is in the folder of the target, because a rename is atomic only within one file system, and
    # has the extension of the target, which determines the format.
    try:
        if target.is_dir() and not is_folder:
            raise OutputError(f"{target} is a folder; name a file")
        if not target.parent.is_dir():
            raise OutputError(
                f"{target} cannot be written: there is no folder {target.parent}; create it first"
            )
        finish_moves(temporary_name(target).parent)
        for leftover in abandoned(target):
            shutil.rmtree(attached_folder(leftover), ignore_errors=True)
            leftover.unlink(missing_ok=True)
        with _reserving(partial(temporary_name, target)) as temporary:
            _reserved.add(temporary)
            try:
                yield temporary
            finally:
                _reserved.discard(temporary)
    except FinegoldError:
        raise
    except OSError as error:
        number = error.errno or (errno.ENOSPC if "No space left" in str(error) else 0)
        remedy = ERROR_MESSAGES.get(number, error.strerror or str(error))
        if sys.platform == "win32" and number == errno.EACCES:
            reasons = "it is read-only, another program has it open, or there is no permission"
            remedy = f"{reasons}; close it there or choose another name"
        raise OutputError(f"{target} cannot be written: {remedy}") from error


@contextmanager
def _reserving(new_name: Callable[[], Path]) -> Iterator[Path]:
    """Yield a new empty file that is locked while the block runs, and removed after it."""
    # On Windows it is not locked, because open files cannot be moved.
    handle = None
    # another run may remove it as abandoned before it is locked
    while handle is None:
        path = new_name()
        if sys.platform == "win32":
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
            break
        handle = _open_locked(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def attached_folder(temporary: Path) -> Path:
    """Return the folder that belongs to a temporary file; if its process was killed, both are
    removed.
    """
    return temporary.with_name(f"{temporary.name}.d")


def abandoned(target: Path) -> Iterator[Path]:
    """Yield the temporary files of a target whose processes have ended. Each is locked while it is
    yielded.
    """
    final = target.resolve()
    for path in temporary_name(target).parent.glob(".*.part*"):
        if (
            _is_temporary_of(path, path.with_name(final.name))
            and path.is_file()
            and not path.is_symlink()
        ):
            # another process removed it, or there are no locks
            with suppress(OSError), _held(path) as is_abandoned:
                if is_abandoned:
                    yield path


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, if it is this user's and no process holds it; yield whether that is
    so.
    """
    handle = (
        None
        if sys.platform == "win32"
        else _open_locked(path, os.O_RDWR | os.O_NOFOLLOW, is_leftover=True)
    )
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


_reserved: set[Path] = set()


@contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """Create the folder if it does not exist. If the block fails, remove a new folder that is
    empty.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be created: {error.strerror}") from error
    try:
        yield
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all data or nothing; "-" is standard output."""
    if os.fspath(path) == STANDARD_OUTPUT:
        print_bytes(data)
        return
    with replacing(path) as (temporary,):
        temporary.write_bytes(data)


def print_bytes(data: bytes) -> None:
    """Write all data to standard output, which may accept only a part at a time if it is
    unbuffered.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be written. Commands check this before the fit."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return
    # the only reliable check
    with reserved(Path(path).expanduser()):
        pass


def temporary_name(target: Path) -> Path:
    """Return a new temporary name in the folder of the target; if that is a device, in the system's
    folder.
    """
    # It has the suffix of the target, which determines the format. All temporary names follow this
    # pattern.
    final = target.resolve()
    folder = Path(tempfile.gettempdir()) if _is_device(target) else final.parent
    return (
        folder
        / f".{final.name[:100]}.{secrets.token_hex(RANDOM_BYTES)}.part{''.join(target.suffixes)[-20:]}"
    )


def move(temporary: Path, target: Path) -> None:
    """Rename a complete file or folder to its final name. An existing folder is not replaced."""
    temporary.replace(target)


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


def _sync(path: Path, access: int) -> None:
    handle = os.open(path, access)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
