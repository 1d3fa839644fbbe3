"""Sheets of Excel and OpenDocument -> comma-separated text, which is then read like a CSV file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import InputError
from finegold.io.readers.limits import limit, refuse
from finegold.io.readers.sheet_size import Size, sheet_sizes
from finegold.io.readers.source import Source, archive_members, start_of
from finegold.io.readers.xls_size import xls_sizes
from finegold.io.suffixes import WORKBOOKS

__all__ = ["SHEET", "is_workbook", "sheet_names", "sheet_text"]

SHEET = "#"  # between the path of a workbook and the name of a sheet
OLE, ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}  # in the archives of Excel and of OpenDocument


def is_workbook(source: Source) -> bool:
    """Recognise a workbook by its content, because any file may be called .xls; a damaged one by its name."""
    start = start_of(source)[: len(ZIP)]
    if start == ZIP:
        with suppress(zipfile.BadZipFile, OSError):
            return not PARTS.isdisjoint(member.filename for member in archive_members(source))
    return start == OLE or (start == ZIP and source.name.lower().endswith(WORKBOOKS))


def sheet_text(source: Source, sheet: str | None = None) -> Source:
    """Return the sheet of this name, or the only one that is not empty, as comma-separated text."""
    book = _open(source)
    name = _only(source, book) if sheet is None else _named(source, book, sheet)
    rows = _rows(source, book, name)
    if rows.is_empty():
        raise InputError(f'{source.name}: the sheet "{name}" is empty; expected a table with a header')
    text = rows.write_csv(include_header=False).encode()
    return Source(f'{source.name}, sheet "{name}"', text)


def sheet_names(source: Source) -> list[str]:
    """Return the names of the sheets that are not empty."""
    book = _open(source)
    return [name for name in book.sheet_names if not _rows(source, book, name).is_empty()]


def _open(source: Source) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise InputError(f"{source.name} is a workbook; to read it: pip install 'finegold[excel]'") from None
    with _whole_workbook(source):
        _check_size(source)
        return fastexcel.read_excel(source.data)


@contextmanager
def _whole_workbook(source: Source) -> Iterator[None]:
    """Raise an InputError for a damaged workbook. Libraries raise many classes, and Rust's panic is no Exception."""
    try:
        yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise InputError(f"{source.name} is a damaged workbook ({_said(error)}); save it again, or as CSV") from None


def _check_size(source: Source) -> None:
    """Refuse huge sheets: the library allocates every cell between the first and the last, up to 549 GB."""
    most = limit("CELLS")
    with _whole_workbook(source):
        sizes = list(_sizes(source))
    for rows, columns in sizes:
        if rows * columns > most:
            found = f"has a sheet of {rows:,} rows x {columns:,} columns, more than {most:,} cells"
            refuse(source.name, found, "CELLS")


def _sizes(source: Source) -> Iterator[Size]:
    if start_of(source).startswith(ZIP):
        with zipfile.ZipFile(_data(source)) as archive:
            yield from sheet_sizes(archive)
    else:
        yield from xls_sizes(source.data if isinstance(source.data, bytes) else source.data.read_bytes())


def _only(source: Source, book: Any) -> str:
    if not book.sheet_names:
        raise InputError(f"{source.name} is a workbook without sheets; expected one with a table of votes")
    filled = [name for name in book.sheet_names if not _rows(source, book, name).is_empty()]
    if len(filled) > 1:
        names = ", ".join(f'"{name}"' for name in filled)
        path = "FILE" if isinstance(source.data, bytes) else source.name
        raise InputError(f"{source.name} holds the sheets {names}; choose one: {path}{SHEET}{filled[0]}")
    return filled[0] if filled else str(book.sheet_names[0])


def _named(source: Source, book: Any, sheet: str) -> str:
    if sheet not in book.sheet_names:
        names = ", ".join(f'"{name}"' for name in book.sheet_names)
        raise InputError(f'{source.name} has no sheet "{sheet}"; it has {names}')
    return sheet


def _rows(source: Source, book: Any, name: str) -> pl.DataFrame:
    """Return every cell as text, 2 and not 2.0, without empty columns."""
    with _whole_workbook(source):
        rows: pl.DataFrame = book.load_sheet(name, header_row=None, dtypes="string").to_polars()
    return rows.select(column for column in rows if column.null_count() < len(column))


def _data(source: Source) -> Path | io.BytesIO:
    return io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data


def _said(error: BaseException) -> str:
    return " ".join(str(error).partition("Context:")[0].split())[:120]
