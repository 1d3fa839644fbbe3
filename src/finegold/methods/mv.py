"""Majority vote: the share of a task's votes for a class is the probability of that class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from finegold.engines.base import Block
from finegold.methods.base import Floats, Method
from finegold.methods.common import start_from_shares
from finegold.results.data import Learned


@dataclass(kw_only=True)
class MajorityVote(Method):
    """Plain majority vote: every vote has the same weight.

    Use it as the baseline, or if there are many annotators of similar skill. It needs one pass and
    has no parameters.

    Args:
        tolerance: Has no effect: there is only one pass over the votes.
        max_iterations: Has no effect.
        seed: Has no effect.
    """

    name: ClassVar[str] = "mv"
    fixed_passes: ClassVar[bool] = True

    def start(self, block: Block, restart: int) -> Statistics:
        start_from_shares(block)
        return Statistics(0.0, block.class_sums())

    def sweep(self, block: Block, parameters: Statistics) -> Statistics:
        # the shares do not change
        return Statistics(0.0, block.class_sums())

    def learned(self, parameters: Statistics) -> Learned:
        return Learned(class_prior=parameters.phi / parameters.phi.sum())


class Statistics(NamedTuple):
    change: float
    # [K] sum of the posteriors
    phi: Floats
