"""The beginning of a file: enough to tell which tool wrote it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO

import polars as pl

from finegold.errors import InputError
from finegold.io.readers.diagnosis import records
from finegold.io.readers.formats import by_extension, by_magic, recognise
from finegold.io.readers.source import (
    BOM,
    Source,
    archive_members,
    first_line,
    has_whole_text,
    open_bytes,
    read_start,
    separator_of,
    text_start,
)

__all__ = ["Peek", "peek", "skip_bom"]

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
