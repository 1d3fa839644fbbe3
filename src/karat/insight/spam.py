"""Annotators whose votes do not depend on the truth: the same class again and again, or any.

score     V. Raykar and S. Yu (JMLR 13, 2012): the mean squared distance between the rows of the confusion matrix,
          0 if all rows are alike (the vote says nothing of the truth), 1 for somebody who is always right
evidence  log odds of two explanations of the votes: one distribution whatever the truth, or one for each truth. Either
          is integrated over its Dirichlet prior, centred on the votes of everybody, so that few votes prove little

Both are judged by the labels of the result, on tasks with at least two votes: nobody is judged by their own vote alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from karat.insight.coefficients import table_of
from karat.insight.votes import votes_of
from karat.results.data import ResultData
from karat.votes.annotations import Annotations
from karat.votes.frames import make_frame, take

__all__ = ["Spam", "spam", "spammers"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PRIOR = 2.0  # votes of everybody's that each distribution begins with
SURE = 3.0  # log odds: twenty to one
NEARLY_ALWAYS = 0.95  # share of the favourite class
LEAST = 1e-9  # where nobody ever voted


class Votes(NamedTuple):
    """How often annotator `who` voted `label` where the truth was `truth`; only what occurred."""

    who: Integers
    truth: Integers
    label: Integers
    n: Floats
    pooled: Floats  # [K, K] how everybody votes
    shape: tuple[int, int]  # W, K


class Spam(NamedTuple):
    """[W] of each annotator."""

    n: Integers  # votes judged
    score: Floats
    evidence: Floats
    kind: NDArray[np.str_]
    favourite: NDArray[np.int32]
    favourite_share: Floats


def spammers(result: ResultData) -> Any:
    """A data frame, a row an annotator, the most suspect first; `kind` is empty for those who do no such thing.

    kind: "one class" or "random" if the votes ignore the truth, "inverted" if they are wrong more often than chance.
    """
    found = spam(result)
    order = np.lexsort((found.score, -found.evidence, found.kind == ""))
    columns = {
        "annotator": take(result.annotator_names, order.astype(np.int32)),
        "n_votes": result.votes_per_annotator[order],
        "score": found.score[order],
        "evidence": found.evidence[order],
        "kind": found.kind[order],
        "favourite": take(result.class_names, found.favourite[order]),
        "favourite_share": found.favourite_share[order],
    }
    return make_frame(columns, like=result.annotator_names)


def spam(result: ResultData) -> Spam:
    annotations = votes_of(result)
    votes = _counted(annotations, result.label_codes.astype(np.int64))
    own = _by_label(votes)
    n = own.sum(axis=1)
    share = own.max(axis=1) / np.maximum(n, 1)
    evidence = _evidence(votes, own)
    kind = np.full(len(n), "", dtype="U9")
    kind[(result.accuracy_high < 1 / votes.shape[1]) & (evidence < 0)] = "inverted"
    kind[evidence > SURE] = np.where(share[evidence > SURE] >= NEARLY_ALWAYS, "one class", "random")
    return Spam(n.astype(np.int64), _score(votes), evidence, kind, own.argmax(axis=1).astype(np.int32), share)


def _counted(annotations: Annotations, labels: Integers) -> Votes:
    W, K = annotations.n_annotators, annotations.n_classes
    task, who, label = (codes.astype(np.int64) for codes in annotations.votes())
    judged = annotations.votes_per_task[task] >= 2
    key, n = np.unique((who * K + labels[task])[judged] * K + label[judged], return_counts=True)
    who, truth, label = key // K**2, key // K % K, key % K
    pooled = np.bincount(truth * K + label, n, minlength=K * K).reshape(K, K) + LEAST
    return Votes(who, truth, label, n.astype(np.float64), pooled / pooled.sum(axis=1, keepdims=True), (W, K))


def _by_label(votes: Votes) -> Floats:
    """[W, K]"""
    return table_of(votes.who, votes.label, votes.n, *votes.shape)


def _by_truth(votes: Votes) -> Floats:
    """[W, K]"""
    return table_of(votes.who, votes.truth, votes.n, *votes.shape)


def _evidence(votes: Votes, own: Floats) -> Floats:
    """log p(votes | one distribution) - log p(votes | one for each truth)."""
    W, _ = votes.shape
    total = own.sum(axis=0) + LEAST
    blind = (_rising(PRIOR * total / total.sum(), own)).sum(axis=1) - _rising(PRIOR, own.sum(axis=1))
    cells = _rising(PRIOR * votes.pooled[votes.truth, votes.label], votes.n)
    seeing = np.bincount(votes.who, cells, minlength=W) - _rising(PRIOR, _by_truth(votes)).sum(axis=1)
    return np.asarray(blind - seeing)


def _rising(a: Floats | float, n: Floats) -> Floats:
    """log Gamma(a + n) / Gamma(a): how a Dirichlet prior takes n votes."""
    risen: Floats = gammaln(a + n) - gammaln(a)
    return risen


def _score(votes: Votes) -> Floats:
    """K sum_k |c_k|^2 - |sum_k c_k|^2 over K (K - 1), which is the mean squared distance of rows c_k, halved.

    Rows begin with PRIOR votes of everybody's; written out so that no [W, K, K] is needed.
    """
    W, K = votes.shape
    if K == 1:
        return np.zeros(W)
    size = _by_truth(votes) + PRIOR
    before = PRIOR * votes.pooled
    squares = np.bincount(votes.who, _gained(votes, before, size), minlength=W) + (1 / size**2) @ (before**2).sum(1)
    rows = table_of(votes.who, votes.label, votes.n / size[votes.who, votes.truth], W, K)
    together = rows + (1 / size) @ before
    score: Floats = (K * squares - (together**2).sum(axis=1)) / (K * (K - 1))
    return score


def _gained(votes: Votes, before: Floats, size: Floats) -> Floats:
    """By how much the votes raise the squares of what was before."""
    old = before[votes.truth, votes.label]
    return ((old + votes.n) ** 2 - old**2) / size[votes.who, votes.truth] ** 2
