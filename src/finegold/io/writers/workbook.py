"""Tables as .xlsx workbooks of one sheet. Texts are written as texts, so that Excel runs none of them as a formula."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import OutputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["write_workbook"]

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 2**20, 2**14, 32_767  # limits of Excel
LARGE = 10**15  # Excel keeps 15 digits of a number, so longer integers are written as texts
OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
CREATED = datetime.datetime(2000, 1, 1)  # a fixed date, so that the same table gives the same bytes


def write_workbook(pieces: Iterable[pl.DataFrame], path: Path) -> None:
    """Write tables with the same columns one below the other."""
    try:
        from xlsxwriter import Workbook
    except ImportError:
        raise OutputError("an Excel file needs XlsxWriter: pip install 'finegold[excel]'; or write a .csv") from None
    with Workbook(path, OPTIONS) as book:
        book.set_properties({"created": CREATED})
        sheet = book.add_worksheet()
        for number, row in enumerate(_rows(pieces)):
            if number >= MOST_ROWS or len(row) > MOST_COLUMNS:
                most = f"{MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns"
                raise OutputError(f"{path} would have more than the {most} that a sheet can hold; write a .csv")
            sheet.write_row(number, 0, list(map(_cell, row)))


def _rows(pieces: Iterable[pl.DataFrame]) -> Iterator[Sequence[Any]]:
    for number, piece in enumerate(pieces):
        if number == 0:
            yield piece.columns
        yield from piece.iter_rows()


def _cell(value: Any) -> Any:
    """Return the value as Excel can hold it: a number, or a text."""
    is_number = (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and abs(value) < LARGE)
    return value if is_number or value is None else str(value)[:MOST_CHARACTERS]
