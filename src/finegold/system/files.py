"""Files appear whole or not at all: one temporary name, one rename.

New content is written to a temporary file beside its target, reaches the disk, and then takes the
name. Whatever fails before that leaves the old file and removes the temporary one. A process that
is killed leaves its temporary files (.NAME.HEX.part), and if it had several outputs, some may be
new and the others old.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from finegold.errors import FinegoldError, OutputError

STANDARD_OUTPUT = "-"

NO_PERMISSION = (
    "there is no permission to write there, or another program has it open; close it there, choose"
    " another folder or change the permissions"
)
ERROR_MESSAGES = {
    errno.ENOSPC: "the disk is full; free some space or write elsewhere",
    errno.EDQUOT: "your disk quota is used up; free some space or write elsewhere",
    errno.EFBIG: "the file is too large for this disk; write elsewhere",
    errno.EACCES: NO_PERMISSION,
    errno.EPERM: NO_PERMISSION,
    errno.EROFS: "that disk is read-only; write elsewhere",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.EIO: "the disk failed",
    errno.EBADF: "it is closed; name a file (-o)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
}


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[Path]]:
    """Yield a temporary file for each path; they take the names of the paths if the block succeeds.

    Raises:
        OutputError: If a file cannot be written. All paths are then as they were, unless only a
            rename failed.
    """
    targets = [Path(path).expanduser() for path in paths]
    with ExitStack() as stack:
        temporaries = [stack.enter_context(_temporary_file(target)) for target in targets]
        yield temporaries
        for temporary in temporaries:
            # Windows syncs only what it can write
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        for target, temporary in zip(targets, temporaries, strict=True):
            _put_in_place(temporary, target)


@contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """Yield a new empty file, remove it at the end, and explain the errors of the block."""
    temporary = None
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a folder; name a file")
        if not target.parent.is_dir():
            raise OutputError(
                f"{target} cannot be written: there is no folder {target.parent}; create it first"
            )
        temporary = temporary_name(target)
        # with the permissions of any new file, which those of `tempfile` are not
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        yield temporary
    except FinegoldError:
        raise
    except OSError as error:
        remedy = ERROR_MESSAGES.get(error.errno or 0, error.strerror or str(error))
        raise OutputError(f"{target} cannot be written: {remedy}") from error
    finally:
        with suppress(OSError):
            if temporary is not None:
                temporary.unlink(missing_ok=True)


def temporary_name(target: Path) -> Path:
    """Return a new name beside the target, because a rename does not leave its file system.

    It ends like the target, because the suffix says the format.
    """
    final = target.resolve()
    folder = Path(tempfile.gettempdir()) if _is_device(target) else final.parent
    suffixes = "".join(target.suffixes)[-20:]
    return folder / f".{final.name[:100]}.{secrets.token_hex(6)}.part{suffixes}"


def _put_in_place(temporary: Path, target: Path) -> None:
    """Give a complete file its name. A link stays a link, and a device is written to."""
    if _is_device(target):
        with temporary.open("rb") as source, target.open("wb") as device:
            shutil.copyfileobj(source, device)
        return
    final = target.resolve()
    # on Windows, a read-only file can be neither renamed nor removed
    if final.exists() and sys.platform != "win32":
        shutil.copymode(final, temporary)
    temporary.replace(final)


def _is_device(target: Path) -> bool:
    return target.exists() and not target.is_file() and not target.is_dir()


def make_folder(folder: Path) -> None:
    """Create a folder if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} cannot be created: {error.strerror}") from error


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all data or nothing; "-" is standard output."""
    if os.fspath(path) == STANDARD_OUTPUT:
        print_bytes(data)
        return
    with replacing(path) as (temporary,):
        temporary.write_bytes(data)


def print_bytes(data: bytes) -> None:
    """Write all data to standard output, which may take a part at a time if it is unbuffered."""
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be written there. Commands ask before the long work."""
    if os.fspath(path) != STANDARD_OUTPUT:
        with _temporary_file(Path(path).expanduser()):
            pass
