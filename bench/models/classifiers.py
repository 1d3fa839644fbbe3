"""Simulated classifiers of a given accuracy, the data of cleanlab's tutorial, and CROWDLAB in its own environment."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

CENTRES = [[3, 2], [7, 7], [0, 8]]
COVARIANCES = [[[5, -1.5], [-1.5, 1]], [[1, 0.5], [0.5, 4]], [[5, 1], [1, 5]]]
SIZES = [150, 75, 75]
CROWDLAB = """
import sys, warnings, numpy as np, pandas as pd
warnings.filterwarnings("ignore")
from cleanlab import multiannotator
data, found = np.load(sys.argv[1]), {}
for name in {name.rpartition("/")[0] for name in data.files}:
    votes, p = data[name + "/votes"], data[name + "/p"]
    matrix = np.full((p.shape[-2], votes[:, 1].max() + 1), np.nan)
    matrix[votes[:, 0], votes[:, 1]] = votes[:, 2]
    frame = pd.DataFrame(matrix[:, ~np.isnan(matrix).all(axis=0)])
    crowdlab = multiannotator.get_label_quality_multiannotator
    if p.ndim == 3:  # several models
        crowdlab = multiannotator.get_label_quality_multiannotator_ensemble
    made = crowdlab(frame, p, verbose=False, return_detailed_quality=False, return_annotator_stats=False)
    found[name] = made["label_quality"]["consensus_label"].to_numpy()
np.savez(sys.argv[2], **found)
"""
Floats = NDArray[np.float64]
Random = np.random.Generator


@cache
def strength(accuracy: float, n_classes: int) -> float:
    """The distance of classes, in standard deviations, at which the best classifier has this accuracy."""
    tests = np.random.default_rng(0).normal(size=(20_000, n_classes))
    strengths = np.linspace(0.1, 5, 200)
    reached = [(s**2 + s * tests[:, 0] > (s * tests[:, 1:]).max(axis=1)).mean() for s in strengths]
    return float(strengths[int(np.searchsorted(reached, accuracy))])


def classifier(
    rng: Random, truth: NDArray[np.int64], accuracy: float, scale: float, n_classes: int
) -> Floats:
    """Probabilities of a classifier of this accuracy; calibrated if the logits are multiplied by 1."""
    s = strength(accuracy, n_classes)
    noise = rng.normal(size=(len(truth), n_classes))
    return np.asarray(softmax(scale * (s**2 * np.eye(n_classes)[truth] + s * noise), axis=1))
