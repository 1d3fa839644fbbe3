"""Read archives of a manifest (JSON) and arrays (NPY). Nothing in them is unpickled, and what
kernels rely on is checked.

Finegold writes its archives without compression, so an archive that unpacks to far more than its
own size was not written by Finegold.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import FinegoldError, InputError
from finegold.system.memory import limit, remedy_of

# the limit, unless the file itself is larger
MAX_UNPACKED_BYTES = 32 * 2**20
# kinds of NumPy dtypes: booleans, numbers, dates
ALLOWED_KINDS = "biufmM"


@contextmanager
def opened(path: str | Path, otherwise: str) -> Iterator[zipfile.ZipFile]:
    """Open the archive. Any other error while it is read becomes an `InputError` with the message
    `otherwise`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            most = max(limit("UNPACKED", MAX_UNPACKED_BYTES), Path(path).stat().st_size)
            if unpacked > most:
                excess = (
                    f"unpacks to {unpacked:,} bytes, more than the {most:,.0f} that are allowed"
                )
                raise InputError(f"{path} {excess}; {remedy_of('UNPACKED')}")
            yield archive
    except FinegoldError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise InputError(f"there is no permission to read {path}; change its permissions") from None
    except MemoryError as error:
        raise InputError(f"there is not enough memory to read {path}") from error
    except Exception as error:
        # a damaged archive can raise any exception of the libraries
        raise InputError(otherwise) from error


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    member = archive.getinfo("manifest.json")
    with archive.open(member) as file:
        # read() would unpack more than the size that was checked
        manifest = json.loads(file.read(member.file_size))
    if not isinstance(manifest, dict):
        raise TypeError("the manifest is not a JSON object")
    return manifest


def read_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive by name. Arrays of Python objects raise an error and are not
    unpickled.
    """
    arrays = {}
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
            if array.dtype.kind not in ALLOWED_KINDS:
                raise ValueError(f"{name} holds {array.dtype}")
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            arrays[name.removesuffix(".npy")] = np.asarray(native, order="C")
    return arrays


# the sizes that compiled code supports
FLOAT_SIZES = (4, 8)
# the allowed deviation of a sum of 32-bit probabilities from one
MAX_SUM_ERROR = 1e-3


class Field(NamedTuple):
    # one letter or digit per dimension; ".": any shape
    shape: str
    # kinds of NumPy dtypes: "b" booleans, "iu" integers, "f" floats
    kinds: str
    low: float = -np.inf
    # or the name of a size; values must be below it
    high: float | str = np.inf
    may_be_nan: bool = False


def check(
    arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Field], sizes: dict[str, int]
) -> None:
    """Check the arrays that have a field. A size that is not in `sizes` is taken from the first
    array that has it.
    """
    for name, field in ((name, field) for name, field in fields.items() if name in arrays):
        array = arrays[name]
        known = array.dtype.kind in field.kinds and (
            array.dtype.kind != "f" or array.dtype.itemsize in FLOAT_SIZES
        )
        _require(known, name, f"holds {array.dtype}")
        if field.shape != ".":
            _require(
                array.ndim == len(field.shape),
                name,
                f"has {array.ndim} dimensions, not {len(field.shape)}",
            )
            pairs = zip(field.shape, array.shape, strict=True)
            expected = tuple(
                int(size) if size.isdigit() else sizes.setdefault(size, n) for size, n in pairs
            )
            _require(array.shape == expected, name, f"has shape {array.shape}, not {expected}")
        if array.dtype.kind != "b" and array.size and not field.may_be_nan:
            _require(bool(np.isfinite(array).all()), name, "holds NaN or infinity")
            high = sizes[field.high] - 1 if isinstance(field.high, str) else field.high
            inside = bool(array.min() >= field.low and array.max() <= high)
            _require(inside, name, f"has values outside {field.low} to {high}")


def check_rows(name: str, probabilities: NDArray[Any]) -> None:
    sums = probabilities.sum(axis=-1, dtype=np.float64)
    _require(
        bool((np.abs(sums - 1) <= MAX_SUM_ERROR).all()), name, "has rows that do not sum to one"
    )


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
        _require(
            pointers.dtype == np.int64 and pointers.shape == (n + 1,),
            name,
            f"is not {n + 1} integers",
        )
        grows = (
            pointers[0] == 0 and pointers[-1] == end and bool((pointers[1:] > pointers[:-1]).all())
        )
        _require(grows, name, f"does not grow from 0 to {end}")
    check({"cell_class": cell_class}, {"cell_class": Field("C", "u", 0, "K")}, dict(sizes))
    check({"annotator": annotator}, {"annotator": Field("L", "iu", 0, "W")}, dict(sizes))
    check({"gold": gold}, {"gold": Field("T", "i", -1, "K")}, dict(sizes))
    rises = cell_class[1:] > cell_class[:-1]
    # the first class of a task may be smaller
    rises[task_ptr[1:-1] - 1] = True
    _require(
        bool(rises.all()),
        "cell_class",
        "has a class twice in a task, or classes that are not in order",
    )


def _require(holds: bool, name: str, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"{name} {otherwise}")
