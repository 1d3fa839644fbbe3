"""How much a vote says for the label of its task, against another class."""

from __future__ import annotations

import numpy as np

from karat.encoding import Codes
from karat.report.views.common import Floats
from karat.result import Result

__all__ = ["evidence", "has_matrices", "matrices"]

LEAST = 1e-9  # what was thought impossible


def has_matrices(result: Result) -> bool:
    known = result.knowledge
    return known.confusion is not None or (known.weights is not None and known.prototypes is not None)


def matrices(result: Result, annotators: Codes | list[int]) -> Floats:
    """[n, K, K]: how each of these annotators votes (columns) when the truth is given (rows)."""
    known = result.knowledge
    if known.confusion is not None:
        return np.asarray(known.confusion[annotators], dtype=np.float64)
    assert known.weights is not None
    assert known.prototypes is not None
    mixed: Floats = np.tensordot(known.weights[annotators], known.prototypes, axes=1)
    return mixed


def evidence(result: Result, who: Codes, voted: Codes, label: int, rival: int | None) -> Floats | None:
    """log P(vote | label) - log P(vote | rival) for each vote; None where the method has no matrices."""
    if rival is None or not has_matrices(result):
        return None
    c = np.maximum(matrices(result, who), LEAST)
    votes = np.arange(len(who))
    logs: Floats = np.log(c[votes, label, voted]) - np.log(c[votes, rival, voted])
    return logs
