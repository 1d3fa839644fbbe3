"""M-MSR and KOS: how reliable workers are follows from their agreement with each other.

M-MSR: skills by robust completion of the rank-one matrix of agreements, then a weighted vote.
Qianqian Ma, Alex
Olshevsky: Adversarial Crowdsourcing Through Robust Rank-One Matrix Completion. NeurIPS 2020.

    C_ij = K / (K - 1) * (share of common tasks on which workers i and j agree) - 1 / (K - 1)  ~
    s_i s_j

KOS: message passing between tasks and workers, for two classes. David R. Karger, Sewoong Oh,
    Devavrat Shah:
Budget-Optimal Task Allocation for Reliable Crowdsourcing Systems. Operations Research 62 (1), 2014.
With A_ij = 1 or -1, the vote of worker j on task i,

    x_ij = sum over the other workers j' of task i of A_ij' y_j'i
    y_ji = sum over the other tasks i' of worker j of A_i'j x_i'j
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finegold.crowdkit.aggregation.base import (
    BaseClassificationAggregator,
    BaseSkillAggregator,
    Floats,
    encode,
)
from finegold.crowdkit.aggregation.weighted import shares, weighted_scores
from finegold.errors import InputError

__all__ = ["KOS", "MMSR"]

# instead of a division by 0
TINY = 1e-300
# nodes of a graph; with more, only one eigenvector is computed
MOST_DENSE = 200


@dataclass(eq=False)
class MMSR(BaseSkillAggregator):
    """M-MSR: skills by robust completion of the rank-one matrix of agreements, then a weighted
    vote.

    It needs at least two classes.

    Args:
        n_iter: The largest number of iterations.
        tol: Stop when the completed matrix changes by less than this (Frobenius norm).
        random_state: The seed of the first skills.

    Attributes:
        labels_: The label of every task, after `predict`.
        skills_: The weight of each worker's vote, the logarithm of (K - 1) p / (1 - p) for the
            accuracy p.
        scores_: The sum of the weights of every label, divided by the sum of its row, after
            `predict_score`.
        loss_history_ (list of float): The change of the completed matrix in each iteration.
    """

    n_iter: int = 10000
    tol: float = 1e-10
    random_state: int | None = 0

    def fit(self, data: Any) -> Self:
        votes = encode(data)
        n_classes = len(votes.labels)
        if n_classes < 2:
            raise InputError(
                f"MMSR needs at least two classes, but there are {n_classes}; choose another method"
            )
        table = np.full((len(votes.workers), len(votes.tasks)), -1, dtype=np.int64)
        # the last vote counts
        table[votes.worker, votes.task] = votes.label
        voted = (table >= 0).astype(np.float64)
        common, same = voted @ voted.T, np.zeros((len(table), len(table)))
        for label in range(n_classes):
            chosen = (table == label).astype(np.float64)
            same += chosen @ chosen.T
        np.fill_diagonal(common, 0.0)
        share = np.divide(same, common, out=np.zeros_like(same), where=common > 0)
        agreement = np.where(
            common > 0, n_classes / (n_classes - 1) * share - 1 / (n_classes - 1), 0.0
        )
        size, margin = (
            self._complete(np.abs(agreement), common > 0, len(votes.tasks)),
            1 / np.sqrt(len(votes.tasks)),
        )
        skill = np.clip(size * _signs(agreement), margin - 1 / (n_classes - 1), 1 - margin)
        accuracy = skill * (n_classes - 1) / n_classes + 1 / n_classes
        self.skills_ = votes.of_workers(
            np.log(accuracy * (n_classes - 1) / (1 - accuracy)), "skill"
        )
        return self

    def predict_score(self, data: Any) -> Any:
        """Return the scores of the labels of every task (`scores_`), with the skills that `fit`
        found.

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The attribute `scores_`.
        """
        return self._apply(data).scores_

    def fit_predict_score(self, data: Any) -> Any:
        """Fit to votes and return the scores of the labels of every task (`scores_`).

        Args:
            data: The votes, with the columns task, worker and label.

        Returns:
            The attribute `scores_`.
        """
        return self.fit(data).predict_score(data)

    def _vote(self, data: Any) -> None:
        votes = encode(data, sort=True)
        scores = shares(
            weighted_scores(votes, data["worker"].map(self.skills_).to_numpy(dtype=np.float64))
        )
        self.labels_, self.scores_ = votes.decide(scores), votes.frame(scores)

    def _complete(self, size: Floats, seen: NDArray[np.bool_], n_tasks: int) -> Floats:
        """[W] Return the vector u with size ~ u u', robust against bad entries: some on each side
        are trimmed.
        """
        trimmed = int(np.floor(seen.sum(axis=0).min() / 2)) - 1
        u = np.random.RandomState(self.random_state).uniform(size=len(size))
        v = u.copy()
        self.loss_history_: list[float] = []
        for _ in range(self.n_iter):
            before = np.outer(u, v)
            for other, own, ratios in ((u, v, size.T), (v, u, size)):
                for row in range(len(own)):
                    usable = seen.T[row] & (other > 0)
                    ratio = np.sort(ratios[row, usable] / other[usable])
                    low, high = (
                        min(trimmed, int(n))
                        for n in ((ratio < own[row]).sum(), (ratio > own[row]).sum())
                    )
                    # somebody shares tasks with one worker only; crowd-kit keeps the largest
                    if trimmed < 0:
                        low, high = len(ratio) - 1, 0
                    kept = ratio[low : len(ratio) - high]
                    if len(kept):
                        own[row] = (
                            1 / np.sqrt(n_tasks) if len(kept) == 1 and kept[0] == 0 else kept.mean()
                        )
            self.loss_history_.append(float(np.linalg.norm(np.outer(u, v) - before)))
            if self.loss_history_[-1] < self.tol:
                break
        scale = float(np.linalg.norm(u)) / max(float(np.linalg.norm(v)), TINY)
        return np.asarray(u / np.sqrt(max(scale, TINY)))


def _signs(agreement: Floats) -> Floats:
    """[W] Return signs that fit those of the agreements; most of them are positive.

    A graph joins workers who disagree. Workers who agree are joined by two edges, with a node
    between. If all signs fit together, the graph has two sides; the last eigenvector of its random
    walk says who is on which.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import eigsh

    (left, right), (agree_left, agree_right) = (
        np.nonzero(np.triu(edge)) for edge in (agreement < 0, agreement > 0)
    )
    n = len(agreement) + len(agree_left)
    between = np.arange(len(agreement), n)
    ends = (
        np.concatenate([left, agree_left, between]),
        np.concatenate([right, between, agree_right]),
    )
    rows, columns = np.append(*ends), np.append(*ends[::-1])
    root = np.sqrt(np.maximum(np.bincount(rows, minlength=n), 1.0))
    walk = coo_array((1 / (root[rows] * root[columns]), (rows, columns)), shape=(n, n)).tocsr()
    signs = np.ones(n)
    for component in range((parts := connected_components(walk, directed=False))[0]):
        nodes = np.flatnonzero(parts[1] == component)
        part, people = walk[nodes][:, nodes], nodes < len(agreement)
        if len(nodes) <= MOST_DENSE:
            last = np.linalg.eigh(part.toarray())[1][:, 0]
        else:
            last = eigsh(part, 1, which="SA", v0=np.ones(len(nodes)))[1][:, 0]
        side = np.sign(last)
        signs[nodes] = side if side[people].sum() >= 0 else -side
    return signs[: len(agreement)]


@dataclass(eq=False)
class KOS(BaseClassificationAggregator):
    """Message passing between tasks and workers, for two classes (Karger, Oh and Shah).

    Args:
        n_iter: The number of iterations.
        random_state: The seed of the first messages.

    Attributes:
        labels_: The label of every task.
    """

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        votes = encode(data)
        if not len(votes.tasks):
            self.labels_ = pd.Series([], dtype="O", name="agg_label")
            return self
        if len(votes.labels) != 2:
            raise InputError(
                f"KOS is for two classes, but there are {len(votes.labels):,}; choose another"
                " method"
            )
        sign = 1.0 - 2.0 * votes.label
        y = np.random.RandomState(self.random_state).normal(1, 1, len(sign))
        for _ in range(self.n_iter):
            # the sum over the other messages of the same group
            for group in (votes.task, votes.worker):
                message = sign * y
                y = np.bincount(group, message)[group] - message
        # the log-likelihood of the first class, up to a factor
        total = np.bincount(votes.task, sign * y)
        self.labels_ = votes.decide(np.column_stack([total, -total])).sort_index()
        return self
