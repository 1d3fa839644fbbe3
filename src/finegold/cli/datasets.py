"""`finegold demo`, `datasets` and `reproduce`: the sample, the public data sets and the tables of the paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.messages import count, on_terminal, say
from finegold.cli.outputs import Write, write_all
from finegold.errors import InputError, OutputError

if TYPE_CHECKING:
    from finegold.paper.datasets import Bar
    from finegold.paper.fits import Watch

EXPECTED = "val5/ with label.csv and truth.csv"
COUNTS = ("tasks", "annotators", "truths", "classes", "labels")


def demo(
    out: Annotated[str, o.value("--out", metavar="DIR", help="The folder for the files.")] = "finegold-demo",
) -> None:
    """Try Finegold on a small real sample: read votes, compute labels, compare them with the truth."""
    from finegold.api.job import Job
    from finegold.io.read import read
    from finegold.io.truth import match_truth
    from finegold.io.writers import write_frame
    from finegold.results.metrics import accuracy
    from finegold.system.files import prepared, write_bytes
    from finegold.votes.sample import TASKS, TRUTH, VOTES

    folder = Path(out)
    earlier = folder / "votes.csv"
    if earlier.exists() and earlier.read_bytes() != VOTES.read_bytes():
        raise OutputError(f"{earlier} exists and is not the sample of the demo; choose another folder with --out")
    votes = read(VOTES)
    result = Job(votes, progress=on_terminal()).run()
    majority = Job(votes, method="mv").run()
    files: dict[str, tuple[str, Write]] = {
        "votes.csv": ("who said what", lambda path: write_bytes(path, VOTES.read_bytes())),
        "tasks.csv": ("the texts of the tasks", lambda path: write_bytes(path, TASKS.read_bytes())),
        "truth.csv": ("what a third person said", lambda path: write_bytes(path, TRUTH.read_bytes())),
        "labels.csv": ("a label and its probability for every task", lambda path: write_frame(result.labels(), path)),
        "annotators.csv": ("how good each annotator is", lambda path: write_frame(result.annotators(), path)),
        "model.finegold": ("the whole result, for finegold.load", result.save),
    }
    with prepared(folder):
        write_all({str(folder / name): write for name, (_, write) in files.items()})

    typer.echo(
        f"{votes.n_votes:,} votes on {votes.n_tasks} tasks: which of two answers is better?\n"
        "Two LLM judges and two people voted. A third person gave the truth, which no method sees."
    )
    _heading("Labels that a third person agrees with")
    truth = match_truth(votes, TRUTH).codes
    for name, labels in (("majority vote", majority), ("finegold", result)):
        share = accuracy(labels.posterior, truth)
        typer.echo(f"  {name:<15}{share:6.1%}  {'█' * round(40 * share)}")
    _heading("The annotators, best first (share of their votes that agree with the labels)")
    for row in result.annotators().sort("accuracy", descending=True).iter_rows(named=True):
        typer.echo(f"  {row['annotator']:<15}{row['agreement']:6.1%}  {'█' * round(40 * row['agreement'])}")
    _heading("Files")
    for name, (words, _) in files.items():
        typer.echo(f"  {folder / name!s:<30}{words}")
    typer.echo("\nWith your own votes: finegold aggregate votes.csv -o labels.csv")
    typer.echo(f"See them in a browser: finegold report {folder / 'votes.csv'}, or finegold studio")


def _heading(text: str) -> None:
    typer.echo()
    typer.secho(text, bold=True)


def list_data_sets() -> None:
    """List the data sets, with their counts and whether they are in the cache."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    from finegold.paper.datasets import cache_folder, data_sets, find

    table = Table(box=SIMPLE, caption=f"cache: {cache_folder()}")
    for title in ("name", "domain", *COUNTS, "cached"):
        table.add_column(title, justify="right" if title in COUNTS else "left")
    for entry in data_sets().values():
        here = "yes" if find(entry.name, cache_folder()) else "no"
        table.add_row(entry.name, entry.domain, *(f"{number:,}" for number in entry.counts), here)
    Console().print(table)


def data_set_info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `finegold datasets list`.")],
) -> None:
    """Show the details of a data set."""
    from finegold.paper.datasets import cache_folder, data_set, find

    entry = data_set(name)
    details = {"name": f"{entry.name} ({entry.title} in the paper)", "domain": entry.domain}
    details |= {what: f"{number:,}" for what, number in zip(COUNTS, entry.counts, strict=True)}
    details |= {file: f"{checksum} (SHA-256)" for file, checksum in entry.sha256.items()}
    details["source"] = entry.address or "none"
    details["in the cache"] = str(find(entry.name, cache_folder()) or f"no; run: finegold datasets fetch {entry.name}")
    for what, text in details.items():
        typer.echo(f"{what:<13} {text}")


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="The data sets to fetch; by default all.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        o.value("--from", metavar="DIR", help="Copy the files from this folder instead of downloading them."),
    ] = None,
) -> None:
    """Fetch data sets into the cache and verify them. Data sets in the cache are not fetched again."""
    from finegold.paper import datasets as library

    wanted = names or list(library.data_sets())
    absent = [] if names or source is None else [name for name in wanted if library.find(name, source) is None]
    if len(absent) == len(wanted):
        raise InputError(f"there is no data set in {source}; expected folders such as {EXPECTED}")
    with _bars() as bar:
        for name in wanted:
            if name not in absent:
                folder = library.fetch([name], source=source, bar=bar)[name.lower()]
                say(f"{name}: {folder}")
    if absent:
        say(f"not in {source}: {', '.join(absent)}")


def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder with one subfolder per data set.")],
) -> None:
    """Compare the files of a folder with the checksums of the registry."""
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
