"""What several methods share: first posteriors, sweeps with a confusion matrix per annotator,
Dirichlets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from finegold.engines.blocks import Block
from finegold.kernels import confusion, votes
from finegold.kernels.numerics import expected_logs
from finegold.methods.base import Floats


def start_from_shares(block: Block) -> None:
    """Set the posterior to vote shares, and to certainty for tasks with a known truth."""
    votes.vote_shares(block.votes, block.gold, block.posterior)


class ConfusionSums(NamedTuple):
    change: float
    # [K] sum_i phi_ik
    tau: Floats
    # [W, L, K] sum of phi_ik over j's votes for l; votes before truths, the order in which the
    # kernels read
    n: Floats
    # sum_i log of the normaliser of phi_i
    log_norm: float = 0.0


def sweep_confusion(block: Block, log_tau: Floats, log_v: Floats) -> ConfusionSums:
    """Set phi_ik in proportion to tau_k times the product of v_jlk over the votes (j, l) on task i."""
    tau, n = np.zeros_like(log_tau), np.zeros_like(log_v)
    change, log_norm = confusion.sweep(
        block.classes, block.votes, block.gold, log_tau, log_v, block.posterior, tau, n
    )
    return ConfusionSums(change, tau, n, log_norm)


def start_confusion(block: Block) -> ConfusionSums:
    """Set the posterior to vote shares, and count the expected votes of each annotator by truth."""
    start_from_shares(block)
    n: Floats = np.zeros((block.n_annotators, block.n_classes, block.n_classes))
    confusion.counts(block.classes, block.votes, block.posterior, n)
    return ConfusionSums(0.0, block.class_sums(), n)


class Dirichlets(NamedTuple):
    """Dirichlet distributions along the last axis."""

    counts: Floats
    # E log p, equations (5)-(7)
    log: Floats
    # sum of the log-normalisers log B(counts)
    log_beta: float


def dirichlets(counts: Floats) -> Dirichlets:
    rows = np.ascontiguousarray(counts).reshape(-1, counts.shape[-1])
    logs = np.empty_like(rows)
    log_beta = expected_logs(rows, logs)
    return Dirichlets(counts, logs.reshape(counts.shape), log_beta)


def mean(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))
