"""Writers. A file appears whole or not at all: one temporary name, one rename."""

from __future__ import annotations

import datetime
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars import selectors
from polars.io.plugins import register_io_source

from finegold.errors import FinegoldError, InputError, OutputError, use
from finegold.io.source import TABLES, TEXT
from finegold.results.tables import PURPOSES, labels_pieces, training_metadata, training_table
from finegold.system.files import STANDARD_OUTPUT, print_bytes, replacing
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import to_polars

if TYPE_CHECKING:
    from finegold.results.data import ResultData

WRITABLE = {suffix: kind for suffix, kind in TABLES.items() if kind != "arrow"} | {".xlsx": "xlsx"}
PACKED = {f"{suffix}.gz": kind for suffix, kind in WRITABLE.items() if kind in TEXT}
ROWS_PER_PIECE = 2**18
# what a spreadsheet takes for a formula, and what it takes for a number instead
FORMULA = r"^[=+\-@\t\r\n]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# limits of Excel, which keeps 15 digits of a number
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS, LARGE = 2**20, 2**14, 32_767, 10**15


def escape_formulas(path: Path) -> None:
    """Put an apostrophe before each cell of a CSV file that a spreadsheet would run.

    The studio does so with its downloads, which are other people's texts and open with a click.
    """
    cells = pl.read_csv(path, has_header=False, infer_schema=False)
    text = pl.all()
    is_formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    escaped = pl.when(is_formula).then("'" + text).otherwise(text).name.keep()
    cells.with_columns(escaped).write_csv(path, include_header=False)


def check_table_path(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Return the format of an output path and whether it is gzipped, or raise an InputError."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return "csv", False
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if (packed := "".join(suffixes[-2:])) in PACKED:
        return PACKED[packed], True
    if not suffixes or suffixes[-1] not in WRITABLE:
        known = ", ".join([*WRITABLE, *PACKED])
        raise InputError(f"{path} has no extension that Finegold writes; use one of {known}")
    return WRITABLE[suffixes[-1]], False


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a data frame of any library as CSV, TSV, JSONL, Parquet or XLSX, as the extension says.

    Args:
        frame (DataFrame): The table.
        path (str or Path): The file to write; "-" is CSV on standard output.

    Raises:
        InputError or OutputError: If the format is not known, or if the file cannot be written. An
            existing file is left as it was.
    """
    write_pieces([to_polars(frame)], path)


def write_labels(
    result: ResultData,
    path: str | os.PathLike[str],
    *,
    probabilities: bool = False,
    scores: bool = False,
) -> None:
    """Write the labels piece by piece, without holding all of them in memory.

    The file has the columns of `Result.labels` and `is_gold`. The column of the tasks keeps the
    name that it has in the votes, and tasks are in their natural order (t2 before t10).

    Args:
        result (Result): The labels.
        path (str or Path): The file to write, as in `write_frame`.
        probabilities: Add a column per class with its probability.
        scores: Add the expected score and its interval, for ordered classes.

    Raises:
        InputError or OutputError: As in `write_frame`.
    """
    pieces = labels_pieces(result, probabilities=probabilities, scores=scores, for_users=True)
    write_pieces(pieces, path)


def write_pieces(pieces: Iterable[pl.DataFrame], path: str | os.PathLike[str]) -> None:
    """Write one or more tables with the same columns as one table. Each is made when the one before
    is written.
    """
    kind, is_packed = check_table_path(path)
    # as bytes: Polars would report a closed pipe or a full disk in its own way
    if os.fspath(path) == STANDARD_OUTPUT:
        for number, piece in enumerate(pieces):
            with _polars_errors(path, kind):
                data = piece.write_csv(include_header=number == 0).encode()
            print_bytes(data)
        return
    rest = iter(pieces)
    first = next(rest)
    with replacing(path) as (temporary,), _polars_errors(path, kind):
        # Polars takes the pieces one by one: it writes one while the next is made
        table = register_io_source(lambda *_: chain([first], rest), schema=first.schema)
        packing: Any = {"compression": "gzip"} if is_packed else {}
        if kind == "parquet":
            table.sink_parquet(temporary)
        elif kind == "xlsx":
            temporary.write_bytes(_workbook(table.collect(), path))
        elif kind == "jsonl":
            # Polars panics over bytes
            text = table.cast({pl.Binary: pl.String})
            text.sink_ndjson(temporary, check_extension=False, **packing)
        else:
            separator = "\t" if kind == "tsv" else ","
            table.sink_csv(temporary, separator=separator, check_extension=False, **packing)


@contextmanager
def _polars_errors(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Turn the errors that Polars raises into those of Finegold: it reports errors of the disk as
    its own, and those of the pieces.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        text = str(error)
        if isinstance(error, FinegoldError) or getattr(error, "errno", None) is not None:
            raise
        if number := re.search(r"os error (\d+)|\[Errno (\d+)\]", text):
            code = int(number[1] or number[2])
            raise OSError(code, os.strerror(code)) from error
        # in what Polars called
        if "KeyboardInterrupt" in text:
            raise KeyboardInterrupt from error
        said = text.strip().splitlines()[0]
        raise OutputError(f"{path} cannot be written as {kind.upper()}: {said}") from error


def _workbook(table: pl.DataFrame, path: str | os.PathLike[str]) -> bytes:
    """Return a workbook with one sheet. It is made in memory, so that a full disk is met once."""
    try:
        from xlsxwriter import Workbook
    except ImportError:
        needed = "an Excel file needs XlsxWriter: pip install 'finegold[excel]'"
        raise OutputError(f"{needed}; or write a .csv") from None
    problem = ""
    if table.height >= MOST_ROWS or table.width > MOST_COLUMNS:
        problem = f"a sheet holds at most {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns"
    elif len({name.lower() for name in table.columns}) < table.width:
        problem = "two columns differ in capitals only, which Excel does not tell apart"
    if problem:
        raise OutputError(f"{path} cannot be written: {problem}; write a .csv")

    def cells(column: pl.Series) -> pl.Series:
        is_large = column.dtype.is_integer() and (column.cast(pl.Float64).abs() >= LARGE).any()
        if (column.dtype.is_numeric() or column.dtype == pl.Boolean) and not is_large:
            return column
        return column.cast(pl.String).str.slice(0, MOST_CHARACTERS)

    buffer = io.BytesIO()
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    formats: Any = {selectors.numeric(): "General"}
    with Workbook(buffer, {"in_memory": True, **plain}) as book:
        # a fixed date, so that the same table gives the same bytes
        book.set_properties({"created": datetime.datetime(2000, 1, 1)})
        frame = pl.DataFrame(map(cells, table))
        frame.write_excel(book, freeze_panes=(1, 0), autofit=True, column_formats=formats)
    return buffer.getvalue()


# Labels for training.


def check_training(path: str | os.PathLike[str], purpose: str, validation: float) -> None:
    """Refuse an unknown purpose, a file that is not Parquet, and a share that is not one."""
    known, problem = ", ".join(PURPOSES), ""
    if not 0 <= validation < 1:
        problem = (
            f"the share of tasks to validate on must be at least 0 and below 1, not {validation}"
        )
    elif purpose not in PURPOSES:
        problem = f'"{purpose}" is not a purpose of an export; use one of {known}'
    elif Path(path).suffix.lower() != ".parquet":
        problem = f"{path} is not a Parquet file; labels for training are written as .parquet"
    if problem:
        raise InputError(problem)


def write_training(
    result: ResultData,
    path: str | os.PathLike[str],
    purpose: str,
    validation: float = 0.1,
    groups: Mapping[Any, Any] | None = None,
) -> None:
    """Write one row per task with its label, probabilities, weight, agreement and split."""
    check_training(path, purpose, validation)
    table = training_table(result, purpose, validation, groups)
    with replacing(path) as (temporary,), _polars_errors(path, "parquet"):
        table.write_parquet(temporary, metadata=training_metadata(result))


# Votes.


def write_votes(
    votes: Annotations | Mapping[str, Annotations],
    path: str | os.PathLike[str],
    *,
    wide: bool = False,
    gold: bool = False,
) -> None:
    """Write votes as a plain table: CSV, TSV, JSONL or Parquet, as the extension says.

    Args:
        votes (Annotations or mapping of str to Annotations): The votes on one question, or on
            several, as `finegold.read_each` returns them: a column then has the question.
        path (str or Path): The file to write.
        wide: Write a row per task and a column per annotator, instead of a row per vote.
        gold: Add a column of the known truths.

    Raises:
        InputError: If the format is not known, or if the votes do not fit into a wide table.

    Examples:
        >>> import finegold, tempfile
        >>> from pathlib import Path
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["x", "y", "x"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     finegold.write_votes(votes, f"{folder}/votes.csv")
        ...     print(Path(folder, "votes.csv").read_text())
        task,annotator,label
        1,ann,x
        1,bob,y
        2,ann,x
        <BLANKLINE>
    """
    each = {"": votes} if isinstance(votes, Annotations) else votes
    if len(each) == 1:
        [only] = each.values()
        write_pieces([_wide(only, gold)] if wide else _long(only, gold), path)
        return
    # as text: labels may be numbers for one question and words for another
    tables = [
        piece.select(pl.lit(question).alias("question"), pl.all().cast(pl.String))
        for question, answers in each.items()
        for piece in ([_wide(answers, gold)] if wide else _long(answers, gold))
    ]
    write_pieces([pl.concat(tables, how="diagonal")], path)


def _long(votes: Annotations, gold: bool = False) -> Iterator[pl.DataFrame]:
    """Yield long tables, sorted by task. Tasks without votes come last, without annotator and
    label.
    """

    def table(rows: slice) -> pl.DataFrame:
        columns = {
            "task": votes.task_names.take(task[rows]).values,
            "annotator": votes.annotator_names.take(annotator[rows]).values,
            "label": votes.class_names.take(label[rows]).values,
        }
        truths = {"gold": votes.class_names.take(votes.gold[task[rows]]).values} if gold else {}
        return pl.DataFrame(columns | truths)

    task, annotator, label = votes.votes()
    for first in range(0, votes.n_votes, ROWS_PER_PIECE):
        yield table(slice(first, first + ROWS_PER_PIECE))
    if len(votes.unlabelled):
        like = table(slice(0))
        tasks = votes.unlabelled.take(np.arange(len(votes.unlabelled), dtype=np.int32)).values
        names = tasks.cast(like.schema["task"], strict=False).alias("task")
        yield like.clear(len(tasks)).with_columns(names)


def _wide(votes: Annotations, gold: bool = False) -> pl.DataFrame:
    """Return a wide table, which holds one vote per task and annotator."""
    names = [str(name) for name in to_list(votes.annotator_names)]
    if clashes := sorted({"question", "task", "gold"} & set(names)):
        problem = f'an annotator is called "{clashes[0]}", as a column of the wide table is'
        raise InputError(f"{problem}; write a long one")
    long = pl.concat(_long(votes)).with_columns(pl.col("annotator").cast(pl.String))
    if long.select(pl.struct("task", "annotator").is_duplicated().any()).item():
        remedy = use(repeated="majority", text='(or "first" or "last") when the votes are read')
        problem = "an annotator voted on a task more than once, and a wide table holds one vote"
        raise InputError(problem, remedies=[remedy])
    table = long.pivot(
        on="annotator", on_columns=names, index="task", values="label", maintain_order=True
    )
    if not gold:
        return table
    truths = np.append(votes.gold, np.full(len(votes.unlabelled), MISSING, np.int32))
    return table.with_columns(votes.class_names.take(truths).values.alias("gold"))
