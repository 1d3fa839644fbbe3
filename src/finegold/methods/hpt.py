"""HPT: PTBCC with its prototypes first, then HDS with a confusion matrix for each annotator.

PTBCC runs until it ends, and HDS starts from its posterior. The prototypes, learned from all annotators, find a good
starting point; then the matrix of each annotator can differ from them as far as their votes justify.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from finegold.engines.blocks import Block, sum_tasks
from finegold.methods.base import Method
from finegold.methods.common import count_votes
from finegold.methods.hds import HDS, First
from finegold.methods.ptbcc import PTBCC


@dataclass(kw_only=True)
class HPT(HDS):
    """PTBCC's prototypes to find the truth roughly, then each annotator's own confusion matrix (HDS) to refine it.

    It assumes that annotators err independently given the truth. Use it if annotators differ in more ways than a few
    prototypes can describe, and have cast enough votes to show it. The steps of the result begin with the sweeps of
    PTBCC, without a bound, since theirs belongs to another model. It costs one fit of PTBCC and one of HDS.

    Parameters
    ----------
    tolerance : float, default 1e-3
        Stop when no probability of a class changes by more than this in a sweep.
    max_iterations : int, default 500
        The largest number of sweeps of HDS, after those of PTBCC.
    seed : int, default 0
        Has no effect: PTBCC with two prototypes draws nothing at random.
    class_prior : {"votes", "flat"}, default "votes"
        Pseudo-counts of the classes in HDS: summed vote shares, or 1 for each class that has votes.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> finegold.aggregate(votes, "hpt").label.tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "hpt"

    @property
    def warm_start(self) -> Method:
        return PTBCC(seed=self.seed)

    def start(self, block: Block, restart: int) -> First:
        shares = block.posterior.copy()
        block.kernels("votes").vote_shares(block.votes, block.gold, shares)
        return First(0.0, block.class_sums(), count_votes(block), sum_tasks(shares))
