"""HPT: prototypes first, then each annotator's own way.

PTBCC is run to its end; from its posterior the updates of HDS go on. The prototypes, learned from everybody, find the
right basin; then each annotator may leave them as far as their votes justify it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from karat.engines.blocks import Block, sum_tasks
from karat.methods.base import Method
from karat.methods.hds import HDS, First
from karat.methods.ptbcc import PTBCC

__all__ = ["HPT"]


@dataclass(kw_only=True)
class HPT(HDS):
    """PTBCC's prototypes to find the truth roughly, then each annotator's own confusion matrix (HDS) to refine it.

    Assumes that annotators err independently given the truth. Use it where annotators differ in more ways than a few
    prototypes can tell, and have cast enough votes to show it. The record holds the sweeps of PTBCC first, without a
    bound: it is another model's. Costs a fit of PTBCC and one of HDS.

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
    >>> import karat
    >>> votes = karat.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> karat.aggregate(votes, "hpt").label.tolist()
    ['x', 'y']
    """

    name: ClassVar[str] = "hpt"

    @property
    def warm_start(self) -> Method:
        return PTBCC(seed=self.seed)

    def start(self, block: Block, restart: int) -> First:
        task_ptr, cell_ptr, cell_class, _ = block.votes
        shares = block.posterior.copy()
        block.kernels("votes").vote_shares(task_ptr, cell_ptr, cell_class, block.gold, shares)
        return self._count(block, sum_tasks(shares))
