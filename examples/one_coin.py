"""A method of your own, complete: the one-coin model, in which every annotator is right with one probability.

    z_i ~ tau                                     truth of task i
    P(y_ij = z_i) = a_j                           the vote of annotator j; every error is equally likely

EM: the sweep finds the posterior of each truth from a and tau, `expect` finds a and tau from sums over the tasks.

    import one_coin, finegold
    finegold.register("onecoin", one_coin.OneCoin)
    finegold.aggregate("votes.csv", "onecoin", smoothing=2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from finegold import Method
from finegold.engines.base import Block
from finegold.kernels.cells import vote_rows
from finegold.methods.base import POSITIVE, setting
from finegold.methods.common import start_from_shares
from finegold.results.data import Learned


class Sums(NamedTuple):
    """What one sweep adds up over tasks; finegold adds the sums of all blocks."""

    change: float  # finegold takes the largest of the blocks
    classes: Any  # [K] expected tasks of each class
    right: Any  # [W] expected right votes of each annotator
    votes: Any  # [W] votes of each annotator


class Parameters(NamedTuple):
    tau: Any  # [K]
    accuracy: Any  # [W]


@dataclass(kw_only=True)
class OneCoin(Method):
    """Every annotator is right with a probability of their own, whatever the truth (one-coin Dawid-Skene)."""

    name: ClassVar[str] = "onecoin"

    # right and wrong votes that are added to everybody's
    smoothing: float = setting(1.0, POSITIVE)

    def start(self, block: Block, restart: int) -> Sums:
        start_from_shares(block)  # the share of votes for each class, and known truths
        return _sums(block, 0.0)

    def sweep(self, block: Block, parameters: Parameters) -> Sums:
        K, (task, annotator, label) = block.n_classes, _votes(block)
        odds = np.log(parameters.accuracy / (1 - parameters.accuracy) * max(K - 1, 1))
        with np.errstate(divide="ignore"):  # a class without votes has tau = 0
            score = np.log(np.tile(parameters.tau, (block.n_tasks, 1)))
        np.add.at(score, (task, label), odds[annotator])
        phi = np.exp(score - score.max(axis=1, keepdims=True))
        phi /= phi.sum(axis=1, keepdims=True)
        phi = np.where(block.gold[:, None] < 0, phi, block.posterior)  # known truths stay
        change = float(np.abs(phi - block.posterior).max())
        block.posterior[:] = phi
        return _sums(block, change)

    def expect(self, statistics: Sums, before: Any) -> Parameters:
        s = self.smoothing
        accuracy = (statistics.right + s) / (statistics.votes + 2 * s)
        return Parameters(statistics.classes / statistics.classes.sum(), accuracy)

    def learned(self, parameters: Parameters) -> Learned:
        return Learned(parameters.tau, statistics={"accuracy": parameters.accuracy})


def _votes(block: Block) -> tuple[Any, Any, Any]:
    first, row = vote_rows(block.n_classes, block.votes)
    task = np.repeat(np.arange(block.n_tasks), np.diff(first).astype(np.int64))
    return task, row // block.n_classes, row % block.n_classes


def _sums(block: Block, change: float) -> Sums:
    W, (task, annotator, label) = block.n_annotators, _votes(block)
    right = np.bincount(annotator, weights=block.posterior[task, label], minlength=W)
    return Sums(
        change, block.class_sums(), right, np.bincount(annotator, minlength=W).astype(float)
    )
