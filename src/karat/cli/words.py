"""Words for people: all of them go to standard error, so that standard output holds results only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from karat.fitting.progress import compiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from karat.api.run import Progress as RunProgress
    from karat.io.readers import Progress

__all__ = ["complain", "count", "on_terminal", "say", "warn"]


def say(line: str) -> None:
    typer.echo(line, err=True)


def warn(line: str) -> None:
    typer.secho(f"warning: {line}", fg=typer.colors.YELLOW, err=True)


def complain(line: str) -> None:
    typer.secho(f"error: {line}", fg=typer.colors.RED, err=True)


def count(number: int, thing: str, plural: str = "s") -> str:
    """1 task, 2 tasks, 1,000 tasks."""
    return f"{number:,} {thing}{'' if number == 1 else plural}"


def on_terminal() -> RunProgress:
    """The progress of a run: one line on standard error for the reading, then one for each fit."""
    from karat.api.run import Progress
    from karat.fitting.progress import on_terminal

    return Progress(reading_progress, on_terminal)


@contextmanager
def reading_progress() -> Iterator[Callable[[Progress], None] | None]:
    """One line that shows how far a long reading has come, where somebody is there to see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading ...") as line, compiling(line.update):
        yield lambda done: line.update(reading_line(done))


def reading_line(done: Progress) -> str:
    """reading: 12,000,000 of about 100,000,000 rows, 25.3 million a second, 4 s left"""
    of_all = "" if done.expected is None else f" of about {done.expected:,}"
    left = "" if done.seconds_left is None else f", {done.seconds_left:.0f} s left"
    return f"reading: {done.rows:,}{of_all} rows, {done.rate / 1e6:.1f} million a second{left}"
