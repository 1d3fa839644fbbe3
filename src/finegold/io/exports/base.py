"""The interface of a reader of exports: an `Export`, one per file of this folder."""

from __future__ import annotations

import csv
import io
import json
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import polars as pl

from finegold.errors import InputError
from finegold.io.diagnosis import records
from finegold.io.source import (
    BOM,
    Source,
    archive_members,
    by_extension,
    by_magic,
    check_nesting,
    first_line,
    has_whole_text,
    limit,
    open_bytes,
    read_start,
    recognise,
    remedy_of,
    separator_of,
    text_start,
)
from finegold.io.tables import batches, scan_delimited
from finegold.votes.labels import NOTHING
from finegold.votes.names import text_of

__all__ = [
    "ALL",
    "ROW",
    "WRONG_KINDS",
    "Export",
    "ExportOptions",
    "Peek",
    "Vote",
    "Wrong",
    "chosen",
    "damage",
    "in_batches",
    "items",
    "joined",
    "json_lines",
    "leave_out",
    "need",
    "numbered",
    "open_export",
    "open_member",
    "open_zip",
    "peek",
    "records_of",
    "rows_of",
    "sheets_of",
    "skip_bom",
    "unlisted",
    "votes_on",
]


LONGEST = 2**24  # a line with one record, which may hold an image
MOST_EVENTS = 20_000  # of the JSON of one big object
ROWS = 3  # of a table, beside the header
COMPRESSED = ("gzip", "zstd")


@dataclass(frozen=True)
class Peek:
    """What the beginning of a file shows.

    The source's format is csv or tsv (columns, rows), jsonl (record), json (record, is_list), zip (members; an Excel
    workbook is one, too), parquet or arrow (columns), or empty.
    """

    source: Source
    columns: tuple[str, ...] = ()  # the header of a table
    rows: tuple[tuple[str, ...], ...] = ()  # the next few rows of a delimited text
    record: dict[str, Any] = field(default_factory=dict)  # the first JSON object; of a big one only the beginning
    is_list: bool = False  # a JSON list, not an object
    members: tuple[str, ...] = ()  # the names in a zip archive

    @property
    def is_table(self) -> bool:
        """Whether the file could also be read as a plain table."""
        return self.source.format in ("csv", "tsv", "jsonl", "parquet", "arrow")


def peek(source: Source) -> Peek:
    """Look at a file. A damaged or unknown file is left to the reader of tables, which reports it."""
    compression = by_extension(source)[1]
    with suppress(
        InputError, OSError, ValueError, RecursionError, csv.Error, pl.exceptions.PolarsError, zipfile.BadZipFile
    ):
        magic = by_magic(read_start(source))
        if magic in COMPRESSED:
            compression = magic
        source = replace(source, compression=compression)
        if magic.startswith("zip"):
            return _zip(source)
        if magic in ("parquet", "arrow"):
            return _binary(replace(source, format=magic))
        return _text(source)
    return Peek(replace(source, compression=compression))


def _zip(source: Source) -> Peek:
    members = tuple(member.filename for member in archive_members(source))
    return Peek(replace(source, format="zip"), members=members)


def _binary(source: Source) -> Peek:
    if source.format == "arrow":
        return Peek(source)
    return Peek(source, columns=tuple(pl.scan_parquet(source.data, glob=False).collect_schema().names()))


def _text(source: Source) -> Peek:
    if source.compression == "zstd":  # only Polars can unpack it
        line = first_line(source).lstrip("\ufeff \t")
    else:
        line = text_start(source).decode("utf-8-sig", errors="replace").lstrip()
    if line.startswith("["):
        return Peek(replace(source, format="json"), record=_first_item(source), is_list=True)
    if line.startswith("{"):
        return _object_or_lines(source)
    return _delimited(recognise(source))


def _object_or_lines(source: Source) -> Peek:
    """Tell JSON Lines, with a whole object on the first line, from a single object over many lines."""
    with suppress(ValueError):
        return Peek(replace(source, format="jsonl"), record=dict(json.loads(_line(source))))
    return Peek(replace(source, format="json"), record=_partial_object(source))


def _line(source: Source) -> str:
    """Return the first line that is not blank."""
    if source.compression == "zstd":
        return first_line(source)
    start = text_start(source).removeprefix(BOM).lstrip()
    line, end, _ = start.partition(b"\n")
    if end or has_whole_text(source):
        return line.decode()
    with open_bytes(source) as file:
        while (line := file.readline(LONGEST)) and not line.removeprefix(BOM).strip():
            pass
    return line.decode("utf-8-sig")


def _first_item(source: Source) -> dict[str, Any]:
    """Return the first object of a JSON list; an empty one if the JSON is truncated or odd."""
    import ijson

    for file in _start_and_whole(source):
        with file, suppress(ijson.JSONError, StopIteration):
            skip_bom(file)
            item = next(ijson.items(file, "item", use_float=True))
            return item if isinstance(item, dict) else {}
    return {}


def _start_and_whole(source: Source) -> Iterator[BinaryIO]:
    """Yield the first bytes as a file; then the whole file, where that is longer."""
    if source.compression != "zstd":
        yield io.BytesIO(text_start(source))
        if has_whole_text(source):
            return
    yield open_bytes(source)


def _partial_object(source: Source) -> dict[str, Any]:
    """Return the beginning of an object over many lines."""
    import ijson

    found = ijson.ObjectBuilder()
    with open_bytes(source) as file, suppress(ijson.JSONError):
        skip_bom(file)
        for event, value in islice(ijson.basic_parse(file, use_float=True), MOST_EVENTS):
            found.event(event, value)
    record = getattr(found, "value", {})
    return record if isinstance(record, dict) else {}


def skip_bom(file: BinaryIO) -> None:
    if file.read(len(BOM)) != BOM:
        file.seek(0)


def _delimited(source: Source) -> Peek:
    if not source.is_delimited:
        return Peek(source)
    rows = _first_rows(source)
    return Peek(source, columns=rows[0] if rows else (), rows=tuple(rows[1:]))


def _first_rows(source: Source) -> list[tuple[str, ...]]:
    """Return the header and the next rows, out of the first bytes where these hold one row more."""
    separator = separator_of(source)
    if source.compression != "zstd":
        start = Source(source.name, text_start(source), header=source.header)
        with suppress(csv.Error, UnicodeDecodeError):
            rows = _rows_of(start, separator, ROWS + 2)
            if len(rows) == ROWS + 2 or has_whole_text(source):
                return rows[: ROWS + 1]
    return _rows_of(source, separator, ROWS + 1)


def _rows_of(source: Source, separator: str, most: int) -> list[tuple[str, ...]]:
    with closing(records(source, separator)) as all_rows:
        return [tuple(row) for _, row in islice(all_rows, most)]


ALL = "all"  # the question that means every one of them
MOST_VOTES = 2**16  # in a batch
SEVERAL = "|"  # between the labels of an answer that has several: their set is a class of its own

# What Python raises where a reader takes a value for a list, an object or a text, and it is something else.
WRONG_KINDS = (TypeError, AttributeError, LookupError, ValueError, RecursionError)

Kind = TypeVar("Kind")
Made = TypeVar("Made")


class Vote(NamedTuple):
    """A vote. Without a label it says only that the task was asked."""

    task: Any
    annotator: Any = None
    label: Any = None
    question: str | None = None  # where an export holds several; None belongs to all of them
    gold: Any = None  # the known truth, if the export marks one


@dataclass(frozen=True)
class ExportOptions:
    """The options for reading an export."""

    task: str | None = None  # the field that names the tasks, in the place of the tool's own ids
    question: str | None = None
    gold: bool = False  # whether gold marks are wanted
    include: frozenset[str] = frozenset()  # of what the tool's reader leaves out by itself
    left_out: Counter[str] = field(default_factory=Counter)  # the reader counts here, under a plural: "drafts"
    has_many_files: bool = False
    multi: bool | None = False  # whether answers are sets of labels; None if the labels decide
    empty: Counter[str] = field(default_factory=Counter)  # answers without a label, which are empty sets if `multi`

    def nothing(self, what: str) -> str | None:
        """Return the label of an answer in which nothing was chosen, and count it under this name."""
        (self.left_out if self.multi is False else self.empty)[what] += 1
        return None if self.multi is False else NOTHING


@dataclass(frozen=True)
class Export:
    """How the export of one tool is recognised and read.

    `read` yields batches with the columns task, annotator, label and, if the tool has them, question and gold (see
    Vote). All of them may be text, as in a CSV. `ExportOptions.left_out` counts whatever is left out.
    """

    name: str  # for --format
    title: str  # for messages
    remedy: str  # where to click for a good export: the end of every complaint about a damaged one
    fits: Callable[[Peek], bool]
    read: Callable[[Peek, ExportOptions], Iterator[pl.DataFrame]]
    include: tuple[str, ...] = ()  # what --include can bring in: "predictions", "rejected", ...
    takes_task: bool = False  # whether --task can choose a field
    has_gold: bool = False
    shorten: Callable[[Sequence[str]], Sequence[str]] | None = None  # the names of all annotators, in their order


class Wrong(Exception):
    """An export is not as its tool writes it. The caller adds the file, the tool and the remedy."""

    def __init__(self, found: str, record: int | None = None, remedy: str = "") -> None:
        super().__init__(found)
        self.found, self.record, self.remedy = found, record, remedy


def numbered(records: Iterable[Any], made_of: Callable[[Any], Iterable[Made]]) -> Iterator[Made]:
    """Yield what is made of every record, such as votes, and add the number of the record to errors."""
    for number, record in enumerate(records, start=1):
        try:
            yield from made_of(record)
        except Wrong as error:
            raise Wrong(error.found, error.record or number, error.remedy) from None
        except WRONG_KINDS as error:
            raise Wrong(f"a value is of a kind that is not expected there ({error})", number) from error


def in_batches(votes: Iterable[Vote]) -> Iterator[pl.DataFrame]:
    """Yield votes as tables of text. Python strings take much memory, so they are kept for one batch only."""
    rest = iter(votes)
    while rows := list(islice(rest, MOST_VOTES)):
        columns = zip(*rows, strict=True)
        yield pl.DataFrame({name: _text_export(values) for name, values in zip(Vote._fields, columns, strict=True)})


def joined(labels: list[Any]) -> Any:
    """Return a single label as it is, several as one text in sorted order, and None if there is none."""
    if len(labels) > 1:
        return SEVERAL.join(sorted(map(_written, labels)))
    if labels and isinstance(labels[0], list | dict):
        raise _no_name(labels[0])
    return labels[0] if labels else None


def need(record: Any, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Return a field of a record, which must have this type. It may be absent or null only with a default."""
    if not isinstance(record, dict):
        raise Wrong(f"expected a JSON object, found {_shown(record)}")
    value = record.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or name not in record:
        there = f"{_shown(value)} for" if name in record else "no"
        raise Wrong(f'found {there} "{name}", expected {_KINDS.get(kind, kind.__name__)}')
    return value


_KINDS = {list: "a list", dict: "an object", str: "a text", bool: "true or false"}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _text_export(values: tuple[Any, ...]) -> pl.Series:
    written = [value if value is None or value.__class__ is str else _written(value) for value in values]
    try:
        return pl.Series(written, dtype=pl.String)
    except UnicodeEncodeError:  # half of a pair of surrogates: JSON can say it, but it is no text
        raise Wrong("a name or a label is no valid Unicode text") from None


def _written(value: Any) -> str:
    if isinstance(value, list | dict):
        raise _no_name(value)
    return text_of(value)


def _no_name(value: Any) -> Wrong:
    return Wrong(f"expected a name, a number or a label, found {_shown(value)}")


ENCRYPTED = 1  # a bit of the flags of a file in an archive
CHUNK = 2**18  # bytes that ijson reads at once


def records_of(seen: Peek) -> Iterator[Any]:
    """Yield the records of a JSON list or of JSON Lines. A single object is a list of one."""
    with open_export(seen.source) as file:
        if seen.source.format == "jsonl":
            yield from json_lines(file)
        else:
            yield from items(file, "item" if seen.is_list else "")


def open_export(source: Source) -> BinaryIO:
    if source.compression == "zstd":
        raise Wrong("it is packed with zstd", remedy="unpack it first (zstd -d)")
    file = open_bytes(source)
    skip_bom(file)
    return file


def items(file: BinaryIO, place: str) -> Iterator[Any]:
    """Yield the values at a place of a JSON file that may be larger than memory.

    "item" means the values of a list, and "" means whole objects, of which several may follow each other.
    """
    import ijson

    done = 0
    try:
        for item in ijson.items(file, place, use_float=True, buf_size=CHUNK, multiple_values=not place):
            done += 1
            yield item
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise Wrong(damage(error), record=done + 1) from None


def damage(error: Exception) -> str:
    """Return the reason that ijson gives, without its drawing of the place."""
    reason = str(error).removeprefix("b'").split("\\n")[0].split("\n")[0].strip(" .")
    return "the file is cut short" + ("" if "EOF" in reason else f", or no valid JSON ({reason})")


def json_lines(file: BinaryIO) -> Iterator[Any]:
    """Yield one JSON value per line. Blank lines do not count."""
    number, most = 0, limit("LINE")
    while line := file.readline(most + 1):
        if len(line) > most:
            raise Wrong(f"a line of more than {most:,} bytes", number + 1, remedy_of("LINE"))
        if line.strip():
            number += 1
            yield _loaded(line, number)


def _loaded(line: bytes, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"no valid JSON ({error})", record=number) from None


@contextmanager
def open_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    data = io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
    library = _zip_library()
    try:
        with library.ZipFile(data) as archive:
            yield archive
    except (zipfile.BadZipFile, library.BadZipFile, zlib.error, EOFError) as error:
        raise Wrong(f"the zip archive is damaged ({error})") from None
    except NotImplementedError as error:
        raise _cannot_unpack(str(error)) from None


def _cannot_unpack(reason: str) -> Wrong:
    if reason.startswith("zip file version"):
        return Wrong(f"the zip archive is damaged ({reason})")
    return Wrong("it is packed with zstd", remedy="install what can unpack it: pip install 'finegold[inspect]'")


def _zip_library() -> Any:
    """Return a module that reads archives. Python unpacks zstd from 3.14 on, and a backport does before that."""
    if sys.version_info < (3, 14):
        with suppress(ImportError):
            from backports.zstd import zipfile as newer

            return newer
    return zipfile


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    """Open a file of an archive, and add its name to errors."""
    if archive.getinfo(name).flag_bits & ENCRYPTED:
        raise Wrong(f"{name} is encrypted", remedy="unpack the archive with its password, and give the files in it")
    with archive.open(name) as file:
        check_nesting(f"{name} in {PurePath(archive.filename or 'the archive').name}", file)
    try:
        with archive.open(name) as file:
            yield cast(BinaryIO, file)
    except Wrong as error:
        raise Wrong(f"in {name}, {error.found}", error.record, error.remedy) from None


ROW = "finegold row"  # from 1, as messages count them


def sheets_of(seen: Peek, columns: Sequence[str], may_omit: int = 0) -> pl.DataFrame:
    """Read these columns as text, blank cells as null, and number the rows. They may omit so many of the last cells."""
    wanted = [name for name in dict.fromkeys(columns) if name in seen.columns]
    schema = dict.fromkeys(wanted, pl.String())
    parts = batches(seen.source, scan_delimited(seen.source), wanted, may_omit)
    table = pl.concat([pl.DataFrame(schema=schema), *parts])
    if table.is_empty():
        raise Wrong("it has a header but no rows")
    return table.with_columns(_without_blanks(pl.all())).with_row_index(ROW, offset=1)


def rows_of(seen: Peek, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with those of the columns that it has."""
    wanted = [name for name in dict.fromkeys(columns) if name in seen.columns]
    scan = scan_delimited(seen.source) if seen.source.is_delimited else pl.scan_parquet(seen.source.data, glob=False)
    for batch in batches(seen.source, scan, wanted):
        yield from batch.iter_rows(named=True)


def chosen(seen: Peek, options: ExportOptions, usual: str, kind: str) -> str:
    """Return the column of the tasks: the usual one, or the one of --task, with or without its prefix ("Input.")."""
    if options.task is None:
        return usual
    found = next((name for name in (options.task, kind + options.task) if name in seen.columns), None)
    if found is None:
        names = dict.fromkeys([usual, *(name for name in seen.columns if name.startswith(kind))])
        raise Wrong(f'there is no column "{options.task}"', remedy=f"choose --task among {', '.join(names)}")
    return found


def leave_out(table: pl.DataFrame, which: pl.Expr, what: str, options: ExportOptions, option: str = "") -> pl.DataFrame:
    """Leave out and count rows, unless --include asks for them."""
    if option in options.include:
        return table
    marked = table.select(which.fill_null(False)).to_series()
    if marked.any():
        options.left_out[what] += int(marked.sum())
    return table.filter(~marked)


def votes_on(
    table: pl.DataFrame,
    task: str,
    annotator: str | pl.Expr,
    labels: Mapping[str, pl.Series],
    golds: Mapping[str, pl.Series] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the votes on each question. A question without answers is left out."""
    for question, label in labels.items():
        if label.null_count() < len(label):
            gold = (golds or {}).get(question, pl.lit(None, pl.String))
            yield table.select(task=task, annotator=annotator, label=label, question=pl.lit(question), gold=gold)


def unlisted(cells: pl.Series) -> pl.Series:
    """Convert lists of several answers, such as ["a","b"], into one label. Few of them differ."""
    lists = cells.unique().drop_nulls()
    meant: dict[str, str | None] = {}
    for cell in lists.filter(lists.str.starts_with("[")):
        with suppress(ValueError):  # a label that begins like a list
            found = json.loads(cell)
            if all(isinstance(item, str | int | float) for item in found):
                label = joined(found)
                meant[cell] = None if label is None else str(label)
    return cells.replace(meant) if meant else cells


def _without_blanks(cells: pl.Expr) -> pl.Expr:
    return pl.when(cells.str.strip_chars() != "").then(cells)
