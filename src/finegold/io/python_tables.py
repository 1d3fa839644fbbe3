"""Tables from Python objects that are not data frames: rows, columns, Arrow streams, data sets, the
index of pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from finegold.errors import InputError
from finegold.votes.encoding import series_of
from finegold.votes.frames import polars_column, to_polars

ACCEPTED = (
    "a path, several paths, a data frame (pandas, Polars, PyArrow, ...), a Hugging Face data set,"
    " an Arrow stream or record batches, rows (dicts, or tuples of task, annotator and label), a"
    " dict of columns, or a NumPy structured array"
)
# pairs are truths
TUPLES = {2: ("task", "label"), 3: ("task", "annotator", "label")}


def as_frame(votes: Any) -> pl.DataFrame:
    """Return the table that an object holds."""
    # a data set by its own method: the Arrow table inside may hold rows that were filtered out
    convert = getattr(votes, "to_polars", None) or getattr(votes, "to_pandas", None)
    if hasattr(votes, "features") and convert is not None:
        return _with_class_names(to_polars(convert()), votes.features)
    if isinstance(votes, np.ndarray) and votes.ndim == 2:
        how = "finegold.Annotations.from_matrix(matrix, abstain=-1)"
        raise InputError(f"a matrix of tasks and annotators is read with {how}")
    if isinstance(votes, np.ndarray) and votes.dtype.names:
        return _of_columns({name: votes[name] for name in votes.dtype.names})
    if isinstance(votes, Mapping):
        if votes and all(hasattr(part, "features") for part in votes.values()):
            if len(votes) == 1:
                return as_frame(*votes.values())
            problem = f"the data set has the splits {', '.join(votes)}; give one of them"
            raise InputError(problem)
        return _of_columns(votes)
    if _is_arrow(votes):
        try:
            return pl.DataFrame(votes)
        except Exception as error:
            # whatever the producer of the stream or Polars raises
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            problem = f"the Arrow data of type {type(votes).__name__} are not a table ({reason})"
            raise InputError(problem) from error
    if not isinstance(votes, Iterable) or isinstance(votes, str | bytes | bytearray | np.ndarray):
        raise InputError(
            f"votes or truths of type {type(votes).__name__} cannot be read; expected {ACCEPTED}"
        )
    return _with_class_names(_of_rows(list(votes)), getattr(votes, "features", None))


def with_index(frame: Any) -> Any:
    """Make columns of the levels of a pandas index; one without a name is called ""."""
    import narwhals as nw

    index = nw.maybe_get_index(frame)
    if index is None or type(index).__name__ == "RangeIndex":
        return frame
    native = frame.to_native()
    if index.nlevels == 1 and index.name is None and "" not in frame.columns:
        return nw.from_native(native.rename_axis("").reset_index())
    levels = [name for name in index.names if name is not None and name not in frame.columns]
    return nw.from_native(native.reset_index(level=levels)) if levels else frame


def _is_arrow(votes: Any) -> bool:
    return hasattr(votes, "__arrow_c_stream__") or hasattr(votes, "__arrow_c_array__")


def _with_class_names(frame: pl.DataFrame, features: Any) -> pl.DataFrame:
    """Replace the codes of classes by their names. The code -1 means that there is no label."""
    for name, feature in dict(features or {}).items():
        classes = getattr(feature, "names", None)
        if classes and name in frame.columns and frame[name].dtype.is_integer():
            names = pl.col(name).replace_strict(dict(enumerate(classes)), default=None)
            frame = frame.with_columns(names)
    return frame


def _of_columns(columns: Mapping[Any, Any]) -> pl.DataFrame:
    if not columns:
        raise InputError(
            "the dict of columns has no columns; expected at least task, annotator and label"
        )
    table = {str(name): _column(name, values) for name, values in columns.items()}
    if len({*map(len, table.values())}) > 1:
        lengths = ", ".join(f'"{name}" has {len(column):,}' for name, column in table.items())
        raise InputError(f"the columns of a table have as many values as each other, but {lengths}")
    return pl.DataFrame(table)


def _column(name: Any, values: Any) -> pl.Series:
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        values = [value.decode(errors="backslashreplace") for value in values.tolist()]
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    if isinstance(values, list | tuple | np.ndarray):
        return series_of(values)
    import narwhals as nw

    try:
        return polars_column(nw.from_native(values, series_only=True))
    except TypeError:
        raise InputError(
            f'"{name}" is of type {type(values).__name__}; expected a list, an array or a series of'
            " values: a dict of columns"
        ) from None


def _of_rows(rows: list[Any]) -> pl.DataFrame:
    if not rows:
        raise InputError("there are no rows; expected at least one vote")
    if all(map(_is_arrow, rows)):
        return pl.concat(map(as_frame, rows), how="vertical_relaxed", rechunk=True)
    first = rows[0]
    kind = next((kind for kind in (Mapping, tuple, list) if isinstance(first, kind)), None)
    if kind is None:
        problem = f"row 1 is of type {type(first).__name__}; expected a dict or a tuple"
        raise InputError(f"{problem}. Finegold reads {ACCEPTED}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, kind) or (kind is not Mapping and len(row) != len(first)):
            raise InputError(f"row {number:,} is {row!r:.60}, which is not like row 1")
    if kind is Mapping:
        names = dict.fromkeys(name for row in rows for name in row)
        return _of_columns({name: [row.get(name) for row in rows] for name in names})
    columns: Sequence[str] | None = getattr(first, "_fields", None) or TUPLES.get(len(first))
    if columns is None:
        raise InputError(
            f"row 1 has {len(first)} values; expected 3: task, annotator, label (or give dicts)"
        )
    return _of_columns(dict(zip(columns, zip(*rows, strict=True), strict=True)))
