"""Messages to the user: lines, progress, warnings and errors. They go to standard error; standard output holds results.

Exit codes: 0 success, 1 unexpected error, 2 bad usage, bad input or an output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from finegold.api.options import FitOptions
from finegold.errors import FinegoldError, FinegoldWarning, InputError, Placeholder, Remedy, in_python
from finegold.io.databases import is_database, parse
from finegold.io.options import ReadOptions
from finegold.options import Option, options_of
from finegold.system.files import WRITTEN, finish_moves

if TYPE_CHECKING:
    from collections.abc import Callable

    from finegold.api.job import Progress as RunProgress
    from finegold.io.tables import Progress

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


def say(line: str) -> None:
    typer.echo(line, err=True)


def warn(line: str) -> None:
    typer.secho(f"warning: {line}", fg=typer.colors.YELLOW, err=True)


def count(number: int, noun: str, plural: str = "s") -> str:
    """Return text such as "1 task", "2 tasks" or "1,000 tasks"."""
    return f"{number:,} {noun}{'' if number == 1 else plural}"


# ---- Progress


def on_terminal() -> RunProgress:
    """Return the progress display of a run: one line on standard error for reading, then one for each fit."""
    from finegold.api.job import Progress
    from finegold.fitting.progress import on_terminal

    return Progress(reading_progress, on_terminal)


@contextmanager
def reading_progress() -> Iterator[Callable[[Progress], None] | None]:
    """Show the progress of reading in one line, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    from finegold.kernels.jit import compiling

    with Console(stderr=True).status("reading ...") as line, compiling(line.update):
        yield lambda done: line.update(reading_line(done))


def reading_line(done: Progress) -> str:
    """Return text such as "reading: 12,000,000 of about 100,000,000 rows, 25.3 million per second, 4 s left"."""
    of_all = "" if done.expected is None else f" of about {done.expected:,}"
    left = "" if done.seconds_left is None else f", {done.seconds_left:.0f} s left"
    return f"reading: {done.rows:,}{of_all} rows, {done.rate / 1e6:.1f} million per second{left}"


# ---- Remedies as flags


DECLARED = options_of(ReadOptions) | options_of(FitOptions)


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, and the flags of its command. Remedies are worded for it."""

    words: tuple[str, ...] = ()
    takes_value: Mapping[str, bool] | None = None  # by flag; None if the command is not known

    def has(self, flag: str) -> bool:
        return self.takes_value is None or flag in self.takes_value

    def word(self, name: str, value: Any) -> str:
        """Return an option of Python as this command spells it: ("wide", True) becomes --wide."""
        flag, text = as_flag(name, value)
        if value is None:  # leave out the spelling that was used
            used = {word.partition("=")[0] for word in self.words}
            flag = next((spelling for spelling in spellings(name) if spelling in used), flag)
        if not self.has(flag):
            return f"{in_python(name, value)} in Python"
        return flag if text is None else f"{flag} {text if isinstance(value, Placeholder) else shlex.quote(text)}"

    def repair(self, remedies: Iterable[Remedy]) -> str:
        """Return this command line with the first remedy that can be pasted and that the command has, or nothing."""
        for remedy in remedies if self.words else ():
            added = [as_flag(name, value)[0] for name, value in remedy.options.items() if value is not None]
            if remedy.can_be_pasted and all(map(self.has, added)):
                return self.change(remedy.options)
        return ""

    def change(self, options: Mapping[str, Any]) -> str:
        """Return this command line with these options, ready to paste; None leaves an option out."""
        replaced = {spelling for name in options for spelling in spellings(name)}
        kept, rest = ["finegold"], iter(self.words)
        for word in rest:
            flag, has_value, _ = word.partition("=")
            if flag not in replaced:
                kept.append(parse(word).name if is_database(word) else word)
            elif not has_value and (self.takes_value or {}).get(flag):
                next(rest, None)
        added = [part for name, value in options.items() if value is not None for part in as_flag(name, value)]
        return shlex.join([*kept, *(part for part in added if part is not None)])


def as_flag(name: str, value: Any) -> tuple[str, str | None]:
    """Return the flag of an option of Python, and its value as text, if it takes one: ("header", 0) is --no-header."""
    declared = DECLARED.get(name, Option(""))
    for flag, constant in declared.constants.items():
        if isinstance(value, int) and value == constant.value:
            return flag, None
    flag = declared.flag_of(name)
    if value is None or value is True:
        return flag, None
    if value is False:
        return f"--no-{flag[2:]}", None
    return flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def spellings(name: str) -> list[str]:
    """Return all flags that give an option of Python, the usual one first."""
    return [as_flag(name, None)[0], *DECLARED.get(name, Option("")).constants, as_flag(name, False)[0]]


# ---- Errors and warnings


@contextmanager
def handle_errors(line: CommandLine) -> Iterator[None]:
    """Handle the errors and warnings of a command: Typer would print other messages and use other exit codes."""
    WRITTEN.clear()
    for word in line.words:
        with suppress(OSError, RuntimeError, ValueError):  # not every word can be a path
            if finished := finish_moves(Path(word).expanduser().parent):
                say(f"a run that was killed had written {', '.join(map(str, finished))}; they are in place now")
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, FinegoldWarning):
            warn(message.worded(line.word) if isinstance(message, FinegoldWarning) else str(message))
        else:
            others(message, category, *where, **more)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", FinegoldWarning)
            warnings.showwarning = show
            yield
    except (FinegoldError, KeyboardInterrupt, OSError, EOFError, MemoryError) as error:
        raise typer.Exit(report_error(error, line)) from error


def report_error(error: BaseException, line: CommandLine = CommandLine()) -> int:  # noqa: B008
    """Print the error and return the exit code."""
    wants_traceback, code = "--traceback" in sys.argv or bool(os.environ.get("FINEGOLD_DEBUG")), BAD_INPUT
    if isinstance(error, InputError):
        command = line.repair(error.remedies)
        message = error.worded(line.word) + (f"\ntry: {command}" if command else "")
    elif isinstance(error, FinegoldError):
        message = str(error)
    elif isinstance(error, KeyboardInterrupt):  # where the work is kept, with the command that continues it
        again = f": {line.change({'overwrite': None, 'resume': True})}" if line.words else ""
        kept = f"{error}{again}" if str(error) else f"{', '.join(map(str, WRITTEN)) or 'nothing'} was written"
        message, code = f"interrupted; {kept}", INTERRUPTED
    elif isinstance(error, MemoryError):
        message = "the memory does not suffice; free some, raise the limit (ulimit -v), or use a larger machine"
    elif isinstance(error, OSError) and (isinstance(error, BrokenPipeError) or error.errno in OS_ERROR_MESSAGES):
        with suppress(OSError, ValueError):  # discard buffered output, so that Python prints no error at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reading process, such as head, has closed the pipe
            return 0
        message = OS_ERROR_MESSAGES[error.errno or 0]
    else:
        how = "" if wants_traceback else "; run `finegold --traceback ...` for details, and please report it"
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message, code = f"failed unexpectedly ({what}){how}", FAILED
    if wants_traceback:
        traceback.print_exc()
    typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
    return code
