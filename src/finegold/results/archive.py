"""Save a ResultData in one file, and load it: a zip of a manifest (JSON) and arrays (NPY). No
pickle, versioned.

Names are arrays if they are numbers, dates or truth values, and JSON otherwise. Votes take two to
six bytes each. `known.*` and `more.*` are the arrays of `Learned`. Everything that kernels rely on
is checked when a file is loaded.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.results.data import Combined, Learned, ModelRecord, ResultData, Step, votes_of
from finegold.system import unpacking
from finegold.system.files import replacing
from finegold.system.unpacking import Field
from finegold.votes.annotations import MAX_CLASSES, Annotations, Counts, Predictions
from finegold.votes.encoding import MISSING, Names
from finegold.votes.hygiene import hygiene_of

Arrays = dict[str, NDArray[Any]]

FORMAT, VERSION = "finegold-result", 1
ADVICE = "make one with finegold aggregate, which can save its model, or with Result.save"
# at byte 30 of the file
FIRST_MEMBER = b"manifest.json"
NAMES = ("task_names", "annotator_names", "class_names", "unlabelled")
# of annotators, and of tasks that have predictions but no votes
NEVER_VOTED, PREDICTED = "never_voted", "predicted_names"
PLAIN = (
    *("method", "settings", "converged", "stopped", "seconds", "notes"),
    *("known_annotators", "temperature"),
)
# T tasks, W annotators, K classes, S prototypes, C cells, L votes, M models, N tasks with or
# without votes, P tasks without votes
RESULT = {
    "posterior": Field("TK", "f", 0, 1 + 1e-6),
    "label_codes": Field("T", "i", 0, "labels"),
    "tied": Field("T", "b"),
    "votes_per_task": Field("T", "i", 1),
    "gold": Field("T", "i", -1, "truths"),
    "votes_per_annotator": Field("W", "i", 0),
    **dict.fromkeys(
        ("agreement", "accuracy", "accuracy_low", "accuracy_high"), Field("W", "f", may_be_nan=True)
    ),
}
LEARNED = {
    "class_prior": Field("K", "f"),
    "prototypes": Field("SKK", "f"),
    "weights": Field("WS", "f"),
    "confusion": Field("WKK", "f"),
}
VOTES = {
    "votes.cells_per_task": Field("T", "u", 1, "cells"),
    "votes.votes_per_cell": Field("C", "u", 1, "votes"),
    "votes.cell_class": Field("C", "u", 0, "voted"),
    "votes.annotator": Field("L", "u", 0, "W"),
}
PREDICTIONS = {
    "predictions.probabilities": Field("MNK", "f", 0, 1 + 1e-6),
    "predictions.votes_posterior": Field("TK", "f", 0, 1 + 1e-6),
    "predictions.posterior": Field("PK", "f", 0, 1 + 1e-6),
}


def save(result: ResultData, path: Path) -> None:
    """Save a result with its votes."""
    votes, combined, learned = votes_of(result), result.combined, result.learned
    arrays: Arrays = {name: getattr(result, name) for name in RESULT}
    of_learned = {f"known.{name}": getattr(learned, name) for name in LEARNED}
    arrays |= {name: values for name, values in of_learned.items() if values is not None}
    arrays |= {f"more.{name}": values for name, values in learned.statistics.items()}
    arrays["steps"] = np.array(result.steps, dtype=float)
    lengths = _narrow(np.diff(votes.task_ptr)), _narrow(np.diff(votes.cell_ptr))
    of_votes = (*lengths, votes.cell_class, _narrow(votes.annotator))
    arrays |= dict(zip(VOTES, of_votes, strict=True))
    names: dict[str, Names] = {name: getattr(result, name) for name in NAMES}
    names[NEVER_VOTED] = votes.never_voted
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(result, name) for name in PLAIN},
        "counts": asdict(result.counts),
        "columns": list(votes.columns),
        "hygiene": votes.hygiene.as_json(),
        "label_sets": result.label_sets,
        "gold_sets": votes.gold_sets,
        "models": [record._asdict() for record in combined.records] if combined else [],
    }
    if combined:
        predicted = combined.predictions
        parts = (predicted.probabilities, combined.votes_posterior, combined.posterior)
        arrays |= dict(zip(PREDICTIONS, parts, strict=True))
        names[PREDICTED] = predicted.task_names
    # in an array that NumPy can save without pickle, or in a list that JSON can save
    for name, some in names.items():
        column = np.asarray(some)
        if column.dtype.kind in "iubfmM" and column.size:
            arrays[name] = column
            continue
        manifest[name] = column.tolist()
        kinds = {type(item) for item in manifest[name]} - {str, int, float, bool}
        if kinds:
            kind = kinds.pop().__name__
            raise InputError(f"names of type {kind} cannot be saved; turn them into text first")
    write_archive(path, manifest, arrays)


def write_archive(path: Path, manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write manifest.json and one NPY per array, atomically."""
    with (
        replacing(path) as (temporary,),
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr("manifest.json", json.dumps(manifest, default=to_json))
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, np.ascontiguousarray(values), allow_pickle=False)


def to_json(value: Any) -> Any:
    """Convert NumPy values in settings to types that JSON can save."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise InputError(f"a setting of type {type(value).__name__} cannot be saved")


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that are not negative in the smallest integer type that holds the largest of
    them.
    """
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def is_saved_result(path: str | Path) -> bool:
    """Return whether `save` wrote this file, in any version, even if it is truncated; workbooks are
    zips too.
    """
    if not Path(path).is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {"manifest.json", "posterior.npy"} <= set(archive.namelist())
    except Exception:
        # a damaged zip can raise any exception
        with Path(path).open("rb") as file:
            return file.read(len(FIRST_MEMBER) + 30)[30:] == FIRST_MEMBER


def load(path: str | Path) -> ResultData:
    """Load a saved result. Raise an InputError if the file is not a saved result."""
    otherwise = f"{path} is not a result saved by Finegold, or it is damaged; {ADVICE}"
    manifest, arrays = unpacking.read_archive(path, otherwise)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path} is not a result saved by Finegold; {ADVICE}")
    if manifest.get("version") != VERSION:
        raise InputError(
            f"{path} was saved in version {manifest.get('version')} of the format, and this"
            f" Finegold reads version {VERSION}; use the Finegold that saved it, or fit again"
        )
    try:
        return _assemble(manifest, arrays)
    except Exception as error:
        # what the arrays and the manifest hold may fit nothing
        raise InputError(otherwise) from error


def _assemble(manifest: dict[str, Any], arrays: Arrays) -> ResultData:
    """Check the arrays, and return the result."""
    names = {name: _names_of(manifest, arrays, name) for name in (*NAMES, NEVER_VOTED)}
    never_voted = names.pop(NEVER_VOTED)
    sets = manifest["label_sets"] and _sets_of(manifest["label_sets"], len(names["class_names"]))
    gold_sets = _sets_of(manifest["gold_sets"], len(names["class_names"]))
    sizes = {size: len(names[name]) for size, name in zip("TWK", NAMES[:3], strict=True)}
    if not sizes["T"] or not sizes["W"] or sizes["K"] > MAX_CLASSES:
        raise ValueError("there are no tasks or annotators, or too many classes")
    has_sets = sets is not None
    sizes |= {
        "labels": len(sets) if has_sets else sizes["K"],
        "truths": len(gold_sets) if has_sets else sizes["K"],
        # votes for sets have a class for "nothing was chosen"
        "voted": sizes["K"] + has_sets,
        "cells": 2**63,
        "votes": 2**63,
    }
    learned_fields = {f"known.{name}": field for name, field in LEARNED.items()}
    required = {*RESULT, *VOTES, "known.class_prior"}
    if missing := required - arrays.keys():
        raise ValueError(f"{missing} are missing")
    unpacking.check(arrays, {**RESULT, **learned_fields, **VOTES}, sizes)
    if not has_sets:
        unpacking.check_rows("posterior", arrays["posterior"])
    counts = Counts(**manifest["counts"])
    of_votes: dict[str, Any] = dict(names)
    if has_sets:
        of_votes["class_names"] = Names([*names["class_names"], ""])
    votes = Annotations(
        task_ptr=_ends(arrays["votes.cells_per_task"]),
        cell_ptr=_ends(arrays["votes.votes_per_cell"]),
        cell_class=arrays["votes.cell_class"],
        annotator=arrays["votes.annotator"].astype(np.int32),
        gold=np.full(sizes["T"], MISSING, np.int32) if has_sets else arrays["gold"],
        counts=counts,
        columns=tuple(manifest["columns"]),
        never_voted=never_voted,
        hygiene=hygiene_of(manifest["hygiene"]),
        **of_votes,
    )
    unpacking.check_votes(
        votes.task_ptr,
        votes.cell_ptr,
        votes.cell_class,
        votes.annotator,
        votes.gold,
        sizes | {"K": sizes["voted"]},
    )
    if has_sets:
        votes = replace(votes, gold=arrays["gold"], gold_sets=gold_sets, multi=True)
    learned: dict[str, Any] = {name: arrays.get(f"known.{name}") for name in LEARNED}
    more = {name[5:]: values for name, values in arrays.items() if name.startswith("more.")}
    values: dict[str, Any] = {name: manifest[name] for name in PLAIN}
    values |= names | {name: arrays[name] for name in RESULT}
    return ResultData(
        **values,
        learned=Learned(**learned, statistics=more),
        steps=[Step(int(a), int(b), float(c), float(d)) for a, b, c, d in arrays["steps"]],
        counts=counts,
        annotations=votes,
        combined=_combined(manifest, arrays, sizes) if manifest["models"] else None,
        label_sets=sets,
    )


def _combined(manifest: dict[str, Any], arrays: Arrays, sizes: dict[str, int]) -> Combined:
    names, records = (
        _names_of(manifest, arrays, PREDICTED),
        [ModelRecord(**model) for model in manifest["models"]],
    )
    more = {"M": len(records), "P": len(names), "N": sizes["T"] + len(names)}
    unpacking.check(arrays, PREDICTIONS, sizes | more)
    probabilities, votes_posterior, posterior = (arrays[name] for name in PREDICTIONS)
    predictions = Predictions([record.model for record in records], probabilities, names)
    return Combined(predictions, votes_posterior, posterior, records)


def _names_of(manifest: dict[str, Any], arrays: Arrays, name: str) -> Names:
    """Return the names, from the manifest if they are text and from an array otherwise."""
    names = Names(manifest[name] if name in manifest else arrays[name])
    if names.values.n_unique() != len(names) or names.values.null_count():
        raise ValueError(f"{name} are not distinct names")
    return names


def _sets_of(sets: list[list[int]], n_classes: int) -> tuple[tuple[int, ...], ...]:
    if not all(0 <= code < n_classes for codes in sets for code in codes):
        raise ValueError("sets of labels hold classes that do not exist")
    return tuple(map(tuple, sets))


def _ends(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(lengths, dtype=np.int64))
