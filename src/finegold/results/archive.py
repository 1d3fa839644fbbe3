"""Save a ResultData in one file, and load it: a zip of a manifest (JSON) and arrays (NPY). No
pickle, versioned.

A file holds the votes, the posterior and what the method learned; labels and figures of annotators
are computed again. Names are arrays if they are numbers, dates or truth values, and JSON otherwise.
Votes take two to six bytes each. `known.*` and `more.*` are the arrays of `Learned`. Everything
that kernels rely on is checked when a file is loaded.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.results.data import KEPT, Combined, Learned, ModelRecord, ResultData, Step, summarise
from finegold.results.sets import Answers, summarise_sets
from finegold.system import unpacking
from finegold.system.files import replacing
from finegold.system.unpacking import Field
from finegold.votes.annotations import MAX_CLASSES, Annotations, Counts, Predictions
from finegold.votes.encoding import MISSING, Names, match
from finegold.votes.hygiene import hygiene_of

FORMAT, VERSION = "finegold-result", 2
ADVICE = "make one with finegold aggregate, which can save its model, or with Result.save"
# at byte 30 of the file
FIRST_MEMBER = "manifest.json"
# of the votes
NAMES = ("task_names", "annotator_names", "class_names", "unlabelled", "never_voted")
# T tasks, W annotators, K classes, S prototypes, C cells, L votes, M models, N tasks with or
# without votes, P tasks without votes
LEARNED = {
    "class_prior": Field("K", "f"),
    "prototypes": Field("SKK", "f"),
    "weights": Field("WS", "f"),
    "confusion": Field("WKK", "f"),
}
FIELDS = {
    "posterior": Field("TK", "f", 0, 1 + 1e-6),
    "gold": Field("T", "i", -1, "truths"),
    "votes.cells_per_task": Field("T", "u", 1, "cells"),
    "votes.votes_per_cell": Field("C", "u", 1, "votes"),
    "votes.cell_class": Field("C", "u", 0, "voted"),
    "votes.annotator": Field("L", "u", 0, "W"),
    **{f"known.{name}": field for name, field in LEARNED.items()},
}
OPTIONAL = {"known.prototypes", "known.weights", "known.confusion"}
PREDICTIONS = {
    "predictions.probabilities": Field("MNK", "f", 0, 1 + 1e-6),
    "predictions.votes_posterior": Field("TK", "f", 0, 1 + 1e-6),
    "predictions.posterior": Field("PK", "f", 0, 1 + 1e-6),
}


def save(result: ResultData, path: Path) -> None:
    """Save a result with its votes, atomically."""
    votes, combined, learned = result.annotations, result.combined, result.learned
    arrays = {
        "posterior": result.posterior,
        "gold": votes.gold,
        "votes.cells_per_task": _narrow(np.diff(votes.task_ptr)),
        "votes.votes_per_cell": _narrow(np.diff(votes.cell_ptr)),
        "votes.cell_class": votes.cell_class,
        "votes.annotator": _narrow(votes.annotator),
        "steps": np.array(result.steps, dtype=float),
    }
    known = {f"known.{name}": getattr(learned, name) for name in LEARNED}
    arrays |= {name: values for name, values in known.items() if values is not None}
    arrays |= {f"more.{name}": values for name, values in learned.statistics.items()}
    names = {name: getattr(votes, name) for name in NAMES}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(result, name) for name in ("method", "settings", *KEPT)},
        "counts": asdict(votes.counts),
        "columns": list(votes.columns),
        "hygiene": votes.hygiene.as_json(),
        "multi": votes.multi,
        "gold_sets": votes.gold_sets,
        "models": [record._asdict() for record in combined.records] if combined else [],
    }
    if combined:
        predicted = combined.predictions
        parts = (predicted.probabilities, combined.votes_posterior, combined.posterior)
        arrays |= dict(zip(PREDICTIONS, parts, strict=True))
        names["predicted_names"] = predicted.task_names
    # in an array that NumPy can save without pickle, or in a list that JSON can save
    for name, some in names.items():
        column = np.asarray(some)
        if column.dtype.kind in "iubfmM" and column.size:
            arrays[name] = column
            continue
        manifest[name] = column.tolist()
        if kinds := {type(item) for item in manifest[name]} - {str, int, float, bool}:
            kind = kinds.pop().__name__
            raise InputError(f"names of type {kind} cannot be saved; turn them into text first")
    with (
        replacing(path) as (temporary,),
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(FIRST_MEMBER, json.dumps(manifest, default=_to_json))
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, np.ascontiguousarray(values), allow_pickle=False)


def _to_json(value: Any) -> Any:
    """Convert NumPy values in settings to types that JSON can save."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise InputError(f"a setting of type {type(value).__name__} cannot be saved")


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that are not negative in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def is_saved_result(path: str | Path) -> bool:
    """Return whether `save` wrote this file, in any version, even if it is truncated."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(30 + len(FIRST_MEMBER))[30:] == FIRST_MEMBER.encode()


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


def _assemble(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ResultData:
    """Check the arrays, and compute the result."""
    names: dict[str, Any] = {name: _names_of(manifest, arrays, name) for name in NAMES}
    sizes = {size: len(names[name]) for size, name in zip("TWK", NAMES[:3], strict=True)}
    multi = bool(manifest["multi"])
    if not sizes["T"] or not sizes["W"] or not multi <= sizes["K"] <= MAX_CLASSES:
        raise ValueError("there are no tasks or annotators, or too many classes")
    voted = {"K": sizes["K"]}
    # the last class of sets is for "nothing was chosen"
    sizes["K"] -= multi
    gold_sets = tuple(map(tuple, manifest["gold_sets"]))
    if not all(0 <= code < sizes["K"] for codes in gold_sets for code in codes):
        raise ValueError("sets of labels hold classes that do not exist")
    sizes |= {"voted": voted["K"], "truths": len(gold_sets) if multi else sizes["K"]}
    sizes |= {"cells": 2**63, "votes": 2**63}
    if missing := FIELDS.keys() - OPTIONAL - arrays.keys():
        raise ValueError(f"{missing} are missing")
    unpacking.check(arrays, FIELDS, sizes)
    posterior, gold = arrays["posterior"], arrays["gold"]
    if not multi:
        unpacking.check_rows("posterior", posterior)
    votes = Annotations(
        task_ptr=_ends(arrays["votes.cells_per_task"]),
        cell_ptr=_ends(arrays["votes.votes_per_cell"]),
        cell_class=arrays["votes.cell_class"],
        annotator=arrays["votes.annotator"].astype(np.int32),
        gold=np.full(sizes["T"], MISSING, np.int32) if multi else gold,
        counts=Counts(**manifest["counts"]),
        columns=tuple(manifest["columns"]),
        hygiene=hygiene_of(manifest["hygiene"]),
        **names,
    )
    parts = (votes.task_ptr, votes.cell_ptr, votes.cell_class, votes.annotator, votes.gold)
    unpacking.check_votes(*parts, sizes | voted)
    steps = [Step(int(a), int(b), float(c), float(d)) for a, b, c, d in arrays["steps"]]
    more = {name[5:]: values for name, values in arrays.items() if name.startswith("more.")}
    known: dict[str, Any] = {name: arrays.get(f"known.{name}") for name in LEARNED}
    learned = Learned(**known, statistics=more)
    fit = (manifest["method"], manifest["settings"], votes, posterior, steps, learned)
    if multi:
        votes = replace(votes, gold=gold, gold_sets=gold_sets, multi=True)
        result = summarise_sets(*fit[:2], votes, Answers(votes), posterior, steps, more)
    else:
        result = summarise(*fit)
    plain = {name: manifest[name] for name in KEPT}
    if not manifest["models"]:
        return replace(result, **plain)
    combined = _combined(manifest, arrays, sizes)
    is_known = match(votes.unlabelled, combined.predictions.task_names) != MISSING
    unlabelled = votes.unlabelled[np.flatnonzero(~is_known)]
    return replace(result, combined=combined, unlabelled=unlabelled, **plain)


def _combined(
    manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], sizes: dict[str, int]
) -> Combined:
    names = _names_of(manifest, arrays, "predicted_names")
    records = [ModelRecord(**model) for model in manifest["models"]]
    more = {"M": len(records), "P": len(names), "N": sizes["T"] + len(names)}
    unpacking.check(arrays, PREDICTIONS, sizes | more)
    probabilities, votes_posterior, posterior = (arrays[name] for name in PREDICTIONS)
    predictions = Predictions([record.model for record in records], probabilities, names)
    return Combined(predictions, votes_posterior, posterior, records)


def _names_of(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str) -> Names:
    """Return the names, from the manifest if they are text and from an array otherwise."""
    names = Names(manifest[name] if name in manifest else arrays[name])
    if names.values.n_unique() != len(names) or names.values.null_count():
        raise ValueError(f"{name} are not distinct names")
    return names


def _ends(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(lengths, dtype=np.int64))
