"""Write the output files of a command: all of them or none, and never over an input."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from finegold.cli.messages import count, say, warn
from finegold.errors import InputError, OutputError
from finegold.insight import n_flips
from finegold.insight.expected import Expected, expected_of, in_words
from finegold.insight.votes import votes_of
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list

if TYPE_CHECKING:
    from finegold.results.data import ResultData
    from finegold.votes.annotations import Annotations

__all__ = [
    "Write",
    "check_outputs",
    "console",
    "extremes",
    "figures_table",
    "frame_table",
    "frame_writer",
    "heat_map",
    "left_out",
    "print_json",
    "print_left_out",
    "print_summary",
    "summary_fields",
    "summary_of",
    "write_all",
]


Write = Callable[[Path], None]


def check_outputs(tables: Iterable[str], others: Iterable[str], inputs: Iterable[str]) -> None:
    """Check before the fit that every output can be written, is not an input and is not named twice."""
    from finegold.io.writers import check_table_path, check_writable

    tables, read = list(tables), {file.resolve() for name in inputs for file in _files_of(name)}
    outputs = [*tables, *others]
    places = [Path(path).expanduser().resolve() for path in outputs]
    for path in tables:
        check_table_path(path)
    for path, place in zip(outputs, places, strict=True):
        if place in read:
            raise InputError(f"{path} is an input and would be overwritten; name another output")
        if places.count(place) > 1:
            raise InputError(f"{path} is named for two outputs; name another")
        check_writable(path)


def frame_writer(make: Callable[[], Any]) -> Write:
    """Return a function that writes the data frame that `make` returns."""
    from finegold.io.writers import write_frame

    return lambda path: write_frame(make(), path)


def _files_of(name: str) -> list[Path]:
    """Return the files of an input: a file, a folder, a glob pattern, a database file or an Excel sheet."""
    from finegold.io.databases import is_database, parse

    if is_database(name):
        return [Path(parse(name).place)] if parse(name).is_file else []
    path = Path(name).expanduser()
    if path.is_dir():
        return _data_files(path.iterdir()) or _data_files(path.rglob("*"))
    if path.exists():
        return [path]
    book = Path(str(path).rpartition("#")[0])
    return [book] if book.is_file() else [Path(found) for found in glob(str(path), recursive=True)]  # noqa: PTH207 (absolute patterns)


def _data_files(found: Iterable[Path]) -> list[Path]:
    from finegold.io.source import EXPORTS, Source, by_extension

    files = [path for path in found if path.is_file()]
    return [path for path in files if by_extension(Source("", path))[0] or path.name.lower().endswith(EXPORTS)]


def write_all(files: dict[str, Write], then: Callable[[], None] | None = None) -> None:
    """Write all files under temporary names, call `then`, and move the files to their final names."""
    from finegold.system.files import replacing_all

    with replacing_all(files) as temporary_paths:
        for temporary, (path, write) in zip(temporary_paths, files.items(), strict=True):
            _write_to(temporary, path, write)
        if then is not None:
            then()


def _write_to(temporary: Path, path: str, write: Write) -> None:
    try:
        write(temporary)
    except OutputError as error:
        raise OutputError(str(error).replace(str(temporary), path)) from error


ANNOTATORS_SHOWN = 3  # best and worst annotators in the summary
NAMES_SHOWN = 10  # annotators without any vote in the summary


def summary_of(result: ResultData) -> dict[str, Any]:
    """Return the summary of a result."""
    votes = votes_of(result)
    gold, tied = int((votes.gold != MISSING).sum()), int(result.tied.sum())
    found = summary_fields(result, votes.n_votes, votes.n_tasks, tied=tied, outvoted=n_flips(result), gold=gold)
    expected = expected_of(result)
    return {**found, "expected_accuracy": None if expected is None else expected._asdict()}


def summary_fields(
    result: ResultData, n_votes: int, n_tasks: int, *, tied: int, outvoted: int, gold: int
) -> dict[str, Any]:
    """Return the summary of a result, given the counts of its tasks."""
    return {
        "method": result.method,
        "settings": result.all_settings,
        "n_votes": n_votes,
        "n_tasks": n_tasks,
        "n_annotators": len(result.annotator_names),
        "classes": to_list(result.class_names),
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "bound": result.steps[-1].bound,
        "seconds": result.seconds,
        "notes": result.notes,
        "tied": tied,
        "differs_from_majority": outvoted,
        "expected_accuracy": None,
        "gold": gold,
        "unlabelled": len(result.unlabelled),
        "never_voted": [] if result.annotations is None else to_list(result.annotations.never_voted),
        "models": [record._asdict() for record in result.combined.records] if result.combined else [],
        "predictions_only": len(result.combined.posterior) if result.combined else 0,
        "rows": asdict(result.counts),
        "no_vote": {} if result.annotations is None else result.annotations.hygiene.no_vote,
    }


def print_summary(found: dict[str, Any], result: ResultData) -> None:
    """Print the summary on standard error."""
    say(
        f"{found['method']}: {count(found['n_votes'], 'vote')} by {count(found['n_annotators'], 'annotator')} "
        f"on {count(found['n_tasks'], 'task')}, {count(len(found['classes']), 'class', 'es')}"
    )
    (say if found["converged"] else warn)(f"{found['stopped']}, {found['seconds']:.2f} s")
    say(
        f"{count(found['tied'], 'task')} tied, {found['differs_from_majority']:,} against the majority vote"
        + (" (finegold trust shows why)" if found["differs_from_majority"] else "")
        + (f", {found['gold']:,} given by gold truths" if found["gold"] else "")
    )
    if found["expected_accuracy"]:
        say(in_words(Expected(**found["expected_accuracy"])))
    for note in result.notes:
        say(note)
    if words := left_out(found):
        say(f"left out: {words}")
    if found.get("table"):
        say(f"labels written to {found['table']}")
    best, worst = extremes(result)
    say(f"best annotators: {_named(result, best)}; worst: {_named(result, worst)}")


def extremes(result: ResultData, shown: int = ANNOTATORS_SHOWN) -> tuple[list[int], list[int]]:
    """Return the annotators with the highest and the lowest expected accuracy, at most half of all in each list."""
    order = np.argsort(-result.accuracy, kind="stable").tolist()
    shown = max(min(shown, len(order) // 2), 1)
    return order[:shown], order[::-1][:shown]


def print_json(value: Any) -> None:
    """Print JSON; where standard output is not UTF-8, as pipes on Windows are not, other letters are escaped."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(_without_nan(value), indent=2, ensure_ascii=not is_utf8, default=_plain))


def left_out(found: dict[str, Any]) -> str:
    """Describe what was read but left out; empty if nothing was."""
    rows = found["rows"]
    parts = [
        (rows["missing"], f"{count(rows['missing'], 'row')} without a label" + _words(found["no_vote"])),
        (rows["repeated"], count(rows["repeated"], "repeated vote") + _disagreeing(rows["disagreeing"])),
        (found["unlabelled"], f"{count(found['unlabelled'], 'task')} without any vote (listed without a label)"),
        (len(found["never_voted"]), never_voted(found["never_voted"])),
        *((number, f"{what} ({number:,})") for what, number in rows["left_out"].items()),
    ]
    return ", ".join(words for number, words in parts if number)


def _words(no_vote: dict[str, int]) -> str:
    """Write (2 "NA", 1 "?"), or nothing."""
    words = [f'{number:,} "{word}"' for word, number in no_vote.items()]
    more = f" and {len(words) - NAMES_SHOWN:,} more words" if len(words) > NAMES_SHOWN else ""
    return f" ({', '.join(words[:NAMES_SHOWN])}{more})" if words else ""


def _disagreeing(pairs: int) -> str:
    """Write (2 pairs of task and annotator have votes that disagree), or nothing."""
    if not pairs:
        return ""
    return f" ({count(pairs, 'pair')} of task and annotator {'has' if pairs == 1 else 'have'} votes that disagree)"


def never_voted(names: list[Any]) -> str:
    """Return text such as "2 annotators without any vote: spam_words, has_link"."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{count(len(names), 'annotator')} without any vote: {', '.join(map(str, names[:NAMES_SHOWN]))}{more}"


def print_left_out(votes: Annotations) -> None:
    """Print what was left out, for commands that print no other summary of the votes."""
    found = {"unlabelled": len(votes.unlabelled), "never_voted": to_list(votes.never_voted)}
    if words := left_out({"rows": asdict(votes.counts), "no_vote": votes.hygiene.no_vote, **found}):
        say(f"left out: {words}")


def _named(result: ResultData, codes: list[int]) -> str:
    names = to_list(result.annotator_names[np.array(codes)])
    return ", ".join(f"{name} ({result.accuracy[code]:.2f})" for name, code in zip(names, codes, strict=True))


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


SHADES = " ░▒▓█"
CELL_WIDTH = 8  # width in characters: shade, percentage, gap
MAX_NAME_LENGTH = 7


def heat_map(matrix: NDArray[np.float64], names: list[Any]) -> list[str]:
    """Return the lines of the heat map: truths in rows, votes in columns, a shade and a percentage per cell."""
    short = [_short(name) for name in names]
    margin = max(len("truth"), *map(len, short))
    head = " " * (margin + 2) + "".join(f"{name:<{CELL_WIDTH}}" for name in short)
    rows = [
        f"{name:>{margin}}  " + "".join(_cell(float(p)) for p in row) for name, row in zip(short, matrix, strict=True)
    ]
    return [line.rstrip() for line in (f"{'truth':>{margin}}  vote", head, *rows)]


def _cell(p: float) -> str:
    shade = SHADES[min(int(p * len(SHADES)), len(SHADES) - 1)]
    return f"{shade * 3}{100 * p:3.0f}".ljust(CELL_WIDTH)


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= MAX_NAME_LENGTH else text[: MAX_NAME_LENGTH - 1] + "…"


def console() -> Any:
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # guard.py ends with exit code 0 then; Rich would end with 1

    made = Screen(highlight=False)
    if not made.is_terminal:  # files and pipes have no width
        made.width = 140
    return made


def frame_table(title: str, frame: Any, rows: int) -> Any:
    """Return a table of the first rows of a data frame; its caption has the number of further rows."""
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    from finegold.votes.frames import to_polars

    shown = to_polars(frame)
    more = max(len(shown) - rows, 0)
    table = Table(box=SIMPLE, title=title, title_justify="left", caption=f"{more:,} more" if more else None)
    for name in shown.columns:
        table.add_column(name.replace("_", " "), justify="right" if shown[name].dtype.is_numeric() else "left")
    for row in shown.head(rows).iter_rows(named=True):
        table.add_row(*(escape(_text(name, value)) for name, value in row.items()))
    return table


def figures_table(title: str, rows: list[tuple[str, str]]) -> Any:
    """Return a table with one name and one value per row."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _text(name: str, value: Any) -> str:
    if value is None or value != value:  # NaN differs from itself
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    is_number_of = type(value) is int and name.startswith("n_")  # other integers are names of tasks and annotators
    return f"{value:,}" if is_number_of else str(value)
