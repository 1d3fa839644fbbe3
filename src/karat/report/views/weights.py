"""How much a vote says for the label of its task, against another class."""

from __future__ import annotations

import numpy as np

from karat.encoding import Codes
from karat.predict import LEAST_PROBABILITY, discounts, has_matrices, likelihood, matrices
from karat.report.views.common import Floats
from karat.result import Result

__all__ = ["evidence", "has_matrices", "matrices"]


def evidence(result: Result, who: Codes, voted: Codes, label: int, rival: int) -> Floats:
    """log P(vote | label) - log P(vote | rival) for each vote, by what the method knows of its annotator.

    Votes that are discounted, because their annotators agree more than their skill explains, say less.
    """
    one, two = (likelihood(result, who, np.full_like(voted, side), voted) for side in (label, rival))
    logs: Floats = np.log(np.maximum(one, LEAST_PROBABILITY)) - np.log(np.maximum(two, LEAST_PROBABILITY))
    return discounts(result, who) * logs
