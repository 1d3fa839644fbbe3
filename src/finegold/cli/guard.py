"""Errors of commands: one message on standard error, and the exit code.

Exit codes: 0 success, 1 unexpected error, 2 bad usage, bad input or an output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer

from finegold.cli.help import Group
from finegold.cli.messages import print_error, warn
from finegold.errors import FinegoldError, FinegoldWarning, InputError
from finegold.io.databases import is_database, parse
from finegold.io.options import ReadOptions
from finegold.options import options_of
from finegold.system.files import WRITTEN

__all__ = ["Guarded", "report_error"]

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
OS_ERROR_MESSAGES = {
    errno.ENOSPC: "cannot write: the disk is full; free some space",
    errno.EDQUOT: "cannot write: the disk quota is used up; free some space",
    errno.EFBIG: "cannot write: the file is too large; raise the limit (ulimit -f), or write elsewhere",
    errno.EIO: "cannot write: the disk failed",
    errno.EBADF: "cannot write: standard output is closed; name a file (-o)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine; close some programs",
}


class Guarded(Group):
    """A group of commands that share one error handler."""

    def invoke(self, ctx: Any) -> Any:
        with guarded([*ctx._protected_args, *ctx.args]):
            return super().invoke(ctx)


@contextmanager
def guarded(words: Sequence[str] = ()) -> Iterator[None]:
    """Handle errors of the command that these words are: Typer would print other messages and use other exit codes."""
    WRITTEN.clear()
    try:
        with finegold_warnings_as_lines():
            yield
    except (FinegoldError, KeyboardInterrupt, OSError, EOFError) as error:
        raise typer.Exit(report_error(error, words)) from error


def report_error(error: BaseException, words: Sequence[str] = ()) -> int:
    """Print the error and return the exit code."""
    if isinstance(error, FinegoldError):
        said = error.worded(as_flag) if isinstance(error, InputError) else str(error)
        options = _repair(error)
        return _fail(said + (f"\ntry: {repaired(words, options)}" if options and words else ""), BAD_INPUT)
    if isinstance(error, KeyboardInterrupt):
        return _fail(f"interrupted; {_what_is_kept(error, words)}", INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # the reading process, such as head, has closed the pipe
        discard_output()
        return 0
    if isinstance(error, OSError) and error.errno in OS_ERROR_MESSAGES:
        discard_output()
        return _fail(OS_ERROR_MESSAGES[error.errno], BAD_INPUT)
    return report_bug(error)


def as_flag(name: str, value: Any) -> str:
    """Return an option of Python as the command line spells it: ("wide", True) becomes --wide."""
    return shlex.join(word for word in _flag(name, value) if word is not None)


def _flag(name: str, value: Any) -> tuple[str, str | None]:
    declared = options_of(ReadOptions).get(name)
    constants = declared.constants if declared is not None else {}
    for flag, constant in constants.items():
        if value is not None and value is not True and value == constant:
            return flag, None
    flag = declared.flag if declared is not None and declared.flag else f"--{name.replace('_', '-')}"
    if value is None or value is True:
        return flag, None
    if value is False:
        return f"--no-{flag[2:]}", None
    return flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _repair(error: FinegoldError) -> dict[str, str | None]:
    """Return the options of the first remedy that can be applied as it is; None leaves an option out."""
    remedies = getattr(error, "remedies", ())
    options = next((remedy.options for remedy in remedies if remedy.can_be_pasted), None)
    if options is None:
        found: dict[str, str | None] = getattr(error, "options", {})
        return found
    flags = {name: _flag(name, value) for name, value in options.items()}
    return {flag: None if options[name] is None else text or "" for name, (flag, text) in flags.items()}


def _what_is_kept(error: KeyboardInterrupt, words: Sequence[str]) -> str:
    """Return where the work is kept, with the command that continues it, or what was written."""
    if not str(error):
        return f"{', '.join(map(str, WRITTEN)) or 'nothing'} was written"
    return f"{error}: {repaired(words, {'--overwrite': None, '--resume': ''})}" if words else str(error)


def repaired(words: Sequence[str], options: Mapping[str, str | None]) -> str:
    """Return the command line with these options, ready to paste."""
    kept, rest = ["finegold"], iter(words)
    for word in rest:
        name, has_value, _ = word.partition("=")
        if name not in options:
            kept.append(parse(word).name if is_database(word) else word)
        elif options[name] and not has_value:
            next(rest, None)  # the value that is replaced
    added = [word for name, value in options.items() if value is not None for word in (name, value) if word]
    return shlex.join([*kept, *added])


def report_bug(error: BaseException) -> int:
    """Report an unexpected error, which is a bug in Finegold, and how to get its traceback."""
    where = "" if wants_traceback() else "; run `finegold --traceback ...` for details, and please report it"
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _fail(f"failed unexpectedly ({said}){where}", FAILED)


def _fail(message: str, code: int) -> int:
    if wants_traceback():
        traceback.print_exc()
    print_error(message)
    return code


def wants_traceback() -> bool:
    return "--traceback" in sys.argv or bool(os.environ.get("FINEGOLD_DEBUG"))


@contextmanager
def finegold_warnings_as_lines() -> Iterator[None]:
    """Print Finegold's warnings as yellow lines; other warnings are shown as usual."""
    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.simplefilter("always", FinegoldWarning)

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, FinegoldWarning):
                warn(message.worded(as_flag) if isinstance(message, FinegoldWarning) else str(message))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def discard_output() -> None:
    """Discard buffered output that cannot be written, so that Python does not print an error at exit."""
    with suppress(OSError, ValueError):  # standard output is not a file, for example in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
