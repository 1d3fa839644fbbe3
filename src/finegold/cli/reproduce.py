"""`finegold reproduce`: compute the tables and figures of the paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from finegold.paper.reproduce import Watch

__all__ = ["reproduce"]


def reproduce(
    parts: Annotated[
        list[str] | None, typer.Argument(metavar="PART", help="A part to reproduce, as in --only.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DIR", help="A folder with one subfolder per data set; by default the cache."),
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder for the files.")] = "finegold-paper",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PART", help="table2 ... table5, figure2 ... figure5. Can be repeated."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="M", help="A method to run, besides majority vote. Can be repeated."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            min=1,
            help="The number of fits at a time, each with one thread; by default one per core.",
        ),
    ] = None,
    allow_unverified: Annotated[
        bool,
        typer.Option("--allow-unverified", help="Accept data files with other checksums; the output says so."),
    ] = False,
) -> None:
    """Compute the tables and figures of the PTBCC paper and compare them with the published numbers."""
    from finegold.cli.messages import say
    from finegold.paper.reproduce import reproduce as make

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
    say(f"wrote {len(files)} files to {out}; start with {files[0]}")


@contextmanager
def _progress() -> Iterator[Watch | None]:
    """Show one progress bar over all fits, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading", total=None)
        yield lambda done, total, words: progress.update(bar, completed=done, total=total, description=words)
