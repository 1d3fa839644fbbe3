"""Escape cells of CSV and TSV files that a spreadsheet would take for formulas.

A text that begins with =, +, -, @, a tab or a line break gets an apostrophe in front, unless it is a number. So does a
text that begins with apostrophes before such a character. Removing one apostrophe therefore restores every text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MARK = "'"
FORMULA = r"^'*[=+\-@\t\r\n]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
ESCAPED = r"^'('*[=+\-@\t\r\n])"


def escape_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with an apostrophe before each text and column name that could be a formula."""
    import polars as pl

    texts = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    is_formula = texts.str.contains(FORMULA) & ~texts.str.contains(NUMBER)
    marked = frame.with_columns(pl.when(is_formula).then(MARK + texts).otherwise(texts).name.keep())
    return marked.rename({name: MARK + name for name in frame.columns if _is_formula(name)})


def unescape_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table as it was before `escape_cells`."""
    import polars as pl

    marked = [column for column in frame if column.dtype == pl.String and column.str.starts_with(MARK).any()]
    return frame.with_columns(column.str.replace(ESCAPED, "${1}") for column in marked)


def unescape_name(name: str) -> str:
    """Return the name of a column as it was before `escape_cells`."""
    return re.sub(ESCAPED, r"\1", name)


def _is_formula(text: str) -> bool:
    return re.match(FORMULA, text) is not None and re.match(NUMBER, text) is None
