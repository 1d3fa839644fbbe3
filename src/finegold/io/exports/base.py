"""What readers of exports share: the contract (`Export`), records of JSON, zips, and sheets.

A reader is one file of this folder. It declares an `EXPORT`: its name and title, how it recognises
a file (`fits`), and how it yields votes in batches (`read`). It raises `DamagedExport` for whatever
its tool would not write.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io.source import Source, skip_bom
from finegold.io.tables import batches, scan_delimited
from finegold.votes.encoding import text_of
from finegold.votes.labels import NOTHING

if sys.version_info >= (3, 14):
    import zipfile as zstd_zipfile
else:
    from backports.zstd import zipfile as zstd_zipfile

# between the labels of an answer that has several: their set is a class of its own
SEVERAL = "|"
# in a batch
MOST_VOTES = 2**16
# What Python raises where a reader takes a value for a list, an object or a text, and it is
# something else.
MISUSED = (TypeError, AttributeError, LookupError, ValueError, RecursionError)

Kind = TypeVar("Kind")
Made = TypeVar("Made")
Read = Callable[[Source, "ExportOptions"], Iterator[pl.DataFrame]]


# The contract.


class Vote(NamedTuple):
    """A vote. Without a label it says only that the task was asked."""

    task: Any
    annotator: Any = None
    label: Any = None
    # "" where an export asks one; None belongs to all of them
    question: str | None = None
    # the known truth, if the export marks one
    gold: Any = None


@dataclass(frozen=True)
class ExportOptions:
    # the field that names the tasks, instead of the tool's own ids
    task: str | None = None
    question: str | None = None
    # whether gold marks are wanted
    gold: bool = False
    # of what the tool's reader leaves out by itself
    include: frozenset[str] = frozenset()
    # the reader counts here, under a plural: "drafts"
    left_out: Counter[str] = field(default_factory=Counter)
    has_many_files: bool = False
    # whether answers are sets of labels; None if the labels decide
    multi: bool | None = False
    # answers without a label, which are empty sets if `multi`
    empty: Counter[str] = field(default_factory=Counter)

    def nothing(self, what: str) -> str | None:
        """Return the label of an answer in which nothing was chosen, and count it under this name."""
        (self.left_out if self.multi is False else self.empty)[what] += 1
        return None if self.multi is False else NOTHING


@dataclass(frozen=True)
class Export:
    """How the export of one tool is recognised and read.

    `read` yields batches with the columns task, annotator, label and, if the tool has them,
    question and gold (see `Vote`). All of them may be text, as in a CSV. `ExportOptions.left_out`
    counts whatever is left out.
    """

    # the value of the option `format`
    name: str
    # for messages
    title: str
    # where to click for a good export: the end of every complaint about a damaged one
    remedy: str
    fits: Callable[[Source], bool]
    read: Read
    # what the option `include` can bring in: "predictions", "rejected", ...
    include: tuple[str, ...] = ()
    # whether the option `task` can choose a field
    takes_task: bool = False
    has_gold: bool = False
    # the names of all annotators, in their order
    shorten: Callable[[Sequence[str]], Sequence[str]] | None = None


class DamagedExport(Exception):
    """An export is not as its tool writes it. Whoever reads it adds the file, the tool and the
    tool's remedy.
    """

    def __init__(self, problem: str, *remedies: Remedy | str, record: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.record = problem, record
        self.remedies = tuple(
            Remedy(text=remedy) if isinstance(remedy, str) else remedy for remedy in remedies
        )

    def of_tool(self, seen: Source, export: Export) -> InputError:
        record = f", record {self.record:,}" if self.record else ""
        where = f"{seen.name} ({export.title} export){record}"
        return InputError(self.problem, where, self.remedies or [Remedy(text=export.remedy)])


def unknown_task(problem: str, names: Iterable[str]) -> DamagedExport:
    """Return the complaint about a field of tasks that is not there, with those that are."""
    return DamagedExport(
        problem, use(task=Placeholder("NAME"), text=f"with one of {', '.join(names)}")
    )


def need_id(record: Any, name: str, whose: str = "") -> Any:
    """Return the field that says what a record is about."""
    value = record.get(name) if isinstance(record, dict) else None
    if value is None:
        raise DamagedExport(f'found no {whose}"{name}"')
    return value


def chosen_task(fields: Mapping[str, Any], name: str, problem: str) -> Any:
    """Return the field that the user names for the tasks."""
    if (task := fields.get(name)) is None:
        raise unknown_task(f'{problem} "{name}"', fields)
    return task


# Votes, record by record.


def with_numbers(records: Iterable[Any], make: Callable[[Any], Iterable[Made]]) -> Iterator[Made]:
    """Yield what is made of every record, such as votes, and add the number of the record to
    errors.
    """
    for number, record in enumerate(records, start=1):
        try:
            yield from make(record)
        except DamagedExport as error:
            raise DamagedExport(
                error.problem, *error.remedies, record=error.record or number
            ) from None
        except MISUSED as error:
            raise DamagedExport(
                f"a value is of a kind that is not expected there ({error})", record=number
            ) from error


def in_batches(votes: Iterable[Vote]) -> Iterator[pl.DataFrame]:
    """Yield votes as tables of text. Python strings take much memory, so they are kept for one
    batch only.
    """
    rest = iter(votes)
    while rows := list(islice(rest, MOST_VOTES)):
        texts = {
            name: [
                value if value is None or value.__class__ is str else _as_text(value)
                for value in values
            ]
            for name, values in zip(Vote._fields, zip(*rows, strict=True), strict=True)
        }
        try:
            yield pl.DataFrame(texts, schema=dict.fromkeys(Vote._fields, pl.String))
        except UnicodeEncodeError:
            # half of a pair of surrogates: JSON can hold it, but it is not text
            raise DamagedExport("a name or a label is not valid Unicode text") from None


def by_record(votes_of: Callable[[Any, ExportOptions], Iterable[Vote]]) -> Read:
    """Return the `read` of a tool that writes JSON records, given the votes of one record."""
    return lambda seen, options: in_batches(
        with_numbers(read_records(seen), lambda record: votes_of(record, options))
    )


def _as_text(value: Any) -> str:
    if isinstance(value, list | dict):
        raise DamagedExport(f"expected a name, a number or a label, found {_shorten(value)}")
    return text_of(value)


def join_labels(labels: list[Any]) -> Any:
    """Return a single label as it is, several as one text in sorted order, and None if there is
    none.
    """
    # a label that was chosen twice is one label
    if len(labels) > 1:
        return SEVERAL.join(sorted({_as_text(label) for label in labels}))
    if labels and isinstance(labels[0], list | dict):
        _as_text(labels[0])
    return labels[0] if labels else None


def need(record: Any, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Return a field of a record, which must have this type. It may be absent or null only with a
    default.
    """
    if not isinstance(record, dict):
        raise DamagedExport(f"expected a JSON object, found {_shorten(record)}")
    value = record.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or name not in record:
        there = f"{_shorten(value)} for" if name in record else "no"
        kinds = {list: "a list", dict: "an object", str: "a text", bool: "true or false"}
        raise DamagedExport(f'found {there} "{name}", expected {kinds.get(kind, kind.__name__)}')
    return value


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# Records of JSON, which may be larger than memory.

# bytes that ijson reads at once
CHUNK = 2**18


def read_records(seen: Source) -> Iterator[Any]:
    """Yield the records of a JSON list or of JSON Lines. A single object is a list of one."""
    with open_export(seen) as file:
        if seen.layout == "lines":
            yield from json_lines(file)
        else:
            yield from json_items(file, "item" if seen.layout == "list" else "")


def open_export(source: Source) -> BinaryIO:
    """Open a file behind its byte-order mark."""
    file = source.open_bytes()
    skip_bom(file)
    return file


def json_items(file: BinaryIO, path: str, *, as_pairs: bool = False) -> Iterator[Any]:
    """Yield the values at a path: "item" for those of a list, "" for whole objects, or their keys
    and values.
    """
    import ijson

    done, read = 0, ijson.kvitems if as_pairs else ijson.items
    try:
        for item in read(file, path, use_float=True, buf_size=CHUNK, multiple_values=not path):
            done += 1
            yield item
    except (ijson.JSONError, ValueError) as error:
        # without the drawing
        reason = str(error).removeprefix("b'").split("\\n")[0].split("\n")[0].strip(" .")
        problem = "the file is cut short" + (
            "" if "EOF" in reason else f", or is not valid JSON ({reason})"
        )
        raise DamagedExport(problem, record=done + 1) from None


def json_lines(file: BinaryIO) -> Iterator[Any]:
    """Yield one JSON value per line. Blank lines do not count."""
    lines = (line for line in file if line.strip())
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DamagedExport(f"not valid JSON ({error})", record=number) from None


# Zip archives.

# a bit of the flags of a file in an archive
ENCRYPTED = 1


@contextmanager
def open_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open an archive, which may be packed with zstd."""
    data = io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
    try:
        with zstd_zipfile.ZipFile(data) as archive:
            yield cast(zipfile.ZipFile, archive)
    except (zipfile.BadZipFile, zstd_zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DamagedExport(f"the zip archive is damaged ({error})") from None
    except NotImplementedError as error:
        # the version of the format, or a way of packing that does not exist
        raise DamagedExport(f"the zip archive is damaged ({error})") from None


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    """Open a file of an archive, and add its name to errors."""
    if archive.getinfo(name).flag_bits & ENCRYPTED:
        raise DamagedExport(
            f"{name} is encrypted", "unpack the archive with its password, and give the files in it"
        )
    try:
        with archive.open(name) as file:
            yield cast(BinaryIO, file)
    except DamagedExport as error:
        raise DamagedExport(
            f"in {name}, {error.problem}", *error.remedies, record=error.record
        ) from None


# Sheets: a row per assignment or respondent.

# from 1, as messages count them
ROW = "finegold row"


def read_sheet(seen: Source, columns: Sequence[str], may_omit: int = 0) -> pl.DataFrame:
    """Read these columns as text, blank cells as null, and number the rows. They may omit so many
    of the last cells.
    """
    wanted = [name for name in dict.fromkeys(columns) if name in seen.columns]
    parts = batches(seen, scan_delimited(seen), wanted, may_omit)
    table = pl.concat([pl.DataFrame(schema=dict.fromkeys(wanted, pl.String())), *parts])
    if table.is_empty():
        raise DamagedExport("it has a header but no rows")
    without_blanks = pl.when(pl.all().str.strip_chars() != "").then(pl.all())
    return table.with_columns(without_blanks).with_row_index(ROW, offset=1)


def read_rows(seen: Source, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with those of the columns that it has."""
    wanted = [name for name in dict.fromkeys(columns) if name in seen.columns]
    scan = scan_delimited(seen) if seen.is_delimited else pl.scan_parquet(seen.data, glob=False)
    for batch in batches(seen, scan, wanted):
        yield from batch.iter_rows(named=True)


def task_column(seen: Source, task: str | None, usual: str, prefix: str) -> str:
    """Return the column of the tasks: the usual one, or the one that the user names, with or
    without its prefix.
    """
    if task is None:
        return usual
    for name in (task, prefix + task):
        if name in seen.columns:
            return name
    names = dict.fromkeys([usual, *(name for name in seen.columns if name.startswith(prefix))])
    raise unknown_task(f'there is no column "{task}"', names)


def drop_rows(
    table: pl.DataFrame,
    marks: Mapping[str, pl.Expr],
    what: str,
    options: ExportOptions,
    option: str = "",
) -> pl.DataFrame:
    """Leave out and count rows that one of these columns marks, unless the option `include` asks
    for them.
    """
    known = [mark.fill_null(False) for column, mark in marks.items() if column in table.columns]
    if option in options.include or not known:
        return table
    marked = table.select(pl.any_horizontal(known)).to_series()
    if marked.any():
        options.left_out[what] += int(marked.sum())
    return table.filter(~marked)


def votes_of_questions(
    table: pl.DataFrame,
    task: str,
    annotator: str,
    labels: Mapping[str, pl.Series],
    golds: Mapping[str, pl.Series],
) -> Iterator[pl.DataFrame]:
    """Yield the votes on each question. A question without answers is left out."""
    for question, label in labels.items():
        if label.null_count() < len(label):
            gold = golds.get(question, pl.lit(None, pl.String))
            yield table.select(
                task=task, annotator=annotator, label=label, question=pl.lit(question), gold=gold
            )


def replace_cells(cells: pl.Series, pattern: str, label_of: Callable[[str], Any]) -> pl.Series:
    """Put labels for cells that match a pattern, of which few differ. After a ValueError a cell
    stays as it is.
    """
    distinct = cells.unique().drop_nulls()
    labels: dict[str, str | None] = {}
    for cell in distinct.filter(distinct.str.contains(pattern)):
        with suppress(ValueError):
            label = label_of(cell)
            labels[cell] = None if label is None else str(label)
    return cells.replace(labels) if labels else cells


def join_lists(cells: pl.Series) -> pl.Series:
    """Convert lists of several answers, such as ["a","b"], into one label."""

    def joined(cell: str) -> Any:
        answers = json.loads(cell)
        if not all(isinstance(item, str | int | float) for item in answers):
            raise ValueError(cell)
        return join_labels(answers)

    return replace_cells(cells, r"^\[", joined)
