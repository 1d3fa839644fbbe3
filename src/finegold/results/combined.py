"""What a result keeps of predictions that were combined with its votes, in memory and in saved files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.system.unpacking import Field, check, check_rows
from finegold.votes.annotations import Predictions
from finegold.votes.encoding import Names

__all__ = ["FIELDS", "Combined", "ModelRecord", "arrays_of", "combined_of"]

Floats = NDArray[np.float64]

MAX_PROBABILITY = 1 + 1e-6  # leaves a margin for rounding
FIELDS = {  # arrays of a saved result: M models, T tasks with votes, P tasks without votes, N both, K classes
    "predictions.probabilities": Field("MNK", "f", 0, MAX_PROBABILITY),
    "predictions.votes_posterior": Field("TK", "f", 0, MAX_PROBABILITY),
    "predictions.posterior": Field("PK", "f", 0, MAX_PROBABILITY),
}


class ModelRecord(NamedTuple):
    """What was learned about a model whose predictions were combined with the votes."""

    model: str
    n_tasks: int  # with votes, so that they show what the model is worth
    n_tasks_without_votes: int
    weight: float  # of log p: 1 for calibrated probabilities, less for overconfident ones, 0 for an ignored model
    accuracy: float  # expected share of right predictions, judged by the combined posterior
    confidence: float  # mean probability of the predicted class, as the model gave it


@dataclass(frozen=True, eq=False)
class Combined:
    """The predictions that a result was combined with, and what came of them."""

    predictions: Predictions
    votes_posterior: Floats  # [T, K] from votes alone, which updates continue from
    posterior: Floats  # [P, K] of tasks that have predictions but no votes
    records: list[ModelRecord]


def arrays_of(combined: Combined) -> dict[str, NDArray[Any]]:
    """Return the arrays to save, in the order of FIELDS."""
    arrays = (combined.predictions.probabilities, combined.votes_posterior, combined.posterior)
    return dict(zip(FIELDS, arrays, strict=True))


def combined_of(arrays: Mapping[str, NDArray[Any]], models: list[Any], names: Names, sizes: dict[str, int]) -> Combined:
    """Check what was read from a file, and return it."""
    check(arrays, FIELDS, {**sizes, "M": len(models), "P": len(names), "N": sizes["T"] + len(names)})
    probabilities, votes_posterior, posterior = (arrays[name] for name in FIELDS)
    check_rows("predictions.probabilities", probabilities[probabilities.any(axis=2)])
    check_rows("predictions.votes_posterior", votes_posterior)
    check_rows("predictions.posterior", posterior)
    records = [ModelRecord(**model) for model in models]
    if not all(isinstance(one.model, str) and np.isfinite(one[1:]).all() for one in records):
        raise TypeError("what was learned about models is not made of numbers")
    predictions = Predictions([one.model for one in records], probabilities, names)
    return Combined(predictions, votes_posterior, posterior, records)
