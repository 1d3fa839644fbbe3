"""Wide tables: one row per task, one column per annotator (or judge model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.readers.assemble import ReadOptions, assemble, refuse_lost_ids, with_columns
from finegold.io.readers.columns import (
    ANNOTATOR,
    LABEL,
    WIDE_TASK,
    Role,
    bare_name,
    columns_of,
    find_column,
    listed,
    named_column,
    truth_columns,
)
from finegold.io.readers.shapes import plain_columns, say_aside
from finegold.io.readers.table import Loaded, Opened, row_numbers
from finegold.io.readers.truth import gold_column, gold_truth
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import kind_of, series_of, to_list
from finegold.votes.hygiene import votes_in
from finegold.votes.names import Coded, encode_series, integer_names, renumber, text_of

__all__ = ["cells_of", "column_names", "count_cells", "id_column", "read_wide", "row_ids", "with_unlabelled"]

Series = nw.Series[Any]


def read_wide(
    opened: Opened, task: str | None, annotators: str | Sequence[str] | None, options: ReadOptions
) -> Annotations:
    """Tasks are named by their column (or by a pandas index), else by the number of their row, from 1.

    A column called gold or truth is no annotator; it is used only if `gold` asks for it.
    """
    with columns_of(opened.name):
        gold = gold_column(options.gold, opened.columns)
        opened, by_task = id_column(opened, WIDE_TASK, task, {gold})
        columns = _named_columns(opened.columns, annotators, {by_task, gold})
    table = opened.load([column for column in [by_task, *columns, gold] if column is not None], [by_task])
    if annotators is None:
        with columns_of(opened.name):
            columns = _annotator_columns(table, opened, columns, by_task)
    tasks = row_ids(table, by_task)
    cells, row, column = cells_of(table, columns)
    labels = votes_in(cells, options.no_vote, is_wide=options.classes is None)
    truth = gold_truth(table, tasks, gold, options.gold, options.no_vote)
    names = column_names(table, columns)

    def where(cell: int) -> str:
        return f'{table.where(int(row[cell]))}, column "{columns[column[cell]]}"'

    refuse_lost_ids("task", tasks.codes[row], labels.codes, where)
    whole = with_unlabelled(
        Coded(tasks.codes[row], tasks.names), Coded(names.codes[column], names.names), labels, tasks
    )
    annotations = assemble(*whole, truth, options, table.is_text, where)
    return with_columns(count_cells(annotations, len(table.frame) * len(columns)), opened, by_task, None)


def id_column(opened: Opened, role: Role, name: str | None, others: set[Any]) -> tuple[Opened, Any]:
    """Return the column that names the rows, or None. A pandas index becomes a column."""
    found = find_column([column for column in opened.columns if column not in others], role, name)
    if found is not None or not isinstance(opened.frame, nw.DataFrame):
        return opened, found
    index = nw.maybe_get_index(opened.frame)
    if index is None or type(index).__name__ == "RangeIndex" or index.nlevels > 1:
        return opened, None
    native = opened.frame.to_native().reset_index()  # pandas users keep their ids in the index
    return replace(opened, frame=nw.from_native(native), columns=list(native.columns)), native.columns[0]


def _named_columns(columns: list[Any], chosen: str | Sequence[str] | None, others: set[Any]) -> list[Any]:
    """Return the columns of the annotators that the user names, or all columns that may be theirs."""
    if chosen is not None:
        wanted = [chosen] if isinstance(chosen, str) else chosen
        return [named_column(columns, name, ANNOTATOR) for name in wanted]
    others = others | set(truth_columns(columns))
    found = [column for column in columns if column not in others]
    if not found:
        raise InputError(f"no column is left for an annotator among {', '.join(map(str, columns))}")
    return found


def _annotator_columns(table: Loaded, opened: Opened, columns: list[Any], by_task: Any) -> list[Any]:
    """Leave aside row numbers, ids and texts. Refuse a long table, whose annotators would become votes."""
    found = plain_columns(table, columns, by_task)
    voting = set(found)
    aside = [column for column in columns if column not in voting]
    people = [column for column in columns if bare_name(column) in ANNOTATOR.words]
    has_labels = any(bare_name(column) in LABEL.words for column in columns)
    if people and (has_labels or people[0] in aside):
        text = f"the column {listed(people[:1])} names annotators, so this is no wide table; leave --wide out"
        raise InputError(f"{text} (wide= in Python)", {"--wide": None})
    if not found:
        raise InputError(f"no column is left for an annotator; {listed(aside)} hold ids or texts")
    say_aside(opened.name, False, found, aside)
    return found


def row_ids(table: Loaded, column: Any) -> Coded:
    """Return the names of the rows, or their numbers if no column names them."""
    if column is None:
        return encode_series(row_numbers(table))
    return table.ids(column)


def column_names(table: Loaded, columns: list[Any]) -> Coded:
    """Return the names of columns as a series of the table's library."""
    coded = encode_series(series_of(columns, kind_of(table.column(columns[0]))))
    return integer_names(coded) if table.is_text else coded


def cells_of(table: Loaded, columns: list[Any]) -> tuple[Coded, NDArray[np.int32], NDArray[np.int32]]:
    """Return the labels of all cells that are not null, column by column, with their rows and columns."""
    parts = [encode_series(table.column(column)) for column in columns]
    names = encode_series(_stack([part.names for part in parts]))
    first = np.cumsum([0] + [len(part.names) for part in parts])
    rows = [np.flatnonzero(part.codes != MISSING).astype(np.int32) for part in parts]
    codes = [
        renumber(part.codes[row], names.codes[start : start + len(part.names)])
        for part, row, start in zip(parts, rows, first[:-1], strict=True)
    ]
    column = np.repeat(np.arange(len(columns), dtype=np.int32), [len(row) for row in rows])
    return Coded(np.concatenate(codes), names.names), np.concatenate(rows), column


def _stack(names: list[Series]) -> Series:
    """Join all columns in one series, in their dtype if they share one."""
    filled = [part for part in names if len(part)] or names[:1]
    if len({str(part.dtype) for part in filled}) == 1:
        frames = [part.alias("label").to_frame() for part in filled]
        return nw.concat(frames, how="vertical").get_column("label")
    return _mixed([value for part in filled for value in to_list(part)], filled[0])


def _mixed(values: list[Any], like: Series) -> Series:
    """Convert to integers where blanks made floats of some, or to text where the library allows no mixture."""
    if all(isinstance(value, int | float) and float(value).is_integer() for value in values):
        return series_of([int(value) for value in values], like.implementation)
    try:
        return series_of(values, like.implementation)
    except Exception:  # each library has its own ways to refuse a mixture
        return series_of([text_of(value) for value in values], like.implementation)


def with_unlabelled(task: Coded, annotator: Coded, labels: Coded, tasks: Coded) -> tuple[Coded, Coded, Coded]:
    """Return the votes, and one missing vote for each task without any, so that it is listed as unlabelled."""
    voted = labels.codes != MISSING
    asked = np.setdiff1d(tasks.codes[tasks.codes != MISSING], task.codes[voted]).astype(np.int32)
    nobody: Codes = np.zeros(len(asked), dtype=np.int32)
    return (
        Coded(np.concatenate([task.codes[voted], asked]), task.names),
        Coded(np.concatenate([annotator.codes[voted], nobody]), annotator.names),
        Coded(np.concatenate([labels.codes[voted], nobody + np.int32(MISSING)]), labels.names),
    )


def count_cells(annotations: Annotations, cells: int) -> Annotations:
    """Count every cell as a row."""
    counts = annotations.counts
    missing = cells - (counts.rows - counts.missing)
    return replace(annotations, counts=replace(counts, rows=cells, missing=missing))
