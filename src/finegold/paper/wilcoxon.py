"""The paper's test of whether a method is better than the majority vote across data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

__all__ = ["Comparison", "compare"]

DIGITS = 9  # accuracies are fractions of small numbers; smaller differences are rounding errors that would break ties


class Comparison(NamedTuple):
    S: float  # sum of the ranks of the differences where the method is worse
    p: float  # one-sided: probability of such a small rank sum if the method is not better
    n: int  # number of data sets with a difference

    @property
    def stars(self) -> str:
        return "**" if self.p < 0.01 else "*" if self.p < 0.1 else ""


def compare(method: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Run the one-sided Wilcoxon signed-rank test; data sets without a difference are ignored."""
    difference = np.round(np.subtract(method, baseline), DIGITS)
    difference = difference[difference != 0]
    if not difference.size:
        return Comparison(0.0, 1.0, 0)
    ranks = rankdata(np.abs(difference))
    p = wilcoxon(difference, alternative="greater").pvalue
    return Comparison(float(ranks[difference < 0].sum()), float(p), len(difference))
