"""crowd-kit's classification, pairwise comparisons, metrics and postprocessing: change the import,
keep the rest.

`from crowdkit.aggregation import DawidSkene` becomes `from finegold.crowdkit.aggregation import
DawidSkene`. The modules have the names that they have there; this one has all of their names, too.
It needs pandas.

Examples:
    >>> import pandas as pd
    >>> from finegold.crowdkit import Wawa
    >>> votes = pd.DataFrame({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> Wawa().fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
"""

from __future__ import annotations

from finegold.crowdkit import aggregation
from finegold.crowdkit.aggregation import *  # noqa: F403
from finegold.crowdkit.metrics.data import alpha_krippendorff, consistency, uncertainty
from finegold.crowdkit.metrics.workers import accuracy_on_aggregates
from finegold.crowdkit.postprocessing import entropy_threshold

__all__ = [
    "accuracy_on_aggregates",
    "alpha_krippendorff",
    "consistency",
    "entropy_threshold",
    "uncertainty",
]
__all__ += aggregation.__all__
