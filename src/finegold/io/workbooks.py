"""Sheets of Excel and OpenDocument -> comma-separated text, which is then read like a CSV file.

The library (calamine) allocates every cell between the first and the last one that a sheet names, follows the sectors
of an old workbook wherever they lead, and may never end with damaged XML. It therefore runs in a child process.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from pathlib import Path
from typing import IO, Any
from xml.parsers.expat import ParserCreate

from finegold.errors import InputError
from finegold.io.limits import DEFAULTS, limit, n_bytes, refuse
from finegold.system.child import Answer, ExhaustedError, FailedError, run_in_child
from finegold.system.memory import available_memory, in_words

SHEET = "#"  # between the path of a workbook and the name of a sheet
SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
OLE = b"\xd0\xcf\x11\xe0"  # how an old workbook begins
PARTS = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}  # in the archives of Excel and of OpenDocument
BYTES_PER_CELL = 200  # that the library and the text need at most


def read_sheet(name: str, data: Path | bytes, sheet: str | None = None) -> tuple[str, bytes]:
    """Return the sheet of this name, or the only one that is not empty, and its text."""
    text, facts = _in_child("write_sheet", name, data, sheet)
    return facts["sheet"], text


def list_sheets(name: str, data: Path | bytes) -> list[str]:
    """Return the names of the sheets that are not empty."""
    names: list[str] = _in_child("find_sheets", name, data).facts["sheets"]
    return names


def _in_child(job: str, name: str, data: Path | bytes, *arguments: Any) -> Answer:
    if importlib.util.find_spec("fastexcel") is None:
        raise InputError(f"{name} is a workbook; to read it: pip install 'finegold[excel]'")
    max_bytes = min(BYTES_PER_CELL * max(limit("CELLS"), DEFAULTS["CELLS"]), available_memory())
    max_seconds = limit("SECONDS") + n_bytes(data) / 1e6
    try:
        return run_in_child(
            f"finegold.io.workbooks:{job}", data, name, *arguments, max_bytes=max_bytes, max_seconds=max_seconds
        )
    except ExhaustedError:
        excess = f"cannot be read with {in_words(max_bytes)} of memory in {max_seconds:.0f} seconds"
        refuse(name, f"is damaged, or its cells lie too far apart: it {excess}", "CELLS")
    except FailedError as error:
        raise _damaged(name, error) from None


def _damaged(name: str, error: BaseException) -> InputError:
    reason = " ".join(str(error).partition("Context:")[0].split())[:120]
    return InputError(f"{name} is a damaged workbook ({reason}); save it again, or as CSV")


# What follows runs in the child.


def write_sheet(data: Path | bytes, output: IO[bytes], name: str, sheet: str | None) -> dict[str, Any]:
    """Write the text of a sheet; without a name, there must be one that is not empty."""
    book = _open(data)
    if sheet is not None and sheet not in book.sheet_names:
        raise InputError(f'{name} has no sheet "{sheet}"; it has {_quoted(book.sheet_names)}')
    if not book.sheet_names:
        raise InputError(f"{name} is a workbook without sheets; expected one with a table of votes")
    tables = {title: _rows(name, book, title) for title in ([sheet] if sheet is not None else book.sheet_names)}
    filled = [title for title, rows in tables.items() if not rows.is_empty()]
    if len(filled) > 1:
        path = "FILE" if isinstance(data, bytes) else name
        raise InputError(f"{name} holds the sheets {_quoted(filled)}; choose one: {path}{SHEET}{filled[0]}")
    if not filled:
        raise InputError(f'{name}: the sheet "{next(iter(tables))}" is empty; expected a table with a header')
    output.write(tables[filled[0]].write_csv(include_header=False).encode())
    return {"sheet": filled[0]}


def find_sheets(data: Path | bytes, output: IO[bytes], name: str) -> dict[str, Any]:
    """Return the names of the sheets that are not empty."""
    book = _open(data)
    return {"sheets": [title for title in book.sheet_names if not _rows(name, book, title).is_empty()]}


def _open(data: Path | bytes) -> Any:
    import fastexcel

    source = data if isinstance(data, Path) else io.BytesIO(data)
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            if "content.xml" in archive.namelist():
                ParserCreate().Parse(archive.read("content.xml"), True)  # tags that do not match make the library loop
    return fastexcel.read_excel(data)


def _rows(name: str, book: Any, sheet: str) -> Any:
    """Return every cell as text, 2 and not 2.0, without empty columns."""
    rows = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    if rows.height * rows.width > (most := limit("CELLS")):
        size = f"{rows.height:,} rows x {rows.width:,} columns"
        refuse(name, f"has a sheet of {size}, more than {most:,} cells", "CELLS")
    return rows.select(column for column in rows if column.null_count() < len(column))


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
