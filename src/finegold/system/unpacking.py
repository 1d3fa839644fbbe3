"""Read archives of a manifest (JSON) and arrays (NPY). Nothing in them is unpickled, and what
kernels rely on is checked.

Finegold writes its archives without compression, so nothing in them is larger than the file.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError

# kinds of NumPy dtypes: booleans, numbers, dates
ALLOWED_KINDS = "biufmM"
# the sizes that compiled code supports
FLOAT_SIZES = (4, 8)
# the allowed deviation of a sum of 32-bit probabilities from one
MAX_SUM_ERROR = 1e-3


def read_archive(
    path: str | Path, otherwise: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the arrays of an archive. If it is damaged, raise an `InputError`
    with the message `otherwise`.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise ValueError("an archive of Finegold is not compressed")
            manifest = json.loads(archive.read("manifest.json"))
            for name in archive.namelist():
                if name.endswith(".npy"):
                    with archive.open(name) as file:
                        array = np.lib.format.read_array(file, allow_pickle=False)
                    _require(array.dtype.kind in ALLOWED_KINDS, name, f"holds {array.dtype}")
                    native = array.astype(array.dtype.newbyteorder("="), copy=False)
                    arrays[name.removesuffix(".npy")] = np.asarray(native, order="C")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise InputError(f"there is no permission to read {path}; change its permissions") from None
    except Exception as error:
        # a damaged archive can raise any exception of the libraries
        raise InputError(otherwise) from error
    return manifest, arrays


class Field(NamedTuple):
    # one letter or digit per dimension
    shape: str
    # kinds of NumPy dtypes: "b" booleans, "iu" integers, "f" floats
    kinds: str
    low: float = -np.inf
    # or the name of a size; values must be below it
    high: float | str = np.inf


def check(
    arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Field], sizes: dict[str, int]
) -> None:
    """Check the arrays that have a field. A size that is not in `sizes` is taken from the first
    array that has it.
    """
    for name, field in ((name, field) for name, field in fields.items() if name in arrays):
        array = arrays[name]
        is_known = array.dtype.kind in field.kinds
        is_known &= array.dtype.kind != "f" or array.dtype.itemsize in FLOAT_SIZES
        _require(is_known and array.ndim == len(field.shape), name, f"is {array.dtype}")
        pairs = zip(field.shape, array.shape, strict=True)
        expected = tuple(sizes.setdefault(size, n) for size, n in pairs)
        _require(array.shape == expected, name, f"has shape {array.shape}, not {expected}")
        if array.dtype.kind != "b" and array.size:
            _require(bool(np.isfinite(array).all()), name, "holds NaN or infinity")
            high = sizes[field.high] - 1 if isinstance(field.high, str) else field.high
            inside = bool(array.min() >= field.low and array.max() <= high)
            _require(inside, name, f"has values outside {field.low} to {high}")


def check_rows(name: str, probabilities: NDArray[Any]) -> None:
    sums = probabilities.sum(axis=-1, dtype=np.float64)
    are_ones = bool((np.abs(sums - 1) <= MAX_SUM_ERROR).all())
    _require(are_ones, name, "has rows that do not sum to one")


def check_votes(
    task_ptr: Any,
    cell_ptr: Any,
    cell_class: Any,
    annotator: Any,
    gold: Any,
    sizes: Mapping[str, int],
) -> None:
    """Check the arrays of `Annotations` for everything that kernels rely on."""
    cells, votes = len(cell_class), len(annotator)
    for name, pointers, n, end in (
        ("task_ptr", task_ptr, sizes["T"], cells),
        ("cell_ptr", cell_ptr, cells, votes),
    ):
        grows = pointers.shape == (n + 1,) and pointers[0] == 0 and pointers[-1] == end
        _require(grows and bool((np.diff(pointers) > 0).all()), name, f"does not grow to {end}")
    check({"cell_class": cell_class}, {"cell_class": Field("C", "u", 0, "K")}, dict(sizes))
    check({"annotator": annotator}, {"annotator": Field("L", "iu", 0, "W")}, dict(sizes))
    check({"gold": gold}, {"gold": Field("T", "i", -1, "K")}, dict(sizes))
    rises = cell_class[1:] > cell_class[:-1]
    # the first class of a task may be smaller
    rises[task_ptr[1:-1] - 1] = True
    _require(bool(rises.all()), "cell_class", "has classes that are not in order")


def _require(holds: bool, name: str, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"{name} {otherwise}")
