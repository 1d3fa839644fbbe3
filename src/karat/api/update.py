"""New votes, and new known truths, for a result that is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from karat.api.result import Result
from karat.errors import InputError
from karat.fitting import updating
from karat.fitting.solve import OnStep
from karat.io.readers import read
from karat.io.readers.truth import with_gold
from karat.votes.annotations import Annotations, Repeated
from karat.votes.encoding import MISSING
from karat.votes.merging import Joined, Merged, merge

__all__ = ["update"]


def update(
    result: Result,
    votes: Any = None,
    *,
    gold: Any = None,
    refit: bool = False,
    prior: Any = None,
    threads: int | None = None,
    watch: OnStep | None = None,
    repeated: Repeated = "first",
    **reading: Any,
) -> Result:
    """Read the votes and fold them into the result; `Result.update` documents the parameters."""
    if votes is None and gold is None and not refit:
        raise InputError("there is nothing to update with: give votes, or known truths (gold), or refit")
    merged = _merge(updating.votes_of(result), votes, gold, repeated, reading)
    return Result.of(updating.update(result, merged, refit=refit, prior=prior, threads=threads, on_step=watch))


def _merge(old: Annotations, votes: Any, gold: Any, repeated: Repeated, reading: dict[str, Any]) -> Merged:
    of_votes = gold if gold is True or (isinstance(gold, str) and not Path(gold).exists()) else None
    if votes is None:
        merged = _unchanged(old)
    else:
        merged = merge(old, read(votes, gold=of_votes, repeated=repeated, **reading), repeated)
    return merged if gold is None or of_votes is not None else _with_gold(merged, gold)


def _unchanged(old: Annotations) -> Merged:
    tasks, annotators = (np.arange(n, dtype=np.int32) for n in (old.n_tasks, old.n_annotators))
    joined = Joined(old.task_names, tasks, tasks[:0]), Joined(old.annotator_names, annotators, annotators[:0])
    return Merged(old, *joined, touched=np.empty(0, np.int64), added=0)


def _with_gold(merged: Merged, gold: Any) -> Merged:
    """New truths stand beside those that were known, or in their place; their tasks are looked at again."""
    told = with_gold(merged.votes, gold).gold
    changed = np.flatnonzero((told != MISSING) & (told != merged.votes.gold))
    votes = replace(merged.votes, gold=np.where(told != MISSING, told, merged.votes.gold))
    return merged._replace(votes=votes, touched=np.union1d(merged.touched, changed))
