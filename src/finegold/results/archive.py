"""Save a ResultData in one file, and load it: a zip of a manifest (JSON) and arrays (NPY). No
pickle, versioned.

Names are arrays if they are numbers, dates or truth values, and JSON otherwise. Votes take two to
six bytes each. Names inside the file do not change: `known.*` and `more.*` are the arrays of
`Learned`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.results.data import (
    BESIDE_SETTINGS,
    Combined,
    Learned,
    ModelRecord,
    ResultData,
    Step,
    votes_of,
)
from finegold.system import unpacking
from finegold.system.files import replacing
from finegold.system.unpacking import Field, check, check_rows
from finegold.votes.annotations import MAX_CLASSES, Annotations, Counts, Predictions
from finegold.votes.encoding import MISSING, Names
from finegold.votes.hygiene import Hygiene, hygiene_of

NAMES = ("task_names", "annotator_names", "class_names", "unlabelled")
# names of annotators
NEVER_VOTED = "never_voted"
VOTES = ("votes.cells_per_task", "votes.votes_per_cell", "votes.cell_class", "votes.annotator")
FORMAT, VERSION = "finegold-result", 1
ADVICE = "make one with finegold aggregate, which can save its model, or with Result.save"
# of tasks that have predictions but no votes
PREDICTED_NAMES = "predicted_names"
PLAIN_FIELDS = ("method", "converged", "stopped", "seconds")
LEARNED_ARRAYS = ("class_prior", "prototypes", "weights", "confusion")
TYPES: dict[str, Any] = {
    **dict.fromkeys(("method", "stopped"), str),
    **dict.fromkeys(("settings", "counts", "hygiene"), dict),
    **dict.fromkeys(
        ("beside_settings", "columns", "more", "notes", "models", "label_sets", "gold_sets"), list
    ),
    "converged": bool,
    "seconds": int | float,
}
# leaves a margin for rounding
MAX_PROBABILITY = 1 + 1e-6
FIELDS = {
    "posterior": Field("TK", "f", 0, MAX_PROBABILITY),
    "label_codes": Field("T", "i", 0, "labels"),
    "tied": Field("T", "b"),
    "votes_per_task": Field("T", "i", 1),
    "gold": Field("T", "i", -1, "truths"),
    "votes_per_annotator": Field("W", "i", 0),
    # for annotators without votes
    "agreement": Field("W", "f", may_be_nan=True),
    "accuracy": Field("W", "f", 0, MAX_PROBABILITY),
    **dict.fromkeys(
        ("accuracy_low", "accuracy_high"), Field("W", "f", 0, MAX_PROBABILITY, may_be_nan=True)
    ),
    "known.class_prior": Field("K", "f", 0, MAX_PROBABILITY),
    "known.prototypes": Field("SKK", "f", 0, MAX_PROBABILITY),
    "known.weights": Field("WS", "f", 0, MAX_PROBABILITY),
    "known.confusion": Field("WKK", "f", 0, MAX_PROBABILITY),
}
ARRAYS = [name for name in FIELDS if not name.startswith("known.")]
# M models, T tasks with votes, P tasks without votes, N both, K classes
PREDICTION_FIELDS = {
    "predictions.probabilities": Field("MNK", "f", 0, MAX_PROBABILITY),
    "predictions.votes_posterior": Field("TK", "f", 0, MAX_PROBABILITY),
    "predictions.posterior": Field("PK", "f", 0, MAX_PROBABILITY),
}
# shapes depend on the method: `method_of` checks them
STATISTICS_FIELD = Field(".", "biuf")
# at byte 30 of the file
FIRST_MEMBER = b"manifest.json"


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that are not negative in the smallest integer type that holds the largest of
    them.
    """
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def save(result: ResultData, path: Path) -> None:
    """Save a result with its votes."""
    votes, combined, learned = result.annotations, result.combined, result.learned
    arrays: dict[str, Any] = {name: getattr(result, name) for name in ARRAYS}
    kept = {name: getattr(learned, name) for name in LEARNED_ARRAYS}
    arrays |= {f"known.{name}": values for name, values in kept.items() if values is not None}
    arrays |= {f"more.{name}": values for name, values in learned.statistics.items()}
    arrays["steps"] = np.array(result.steps, dtype=float)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(result, name) for name in PLAIN_FIELDS},
        "settings": result.all_settings,
        "beside_settings": [
            name for name in BESIDE_SETTINGS if name in result.all_settings.keys() - result.settings
        ],
        "notes": result.notes,
        "counts": asdict(result.counts),
        "columns": list(votes.columns if votes else ("task", "annotator")),
        "hygiene": (votes.hygiene if votes else Hygiene()).as_json(),
        "more": [name.removeprefix("more.") for name in arrays if name.startswith("more.")],
    }
    names: dict[str, Names] = {name: getattr(result, name) for name in NAMES}
    if result.label_sets is not None:
        manifest |= {"label_sets": result.label_sets, "gold_sets": votes_of(result).gold_sets}
    if combined:
        manifest["models"] = [record._asdict() for record in combined.records]
        of_models = (
            combined.predictions.probabilities,
            combined.votes_posterior,
            combined.posterior,
        )
        arrays |= dict(zip(PREDICTION_FIELDS, of_models, strict=True))
        names[PREDICTED_NAMES] = combined.predictions.task_names
    if votes:
        names[NEVER_VOTED] = votes.never_voted
        lengths = (_narrow(np.diff(votes.task_ptr)), _narrow(np.diff(votes.cell_ptr)))
        arrays |= dict(
            zip(VOTES, (*lengths, votes.cell_class, _narrow(votes.annotator)), strict=True)
        )
    # in an array that NumPy can save without pickle, or in a list that JSON can save
    for name, some in names.items():
        column = np.asarray(some)
        if column.dtype.kind in "iubfmM" and column.size:
            arrays[name] = column
            continue
        manifest[name] = column.tolist()
        odd = next(
            (item for item in manifest[name] if not isinstance(item, str | int | float | bool)),
            None,
        )
        if odd is not None:
            raise InputError(
                f"names of type {type(odd).__name__} cannot be saved; turn them into text first"
            )
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


def is_saved_result(path: str | Path) -> bool:
    """Return whether `save` wrote this file, in any version, even if it is truncated; workbooks are
    zips too.
    """
    if not Path(path).is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            return "manifest.json" in names and not names.isdisjoint(
                {"posterior.npy", f"{VOTES[0]}.npy"}
            )
    except Exception:
        # a damaged zip can raise any exception
        with Path(path).open("rb") as file:
            return file.read(len(FIRST_MEMBER) + 30)[30:] == FIRST_MEMBER


def load(path: str | Path) -> ResultData:
    """Load a saved result. Raise an InputError if the file is not a saved result."""
    with unpacking.opened(
        path, f"{path} is not a result saved by Finegold, or it is damaged; {ADVICE}"
    ) as archive:
        manifest = unpacking.read_manifest(archive)
        if manifest.get("format") != FORMAT:
            raise InputError(f"{path} is not a result saved by Finegold; {ADVICE}")
        if manifest["version"] != VERSION:
            raise InputError(
                f"{path} was saved in version {manifest['version']} of the format, and this"
                f" Finegold reads version {VERSION}; use the Finegold that saved it, or fit again"
            )
        return _assemble(manifest, unpacking.read_arrays(archive))


def _assemble(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ResultData:
    """Check everything that was read, and return the result."""
    for name, kind in TYPES.items():
        if name in manifest and not isinstance(manifest[name], kind):
            raise TypeError(f"{name} is not of the type {kind}")
    left_out = manifest["counts"].get("left_out", {})
    numbers = [
        *left_out.values(),
        *(count for name, count in manifest["counts"].items() if name != "left_out"),
    ]
    if not all(isinstance(count, int) for count in numbers):
        raise TypeError("counts are not integers")
    if not all(
        isinstance(text, str) for text in [*manifest.get("notes", []), *manifest.get("more", [])]
    ):
        raise TypeError("notes are not text")
    values: dict[str, Any] = {name: manifest[name] for name in PLAIN_FIELDS}
    # they also hold the fields of BESIDE_SETTINGS
    values["settings"] = settings = dict(manifest["settings"])
    beside = [name for name in manifest["beside_settings"] if name in settings]
    values |= {
        BESIDE_SETTINGS[name]: value for name in beside if (value := settings.pop(name)) is not None
    }
    if not isinstance(values.get("known_annotators", 0), int):
        raise TypeError("the prior is not a number")
    if not 0 < values.get("temperature", 1.0) < np.inf:
        raise ValueError("the temperature is not positive")
    values |= {name: _names_of(manifest, arrays, name) for name in NAMES}
    sizes = {size: len(values[name]) for size, name in zip("TWK", NAMES[:3], strict=True)}
    K: int = sizes["K"]
    sets: dict[str, Any] = {
        name: manifest[name] for name in ("label_sets", "gold_sets") if name in manifest
    }
    if not all(
        isinstance(code, int) and 0 <= code < K
        for some in sets.values()
        for codes in some
        for code in codes
    ):
        raise ValueError("sets of labels hold classes that do not exist")
    sets = {name: tuple(map(tuple, some)) for name, some in sets.items()}
    if min(sizes["T"], sizes["W"], K or bool(sets)) < 1 or K > MAX_CLASSES:
        raise ValueError("there are no tasks, annotators or classes, or too many classes")
    if "known.class_prior" not in arrays:
        raise ValueError("the shares of the classes are missing")
    more = {name: STATISTICS_FIELD for name in arrays if name.startswith("more.")}
    codes = {"labels": len(sets.get("label_sets", ())), "truths": len(sets.get("gold_sets", ()))}
    check(arrays, {**FIELDS, **more}, sizes | (codes if sets else dict.fromkeys(codes, K)))
    # otherwise each number is the probability that an option is right
    if not sets:
        check_rows("posterior", arrays["posterior"])
    unpacking.check_steps(arrays["steps"])
    values |= {name: arrays[name] for name in ARRAYS}
    known: dict[str, Any] = {name: arrays.get(f"known.{name}") for name in LEARNED_ARRAYS}
    learned = Learned(
        **known, statistics={name: arrays[f"more.{name}"] for name in manifest["more"]}
    )
    combined = None
    if models := manifest.get("models"):
        names = _names_of(manifest, arrays, PREDICTED_NAMES)
        check(
            arrays,
            PREDICTION_FIELDS,
            {**sizes, "M": len(models), "P": len(names), "N": sizes["T"] + len(names)},
        )
        probabilities, votes_posterior, posterior = (arrays[name] for name in PREDICTION_FIELDS)
        check_rows("predictions.probabilities", probabilities[probabilities.any(axis=2)])
        check_rows("predictions.votes_posterior", votes_posterior)
        check_rows("predictions.posterior", posterior)
        records = [ModelRecord(**model) for model in models]
        if not all(
            isinstance(record.model, str) and np.isfinite(record[1:]).all() for record in records
        ):
            raise TypeError("what was learned about models is not made of numbers")
        predictions = Predictions([record.model for record in records], probabilities, names)
        combined = Combined(predictions, votes_posterior, posterior, records)
    counts = Counts(**{count.name: manifest["counts"][count.name] for count in fields(Counts)})
    return ResultData(
        **values,
        learned=learned,
        steps=steps_of(arrays["steps"]),
        notes=manifest["notes"],
        counts=counts,
        annotations=(
            _votes_of(arrays, values, counts, manifest, sets) if VOTES[0] in arrays else None
        ),
        combined=combined,
        label_sets=sets.get("label_sets"),
    )


def _names_of(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str) -> Names:
    """Return the names, from the manifest if they are text and from an array otherwise."""
    values = manifest[name] if name in manifest else arrays[name]
    is_plain = isinstance(values, np.ndarray) and values.ndim == 1
    kinds = set() if is_plain else set(map(type, values))
    if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
        raise ValueError(f"{name} are not names")
    names = Names(values)
    if names.values.n_unique() != len(names) or names.values.null_count():
        raise ValueError(f"{name} are not distinct names")
    return names


def steps_of(rows: NDArray[Any]) -> list[Step]:
    return [Step(int(row[0]), int(row[1]), float(row[2]), float(row[3])) for row in rows]


def _votes_of(
    arrays: dict[str, NDArray[Any]],
    values: dict[str, Any],
    counts: Counts,
    manifest: dict[str, Any],
    sets: Any,
) -> Annotations:
    """Return the votes, whose arrays hold everything that kernels rely on."""
    # votes also have a class for "nothing was chosen", and their truths are positions in the sets
    if sets:
        no_gold = np.full(len(values["gold"]), MISSING, np.int32)
        names = Names([*values["class_names"], ""])
        inner = {**values, "gold": no_gold, "class_names": names, "votes_per_task": None}
        votes = _votes_of(arrays, inner, counts, manifest, {})
        return replace(votes, gold=values["gold"], gold_sets=sets["gold_sets"], multi=True)
    cells_per_task, votes_per_cell, cell_class, annotator = (arrays[name] for name in VOTES)
    columns = tuple(manifest["columns"])
    if len(columns) != 2 or not all(isinstance(name, str) for name in columns):
        raise TypeError("the names of the columns are not text")
    sizes = {size: len(values[name]) for size, name in zip("TWK", NAMES[:3], strict=True)}
    lengths = Field("T", "u", 1, sizes["K"]), Field("C", "u", 1, len(annotator))
    expected = dict(
        zip(VOTES, (*lengths, Field("C", "u", 0, "K"), Field("L", "u", 0, "W")), strict=True)
    )
    check(arrays, expected, sizes.copy())
    votes = Annotations(
        task_ptr=np.append(0, np.cumsum(cells_per_task, dtype=np.int64)),
        cell_ptr=np.append(0, np.cumsum(votes_per_cell, dtype=np.int64)),
        cell_class=cell_class,
        annotator=annotator.astype(np.int32),
        gold=values["gold"],
        counts=counts,
        columns=columns,
        never_voted=Names(arrays.get(NEVER_VOTED, manifest.get(NEVER_VOTED, []))),
        hygiene=hygiene_of(manifest["hygiene"]),
        **{name: values[name] for name in NAMES},
    )
    unpacking.check_votes(
        votes.task_ptr, votes.cell_ptr, votes.cell_class, votes.annotator, votes.gold, sizes
    )
    per_task = values["votes_per_task"]
    if per_task is not None and not np.array_equal(votes.votes_per_task, per_task):
        raise ValueError("the arrays of the votes do not match")
    return votes
