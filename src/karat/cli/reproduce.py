"""karat reproduce: the tables and figures of the paper, from scratch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from karat.paper.reproduce import Watch

__all__ = ["reproduce"]


def reproduce(
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="PART", help="The same as --only.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DIR", help="A folder with a folder per data set; by default the cache."),
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the files go.")] = "karat-paper",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PART", help="table2 ... table5, figure2 ... figure5; several, or repeated."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="M", help="Only these methods (majority vote is always there). Repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Fits at a time, one thread each; by default one per core.")
    ] = None,
    allow_unverified: Annotated[
        bool,
        typer.Option("--allow-unverified", help="Take data files with other checksums, e.g. a stand-in, and say so."),
    ] = False,
) -> None:
    """Regenerate the tables and figures of the PTBCC paper, beside the paper's own numbers."""
    from karat.cli.words import say
    from karat.paper.reproduce import reproduce as make

    with _progress() as watch:
        results, files = make(
            data,
            out,
            only=[*(parts or []), *(only or [])],
            methods=methods,
            workers=jobs,
            verified=not allow_unverified,
            watch=watch,
        )
    for line in results.remarks:
        say(line)
    say(f"wrote {len(files)} files to {out}; begin with {files[0]}")


@contextmanager
def _progress() -> Iterator[Watch | None]:
    """A bar over all fits, where somebody is there to see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading", total=None)
        yield lambda done, total, words: progress.update(bar, completed=done, total=total, description=words)
