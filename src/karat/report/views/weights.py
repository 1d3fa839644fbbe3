"""How much a vote says for the label of its task, against another class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.encoding import Codes
from karat.predict import LEAST_PROBABILITY, likelihood
from karat.report.views.common import Floats
from karat.result import Result

__all__ = ["evidence", "has_matrices", "matrices"]


def has_matrices(result: Result) -> bool:
    known = result.knowledge
    return known.confusion is not None or (known.weights is not None and known.prototypes is not None)


def matrices(result: Result, annotators: Codes, classes: NDArray[np.int64]) -> Floats:
    """[n, k, k]: how each of these annotators votes (columns) when the truth is given (rows), for these classes."""
    known = result.knowledge
    if known.confusion is not None:
        return np.asarray(known.confusion[np.ix_(annotators, classes, classes)], dtype=np.float64)
    assert known.weights is not None
    assert known.prototypes is not None
    prototypes = known.prototypes[:, classes[:, None], classes]  # before they are mixed: there may be many classes
    mixed: Floats = np.tensordot(known.weights[annotators], prototypes, axes=1)
    return mixed


def evidence(result: Result, who: Codes, voted: Codes, label: int, rival: int) -> Floats:
    """log P(vote | label) - log P(vote | rival) for each vote, by what the method knows of its annotator."""
    one, two = (likelihood(result, who, np.full_like(voted, side), voted) for side in (label, rival))
    logs: Floats = np.log(np.maximum(one, LEAST_PROBABILITY)) - np.log(np.maximum(two, LEAST_PROBABILITY))
    return logs
