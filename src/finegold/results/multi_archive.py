"""Save sets of labels in one file, and load them: the same kind of zip as that of other results (see `archive`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.results import archive, archive_votes
from finegold.results.data import ResultData
from finegold.results.multi import MultiResult, OptionModel
from finegold.system.unpacking import opened, read_arrays, read_manifest
from finegold.system.validation import Field, check
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

__all__ = ["load_any", "save_sets"]

PLAIN_FIELDS = ("method", "iterations", "converged", "stopped", "seconds")
FIELDS = {  # T tasks, W annotators, O options
    "gold": Field("T", "i", MISSING),
    "by_option": Field("TO", "f", 0, archive.MAX_PROBABILITY),
    "model.prevalence": Field("O", "f", 0, 1),
    "model.sensitivity": Field("WO", "f", 0, 1),
    "model.false_choice": Field("WO", "f", 0, 1),
}


def save_sets(result: MultiResult, path: Path) -> None:
    """Save the result with its votes. Probabilities are computed again when it is loaded."""
    votes = result.votes
    arrays: dict[str, Any] = {"gold": votes.gold}
    if result.model is not None:
        arrays |= {f"model.{name}": values for name, values in vars(result.model).items()}
    if result.by_option is not None:
        arrays["by_option"] = result.by_option
    names = {name: getattr(votes, name) for name in (*archive_votes.NAMES, archive_votes.NEVER_VOTED)}
    of_text, of_numbers = archive_votes.name_arrays(names)
    manifest = {
        "format": archive.SETS_FORMAT,
        "version": archive.VERSION,
        **{name: getattr(result, name) for name in PLAIN_FIELDS},
        "gold_sets": votes.gold_sets,
        **archive_votes.votes_manifest(votes.counts, votes),
        **of_text,
    }
    archive.write_archive(path, manifest, arrays | of_numbers | archive_votes.votes_to_save(votes))


def load_any(path: str | Path) -> ResultData | MultiResult:
    """Load a saved result, with one label or a set of labels per task."""
    with opened(path, f"{path} is not a result saved by Finegold, or it is damaged; {archive.ADVICE}") as file:
        manifest = read_manifest(file)
        has_sets = manifest.get("format") == archive.SETS_FORMAT
        archive.check_manifest(manifest, path, archive.SETS_FORMAT if has_sets else archive.FORMAT)
        return (_assembled if has_sets else archive.assemble)(manifest, read_arrays(file))


def _assembled(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> MultiResult:
    archive.check_plain(manifest)
    votes = _votes(manifest, arrays)
    check(arrays, FIELDS, {"T": votes.n_tasks, "W": votes.n_annotators, "O": votes.n_classes - 1})
    parts = [arrays[name] for name in FIELDS if name.startswith("model.") and name in arrays]
    by_option = arrays.get("by_option")
    plain = {name: manifest[name] for name in PLAIN_FIELDS}
    return MultiResult(votes=votes, model=OptionModel(*parts) if parts else None, by_option=by_option, **plain)


def _votes(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Annotations:
    values: dict[str, Any] = {name: archive_votes.names_of(manifest, arrays, name) for name in archive_votes.NAMES}
    n_tasks, n_options = len(values["task_names"]), len(values["class_names"]) - 1
    values |= {"gold": np.full(n_tasks, MISSING, np.int32), "votes_per_task": None}
    gold, sets = arrays["gold"], tuple(tuple(one) for one in manifest["gold_sets"])
    if not all(isinstance(code, int) and 0 <= code < n_options for one in sets for code in one):
        raise ValueError("the known sets hold options that do not exist")
    if gold.shape != (n_tasks,) or gold.dtype.kind != "i" or gold.max(initial=MISSING) >= len(sets):
        raise ValueError("the known sets do not match")
    votes = archive_votes.votes_of_file(arrays, values, archive_votes.counts_of(manifest), manifest)
    return replace(votes, gold=gold, gold_sets=sets, multi=True)
