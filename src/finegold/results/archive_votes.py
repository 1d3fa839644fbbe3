"""The names and votes in a saved result, with one label or a set of labels per task.

Names are saved as NPY if they are numbers, dates or truth values, and as JSON if they are text or mixed. Votes take two
to six bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.system.validation import Field, check, check_votes
from finegold.votes.annotations import Annotations, Counts
from finegold.votes.encoding import Names, as_column
from finegold.votes.findings import Hygiene, hygiene_of

__all__ = [
    "NAMES",
    "NEVER_VOTED",
    "VOTES",
    "Narrow",
    "counts_of",
    "name_arrays",
    "names_of",
    "votes_manifest",
    "votes_of_file",
    "votes_to_save",
]

NAMES = ("task_names", "annotator_names", "class_names", "unlabelled")
COLUMNS = ("task", "annotator")  # as files name them that do not say what the user calls them
NEVER_VOTED = "never_voted"  # names of annotators
VOTES = ("votes.cells_per_task", "votes.votes_per_cell", "votes.cell_class", "votes.annotator")
CHUNK_NUMBERS = 2**20  # converted to smaller types at a time, so that no second copy of the votes is needed


class Narrow(NamedTuple):
    """Non-negative numbers that are saved in the smallest integer type that holds the largest of them."""

    values: NDArray[Any]
    steps: bool = False  # whether to save differences of neighbours instead

    def pieces(self) -> Iterator[NDArray[Any]]:
        size = len(self.values) - self.steps
        for first in range(0, size, CHUNK_NUMBERS):
            piece = self.values[first : min(first + CHUNK_NUMBERS, size) + self.steps]
            yield np.diff(piece) if self.steps else piece

    def write(self, handle: IO[bytes]) -> None:
        dtype = np.min_scalar_type(max((int(piece.max()) for piece in self.pieces()), default=0))
        shape = (len(self.values) - self.steps,)
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(handle, header)
        for piece in self.pieces():
            handle.write(piece.astype(dtype).tobytes())


def votes_manifest(counts: Counts, votes: Annotations | None) -> dict[str, Any]:
    """Return what the manifest says about how the votes were read."""
    return {
        "counts": asdict(counts),
        "columns": list(votes.columns if votes else COLUMNS),
        "hygiene": (Hygiene() if votes is None else votes.hygiene).as_json(),
    }


def name_arrays(names: Mapping[str, Names]) -> tuple[dict[str, list[Any]], dict[str, NDArray[Any]]]:
    """Return the names that are saved as JSON, and those that are saved as arrays."""
    values = {name: _names_to_save(some) for name, some in names.items()}
    texts = {name: some for name, some in values.items() if isinstance(some, list)}
    return texts, {name: some for name, some in values.items() if not isinstance(some, list)}


def votes_to_save(votes: Annotations | None) -> dict[str, NDArray[Any] | Narrow]:
    """Return the arrays of the votes, without names and gold, which the result already has."""
    if votes is None:
        return {}
    kept = (Narrow(votes.task_ptr, steps=True), Narrow(votes.cell_ptr, steps=True), votes.cell_class)
    return dict(zip(VOTES, (*kept, Narrow(votes.annotator)), strict=True))


def _names_to_save(names: Names) -> NDArray[Any] | list[Any]:
    """Return an array that NumPy can save without pickle, or a list that JSON can save."""
    is_wide = str(getattr(names, "dtype", "")) in ("Int128", "UInt128")  # types of Polars that NumPy does not have
    column = as_column(names.to_list() if is_wide else names)  # type: ignore[attr-defined,arg-type]
    if column.dtype.kind in "iubfmM":
        return column
    items: list[Any] = column.tolist()
    odd = next((item for item in items if not isinstance(item, str | int | float | bool)), None)
    if odd is not None:
        raise InputError(f"names of type {type(odd).__name__} cannot be saved; turn them into text first")
    return items


def counts_of(manifest: dict[str, Any]) -> Counts:
    """Return the counts of rows."""
    return Counts(**{count.name: manifest["counts"][count.name] for count in fields(Counts)})


def names_of(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """Return the names, from the manifest if they are text and from an array otherwise."""
    names = as_column(manifest[name]) if name in manifest else arrays[name]
    kinds = set(map(type, names)) if names.dtype.kind == "O" else set()
    if names.ndim != 1 or not kinds <= {str, int, float, bool} or (names != names).any():
        raise ValueError(f"{name} are not names")
    is_sorted = len(kinds) <= 1 and (names[1:] > names[:-1]).all()  # as `save` writes them
    if not is_sorted and len(set(names.tolist())) != len(names):
        raise ValueError(f"{name} are not distinct names")
    return names


def votes_of_file(
    arrays: dict[str, NDArray[Any]], values: dict[str, Any], counts: Counts, manifest: dict[str, Any]
) -> Annotations:
    cells_per_task, votes_per_cell, cell_class, annotator = (arrays[name] for name in VOTES)
    sizes = {size: len(values[name]) for size, name in zip("TWK", NAMES[:3], strict=True)}
    lengths = Field("T", "u", 1, sizes["K"]), Field("C", "u", 1, len(annotator))
    check(
        arrays,
        dict(zip(VOTES, (*lengths, Field("C", "u", 0, "K"), Field("L", "u", 0, "W")), strict=True)),
        sizes.copy(),
    )
    votes = Annotations(
        task_ptr=_pointers(cells_per_task),
        cell_ptr=_pointers(votes_per_cell),
        cell_class=cell_class,
        annotator=annotator.astype(np.int32),
        gold=values["gold"],
        counts=counts,
        columns=_columns(manifest),
        never_voted=as_column(arrays.get(NEVER_VOTED, manifest.get(NEVER_VOTED, []))),
        hygiene=hygiene_of(manifest["hygiene"]),
        **{name: values[name] for name in NAMES},
    )
    check_votes(votes.task_ptr, votes.cell_ptr, votes.cell_class, votes.annotator, votes.gold, sizes)
    expected = values["votes_per_task"]
    if expected is not None and not np.array_equal(votes.votes_per_task, expected):
        raise ValueError("the arrays of the votes do not match")
    return votes


def _columns(manifest: dict[str, Any]) -> tuple[str, str]:
    """Return the names of the user's columns."""
    task, annotator = manifest["columns"]
    if not isinstance(task, str) or not isinstance(annotator, str):
        raise TypeError("the names of the columns are not text")
    return task, annotator


def _pointers(lengths: NDArray[Any]) -> NDArray[np.int64]:
    pointers = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    return pointers
