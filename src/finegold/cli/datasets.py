"""`finegold datasets`: list, fetch and verify the public data sets of the paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli.help import Command, Group
from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.paper.datasets import Bar, DataSet

__all__ = ["datasets"]

EXPECTED = "val5/ with label.csv and truth.csv"

datasets = typer.Typer(
    cls=Group, help="List, fetch and verify the public data sets of the paper.", no_args_is_help=True
)


@datasets.command("list", cls=Command)
def list_() -> None:
    """List the data sets, with their counts and whether they are in the cache."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from finegold.paper.datasets import cache_folder, data_sets, find

    table = Table(box=SIMPLE, caption=f"cache: {cache_folder()}")
    for heading in ("name", "domain"):
        table.add_column(heading)
    for heading in ("tasks", "annotators", "truths", "classes", "labels"):
        table.add_column(heading, justify="right")
    table.add_column("cached")
    for entry in data_sets().values():
        here = "yes" if find(entry.name, cache_folder()) else "no"
        table.add_row(entry.name, entry.domain, *(f"{number:,}" for number in entry.counts), here)
    Console().print(table)


@datasets.command(cls=Command)
def info(name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `finegold datasets list`.")]) -> None:
    """Show the details of a data set."""
    from finegold.paper.datasets import cache_folder, data_set, find

    entry = data_set(name)
    place = find(entry.name, cache_folder())
    for line in _lines(entry):
        typer.echo(line)
    typer.echo(f"in the cache  {place or 'no; run: finegold datasets fetch ' + entry.name}")


@datasets.command(cls=Command)
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="The data sets to fetch; by default all.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="DIR", help="Copy the files from this folder instead of downloading them."),
    ] = None,
) -> None:
    """Fetch data sets into the cache and verify them. Data sets in the cache are not fetched again."""
    from finegold.cli.messages import say
    from finegold.paper import datasets as library

    wanted = names or list(library.data_sets())
    absent = [] if names or source is None else [name for name in wanted if library.find(name, source) is None]
    if len(absent) == len(wanted):
        raise InputError(f"there is no data set in {source}; expected folders such as {EXPECTED}")
    with _bars() as bar:
        for name in wanted:
            if name not in absent:
                place = library.fetch([name], source=source, bar=bar)[name.lower()]
                say(f"{name}: {place}")
    if absent:
        say(f"not in {source}: {', '.join(absent)}")


@datasets.command(cls=Command)
def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder with one subfolder per data set.")],
) -> None:
    """Compare the files of a folder with the checksums of the registry."""
    from finegold.cli.messages import count, say
    from finegold.paper.datasets import refusal
    from finegold.paper.datasets import verify as look

    findings = look(folder)
    if not findings:
        raise InputError(f"there is no data set in {folder}; expected folders such as {EXPECTED}")
    wrong = [finding for finding in findings if not finding.is_good]
    for finding in findings:
        state = "ok" if finding.is_good else "WRONG" if finding.found else "absent"
        typer.echo(f"{finding.name}/{finding.file}  {state}")
    changed = [refusal(finding) for finding in wrong if finding.found]
    if changed:
        raise InputError("\n       ".join(changed))
    say(f"{count(len(findings) - len(wrong), 'file')} as they should be, {len(wrong)} absent")


def _lines(entry: DataSet) -> Iterator[str]:
    yield f"name          {entry.name} ({entry.title} in the paper)"
    yield f"domain        {entry.domain}"
    for what, number in zip(("tasks", "annotators", "truths", "classes", "labels"), entry.counts, strict=True):
        yield f"{what:<13} {number:,}"
    for file, checksum in entry.sha256.items():
        yield f"{file:<13} {checksum} (SHA-256)"
    yield f"source        {entry.address or 'none'}"


@contextmanager
def _bars() -> Iterator[Bar | None]:
    """Yield a function that makes one progress bar per file, or None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield lambda name: _Bar(progress, name)


class _Bar:
    """A Rich progress bar with the interface that Pooch expects."""

    def __init__(self, progress: Any, name: str) -> None:
        self._progress, self._name, self._task = progress, name, progress.add_task(name, total=None)
        self.total: int | None = None

    def update(self, n_bytes: int) -> None:
        self._progress.update(self._task, advance=n_bytes, total=self.total)

    def reset(self) -> None:
        self._progress.reset(self._task, total=self.total)

    def close(self) -> None:
        self._progress.stop_task(self._task)
