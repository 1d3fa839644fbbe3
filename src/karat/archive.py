"""Result <-> one file: a zip of a manifest (JSON) and arrays (NPY). No pickle, versioned.

Names are kept as NPY where they are numbers, dates or truth values, and as JSON where they are text or mixed.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Counts
from karat.encoding import Names, as_column
from karat.errors import InputError
from karat.files import replacing
from karat.result import Knowledge, Result, Step

__all__ = ["load", "read_arrays", "save", "to_json", "write_archive"]

FORMAT, VERSION = "karat-result", 1
NAMES = ("task_names", "annotator_names", "class_names", "unlabelled")
ARRAYS = (
    "posterior",
    "label_codes",
    "tied",
    "votes_per_task",
    "gold",
    "votes_per_annotator",
    "agreement",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
)
PLAIN = ("method", "settings", "converged", "stopped", "seconds")
KNOWN = ("class_prior", "prototypes", "weights", "confusion")


def save(result: Result, path: Path) -> None:
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(result, name) for name in PLAIN},
        "notes": result.notes,
        "counts": asdict(result.counts),
        "more": list(result.knowledge.more),
    }
    arrays = _arrays(result)
    for name in NAMES:
        values = _names_to_save(getattr(result, name))
        if isinstance(values, list):
            manifest[name] = values
        else:
            arrays[name] = values
    write_archive(path, manifest, arrays)


def write_archive(path: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """manifest.json and one NPY an array, whole or not at all."""
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, default=to_json))
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, np.ascontiguousarray(values), allow_pickle=False)


def read_arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    """Every array of an archive; one that holds Python objects is refused, not unpickled."""
    names = [name for name in archive.namelist() if name.endswith(".npy")]
    return {name.removesuffix(".npy"): _read(archive, name) for name in names}


def load(path: str | Path) -> Result:
    """The result that was saved there. Refuses what it does not understand."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            _check(manifest, path)
            arrays = read_arrays(archive)
        return _assemble(manifest, arrays)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a saved result") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a result saved by Karat, or it is damaged") from error


def _arrays(result: Result) -> dict[str, NDArray[Any]]:
    known = result.knowledge
    arrays: dict[str, NDArray[Any]] = {name: getattr(result, name) for name in ARRAYS}
    arrays |= {f"known.{name}": getattr(known, name) for name in KNOWN if getattr(known, name) is not None}
    arrays |= {f"more.{name}": values for name, values in known.more.items()}
    arrays["steps"] = np.array([tuple(step) for step in result.steps], dtype=float)
    return arrays


def _names_to_save(names: Names) -> NDArray[Any] | list[Any]:
    """An array NumPy can keep without pickle, else a list JSON can."""
    column = np.asarray(names)
    if column.dtype.kind in "iubfmM":
        return column
    items: list[Any] = column.tolist()
    odd = next((item for item in items if not isinstance(item, str | int | float | bool)), None)
    if odd is not None:
        raise InputError(f"names of type {type(odd).__name__} cannot be saved; turn them into text first")
    return items


def _check(manifest: dict[str, Any], path: str | Path) -> None:
    if manifest.get("format") != FORMAT:
        raise InputError(f"{path} is not a result saved by Karat")
    if manifest["version"] != VERSION:
        raise InputError(
            f"{path} was saved in version {manifest['version']} of the format, and this Karat reads "
            f"version {VERSION}; use the Karat that saved it, or fit again"
        )


def _read(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
    return array


def _assemble(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Result:
    values: dict[str, Any] = {name: manifest[name] for name in PLAIN}
    values |= {name: as_column(manifest[name]) if name in manifest else arrays[name] for name in NAMES}
    values |= {name: arrays[name] for name in ARRAYS}
    known: dict[str, Any] = {name: arrays.get(f"known.{name}") for name in KNOWN}
    more = {name: arrays[f"more.{name}"] for name in manifest["more"]}
    return Result(
        **values,
        knowledge=Knowledge(**known, more=more),
        steps=[Step(int(row[0]), int(row[1]), float(row[2]), float(row[3])) for row in arrays["steps"]],
        notes=manifest.get("notes", []),  # files of the first Karat have none
        counts=Counts(**{count.name: manifest["counts"][count.name] for count in fields(Counts)}),
    )


def to_json(value: Any) -> Any:
    """NumPy values in settings, as JSON knows them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise InputError(f"a setting of type {type(value).__name__} cannot be saved")
