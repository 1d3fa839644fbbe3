"""Tables from Python objects that are not data frames: rows, columns, Arrow streams, data sets, the
index of pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from finegold.errors import InputError, warn_user
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.votes.encoding import series_of
from finegold.votes.frames import polars_column, to_polars

if TYPE_CHECKING:
    from finegold.io.tables import Table

ACCEPTED = (
    "a path, several paths, a data frame (pandas, Polars, PyArrow, ...), a Hugging Face data set,"
    " an Arrow stream or record batches, rows (dicts, or tuples of task, annotator and label), a"
    " dict of columns, or a NumPy structured array"
)
# pairs are truths
TUPLES = {2: ("task", "label"), 3: ("task", "annotator", "label")}


def as_frame(votes: Any) -> pl.DataFrame:
    """Return the table that an object holds."""
    # by its own method: the Arrow table inside may hold rows that were filtered out
    if _is_data_set(votes):
        convert = getattr(votes, "to_polars", None) or votes.to_pandas
        return _with_class_names(to_polars(convert()), votes.features)
    if isinstance(votes, np.ndarray):
        if votes.dtype.names and votes.ndim == 1:
            return _of_columns({name: votes[name] for name in votes.dtype.names})
        if votes.ndim == 2:
            how = "finegold.Annotations.from_matrix(matrix, abstain=-1)"
            raise InputError(f"a matrix of tasks and annotators is read with {how}")
    elif isinstance(votes, Mapping):
        return _of_splits(votes) if _are_splits(votes) else _of_columns(votes)
    elif _is_arrow(votes):
        return _of_arrow(votes)
    elif isinstance(votes, Iterable) and not isinstance(votes, str | bytes | bytearray):
        return _with_class_names(_of_rows(list(votes)), getattr(votes, "features", None))
    raise InputError(
        f"votes or truths of type {type(votes).__name__} cannot be read; expected {ACCEPTED}"
    )


def with_index(frame: Any, named: Sequence[Any]) -> Any:
    """Make columns of the levels of a pandas index that the user names, or that have a role no
    column has.
    """
    import narwhals as nw

    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None:
        return frame
    roles = [role for role in (TASK, ANNOTATOR, LABEL) if not candidates(frame.columns, role)]
    free = [name for name in index.names if name is not None and name not in frame.columns]
    wanted = [
        name for name in free if name in named or any(candidates([name], role) for role in roles)
    ]
    return nw.from_native(frame.to_native().reset_index(level=wanted)) if wanted else frame


def index_as_column(opened: Table) -> tuple[Table, Any]:
    """Return the table with the index of a pandas data frame as its first column, and the name of
    it; None where there is no index of names.
    """
    import narwhals as nw

    frame = opened.frame
    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None or type(index).__name__ == "RangeIndex" or index.nlevels != 1:
        return opened, None
    native = frame.to_native().reset_index()
    columns = list(native.columns)
    return replace(opened, frame=nw.from_native(native), columns=columns), columns[0]


def _is_data_set(votes: Any) -> bool:
    return hasattr(votes, "features") and any(
        callable(getattr(votes, to, None)) for to in ("to_polars", "to_pandas")
    )


def _with_class_names(frame: pl.DataFrame, features: Any) -> pl.DataFrame:
    """Replace the codes of classes by their names. The code -1 means that there is no label."""
    classes = {
        name: list(getattr(feature, "names", None) or ())
        for name, feature in dict(features or {}).items()
    }
    coded = [name for name in frame.columns if classes.get(name) and frame[name].dtype.is_integer()]
    return frame.with_columns(
        pl.col(name).replace_strict(dict(enumerate(classes[name])), default=None) for name in coded
    )


def _are_splits(votes: Mapping[Any, Any]) -> bool:
    return bool(votes) and all(
        hasattr(part, "features") and (_is_data_set(part) or isinstance(part, Iterable))
        for part in votes.values()
    )


def _of_splits(votes: Mapping[Any, Any]) -> pl.DataFrame:
    """Return the splits of a data set, some of which have rows that come one by one."""
    table = _join({str(name): as_frame(split) for name, split in votes.items()}, "the split")
    if len(votes) > 1:
        names = ", ".join(map(str, votes))
        warn_user(f"the splits {names} are read together; give one of them to read it alone")
    return table


def _join(frames: Mapping[str, pl.DataFrame], kind: str) -> pl.DataFrame:
    (first, expected), *_ = frames.items()
    for name, frame in frames.items():
        if differing := ", ".join(sorted(set(frame.columns) ^ set(expected.columns))):
            raise InputError(f'{kind} "{name}" has other columns than "{first}" ({differing})')
    return pl.DataFrame(
        {
            name: series_of([value for frame in frames.values() for value in frame[name].to_list()])
            for name in expected.columns
        }
    )


def _is_arrow(votes: Any) -> bool:
    return hasattr(votes, "__arrow_c_stream__") or hasattr(votes, "__arrow_c_array__")


def _of_arrow(votes: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(votes)
    except Exception as error:
        # whatever the producer of the stream or Polars raises
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        problem = f"the Arrow data of type {type(votes).__name__} are not a table ({reason})"
        raise InputError(problem) from error


def _of_columns(columns: Mapping[Any, Any]) -> pl.DataFrame:
    if not columns:
        raise InputError(
            "the dict of columns has no columns; expected at least task, annotator and label"
        )
    table = {str(name): _column(name, values) for name, values in columns.items()}
    first = next(iter(table))
    for name, column in table.items():
        if len(column) != len(table[first]):
            problem = (
                f'the column "{name}" has {len(column):,} values, but "{first}" has'
                f" {len(table[first]):,}"
            )
            raise InputError(f"{problem}; the columns of a table have the same length")
    return pl.DataFrame(table)


def _column(name: Any, values: Any) -> pl.Series:
    if isinstance(values, np.ma.MaskedArray):
        return series_of(values.tolist())
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        values = [value.decode(errors="backslashreplace") for value in values.tolist()]
    if isinstance(values, list | tuple | np.ndarray):
        return series_of(values)
    import narwhals as nw

    try:
        return polars_column(nw.from_native(values, series_only=True))
    except TypeError:
        problem = f'"{name}" is of type {type(values).__name__}'
        raise InputError(
            f"{problem}; expected a list, an array or a series of values: a dict of columns"
        ) from None


def _of_rows(rows: list[Any]) -> pl.DataFrame:
    if not rows:
        raise InputError("there are no rows; expected at least one vote")
    if all(map(_is_arrow, rows)):
        batches = {str(number): _of_arrow(batch) for number, batch in enumerate(rows, start=1)}
        return _join(batches, "record batch")
    first = rows[0]
    kind = next((kind for kind in (Mapping, tuple, list) if isinstance(first, kind)), None)
    if kind is None:
        problem = f"row 1 is of type {type(first).__name__}; expected a dict or a tuple"
        raise InputError(f"{problem}. Finegold reads {ACCEPTED}")
    for number, row in enumerate(rows, start=1):
        seen, expected = f"is of type {type(row).__name__}", f"is of type {type(first).__name__}"
        if isinstance(row, kind) and kind is not Mapping:
            seen, expected = f"has {len(row)} values", f"has {len(first)}"
        if not isinstance(row, kind) or (kind is not Mapping and len(row) != len(first)):
            raise InputError(f"row {number:,} {seen}, but row 1 {expected}; rows must be alike")
    if kind is Mapping:
        names = dict.fromkeys(name for row in rows for name in row)
        return _of_columns({name: [row.get(name) for row in rows] for name in names})
    columns: Sequence[str] | None = getattr(first, "_fields", None) or TUPLES.get(len(first))
    if columns is None:
        raise InputError(
            f"row 1 has {len(first)} values; expected 3: task, annotator, label (or give dicts)"
        )
    return _of_columns(dict(zip(columns, zip(*rows, strict=True), strict=True)))
