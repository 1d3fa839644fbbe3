"""Find the columns of a judge log, read them, and make a `JudgeLog`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from finegold.errors import InputError
from finegold.io.exports import find_export, look
from finegold.io.readers import read
from finegold.io.readers.files import is_files, sources_of
from finegold.io.readers.judge_logs.columns import Chosen, choose_columns
from finegold.io.readers.judge_logs.log import JudgeLog, Kind
from finegold.io.readers.judge_logs.pairwise import has_order, pairwise_log
from finegold.io.readers.judge_logs.pointwise import log_of_votes, pointwise_log
from finegold.io.readers.judge_logs.shapes import columns_of_shape, flatten
from finegold.io.readers.kinds import as_text
from finegold.io.readers.per_annotator import file_names
from finegold.io.readers.source import Source
from finegold.io.readers.table import Opened, open_sources, open_table
from finegold.io.readers.verdicts import is_clearly_pairwise
from finegold.votes.frames import to_polars

__all__ = ["read_judge_log"]

LOOKED_AT = 2000  # verdicts that tell whether a log is pairwise
# Exports that hold one verdict of a scorer per sample; the other pairwise ones are read by their columns.
SCORES = ("inspect",)


def read_judge_log(
    log: Any,
    *,
    kind: Kind | None = None,
    verdicts: Literal["position", "answer"] = "position",
    **columns: str | None,
) -> JudgeLog:
    """Read a judge log; see `finegold.judges.read`."""
    if verdicts not in ("position", "answer"):
        raise InputError(f'verdicts must be "position" or "answer", not {verdicts!r}')
    if kind not in (None, "pairwise", "pointwise"):
        raise InputError(f'kind must be "pairwise" or "pointwise", not {kind!r}')
    if isinstance(log, JudgeLog):
        return log
    sources = sources_of(log) if is_files(log) else []
    if _is_scores(sources):
        return log_of_votes(read(sources, repeated="all"))
    opened = _with_judges(open_sources(sources) if sources else open_table(log), columns.get("judge"))
    frame, chosen = _frame_and_columns(opened, columns)
    table = _standard(frame, chosen)
    if columns.get("order") is not None and not has_order(table):
        raise InputError(f'{opened.name}: the column "{chosen.order}" has other values than AB and BA; see --order')
    kind = kind or _kind(table, chosen)
    if kind == "pointwise":
        found = pointwise_log(table, opened.name)
    else:
        by_position = verdicts == "position"
        found = pairwise_log(table, opened.name, is_placed=chosen.is_placed, by_position=by_position)
    return replace(found, notes=[*found.notes, *_notes(table, frame, chosen, kind)])


def _notes(table: pl.DataFrame, frame: pl.DataFrame, chosen: Chosen, kind: str) -> list[str]:
    """Return what was in the log but is not used."""
    notes = []
    if "order" in table.columns and (kind == "pointwise" or not has_order(table)):
        notes.append(f'the column "{chosen.order}" is not used: its values are not AB and BA, or answers stand alone')
    if chosen.cost is not None:
        blank = frame.get_column(chosen.cost).null_count()
        n = table.get_column("cost").null_count() - blank
        notes += [f'{n:,} values in the column "{chosen.cost}" are no numbers and are left out'] if n > 0 else []
    return notes


def _is_scores(sources: list[Source]) -> bool:
    if not sources:
        return False
    export = find_export(look(sources[:1]))
    return export is not None and export.name in SCORES


def _with_judges(opened: Opened, judge: str | None) -> Opened:
    """Name the judges after the files, if there are several files and no column of judges."""
    names = file_names(opened.sources)
    if judge is not None or len(names) < 2 or columns_of_shape(opened.columns):
        return opened
    found = choose_columns(opened.columns, {}, source=opened.name, by_file=True)
    if found.judge is not None:
        return opened
    return open_sources([replace(one, annotator=name) for one, name in zip(opened.sources, names, strict=True)])


def _frame_and_columns(opened: Opened, given: Mapping[str, str | None]) -> tuple[pl.DataFrame, Chosen]:
    if nested := columns_of_shape(opened.columns):
        frame = _flat(to_polars(opened.load(nested).frame), opened.name)
        return frame, choose_columns(frame.columns, given, source=opened.name, by_file=False)
    chosen = choose_columns(opened.columns, given, source=opened.name, by_file=False)
    return to_polars(opened.load(chosen.columns).frame.select(chosen.columns)), chosen


def _flat(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    try:
        return flatten(frame)
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        raise InputError(
            f"{source} looks like a log of JudgeBench or Arena-Hard, but its judgements are no lists of objects with a "
            f"decision or a score ({said}); write one row per verdict, with the columns item, judge, order and verdict"
        ) from None


def _standard(frame: pl.DataFrame, chosen: Chosen) -> pl.DataFrame:
    """Return the columns as text under the names of their roles."""
    roles = ("item", "judge", "verdict", "order", "repeat", "error", "gold", "system_a", "system_b", "system", "turn")
    series = {role: _text(frame.get_column(column)) for role in roles if (column := getattr(chosen, role)) is not None}
    table = pl.DataFrame(series)
    if chosen.cost is not None:
        table = table.with_columns(cost=_price(frame.get_column(chosen.cost)))
    table = _whole_items(table)
    return _last_attempts(table)


def _text(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.List):  # MT-bench writes the judge and its prompt
        column = column.list.first()
    if column.dtype.is_float() or column.dtype == pl.Boolean:
        return as_text(column)
    return column.cast(pl.String)


def _price(column: pl.Series) -> pl.Series:
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    return _text(column).str.strip_chars(" $€£").cast(pl.Float64, strict=False)


def _whole_items(table: pl.DataFrame) -> pl.DataFrame:
    """Add the turn of a conversation and the judged system to the item, if they are not the same everywhere."""
    for name, words in (("turn", ", turn "), ("system", ", ")):
        if name in table.columns:
            if table[name].n_unique() > 1:
                both = pl.concat_str(pl.col("item"), pl.lit(words), pl.col(name).fill_null("?"))
                table = table.with_columns(item=both)
            table = table.drop(name)
    return table


def _last_attempts(table: pl.DataFrame) -> pl.DataFrame:
    """Keep the last of several rows for the same repeat: it is a call that was made again."""
    if "repeat" not in table.columns:
        return table
    key = [name for name in ("item", "judge", "order", "system_a", "system_b", "repeat") if name in table.columns]
    return table.unique(subset=key, keep="last", maintain_order=True).drop("repeat")


def _kind(table: pl.DataFrame, chosen: Chosen) -> Kind:
    if chosen.system_a is not None or has_order(table):
        return "pairwise"
    some = table.get_column("verdict").drop_nulls().unique(maintain_order=True).head(LOOKED_AT)
    return "pairwise" if is_clearly_pairwise(some) else "pointwise"
