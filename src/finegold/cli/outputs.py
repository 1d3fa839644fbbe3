"""What commands write: messages and errors on standard error, files (all or none), summaries, JSON,
and tables.

Standard output holds results, standard error everything else. Exit codes: 0 success, 1 unexpected
error, 2 bad usage, bad input or an output that cannot be written, 130 interrupted.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finegold.errors import FinegoldError, FinegoldWarning, InputError, OutputError
from finegold.options import options_of
from finegold.system.files import ERROR_MESSAGES, check_writable, replacing
from finegold.system.memory import count as count

if TYPE_CHECKING:
    from finegold.cli.options import CommandLine
    from finegold.results.data import ResultData
    from finegold.votes.annotations import Annotations

# writes to a path, or to standard output if it is -
Write = Callable[[Any], None]
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# characters of a table where there is no terminal
WIDTH = 100


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


@contextmanager
def reading_progress() -> Iterator[Callable[[int], None]]:
    """Show the progress of reading in one line."""
    from rich.console import Console

    from finegold.kernels.compiling import compiling

    with Console(stderr=True).status("reading ...") as line, compiling(line.update):
        yield lambda n_rows: line.update(f"reading: {n_rows:,} rows")


def report_error(error: BaseException, line: CommandLine | None = None) -> int:
    """Print the error and return the exit code."""
    wants_traceback = "--traceback" in sys.argv or bool(os.environ.get("FINEGOLD_DEBUG"))
    code = BAD_INPUT
    if isinstance(error, InputError) and line is not None:
        command = line.repair(error.remedies)
        message = error.worded(line.word) + (f"\ntry: {command}" if command else "")
    elif isinstance(error, FinegoldError):
        message = str(error)
    elif isinstance(error, KeyboardInterrupt):
        message, code = "interrupted", INTERRUPTED
    elif isinstance(error, MemoryError):
        message = (
            "the memory does not suffice; free some, raise the limit (ulimit -v), or use a larger"
            " machine"
        )
    elif isinstance(error, BrokenPipeError):
        # the reading process, such as head, has closed the pipe
        _discard_output()
        return 0
    elif isinstance(error, OSError) and error.errno in ERROR_MESSAGES:
        _discard_output()
        message = f"cannot write: {ERROR_MESSAGES[error.errno]}"
    else:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        how = "; run `finegold --traceback ...` for details, and please report it"
        message, code = f"failed unexpectedly ({what}){'' if wants_traceback else how}", FAILED
    if wants_traceback:
        traceback.print_exc()
    click.secho(f"error: {message}", fg="red", err=True)
    return code


def _discard_output() -> None:
    """Discard what standard output still buffers, so that Python prints no error at its exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---- Files


def check_outputs(files: Iterable[str], *declared: Any) -> None:
    """Check before the work the outputs and inputs that these options name, as `check_files`."""
    named: dict[str, list[str | None]] = {"path": list(files), "table": [], "output": []}
    for options in declared:
        for name, about in options_of(options).items():
            value = getattr(options, name)
            values = value if isinstance(value, list) else [value] * isinstance(value, str)
            named.setdefault(about.kind.removesuffix("s"), []).extend(values)
    check_files(named["table"], named["output"], named["path"])


def check_files(
    tables: Iterable[str | None], others: Iterable[str | None], inputs: Iterable[str | None]
) -> None:
    """Check that every output can be written, is not an input and is not named twice."""
    from finegold.io.databases import check_table_of_labels
    from finegold.io.writers import check_table_path

    targets: list[Path] = []
    read = [name for name in inputs if name is not None]
    outputs = [*((path, True) for path in tables), *((path, False) for path in others)]
    for path, is_table in outputs:
        if path is None or path == "-":
            continue
        if "://" in path:
            check_table_of_labels(*path.rpartition("#")[::2])
            continue
        if is_table:
            check_table_path(path)
        target = Path(path).expanduser().resolve()
        if any(_is_read(target, name) for name in read):
            raise InputError(f"{path} is an input and would be overwritten; name another output")
        if target in targets:
            raise InputError(f"{path} is named for two outputs; name another")
        targets.append(target)
        check_writable(path)


def _is_read(target: Path, name: str) -> bool:
    """Return whether an input is this file, or holds or matches it."""
    from finegold.io.databases import is_database, parse
    from finegold.io.source import EXPORTS, by_extension

    if is_database(name):
        return parse(name).is_file and Path(parse(name).target).resolve() == target
    path = Path(name).expanduser()
    if path.is_dir():
        data = (file for file in path.rglob("*") if file.resolve() == target)
        return any(by_extension(file)[0] or file.name.lower().endswith(EXPORTS) for file in data)
    # a sheet of a workbook, or a pattern
    matches = [] if path.exists() else [name.rpartition("#")[0], *glob(str(path), recursive=True)]  # noqa: PTH207
    return target in {path.resolve(), *(Path(match).resolve() for match in matches)}


def write_all(files: Mapping[str | None, Write]) -> None:
    """Write all files under temporary names, then tables of databases, and move the files to their
    final names; None and "-" are skipped.
    """
    named = {str(path): write for path, write in files.items() if path not in (None, "-")}
    wanted = {path: write for path, write in named.items() if "://" not in path}
    with replacing(*wanted) as temporary_paths:
        for temporary, (path, write) in zip(temporary_paths, wanted.items(), strict=True):
            try:
                write(temporary)
            except OutputError as error:
                raise OutputError(str(error).replace(str(temporary), path)) from error
        for address in named.keys() - wanted.keys():
            named[address](address)


def frame_writer(make: Callable[[], Any]) -> Write:
    """Return a function that writes the data frame that `make` returns."""
    from finegold.io.writers import write_frame

    return lambda path: write_frame(make(), path)


def write_tables(tables: Mapping[str | None, Callable[[], Any]]) -> None:
    """Write the data frames that these functions return, by path; all or none."""
    write_all({path: frame_writer(make) for path, make in tables.items()})


# ---- The summary of a fit, what was left out, and JSON


def print_summary(summary: dict[str, Any], result: ResultData) -> None:
    """Print the summary on standard error."""
    from finegold.api.summary import sentences_of

    if result.label_sets is None:
        what, classes = "vote", count(len(summary["classes"]), "class", "es")
    else:
        what, classes = "set", count(len(summary["options"]), "option")
    votes = count(summary["n_votes"], what) + (" of labels" if what == "set" else "")
    annotators, tasks = (count(summary[f"n_{name}s"], name) for name in ("annotator", "task"))
    say(f"{summary['method']}: {votes} by {annotators} on {tasks}, {classes}")
    (say if summary["converged"] else warn)(f"{summary['stopped']}, {summary['seconds']:.2f} s")
    for warning in summary["warnings"]:
        warn(warning)
    for line in sentences_of(result, summary):
        say(line)


def print_left_out(votes: Annotations) -> None:
    """Print what was left out, for commands that print no other summary of the votes."""
    if votes.left_out:
        say(f"left out: {votes.left_out}")


def print_json(value: Any) -> None:
    """Print JSON; where standard output is not UTF-8, as pipes on Windows are not, other letters
    are escaped.
    """
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=not is_utf8))


def _plain(value: Any) -> Any:
    """Return values of JSON: arrays become lists; JSON has neither NaN nor infinity."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)


# ---- Tables on the terminal


def print_frame(
    title: str, frame: Any, rows: int | None = None, caption: str = "", digits: int = 3
) -> None:
    """Print the first rows of a data frame, and the number of further rows."""
    from finegold.votes.frames import to_polars

    def text(name: str, value: Any) -> str:
        # NaN differs from itself
        if value is None or value != value:
            return "–"
        if isinstance(value, float):
            return f"{value:,.{digits}f}"
        if isinstance(value, bool):
            return "yes" if value else "no"
        # other integers are names of tasks and annotators
        return f"{value:,}" if type(value) is int and name.startswith("n_") else str(value)

    shown = to_polars(frame)
    first = shown.head(rows) if rows is not None else shown
    cells = first.to_dict(as_series=False)
    headings = {name: name.replace("_", " ") for name in cells}
    print_columns({headings[x]: [text(x, value) for value in cells[x]] for x in cells}, title)
    if more := len(shown) - len(first):
        caption = f"{more:,} more"
    if caption:
        click.echo(caption)


def print_figures(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print names and their figures."""
    names, figures = zip(*rows, strict=True)
    print_columns({title: list(names), "": list(figures)})


def print_columns(columns: dict[str, list[str]], title: str = "") -> None:
    """Print a table that fits the terminal: columns without room follow below, and names are never
    cut.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    sizes = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    first, *rest = columns
    if title:
        click.echo(f"\n{title}")
    while True:
        names, used = [first], sizes[first]
        while rest and (len(names) == 1 or used + 2 + sizes[rest[0]] <= width):
            used += 2 + sizes[rest[0]]
            names.append(rest.pop(0))
        click.echo()
        for cells in ([*names], *zip(*(columns[name] for name in names), strict=True)):
            pairs = zip(names, cells, strict=True)
            click.echo("  ".join(cell.ljust(sizes[name]) for name, cell in pairs).rstrip())
        if not rest:
            return
