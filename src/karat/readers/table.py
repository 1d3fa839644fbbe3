"""A table of any source, with its column names at once and its rows when the columns are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from karat.errors import InputError
from karat.frames import series_of
from karat.readers.delimited import check_short_rows, scan_delimited
from karat.readers.files import is_files, sources_of
from karat.readers.source import Source, separator_of
from karat.readers.trouble import line_of_row, reading

__all__ = ["Opened", "Table", "open_table"]


@dataclass(frozen=True)
class Table:
    """The chosen columns, and where each row came from."""

    frame: nw.DataFrame[Any]
    is_text: bool = False  # every value was read as text, so numbers are still to be recognised
    sources: Sequence[Source] = ()
    lengths: Sequence[int] = ()

    def where(self, row: int) -> str:
        """Words for a row, counted from zero: "votes.csv, row 3 (line 4)"."""
        for source, length in zip(self.sources, self.lengths, strict=True):
            if row < length:
                line = line_of_row(source, separator_of(source), row) if source.is_delimited else None
                return f"{source.name}, row {row + 1:,}" + (f" (line {line:,})" if line else "")
            row -= length
        return f"the data frame, row {row + 1:,}"

    def column(self, name: Any) -> nw.Series[Any]:
        return self.frame.get_column(name)


@dataclass(frozen=True)
class Opened:
    """A table whose rows are not read yet."""

    columns: list[Any]
    frame: nw.LazyFrame[Any] | nw.DataFrame[Any] | None = None
    sources: Sequence[Source] = ()
    scans: Sequence[pl.LazyFrame] = ()

    @property
    def name(self) -> str:
        return ", ".join(source.name for source in self.sources[:3]) or "the data frame"

    def load(self, columns: Sequence[Any]) -> Table:
        table = _load_frame(self.frame, columns) if self.frame is not None else self._load_files(columns)
        if len(table.frame) == 0:
            raise InputError(f"{self.name} has a header but no rows; expected at least one")
        return table

    def _load_files(self, columns: Sequence[Any]) -> Table:
        parts = [_collect(source, scan, columns) for source, scan in zip(self.sources, self.scans, strict=True)]
        is_text = any(source.is_delimited for source in self.sources)
        if is_text:  # a CSV beside a Parquet file: text is what they have in common
            parts = [part.with_columns(pl.all().cast(pl.String)) for part in parts]
        frame = parts[0] if len(parts) == 1 else _stack(parts, self.name)
        return Table(nw.from_native(frame), is_text, self.sources, [len(part) for part in parts])


def open_table(votes: Any) -> Opened:
    """Files, a stream or a data frame."""
    if is_files(votes):
        return _open_files(sources_of(votes))
    try:
        frame: Any = nw.from_native(votes)
        return Opened(_unique(list(frame.collect_schema().names())), frame=frame)
    except (TypeError, nw.exceptions.DuplicateError) as error:
        raise InputError(_not_a_table(votes, error)) from None


def _open_files(sources: list[Source]) -> Opened:
    scans, columns = [], []
    for source in sources:
        with reading(source):
            scans.append(_scan(source))
            columns.append(scans[-1].collect_schema().names())
    for source, names in zip(sources, columns, strict=True):
        differing = ", ".join(sorted(set(names) ^ set(columns[0])))
        if differing:
            raise InputError(
                f"{source.name} has other columns than {sources[0].name} ({differing}); "
                "files read together must have the same columns"
            )
    return Opened(columns[0], sources=sources, scans=scans)


def _scan(source: Source) -> pl.LazyFrame:
    if source.is_delimited:
        return scan_delimited(source)
    if source.format == "jsonl":
        return pl.scan_ndjson(_whole(source), infer_schema_length=None)
    if source.format == "parquet":
        return pl.scan_parquet(source.data, glob=False, hive_partitioning=False)
    if _is_arrow_stream(source):
        return pl.read_ipc_stream(_bytes(source)).lazy()
    return pl.scan_ipc(source.data, glob=False, hive_partitioning=False)


def _whole(source: Source) -> Any:
    """Polars takes a path to JSONL for a pattern, so a name with * or [ in it is read here."""
    return _bytes(source) if any(mark in source.name for mark in "*?[") else source.data


def _bytes(source: Source) -> bytes:
    return source.data if isinstance(source.data, bytes) else source.data.read_bytes()


def _is_arrow_stream(source: Source) -> bool:
    if isinstance(source.data, bytes):
        return source.data.startswith(b"\xff" * 4)
    with source.data.open("rb") as file:
        return file.read(4) == b"\xff" * 4


def _collect(source: Source, scan: pl.LazyFrame, columns: Sequence[Any]) -> pl.DataFrame:
    """Polars sees rows with too many fields only if it may not skip the columns that are not asked for."""
    with reading(source):
        if not source.is_delimited:
            return scan.select(columns).collect()
        last = scan.collect_schema().names()[-1]
        chosen = list(dict.fromkeys([*columns, last]))
        frame = scan.select(chosen).collect(optimizations=pl.QueryOptFlags(projection_pushdown=False))
        check_short_rows(source, frame.get_column(last))
        return frame.select(columns)


def _stack(parts: list[pl.DataFrame], name: str) -> pl.DataFrame:
    try:
        return pl.concat(parts, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        detail = str(error).splitlines()[0]
        raise InputError(f"{name}: the columns have different types from file to file ({detail})") from None


def _load_frame(frame: Any, columns: Sequence[Any]) -> Table:
    if isinstance(frame, nw.DataFrame):
        return Table(frame)
    try:
        return Table(frame.select(*columns).collect())
    except Exception as error:  # anything may be wrong with what the user's own lazy frame is to do
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"the lazy data frame cannot be collected: {said}") from error


def _unique(columns: list[Any]) -> list[Any]:
    twice = [column for column in dict.fromkeys(columns) if columns.count(column) > 1]
    if twice:
        names = ", ".join(f'"{column}"' for column in twice)
        raise InputError(f"the data frame has more than one column named {names}; give every column its own name")
    return columns


def _not_a_table(votes: Any, error: Exception) -> str:
    if isinstance(error, nw.exceptions.DuplicateError):
        return "the data frame has columns of the same name: " + " ".join(str(error).split())
    return (
        f"votes or truths of type {type(votes).__name__} cannot be read; expected a path, several paths "
        "or a data frame (pandas, Polars, PyArrow, ...)"
    )


def row_numbers(table: Table) -> Any:
    """1, 2, 3, ... in the kind of the table: the ids of tasks that have none."""
    return series_of(range(1, len(table.frame) + 1), table.frame.implementation)
