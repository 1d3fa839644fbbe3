"""Update a result with new votes and new known truths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from finegold.api.result import Result
from finegold.api.run import OnStep, Run, has_predictions, names_given, run
from finegold.engines.base import Engine
from finegold.errors import InputError
from finegold.fitting import updating
from finegold.fitting.combining import combine, without_predictions
from finegold.io.readers import read
from finegold.io.readers.predictions import read_predictions
from finegold.io.readers.truth import with_gold
from finegold.methods.lookup import method_of
from finegold.results.data import ResultData, votes_of
from finegold.votes.align import align, outputs_of
from finegold.votes.annotations import Annotations, Repeated
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.merging import Joined, Merged, merge

__all__ = ["check_no_fit", "update"]


def update(
    result: Result,
    votes: Any = None,
    *,
    gold: Any = None,
    refit: bool = False,
    threads: int | None = None,
    on_step: OnStep | None = None,
    prior: Any = None,
    predictions: Any = None,
    engine: str | Engine = "local",
    scheduler: str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    repeated: Repeated = "first",
    **reading: Any,
) -> Result:
    """Read the votes and add them to the result; `Result.update` documents the parameters."""
    if votes is None and gold is None and not refit and not has_predictions(predictions):
        raise InputError("there is nothing to update: give votes, known truths (gold), predictions or refit")
    fitting: dict[str, Any] = {"prior": prior, "scheduler": scheduler, "checkpoint": checkpoint}
    fitting |= {"resume": resume, "overwrite": overwrite}
    if not refit:
        _check_temperature(result)
        check_no_fit({**fitting, "engine": engine})
    merged = _merge(votes_of(result), votes, gold, repeated, reading)
    if refit:
        fitting |= {"threads": threads, "on_step": on_step, "engine": engine}
        fitting["predictions"] = predictions if has_predictions(predictions) else _kept_predictions(result)
        return _refit(result, Run(merged.votes, method=method_of(result), **fitting))
    updated = updating.update(without_predictions(result), merged, threads=threads, on_step=on_step)
    return Result.of(_combined_again(updated, result, predictions))


def _check_temperature(result: Result) -> None:
    if result.combined and result.temperature != 1.0:
        raise InputError(
            "the model was calibrated after votes and predictions had been combined; add --refit (refit=True)"
        )


def _kept_predictions(result: Result) -> dict[str, Any] | None:
    """Return the predictions of a result in the form that users give."""
    if result.combined is None:
        return None
    classes = to_list(result.class_names)
    outputs = outputs_of(result.combined.predictions, votes_of(result))
    return {output.name: (output.tasks, output.probabilities, classes) for output in outputs}


def _combined_again(updated: ResultData, before: Result, predictions: Any) -> ResultData:
    """Combine the votes with new predictions, or with those that the result had before."""
    if has_predictions(predictions):
        return combine(updated, read_predictions(predictions, votes_of(updated)))
    if before.combined is None:
        return updated
    return combine(updated, align(outputs_of(before.combined.predictions, votes_of(before)), votes_of(updated)))


def check_no_fit(options: dict[str, Any]) -> None:
    """Raise an error if any of these options, which need a full fit, is given."""
    if given := names_given({name: value for name, value in options.items() if value != "local"}):
        raise InputError(f"--{given[0]} works only with a full fit; add --refit (refit=True)")


def _refit(result: Result, wanted: Run) -> Result:
    if result.known_annotators is not None and wanted.prior is None:
        raise InputError("the model was fitted with a prior; give the same one again (--prior, prior=)")
    return run(wanted)


def _merge(old: Annotations, votes: Any, gold: Any, repeated: Repeated, reading: dict[str, Any]) -> Merged:
    gold_in_votes = gold if gold is True or (isinstance(gold, str) and not Path(gold).exists()) else None
    if votes is None:
        merged = _unchanged(old)
    else:
        merged = merge(old, read(votes, gold=gold_in_votes, repeated=repeated, **reading), repeated)
    return merged if gold is None or gold_in_votes is not None else _with_gold(merged, gold)


def _unchanged(old: Annotations) -> Merged:
    tasks, annotators = (np.arange(n, dtype=np.int32) for n in (old.n_tasks, old.n_annotators))
    joined = Joined(old.task_names, tasks, tasks[:0]), Joined(old.annotator_names, annotators, annotators[:0])
    return Merged(old, *joined, touched=np.empty(0, np.int64), added=0)


def _with_gold(merged: Merged, gold: Any) -> Merged:
    """Add new truths, or replace known ones, and mark their tasks as touched."""
    given = with_gold(merged.votes, gold).gold
    changed = np.flatnonzero((given != MISSING) & (given != merged.votes.gold))
    votes = replace(merged.votes, gold=np.where(given != MISSING, given, merged.votes.gold))
    return merged._replace(votes=votes, touched=np.union1d(merged.touched, changed))
