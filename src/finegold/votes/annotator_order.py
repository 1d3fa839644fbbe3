"""Order annotators by their votes instead of their names.

The last digits of a sum depend on the order of its terms. Some optimisers amplify these digits, so their labels would
change if annotators were renamed. Methods with such an optimiser use this order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from finegold.votes.annotations import Annotations

__all__ = ["order_by_votes", "reordered"]

Integers = NDArray[np.int64]

MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # multipliers of the hash function of splitmix64


def order_by_votes(votes: Annotations) -> Integers:
    """Return the annotators, [W], sorted by number of votes and then by a hash of their votes."""
    task, annotator, label = votes.votes()
    code = task.astype(np.uint64) * np.uint64(votes.n_classes) + label.astype(np.uint64) + np.uint64(1)
    for multiplier in MIX:
        code = (code ^ (code >> np.uint64(30))) * multiplier
    total = np.zeros(votes.n_annotators, np.uint64)
    np.add.at(total, annotator, code ^ (code >> np.uint64(31)))  # the sum does not depend on the order of the votes
    return np.lexsort((total, np.bincount(annotator, minlength=votes.n_annotators)))


def reordered(votes: Annotations, order: Integers) -> Annotations:
    """Return the same votes with annotators numbered in this order."""
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    annotator = rank[votes.annotator]
    cell = np.repeat(np.arange(len(votes.cell_class)), np.diff(votes.cell_ptr))
    sorted_votes = annotator[np.lexsort((annotator, cell))]
    return replace(votes, annotator=sorted_votes, annotator_names=votes.annotator_names[order])
