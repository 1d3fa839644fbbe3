"""What happens when something goes wrong: one message on standard error, and the exit code.

0 well, 1 failed unexpectedly, 2 bad usage or input (or an output that cannot be written), 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from karat.cli.words import complain, warn
from karat.errors import KaratError, KaratWarning
from karat.system.files import PLACED

__all__ = ["Guarded", "ended"]

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
TROUBLES = {
    errno.ENOSPC: "cannot write: the disk is full; free some space",
    errno.EDQUOT: "cannot write: the disk quota is used up; free some space",
    errno.EFBIG: "cannot write: the file grows too big; raise the limit (ulimit -f), or write elsewhere",
    errno.EIO: "cannot write: the disk failed",
    errno.EBADF: "cannot write: standard output is closed; name a file (-o)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine; close some programs",
}


class Guarded(TyperGroup):
    """Every command runs under the same guard."""

    def invoke(self, ctx: Any) -> Any:
        with guarded():
            return super().invoke(ctx)


@contextmanager
def guarded() -> Iterator[None]:
    """These errors must not reach Typer, which has words and exit codes of its own for them."""
    PLACED.clear()
    try:
        with karat_warnings_as_lines():
            yield
    except (KaratError, KeyboardInterrupt, OSError, EOFError) as error:
        raise typer.Exit(ended(error)) from error


def ended(error: BaseException) -> int:
    """Say what went wrong. -> the exit code"""
    if isinstance(error, KaratError):
        return end(str(error), BAD_INPUT)
    if isinstance(error, KeyboardInterrupt):
        what = str(error) or f"{', '.join(map(str, PLACED)) or 'nothing'} was written"
        return end(f"interrupted; {what}", INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # the reader, such as head, has had enough
        discard_output()
        return 0
    if isinstance(error, OSError) and error.errno in TROUBLES:
        discard_output()
        return end(TROUBLES[error.errno], BAD_INPUT)
    return failed(error)


def failed(error: BaseException) -> int:
    """A mistake of ours. Says so, and how to find out more."""
    where = "" if wants_traceback() else "; run `karat --traceback ...` to see where, and please report it"
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return end(f"failed unexpectedly ({said}){where}", FAILED)


def end(message: str, code: int) -> int:
    if wants_traceback():
        traceback.print_exc()
    complain(message)
    return code


def wants_traceback() -> bool:
    return "--traceback" in sys.argv or bool(os.environ.get("KARAT_DEBUG"))


@contextmanager
def karat_warnings_as_lines() -> Iterator[None]:
    """Warnings of ours become yellow lines; those of others stay what they are."""
    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.simplefilter("always", KaratWarning)

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, KaratWarning):
                warn(str(message))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def discard_output() -> None:
    """What is left in the buffer cannot be written; without this, Python would complain when it ends."""
    with suppress(OSError, ValueError):  # where standard output is no file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
