"""crowd-kit's classification, pairwise comparisons, metrics and postprocessing: change the import, keep the rest.

`from crowdkit.aggregation import DawidSkene` becomes `from karat.crowdkit.aggregation import DawidSkene`. The modules
have the names that they have there; this one has all of their names, too. It needs pandas.

Examples
--------
>>> import pandas as pd
>>> from karat.crowdkit import Wawa
>>> votes = pd.DataFrame({"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxyyy")})
>>> Wawa().fit_predict(votes).to_dict()
{1: 'x', 2: 'y'}
"""

from __future__ import annotations

from karat.crowdkit import aggregation
from karat.crowdkit.aggregation import *  # noqa: F403
from karat.crowdkit.metrics.data import alpha_krippendorff, consistency, uncertainty
from karat.crowdkit.metrics.workers import accuracy_on_aggregates
from karat.crowdkit.postprocessing import entropy_threshold

__all__ = ["accuracy_on_aggregates", "alpha_krippendorff", "consistency", "entropy_threshold", "uncertainty"]
__all__ += aggregation.__all__
