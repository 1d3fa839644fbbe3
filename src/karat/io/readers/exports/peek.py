"""A look at the beginning of a file: enough to tell whose export it is."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO

import polars as pl

from karat.errors import InputError
from karat.io.readers.diagnosis import records
from karat.io.readers.formats import by_extension, by_magic, recognise
from karat.io.readers.source import Source, first_line, open_bytes, separator_of

__all__ = ["Peek", "peek", "skip_bom"]

START = 2**16  # bytes that tell what kind of file it is
LONGEST = 2**24  # a line with one record, which may hold an image
BOM = b"\xef\xbb\xbf"  # that some editors put in front
MOST_EVENTS = 20_000  # of the JSON of one big object
ROWS = 3  # of a table, beside the header
COMPRESSED = ("gzip", "zstd")


@dataclass(frozen=True)
class Peek:
    """What the beginning of a file shows.

    The source's format is csv or tsv (columns, rows), jsonl (record), json (record, is_list), zip (members; an
    Excel workbook is one too), parquet or arrow (columns), or nothing.
    """

    source: Source
    columns: tuple[str, ...] = ()  # the header of a table
    rows: tuple[tuple[str, ...], ...] = ()  # the next few rows of a delimited text
    record: dict[str, Any] = field(default_factory=dict)  # the first JSON object; of a big one only plain values
    is_list: bool = False  # a JSON list, not an object
    members: tuple[str, ...] = ()  # the names in a zip archive

    @property
    def is_table(self) -> bool:
        """Whether it could be read as a plain table, too."""
        return self.source.format in ("csv", "tsv", "jsonl", "parquet", "arrow")


def peek(source: Source) -> Peek:
    """What can be seen; a file that shows nothing, or is damaged, is left to those who read tables."""
    compression = by_extension(source)[1]
    with suppress(
        InputError, OSError, ValueError, RecursionError, csv.Error, pl.exceptions.PolarsError, zipfile.BadZipFile
    ):
        start = _start(source)
        magic = by_magic(start)
        if magic in COMPRESSED:
            compression = magic
        source = replace(source, compression=compression)
        if magic.startswith("zip"):
            return _zip(source)
        if magic in ("parquet", "arrow"):
            return _binary(replace(source, format=magic))
        return _text(source)
    return Peek(replace(source, compression=compression))


def _start(source: Source) -> bytes:
    if isinstance(source.data, bytes):
        return source.data[:START]
    with source.data.open("rb") as file:
        return file.read(START)


def _zip(source: Source) -> Peek:
    data = io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
    with zipfile.ZipFile(data) as archive:
        return Peek(replace(source, format="zip"), members=tuple(archive.namelist()))


def _binary(source: Source) -> Peek:
    if source.format == "arrow":
        return Peek(source)
    return Peek(source, columns=tuple(pl.scan_parquet(source.data, glob=False).collect_schema().names()))


def _text(source: Source) -> Peek:
    if source.compression == "zstd":  # only Polars can unpack it
        line = first_line(source).lstrip("\ufeff \t")
    else:
        with open_bytes(source) as file:
            line = file.read(START).decode("utf-8-sig", errors="replace").lstrip()
    if line.startswith("["):
        return Peek(replace(source, format="json"), record=_first_item(source), is_list=True)
    if line.startswith("{"):
        return _object_or_lines(source)
    return _delimited(recognise(source))


def _object_or_lines(source: Source) -> Peek:
    """JSON Lines have a whole object on the first line; a single object is spread over many, or is very long."""
    with suppress(ValueError):
        return Peek(replace(source, format="jsonl"), record=dict(json.loads(_line(source))))
    return Peek(replace(source, format="json"), record=_plain_values(source))


def _line(source: Source) -> str:
    """The first that is not blank."""
    if source.compression == "zstd":
        return first_line(source)
    with open_bytes(source) as file:
        while (line := file.readline(LONGEST)) and not line.removeprefix(BOM).strip():
            pass
    return line.decode("utf-8-sig")


def _first_item(source: Source) -> dict[str, Any]:
    """Truncated or odd JSON has none."""
    import ijson

    with open_bytes(source) as file, suppress(ijson.JSONError, StopIteration):
        skip_bom(file)
        item = next(ijson.items(file, "item", use_float=True))
        return item if isinstance(item, dict) else {}
    return {}


def _plain_values(source: Source) -> dict[str, Any]:
    """The keys at the top of a big object as far as they are seen, with their values where these are plain."""
    import ijson

    found: dict[str, Any] = {}
    with open_bytes(source) as file, suppress(ijson.JSONError):
        skip_bom(file)
        for prefix, event, value in islice(ijson.parse(file, use_float=True), MOST_EVENTS):
            if prefix == "" and event == "map_key":
                found[value] = None
            elif prefix in found and "." not in prefix and event not in ("start_map", "end_map", "map_key"):
                found[prefix] = found[prefix] if value is None else value
    return found


def skip_bom(file: BinaryIO) -> None:
    if file.read(len(BOM)) != BOM:
        file.seek(0)


def _delimited(source: Source) -> Peek:
    if not source.is_delimited:
        return Peek(source)
    with closing(records(source, separator_of(source))) as all_rows:
        rows = [tuple(row) for _, row in islice(all_rows, ROWS + 1)]
    return Peek(source, columns=rows[0] if rows else (), rows=tuple(rows[1:]))
