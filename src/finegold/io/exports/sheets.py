"""Exports that are tables with a row per annotator and task, and a column per question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from finegold.io.exports.export import ExportOptions, Wrong, joined
from finegold.io.exports.peek import Peek
from finegold.io.readers.batches import batches
from finegold.io.readers.delimited import scan_delimited

__all__ = ["ROW", "chosen", "leave_out", "rows_of", "sheets_of", "unlisted", "votes_on"]

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
