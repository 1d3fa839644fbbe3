"""Messages to the user. They go to standard error, so that standard output holds results only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from finegold.kernels.compiling import compiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from finegold.api.job import Progress as RunProgress
    from finegold.io.read import Progress

__all__ = ["count", "on_terminal", "print_error", "say", "warn"]


def say(line: str) -> None:
    typer.echo(line, err=True)


def warn(line: str) -> None:
    typer.secho(f"warning: {line}", fg=typer.colors.YELLOW, err=True)


def print_error(line: str) -> None:
    typer.secho(f"error: {line}", fg=typer.colors.RED, err=True)


def count(number: int, thing: str, plural: str = "s") -> str:
    """Return text such as "1 task", "2 tasks" or "1,000 tasks"."""
    return f"{number:,} {thing}{'' if number == 1 else plural}"


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

    with Console(stderr=True).status("reading ...") as line, compiling(line.update):
        yield lambda done: line.update(reading_line(done))


def reading_line(done: Progress) -> str:
    """Return text such as "reading: 12,000,000 of about 100,000,000 rows, 25.3 million per second, 4 s left"."""
    of_all = "" if done.expected is None else f" of about {done.expected:,}"
    left = "" if done.seconds_left is None else f", {done.seconds_left:.0f} s left"
    return f"reading: {done.rows:,}{of_all} rows, {done.rate / 1e6:.1f} million per second{left}"
