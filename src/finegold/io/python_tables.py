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
        native = (
            votes.to_polars() if callable(getattr(votes, "to_polars", None)) else votes.to_pandas()
        )
        return _with_class_names(to_polars(native), votes.features)
    if _is_arrow(votes):
        return _of_arrow(votes)
    if isinstance(votes, np.ndarray) and votes.dtype.names and votes.ndim == 1:
        return pl.DataFrame({name: _column(name, votes[name]) for name in votes.dtype.names})
    if isinstance(votes, Mapping):
        return _of_mapping(votes)
    if isinstance(votes, Iterable) and not isinstance(votes, str | bytes | bytearray | np.ndarray):
        return _with_class_names(_of_rows(list(votes)), getattr(votes, "features", None))
    if getattr(votes, "ndim", None) == 2:
        how = "finegold.Annotations.from_matrix(matrix, abstain=-1)"
        raise InputError(f"a matrix of tasks and annotators is read with {how}")
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


def _join(frames: Mapping[str, pl.DataFrame], kind: str) -> pl.DataFrame:
    (first, expected), *_ = frames.items()
    for name, frame in frames.items():
        differing = sorted(set(frame.columns) ^ set(expected.columns))
        if differing:
            raise InputError(
                f'{kind} "{name}" has other columns than "{first}" ({", ".join(differing)})'
            )
    columns = {}
    for name in expected.columns:
        parts = [frame.get_column(name) for frame in frames.values()]
        are_alike = len({part.dtype for part in parts}) == 1
        columns[name] = (
            pl.concat(parts) if are_alike else series_of([each for part in parts for each in part])
        )
    return pl.DataFrame(columns)


def _is_arrow(votes: Any) -> bool:
    return hasattr(votes, "__arrow_c_stream__") or hasattr(votes, "__arrow_c_array__")


def _of_arrow(votes: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(votes)
    except Exception as error:
        # whatever the producer of the stream or Polars raises
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"the Arrow data of type {type(votes).__name__} are not a table ({reason})"
        ) from error


def _of_mapping(votes: Mapping[Any, Any]) -> pl.DataFrame:
    """Return a table of columns, or of the splits of a data set, some of which have rows that come
    one by one.
    """
    if not votes:
        raise InputError(
            "the dict of columns has no columns; expected at least task, annotator and label"
        )
    if all(
        hasattr(part, "features") and (_is_data_set(part) or isinstance(part, Iterable))
        for part in votes.values()
    ):
        table = _join({str(name): as_frame(split) for name, split in votes.items()}, "the split")
        if len(votes) > 1:
            text = (
                f"the splits {', '.join(map(str, votes))} are read together; give one of them to"
                " read it alone"
            )
            warn_user(text)
        return table
    columns = {str(name): _column(name, values) for name, values in votes.items()}
    first = next(iter(columns))
    for name, column in columns.items():
        if len(column) != len(columns[first]):
            problem = (
                f'the column "{name}" has {len(column):,} values, but "{first}" has'
                f" {len(columns[first]):,}"
            )
            raise InputError(f"{problem}; the columns of a table have the same length")
    return pl.DataFrame(columns)


def _column(name: Any, values: Any) -> pl.Series:
    if isinstance(values, np.ma.MaskedArray):
        return series_of(values.tolist())
    if isinstance(values, np.ndarray) and values.ndim == 1:
        if values.dtype.kind == "S":
            try:
                return pl.Series(np.char.decode(values, "utf-8"))
            except UnicodeDecodeError:
                raise InputError(
                    f'the column "{name}" holds bytes that are not valid UTF-8; decode it first'
                ) from None
        return series_of(values)
    if isinstance(values, list | tuple):
        return series_of(values)
    import narwhals as nw

    try:
        return polars_column(nw.from_native(values, series_only=True))
    except TypeError:
        words = f'"{name}" is of type {type(values).__name__}'
        raise InputError(
            f"{words}; expected a list, an array or a series of values: a dict of columns"
        ) from None


def _of_rows(rows: list[Any]) -> pl.DataFrame:
    if not rows:
        raise InputError("there are no rows; expected at least one vote")
    if all(map(_is_arrow, rows)):
        return _join(
            {str(number): _of_arrow(batch) for number, batch in enumerate(rows, start=1)},
            "record batch",
        )
    first = rows[0]
    kind = next((kind for kind in (Mapping, tuple, list) if isinstance(first, kind)), None)
    if kind is None:
        problem = f"row 1 is of type {type(first).__name__}; expected a dict or a tuple"
        raise InputError(f"{problem}. Finegold reads {ACCEPTED}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, kind):
            words, expected = (
                f"row {number:,} is of type {type(row).__name__}",
                f"is of type {type(first).__name__}",
            )
            raise InputError(f"{words}, but row 1 {expected}; rows must be alike")
        if kind is not Mapping and len(row) != len(first):
            words = f"row {number:,} has {len(row)} values"
            raise InputError(f"{words}, but row 1 has {len(first)}; rows must be alike")
    if kind is Mapping:
        keys = dict.fromkeys(name for row in rows for name in row)
        return pl.DataFrame(
            {str(name): series_of([row.get(name) for row in rows]) for name in keys}
        )
    names: Sequence[str] | None = getattr(first, "_fields", None) or TUPLES.get(len(first))
    if names is None:
        raise InputError(
            f"row 1 has {len(first)} values; expected 3: task, annotator, label (or give dicts)"
        )
    columns = zip(*rows, strict=True)
    return pl.DataFrame(
        {name: series_of(column) for name, column in zip(names, columns, strict=True)}
    )
