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

__all__ = ["Guarded", "failed"]

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EIO: "the disk failed"}


class Guarded(TyperGroup):
    """Every command runs under the same guard."""

    def invoke(self, ctx: Any) -> Any:
        with guarded():
            return super().invoke(ctx)


@contextmanager
def guarded() -> Iterator[None]:
    try:
        with karat_warnings_as_lines():
            yield
    except KaratError as error:
        raise typer.Exit(end(str(error), BAD_INPUT)) from error
    except KeyboardInterrupt:
        raise typer.Exit(end("interrupted; nothing was written", INTERRUPTED)) from None
    except BrokenPipeError:  # the reader, such as head, has had enough
        discard_output()
        raise typer.Exit from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        discard_output()
        raise typer.Exit(end(f"cannot write: {FULL[error.errno]}; free some space", BAD_INPUT)) from error


def failed(error: Exception) -> int:
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
