"""Loops of `finegold.insight`: votes in common, the gain of one more vote, groups of annotators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finegold.kernels import Floats, Votes
from finegold.kernels.compiling import ONE, kernel

Counts = NDArray[np.int64]


@kernel
def count_tasks(votes: Votes, voted: Counts, shared: Counts, disputed: Counts) -> tuple[int, int]:
    """Return the number of tasks with votes of several annotators, and of those on which they
    disagree.
    """
    # Count for each annotator [W] the tasks on which they vote, another one votes too, and another
    # one votes differently. If a task has votes for two classes and of two annotators, each of its
    # annotators has a vote that differs from another annotator's vote, even if an annotator votes
    # more than once.
    task_ptr, cell_ptr, _, annotator = votes
    here = np.zeros(voted.size, np.bool_)
    n_shared = n_disputed = 0
    for i in range(np.uint64(task_ptr.size) - ONE):
        first, end = cell_ptr[task_ptr[i]], cell_ptr[task_ptr[i + ONE]]
        voters = 0
        for v in range(first, end):
            voters += not here[annotator[v]]
            here[annotator[v]] = True
        is_shared = voters > 1
        is_disputed = is_shared and task_ptr[i + ONE] - task_ptr[i] > ONE
        n_shared += is_shared
        n_disputed += is_disputed
        for v in range(first, end):
            j = annotator[v]
            if here[j]:
                here[j] = False
                voted[j] += 1
                shared[j] += is_shared
                disputed[j] += is_disputed
    return n_shared, n_disputed


@kernel
def expected_gain(phi: Floats, matrices: Floats, left: Floats, gain: Floats) -> None:
    """Write the gain [T] of one more vote, 0 if no annotator is left to cast it."""
    # matrices [G, L, K] are those of groups of annotators, the vote before the truth, left [T, G]
    # is the weight of each group for the next vote, which need not sum to one.
    n_groups, n_classes, _ = matrices.shape
    for i in range(phi.shape[0]):
        before, after, mass = 0.0, 0.0, 0.0
        for k in range(n_classes):
            before += phi[i, k] * phi[i, k]
        for g in range(n_groups):
            expected = 0.0
            for vote in range(n_classes):
                p, squares = 0.0, 0.0
                for k in range(n_classes):
                    joint = phi[i, k] * matrices[g, vote, k]
                    p += joint
                    squares += joint * joint
                if p > 0.0:
                    expected += squares / p
            after += left[i, g] * expected
            mass += left[i, g]
        gain[i] = max(after / mass - before, 0.0) if mass > 0.0 else 0.0


@kernel
def move(ptr: Counts, neighbour: Counts, gain: Floats, group: Counts, most_sweeps: int) -> None:
    """Move each annotator into the group with the largest gain. Each move increases the total gain,
    so this ends.
    """
    # ptr [W+1] are the first neighbours of annotators; a pair that is in one group has a gain,
    # which may be negative.
    total = np.zeros(group.size)
    for _ in range(most_sweeps):
        moved = 0
        for j in range(group.size):
            for at in range(ptr[j], ptr[j + 1]):
                total[group[neighbour[at]]] += gain[at]
            best, most = group[j], max(total[group[j]], 0.0)
            for at in range(ptr[j], ptr[j + 1]):
                other = group[neighbour[at]]
                if total[other] > most:
                    best, most = other, total[other]
            moved += best != group[j]
            for at in range(ptr[j], ptr[j + 1]):
                total[group[neighbour[at]]] = 0.0
            group[j] = best
        if moved == 0:
            return
