"""Columns whose types differ between files: they are read as text, as from a CSV file, and never become floats."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from finegold.errors import InputError
from finegold.votes.encoding import text_of

__all__ = ["as_text", "common_kind", "in_schema"]

TEXT = (pl.String, pl.Categorical, pl.Enum)


def common_kind(kinds: Sequence[pl.DataType], name: str) -> pl.DataType | None:
    """Return a dtype that holds the values of all of these unchanged, or None if they must become text."""
    kinds = [kind for kind in kinds if kind != pl.Null()] or kinds
    alike = (
        len(set(kinds)) == 1
        or all(kind.is_integer() for kind in kinds)
        or all(kind.is_float() for kind in kinds)
        or all(kind in TEXT for kind in kinds)
    )
    if not alike and not any(kind.is_nested() for kind in kinds):
        return None
    try:
        frames = [pl.DataFrame(schema={"column": kind}) for kind in kinds]
        return pl.concat(frames, how="vertical_relaxed").schema["column"]
    except pl.exceptions.PolarsError as error:
        detail = str(error).splitlines()[0]
        raise InputError(f"{name}: the columns have different types from file to file ({detail})") from None


def in_schema(batch: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Cast the batch to these dtypes. What becomes text is written as in a text file (7.0 as 7)."""
    written = [
        as_text(batch.get_column(name))
        for name, kind in schema.items()
        if kind == pl.String and batch.schema[name] not in TEXT
    ]
    return batch.with_columns(written).cast(schema)


def as_text(column: pl.Series) -> pl.Series:
    values = (column.fill_nan(None) if column.dtype.is_float() else column).to_list()
    return pl.Series(column.name, [None if value is None else text_of(value) for value in values], dtype=pl.String)
