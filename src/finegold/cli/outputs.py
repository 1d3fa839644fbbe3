"""What commands write: messages and errors on standard error, files (all or none), summaries, JSON,
and tables.

Standard output holds results, standard error everything else. Exit codes: 0 success, 1 unexpected
error, 2 bad usage, bad input or an output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finegold.errors import FinegoldError, FinegoldWarning, InputError, OutputError
from finegold.options import options_of

if TYPE_CHECKING:
    from finegold.cli.options import CommandLine
    from finegold.io.tables import Progress
    from finegold.results.data import ResultData
    from finegold.votes.annotations import Annotations

# writes to a path, or to standard output if it is -
Write = Callable[[Any], None]
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
OS_ERROR_MESSAGES = {
    errno.ENOSPC: "cannot write: the disk is full; free some space",
    errno.EDQUOT: "cannot write: the disk quota is used up; free some space",
    errno.EFBIG: (
        "cannot write: the file is too large; raise the limit (ulimit -f), or write elsewhere"
    ),
    errno.EIO: "cannot write: the disk failed",
    errno.EBADF: "cannot write: standard output is closed; name a file (-o)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine; close some programs",
}


# ---- Messages and progress


def say(line: str) -> None:
    click.echo(line, err=True)


def warn(line: str) -> None:
    click.secho(f"warning: {line}", fg="yellow", err=True)


def shown_name(word: str) -> str:
    """Return a word of the command line without the password of a database."""
    if "://" not in word:
        return word
    from finegold.io.databases import is_database, parse

    return parse(word).name if is_database(word) else word


@contextmanager
def showing_warnings(word: Callable[[str, Any], str]) -> Iterator[None]:
    """Print Finegold's warnings as messages, with options as `word` spells them."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if isinstance(message, FinegoldWarning):
            warn(message.worded(word))
        else:
            others(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", FinegoldWarning)
        warnings.showwarning = show
        yield


def count(number: int, noun: str, plural: str = "s") -> str:
    """Return text such as "1 task", "2 tasks" or "1,000 tasks"."""
    return f"{number:,} {noun}{'' if number == 1 else plural}"


@contextmanager
def reading_progress() -> Iterator[Callable[[Progress], None]]:
    """Show the progress of reading in one line."""
    from rich.console import Console

    from finegold.kernels.compiling import compiling

    with Console(stderr=True).status("reading ...") as line, compiling(line.update):
        yield lambda done: line.update(reading_line(done))


def reading_line(done: Progress) -> str:
    """Return text such as "reading: 12,000,000 of about 100,000,000 rows, 25.3 million per second,
    4 s left".
    """
    of_all = "" if done.expected is None else f" of about {done.expected:,}"
    left = "" if done.seconds_left is None else f", {done.seconds_left:.0f} s left"
    return f"reading: {done.rows:,}{of_all} rows, {done.rate / 1e6:.1f} million per second{left}"


def report_error(error: BaseException, line: CommandLine | None = None) -> int:
    """Print the error and return the exit code."""
    wants_traceback, code = (
        "--traceback" in sys.argv or bool(os.environ.get("FINEGOLD_DEBUG")),
        BAD_INPUT,
    )
    if isinstance(error, InputError):
        command = line.repair(error.remedies) if line else ""
        message = (error.worded(line.word) if line else str(error)) + (
            f"\ntry: {command}" if command else ""
        )
    elif isinstance(error, FinegoldError):
        message = str(error)
    elif isinstance(error, KeyboardInterrupt):
        message, code = "interrupted", INTERRUPTED
    elif isinstance(error, MemoryError):
        message = (
            "the memory does not suffice; free some, raise the limit (ulimit -v), or use a larger"
            " machine"
        )
    elif isinstance(error, OSError) and (
        isinstance(error, BrokenPipeError) or error.errno in OS_ERROR_MESSAGES
    ):
        # discard buffered output, so that Python prints no error at exit
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # the reading process, such as head, has closed the pipe
        if isinstance(error, BrokenPipeError):
            return 0
        message = OS_ERROR_MESSAGES[error.errno or 0]
    else:
        how = (
            ""
            if wants_traceback
            else "; run `finegold --traceback ...` for details, and please report it"
        )
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message, code = f"failed unexpectedly ({what}){how}", FAILED
    if wants_traceback:
        traceback.print_exc()
    click.secho(f"error: {message}", fg="red", err=True)
    return code


# ---- Files


def check_outputs(files: Iterable[str], *declared: Any) -> None:
    """Check before the work the outputs and inputs that these options name, as `check_files`."""
    inputs, tables, others = list(files), [], []
    for options in declared:
        for name, about in options_of(options).items():
            value = getattr(options, name)
            if about.kind in ("path", "paths"):
                inputs += value if isinstance(value, list) else [value] * isinstance(value, str)
            elif about.kind == "table":
                tables.append(value)
            elif about.kind == "output":
                others.append(value)
    check_files(tables, others, inputs)


def check_files(
    tables: Iterable[str | None], others: Iterable[str | None], inputs: Iterable[str | None]
) -> None:
    """Check that every output can be written, is not an input and is not named twice."""
    from finegold.io.databases import check_table_of_labels
    from finegold.io.writers import check_table_path
    from finegold.system.files import check_writable

    outputs = []
    for path, is_table in [*((path, True) for path in tables), *((path, False) for path in others)]:
        if path is not None and "://" in path:
            check_table_of_labels(*path.rpartition("#")[::2])
        elif path not in (None, "-"):
            outputs.append(path)
            if is_table:
                check_table_path(path)
    targets = [Path(path).expanduser().resolve() for path in outputs]
    for path, target in zip(outputs, targets, strict=True):
        if any(_is_read(target, name) for name in inputs if name is not None):
            raise InputError(f"{path} is an input and would be overwritten; name another output")
        if targets.count(target) > 1:
            raise InputError(f"{path} is named for two outputs; name another")
        check_writable(path)


def _is_read(target: Path, name: str) -> bool:
    """Return whether an input is this file, or holds or matches it."""
    from finegold.io.databases import is_database, parse
    from finegold.io.source import EXPORTS, by_extension

    if is_database(name):
        return parse(name).is_file and Path(parse(name).target).resolve() == target
    path, book = Path(name).expanduser(), Path(name.rpartition("#")[0]).expanduser()
    if path.is_dir():
        data = (
            file
            for file in path.rglob("*")
            if by_extension(file)[0] or file.name.lower().endswith(EXPORTS)
        )
        return any(file.resolve() == target for file in data)
    if target in (path.resolve(), book.resolve()):
        return True
    matches = glob(str(path), recursive=True) if not path.exists() else []  # noqa: PTH207
    return target in {Path(match).resolve() for match in matches}


def write_all(files: Mapping[str | None, Write]) -> None:
    """Write all files under temporary names, then tables of databases, and move the files to their
    final names; None and "-" are skipped.
    """
    from finegold.system.files import replacing

    named = {path: write for path, write in files.items() if path not in (None, "-")}
    wanted = {str(path): write for path, write in named.items() if "://" not in str(path)}
    with replacing(*wanted) as temporary_paths:
        for temporary, (path, write) in zip(temporary_paths, wanted.items(), strict=True):
            try:
                write(temporary)
            except OutputError as error:
                raise OutputError(str(error).replace(str(temporary), path)) from error
        for address, write in named.items():
            if "://" in str(address):
                write(address)


def frame_writer(make: Callable[[], Any]) -> Write:
    """Return a function that writes the data frame that `make` returns."""
    from finegold.io.writers import write_frame

    return lambda path: write_frame(make(), path)


def write_tables(tables: Mapping[str | None, Callable[[], Any]]) -> None:
    """Write the data frames that these functions return, by path; all or none."""
    write_all({path: frame_writer(make) for path, make in tables.items()})


# ---- The summary of a fit: a few lines on standard error, or one JSON object on standard output

# best and worst annotators in the summary
ANNOTATORS_SHOWN = 3
TO_KNOW = "to know how many labels are right, check 50 tasks (finegold sample)"


def summary_of(result: ResultData) -> dict[str, Any]:
    """Return what a command says about a result."""
    from finegold.votes.encoding import MISSING, to_list

    votes, combined = result.annotations, result.combined
    summary: dict[str, Any] = {
        "method": result.method,
        "settings": result.all_settings,
        "n_votes": int(result.votes_per_task.sum()),
        "n_tasks": len(result.task_names),
        "n_annotators": len(result.annotator_names),
        "classes": to_list(result.class_names),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "bound": result.steps[-1].bound,
        "seconds": result.seconds,
        "notes": result.notes,
        "tied": int(result.tied.sum()),
        "differs_from_majority": 0,
        "expected_accuracy": None,
        "warnings": [],
        "gold": int((result.gold != MISSING).sum()),
        "unlabelled": len(result.unlabelled),
        "never_voted": [] if votes is None else to_list(votes.never_voted),
        "models": [record._asdict() for record in combined.records] if combined else [],
        "predictions_only": len(combined.posterior) if combined else 0,
        "rows": asdict(result.counts),
        "no_vote": {} if votes is None else votes.hygiene.no_vote,
    }
    from finegold.insight.expected import expected_accuracy
    from finegold.insight.majority import n_flips, tie_warnings, what_was_voted

    if result.label_sets is not None:
        sizes = [len(result.label_sets[code]) for code in result.label_codes.tolist()]
        summary["options"] = summary.pop("classes")
        summary |= {"labels_per_task": sum(sizes) / len(sizes), "without_labels": sizes.count(0)}
    else:
        voted = what_was_voted(result.annotations)
        summary |= {"tied_votes": voted.tied, "voted": voted._asdict()}
    summary |= {
        "differs_from_majority": n_flips(result),
        "expected_accuracy": expected_accuracy(result),
    }
    return summary | {"warnings": tie_warnings(result, summary.get("tied_votes"))}


def print_summary(summary: dict[str, Any], result: ResultData) -> None:
    """Print the summary on standard error."""
    from finegold.insight.majority import Voted, voted_in_words
    from finegold.votes.encoding import to_list

    of_sets = result.label_sets is not None
    votes = (
        f"{count(summary['n_votes'], 'set')} of labels"
        if of_sets
        else count(summary["n_votes"], "vote")
    )
    classes = (
        count(len(summary["options"]), "option")
        if of_sets
        else count(len(summary["classes"]), "class", "es")
    )
    say(
        f"{summary['method']}: {votes} by {count(summary['n_annotators'], 'annotator')} "
        f"on {count(summary['n_tasks'], 'task')}, {classes}"
    )
    (say if summary["converged"] else warn)(f"{summary['stopped']}, {summary['seconds']:.2f} s")
    tied = f"{count(summary['tied'], 'task')} tied"
    if summary.get("tied_votes"):
        tied = (
            f"votes tied on {count(summary['tied_votes'], 'task')}, labels on {summary['tied']:,}"
        )
    say(
        f"{tied}; {count(summary['differs_from_majority'], 'label')} against the majority vote"
        + (" (finegold trust shows why)" if summary["differs_from_majority"] else "")
        + (f", {summary['gold']:,} given by gold truths" if summary["gold"] else "")
    )
    if of_sets:
        say(
            f"{summary['labels_per_task']:.2f} labels per task,"
            f" {count(summary['without_labels'], 'task')} with none"
        )
    if sum(summary.get("voted", {}).values()):
        say(f"{voted_in_words(Voted(**summary['voted']))}; {TO_KNOW}")
    for warning in summary["warnings"]:
        warn(warning)
    for note in result.notes:
        say(note)
    if result.annotations is not None:
        print_left_out(result.annotations)
    order = (-result.accuracy).argsort(kind="stable").tolist()
    # at most half of all in each list
    shown = max(min(ANNOTATORS_SHOWN, len(order) // 2), 1)
    best, worst = order[:shown], order[::-1][:shown]
    names = to_list(result.annotator_names)
    good, bad = (
        ", ".join(
            f"{names[code]} ({100 * result.agreement[code]:.0f} % agreement)" for code in codes
        )
        for codes in (best, worst)
    )
    say(f"best annotators: {good}; worst: {bad}")


def print_left_out(votes: Annotations) -> None:
    """Print what was left out, for commands that print no other summary of the votes."""
    if votes.left_out:
        say(f"left out: {votes.left_out}")


def print_json(value: Any) -> None:
    """Print JSON; where standard output is not UTF-8, as pipes on Windows are not, other letters
    are escaped.
    """
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"

    def plain(other: Any) -> Any:
        return other.tolist() if hasattr(other, "tolist") else str(other)

    click.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=not is_utf8, default=plain))


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- Tables on the terminal


def console() -> Any:
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            # report_error ends with exit code 0 then; Rich would end with 1
            raise BrokenPipeError

    made = Screen(highlight=False)
    # files and pipes have no width
    if not made.is_terminal:
        made.width = 140
    return made


def print_frame(title: str, frame: Any, rows: int) -> None:
    """Print the first rows of a data frame; the caption has the number of further rows."""
    from rich.markup import escape

    from finegold.votes.frames import to_polars

    def text(name: str, value: Any) -> str:
        # NaN differs from itself
        if value is None or value != value:
            return "–"
        if isinstance(value, float):
            return f"{value:.3f}"
        # other integers are names of tasks and annotators
        is_number_of = type(value) is int and name.startswith("n_")
        return escape(f"{value:,}" if is_number_of else str(value))

    shown = to_polars(frame)
    more = max(len(shown) - rows, 0)
    texts = [
        [text(name, value) for name, value in row.items()]
        for row in shown.head(rows).iter_rows(named=True)
    ]
    headings = {name: name.replace("_", " ") for name in shown.columns}
    left = [heading for name, heading in headings.items() if not shown[name].dtype.is_numeric()]
    _print_table(
        title, texts, list(headings.values()), left, caption=f"{more:,} more" if more else None
    )


def print_figures(
    title: str | None,
    rows: Iterable[Iterable[str]],
    columns: Iterable[str] = (),
    left: Any = None,
    **more: Any,
) -> None:
    """Print a table whose first column, or those in `left`, hold names, and whose other columns
    hold figures.
    """
    headings = list(columns) or ["", " "]
    _print_table(title, rows, headings, left or headings[:1], show_header=bool(columns), **more)


def _print_table(
    title: str | None, rows: Iterable[Iterable[str]], headings: list[str], left: Any, **more: Any
) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, title=title, title_justify="left", **more)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)
