"""Names of items and judges as codes, and errors about verdicts that cannot be read."""

from __future__ import annotations

import shlex

import narwhals as nw
import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.votes.encoding import Codes
from finegold.votes.frames import to_list
from finegold.votes.names import Coded, encode_column

__all__ = ["costs_of", "encoded", "file_of", "gold_of_items", "refuse_unreadable"]

MOST_UNREADABLE = 0.5  # with a larger share, the column is not one of verdicts


def encoded(column: pl.Series, what: str, source: str) -> Coded:
    """Encode the items or judges. Blank ones are refused."""
    coded = encode_column(nw.from_native(column, series_only=True), is_text=True)
    if (coded.codes < 0).any():
        row = int(np.argmax(coded.codes < 0)) + 1
        raise InputError(f"{source}: verdict {row:,} has no {what}; fill it in or remove the row")
    return coded


def costs_of(table: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if "cost" not in table.columns:
        return np.full(table.height, np.nan)
    return table.get_column("cost").fill_null(np.nan).to_numpy()


def gold_of_items(items: Coded, gold: Codes, source: str) -> Codes:
    """Return the truth of each item from the truth of each row; contradictions are refused."""
    found = np.full(len(items.names), -1, np.int32)
    known = gold >= 0
    found[items.codes[known]] = gold[known]
    wrong = np.flatnonzero(known & (found[items.codes] != gold))
    if wrong.size:
        item = to_list(items.names)[items.codes[wrong[0]]]
        raise InputError(f"{source}: item {item!r} has two different gold truths; keep one of them")
    return found


def file_of(source: str) -> str:
    """Return the name to show in a command."""
    return "LOG" if source == "the data frame" else source.split(", ")[0]


def refuse_unreadable(texts: pl.Series, source: str, *, n_readable: int, kind: str) -> None:
    """Refuse a column most of whose values are no verdicts, with a command to paste."""
    n = len(texts)
    if n == 0 or n <= (n + n_readable) * MOST_UNREADABLE:
        return
    example = str(texts[0]).replace("\n", " ")[:60]
    other = "pointwise" if kind == "pairwise" else "pairwise"
    file = shlex.quote(file_of(source))
    raise InputError(
        f"{source}: {n:,} of {n + n_readable:,} verdicts cannot be read as {kind} ones, such as {example!r}; "
        f"if another column has them: finegold judges {file} --verdict COLUMN; "
        f"if they are {other}: finegold judges {file} --kind {other}"
    )
