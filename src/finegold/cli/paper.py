"""`finegold datasets` and `reproduce`: the public data sets and the tables of the paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, say
from finegold.errors import InputError

EXPECTED = "val5/ with label.csv and truth.csv"


def list_data_sets() -> None:
    """List the data sets, with their counts and whether they are in the cache."""
    from finegold.paper.datasets import COUNTS, cache_folder, data_sets, find

    rows = []
    for entry in data_sets().values():
        is_cached = "yes" if find(entry.name, cache_folder()) else "no"
        rows.append(
            [entry.name, entry.domain, *(f"{number:,}" for number in entry.counts), is_cached]
        )
    columns, left = ["name", "domain", *COUNTS, "cached"], ("name", "domain", "cached")
    out.print_figures(None, rows, columns, left, caption=f"cache: {cache_folder()}")


def data_set_info(
    name: str = typer.Argument(metavar="NAME", help="A name from `finegold datasets list`."),
) -> None:
    """Show the details of a data set."""
    from finegold.paper.datasets import COUNTS, cache_folder, data_set, find

    entry = data_set(name)
    details = {"name": f"{entry.name} ({entry.title} in the paper)", "domain": entry.domain}
    details |= {what: f"{number:,}" for what, number in zip(COUNTS, entry.counts, strict=True)}
    details |= {file: f"{checksum} (SHA-256)" for file, checksum in entry.sha256.items()}
    details["source"] = entry.address or "none"
    details["in the cache"] = str(
        find(entry.name, cache_folder()) or f"no; run: finegold datasets fetch {entry.name}"
    )
    for what, text in details.items():
        typer.echo(f"{what:<13} {text}")


def fetch(
    names: list[str] | None = typer.Argument(
        None, metavar="NAME", help="The data sets to fetch; by default all.", show_default=False
    ),
    source: str | None = o.opt(
        "Copy the files from this folder instead of downloading them.", "--from", metavar="DIR"
    ),
) -> None:
    """Fetch data sets into the cache and verify them. Data sets in the cache are not fetched again."""
    from finegold.paper import datasets as library

    wanted = names or list(library.data_sets())
    absent = (
        []
        if names or source is None
        else [name for name in wanted if library.find(name, source) is None]
    )
    if len(absent) == len(wanted):
        raise InputError(f"there is no data set in {source}; expected folders such as {EXPECTED}")
    with _progress() as progress:
        bar = None if progress is None else lambda name: _Bar(progress, name)
        for name in wanted:
            if name not in absent:
                folder = library.fetch([name], source=source, bar=bar)[name.lower()]
                say(f"{name}: {folder}")
    if absent:
        say(f"not in {source}: {', '.join(absent)}")


def verify(
    folder: str = typer.Argument(metavar="DIR", help="A folder with one subfolder per data set."),
) -> None:
    """Compare the files of a folder with the checksums of the registry."""
    from finegold.paper import datasets as library

    findings = library.verify(folder)
    if not findings:
        raise InputError(f"there is no data set in {folder}; expected folders such as {EXPECTED}")
    wrong = [finding for finding in findings if not finding.is_good]
    for finding in findings:
        state = "ok" if finding.is_good else "WRONG" if finding.actual else "absent"
        typer.echo(f"{finding.name}/{finding.file}  {state}")
    if changed := [library.refusal(finding) for finding in wrong if finding.actual]:
        raise InputError("\n       ".join(changed))
    say(f"{count(len(findings) - len(wrong), 'file')} as they should be, {len(wrong)} absent")


@contextmanager
def _progress(*columns: Any) -> Iterator[Any]:
    """Yield Rich's display of progress bars, or None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield progress


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


def reproduce(
    parts: list[str] | None = typer.Argument(
        None, metavar="PART", help="A part to reproduce, as in --only.", show_default=False
    ),
    data: str | None = o.opt(
        "A folder with one subfolder per data set; by default the cache.", metavar="DIR"
    ),
    folder: str = o.opt(
        "The folder for the files.", "--out", default="finegold-paper", metavar="DIR"
    ),
    only: list[str] | None = o.opt(
        "table2 ... table5, figure2 ... figure5. Can be repeated.", metavar="PART"
    ),
    methods: list[str] | None = o.opt(
        "A method to run, besides majority vote. Can be repeated.", "--method", metavar="M"
    ),
    jobs: int | None = o.opt(
        "The number of fits at a time, each with one thread; by default one per core.",
        metavar="N",
        min=1,
    ),
    allow_unverified: bool = o.opt(
        "Accept data files with other checksums; the output says so.",
        "--allow-unverified",
        default=False,
    ),
) -> None:
    """Compute the tables and figures of the PTBCC paper and compare them with the published
    numbers.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    from finegold.paper.reproduce import reproduce as make

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with _progress(*columns) as progress:
        bar = None if progress is None else progress.add_task("reading", total=None)

        def watch(done: int, total: int, words: str) -> None:
            if progress is not None:
                progress.update(bar, completed=done, total=total, description=words)

        wanted: dict[str, Any] = {
            "only": [*(parts or []), *(only or [])],
            "methods": methods,
            "verified": not allow_unverified,
        }
        results, files = make(data, folder, workers=jobs, watch=watch, **wanted)
    for line in results.remarks:
        say(line)
    say(f"wrote {len(files)} files to {folder}; start with {files[0]}")
