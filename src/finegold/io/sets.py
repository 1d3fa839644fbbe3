"""Votes that are sets of labels: every option is a class, and an annotator may choose several of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, leave_out, use
from finegold.io.options import ReadOptions
from finegold.io.tables import Opened
from finegold.votes.annotations import Annotations, Counts
from finegold.votes.encoding import MISSING, Codes, Names, text_of
from finegold.votes.hygiene import Finding
from finegold.votes.labels import Spellings, as_cell, encode_classes, hold_sets, options_of, separator_of, unify
from finegold.votes.names import Coded


def find_sets(labels: Coded, of_export: bool = False) -> Finding | None:
    """Report that the labels are sets, if they are."""
    cells = [text_of(name) for name in labels.names]
    counts = np.bincount(labels.codes[labels.codes != MISSING], minlength=len(cells)).astype(np.int64)
    if not hold_sets(cells, counts, of_export=of_export):
        return None
    separator = separator_of(cells)
    several = [cell for cell in cells if len(options_of(cell, separator)) > 1] or cells
    shown = min(several, key=len)
    text = f"the votes are sets of labels, such as {shown}, so each option is taken as a question of yes or no"
    return Finding("sets", text, (use(multi=False, text="to take each set as a class"),))


def assemble_sets(
    tasks: Coded,
    annotators: Coded,
    labels: Coded,
    options: ReadOptions,
    where: Callable[[int], str],
) -> tuple[Annotations, list[Finding]]:
    """Build Annotations whose classes are options, the last of them "": nothing was chosen.

    Rows of one annotator on one task are one answer, so a table may also have a row per chosen option.
    """
    if options.repeated not in ("first", "all"):
        problem = "with sets of labels, all rows of an annotator on a task are one answer"
        raise InputError(problem, remedies=[leave_out("repeated"), leave_out("multi")])
    row, option = _one_row_per_option(labels)
    written, findings = unify(Spellings(option, []), options.classes, options.normalise, options.alias)
    encoded = encode_classes(written.labels, [], options.classes, False, lambda vote: where(int(row[vote])))
    names = [text_of(name) for name in encoded.names]
    is_nothing = (encoded.labels == MISSING) & (labels.codes[row] != MISSING)
    code = np.where(is_nothing, np.int32(len(names)), encoded.labels).astype(np.int32)
    votes = _distinct(tasks.codes[row], annotators.codes[row], code)
    annotations = Annotations.from_codes(*votes, tasks.names, annotators.names, [*names, ""], repeated="all")
    counts = Counts(len(labels.codes), int((labels.codes == MISSING).sum()))
    return replace(annotations, counts=counts, multi=True), findings


def lists_as_text(opened: Opened, column: Any) -> Opened:
    """Write the lists of a column, if it holds lists, as text."""
    if opened.frame is not None:
        return _frame_as_text(opened, column)
    text = pl.col(column).map_elements(as_cell, return_dtype=pl.String)
    scans = [
        scan.with_columns(text) if scan.collect_schema()[column].base_type() in (pl.List, pl.Array) else scan
        for scan in opened.scans
    ]
    return replace(opened, scans=scans)


def _frame_as_text(opened: Opened, column: Any) -> Opened:
    frame = opened.frame
    assert frame is not None
    if frame.collect_schema()[column] not in (nw.List, nw.Array, nw.Object):
        return opened
    table = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    values = table.get_column(column).to_list()
    if not any(_holds_several(value) for value in values):
        return opened
    cells = [as_cell(value) if _holds_several(value) else value for value in values]
    texts = nw.new_series(str(column), cells, backend=table.implementation)
    return replace(opened, frame=table.with_columns(texts.alias(column)))


def _holds_several(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _one_row_per_option(labels: Coded) -> tuple[NDArray[np.int64], Coded]:
    """Return a row per option of each vote, and one row for an empty set or a missing vote."""
    cells = [text_of(name) for name in labels.names]
    separator = separator_of(cells)
    parts = [options_of(cell, separator) for cell in cells]
    names = sorted({option for some in parts for option in some})
    code_of = {name: code for code, name in enumerate(names)}
    codes = [[code_of[option] for option in some] or [MISSING] for some in [*parts, []]]  # the last is of MISSING
    lengths = np.array([len(some) for some in codes])
    first = np.cumsum(lengths) - lengths
    length = lengths[labels.codes]
    row = np.repeat(np.arange(len(length)), length)
    place = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)  # within the cell
    flat = np.array([code for some in codes for code in some], dtype=np.int32)
    return row, Coded(flat[first[labels.codes[row]] + place], Names(pl.Series(names, dtype=pl.String)))


def _distinct(task: Codes, annotator: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Leave out rows without a task or an annotator, and options that an annotator chose twice for a task."""
    whole = np.flatnonzero((task != MISSING) & (annotator != MISSING))
    task, annotator, label = task[whole], annotator[whole], label[whole]
    order = np.lexsort((label, annotator, task))
    columns = [column[order] for column in (task, annotator, label)]
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    kept = order[new]
    return task[kept], annotator[kept], label[kept]
