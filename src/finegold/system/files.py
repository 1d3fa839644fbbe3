"""Atomic writes: a file is replaced completely or not at all.

New content is written to a temporary file in the folder of its target. The writing process locks the temporary file, so
that a later run can remove the files of killed processes and leave alone those that are still being written.
"""

from __future__ import annotations

import errno
import glob
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from finegold.errors import FinegoldError, OutputError

RETRY_SECONDS = 0.05  # seconds between two attempts

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def _try_lock(handle: int, unsupported: bool) -> bool:
    """Lock an open file; False if another process holds the lock, `unsupported` on a file system without locks."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, 2**30, os.SEEK_SET)  # a locked byte cannot be read, so lock one after the content
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unsupported and sys.platform != "win32"
    finally:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
    return True


@contextmanager
def locked(target: Path, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep other Finegold processes from using `target` in the same way."""
    # If another process holds the lock, raise an OutputError. If `wait` is given, call it with a message and wait.
    resolved = target.resolve()
    path, has_waited = resolved.with_name(f".{resolved.name[:200]}.lock"), False
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise OutputError(f"{target} cannot be locked: {error.strerror} ({path})") from error
        if _try_lock(handle, unsupported=True):
            if is_same_file(path, handle):
                break
            os.close(handle)  # its holder has just removed it
            continue
        holder = os.read(handle, 20).decode(errors="replace")
        os.close(handle)
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
        with suppress(OSError):  # on Windows, a waiting process may have it open
            path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)


def is_same_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


STANDARD_OUTPUT = "-"
RANDOM_BYTES = 6  # random bytes in the name of a temporary file
LIST_SUFFIX = ".moves"
WRITTEN: list[Path] = []  # the outputs that this process has written

ERROR_MESSAGES = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "your disk quota is used up; free some space or write elsewhere",
    errno.EFBIG: "the file is too large for this disk; write elsewhere",
    errno.EACCES: "there is no permission to write there; choose another folder or change the permissions",
    errno.EPERM: "there is no permission to write there; choose another folder or change the permissions",
    errno.EROFS: "that disk is read-only; write elsewhere",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` if the block succeeds and is removed otherwise."""
    # If `path` is itself a temporary path of an outer `replacing`, it is yielded unchanged.
    with replacing_all([path]) as (temporary,):
        yield temporary


@contextmanager
def replacing_all(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Yield a temporary path for each path; they replace the paths together if the block succeeds."""
    # A process that is killed between two moves leaves a list of them, and the next one makes the others.
    moves: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        for target in (Path(path).expanduser() for path in paths):
            if target in _reserved:
                moves.append((target, target))
                continue  # it is a temporary path of an outer block, which moves it
            stack.enter_context(_writing(target))
            moves.append((stack.enter_context(reserved(target)), target))
        yield [temporary for temporary, _ in moves]
        with _uninterrupted():  # Ctrl-C between two moves would leave new files beside old ones
            made = [move for move in moves if move[0] != move[1]]
            finals = [(temporary, target.resolve()) for temporary, target in made if _is_replaceable(target)]
            for temporary, final in finals:  # a symbolic link stays a link, and its target is replaced
                _sync(temporary, os.O_RDWR)  # Windows syncs only what it can write; the old mode may be read-only
                if final.exists() and sys.platform != "win32":  # which cannot move or remove a read-only file
                    shutil.copymode(final, temporary)
            with ExitStack() as listed:  # while they are made, several moves are listed in each of their folders
                folders = list(dict.fromkeys(final.parent for _, final in finals)) if len(finals) > 1 else []
                name = f".{secrets.token_hex(RANDOM_BYTES)}{LIST_SUFFIX}"
                lists = [listed.enter_context(_reserving(partial(Path, folder, name))) for folder in folders]
                text = json.dumps({"moves": [list(map(str, pair)) for pair in finals], "lists": list(map(str, lists))})
                for path in lists:
                    path.write_text(text, encoding="utf-8")
                    _sync(path, os.O_RDWR)
                for temporary, target in made:
                    if not _is_replaceable(target):
                        with temporary.open("rb") as source, target.open("wb") as device:
                            shutil.copyfileobj(source, device)
                for temporary, final in finals:
                    move(temporary, final)
                    with suppress(OSError):  # some file systems cannot sync folders
                        _sync(final.parent, os.O_RDONLY)
            WRITTEN.extend(target for _, target in made)


def finish_moves(folder: Path) -> list[Path]:
    """Make the moves that a killed process has left in a folder; return the files that are new now."""
    # The moves begin when all lists are whole, so a list that is not, or that lacks another, says that all files are
    # old.
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
    """Return the moves and the lists of a list; nothing if it is not whole, or if Finegold cannot have written it."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        moves = [(Path(temporary), Path(final)) for temporary, final in told["moves"]]
        lists = [Path(one) for one in told["lists"]]
    except (OSError, ValueError, KeyError, TypeError):
        return [], []
    is_own = all(_is_temporary_of(*move) for move in moves) and {one.suffix for one in lists} == {LIST_SUFFIX}
    return (moves, lists) if is_own else ([], [])


def _is_temporary_of(temporary: Path, final: Path) -> bool:
    name = f"{re.escape(_prefix(final))}[0-9a-f]{{{2 * RANDOM_BYTES}}}\\.part.*"
    return temporary.parent == final.parent and re.fullmatch(name, temporary.name, re.DOTALL) is not None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while files are moved to their final names."""
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
    """Yield an empty temporary file that is locked while the block runs."""
    # It is in the folder of the target, because a rename is atomic only within one file system, and has the extension
    # of the target, which determines the format.
    finish_moves(_folder_of_temporary(target))
    for leftover in abandoned(target):
        shutil.rmtree(attached_folder(leftover), ignore_errors=True)
        leftover.unlink(missing_ok=True)
    with _reserving(partial(temporary_name, target)) as temporary:
        _reserved.add(temporary)
        try:
            yield temporary
        finally:
            _reserved.discard(temporary)


@contextmanager
def _reserving(new_name: Callable[[], Path]) -> Iterator[Path]:
    """Yield a new empty file that is locked while the block runs, and removed after it."""
    # On Windows it is not locked, because open files cannot be moved.
    while True:
        path = new_name()
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)  # the user's umask applies
        if sys.platform == "win32" or (_try_lock(handle, unsupported=True) and is_same_file(path, handle)):
            break
        os.close(handle)  # another run removed it as abandoned before it was locked
    if sys.platform == "win32":
        os.close(handle)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)


def attached_folder(temporary: Path) -> Path:
    """Return the folder that belongs to a temporary file; if its process was killed, both are removed."""
    return temporary.with_name(f"{temporary.name}.d")


def abandoned(target: Path) -> Iterator[Path]:
    """Yield the temporary files of a target whose processes have ended. Each is locked while it is yielded."""
    pattern = f"{glob.escape(_prefix(target))}{'[0-9a-f]' * 2 * RANDOM_BYTES}.part*"
    for found in _folder_of_temporary(target).glob(pattern):
        if found.is_dir() or found.is_symlink():
            continue
        with suppress(OSError), _held(found) as is_abandoned:  # another process removed it, or there are no locks
            if is_abandoned:
                yield found


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, if it is this user's and no process holds it; yield whether that is so."""
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        is_own = sys.platform != "win32" and os.fstat(handle).st_uid == os.getuid()
        yield is_own and _try_lock(handle, unsupported=False)  # without locks, nothing is taken for abandoned
    finally:
        os.close(handle)


_reserved: set[Path] = set()


@contextmanager
def prepared(folder: Path) -> Iterator[None]:
    """Create the folder if it does not exist. If the block fails, remove a new folder that is empty."""
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
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def print_bytes(data: bytes) -> None:
    """Write all data to standard output, which may accept only a part at a time if it is unbuffered."""
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be written. Commands check this before the fit."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return
    target = Path(path).expanduser()
    with _writing(target), reserved(target):  # the only reliable check
        pass


def temporary_name(target: Path) -> Path:
    """Return a new temporary name in the folder of the target."""
    # It has the suffix of the target, which determines the format. All temporary names follow this pattern.
    name = f"{_prefix(target)}{secrets.token_hex(RANDOM_BYTES)}.part{''.join(target.suffixes)[-20:]}"
    return _folder_of_temporary(target) / name


def move(temporary: Path, target: Path) -> None:
    """Rename a complete file or folder to its final name. An existing folder is not replaced."""
    temporary.replace(target)


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _folder_of_temporary(target: Path) -> Path:
    return target.resolve().parent if _is_replaceable(target) else Path(tempfile.gettempdir())


def _is_replaceable(target: Path) -> bool:
    return target.is_file() or target.is_dir() or not target.exists()


def _sync(path: Path, access: int) -> None:
    handle = os.open(path, access)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Refuse a folder and a target without one, and explain the errors of the block."""
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file")
        if not target.parent.is_dir():
            raise OutputError(f"{target} cannot be written: there is no folder {target.parent}; create it first")
        yield
    except FinegoldError:
        raise
    except OSError as error:
        number = error.errno or (errno.ENOSPC if "No space left" in str(error) else 0)
        remedy = ERROR_MESSAGES.get(number, error.strerror or str(error))
        if sys.platform == "win32" and number == errno.EACCES:
            reasons = "it is read-only, another program has it open, or there is no permission"
            remedy = f"{reasons}; close it there or choose another name"
        raise OutputError(f"{target} cannot be written: {remedy}") from error
