"""Find annotators whose votes do not depend on the truth: always the same class, or random classes.

score     V. Raykar and S. Yu (JMLR 13, 2012): the mean squared distance between the rows of the confusion matrix,
          0 if all rows are equal (votes do not depend on the truth), 1 for an annotator who is always right
evidence  log odds of two models of the votes: one distribution for all truths, or one for each truth. Both are
          integrated over a Dirichlet prior, centred on the votes of everybody, so few votes give little evidence

Both use the labels of the result as truths, on tasks with at least two votes, so no label rests on the annotator's own
vote alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from finegold.insight.coefficients import table_of
from finegold.insight.votes import single_labels, votes_of
from finegold.results.data import ResultData, suggested
from finegold.votes.annotations import Annotations
from finegold.votes.frames import make_frame

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PRIOR_VOTES = 2.0  # pseudo-votes of each distribution, in the proportions of everybody's votes
MIN_LOG_ODDS = 3.0  # odds of twenty to one
MIN_VOTES = 20  # with fewer votes, four in ten suspicions were wrong on real data: bench/trust/promises.py
ONE_CLASS_SHARE = 0.95  # of the most frequent class, for the kind "one class"
MIN_COUNT = 1e-9  # for classes without votes


class Votes(NamedTuple):
    """How often annotator `who` voted for `label` if the truth is `truth`; combinations without votes are left out."""

    who: Integers
    truth: Integers
    label: Integers
    n: Floats
    pooled: Floats  # [K, K] confusion matrix of all annotators together
    shape: tuple[int, int]  # W, K


class Spam(NamedTuple):
    """What is found about each annotator, arrays of shape [W]."""

    n: Integers  # number of votes used
    score: Floats
    evidence: Floats
    kind: NDArray[np.str_]
    favourite: NDArray[np.int32]
    favourite_share: Floats


def spammers(result: ResultData) -> Any:
    """Return a data frame with one row per annotator, the most suspicious first.

    `kind` is "one class" or "random" if the votes do not depend on the truth, "inverted" if they are wrong more often
    than by chance, and empty otherwise.
    """
    result = single_labels(result)
    found = spam(result)
    order = np.lexsort((found.score, -found.evidence, found.kind == ""))
    columns = {
        "annotator": result.annotator_names.take(order.astype(np.int32)),
        "n_votes": result.votes_per_annotator[order],
        "score": found.score[order],
        "evidence": found.evidence[order],
        "kind": found.kind[order],
        "favourite": result.class_names.take(found.favourite[order]),
        "favourite_share": found.favourite_share[order],
    }
    return make_frame(columns, like=result.annotator_names)


def spam(result: ResultData) -> Spam:
    annotations = votes_of(result)
    votes = _counted(annotations, result.label_codes.astype(np.int64))
    own = table_of(votes.who, votes.label, votes.n, *votes.shape)  # [W, K] by class
    n = own.sum(axis=1)
    share = own.max(axis=1) / np.maximum(n, 1)
    evidence = _evidence(votes, own)
    kind = np.full(len(n), "", dtype="U9")
    enough = n >= MIN_VOTES
    kind[enough & (suggested(result)[1] < 1 / votes.shape[1]) & (evidence < 0)] = "inverted"
    blind = enough & (evidence > MIN_LOG_ODDS)
    kind[blind] = np.where(share[blind] >= ONE_CLASS_SHARE, "one class", "random")
    return Spam(n.astype(np.int64), _score(votes), evidence, kind, own.argmax(axis=1).astype(np.int32), share)


def _counted(annotations: Annotations, labels: Integers) -> Votes:
    W, K = annotations.n_annotators, annotations.n_classes
    task, who, label = (codes.astype(np.int64) for codes in annotations.votes())
    judged = annotations.votes_per_task[task] >= 2
    key, n = np.unique((who * K + labels[task])[judged] * K + label[judged], return_counts=True)
    who, truth, label = key // K**2, key // K % K, key % K
    pooled = np.bincount(truth * K + label, n, minlength=K * K).reshape(K, K) + MIN_COUNT
    return Votes(who, truth, label, n.astype(np.float64), pooled / pooled.sum(axis=1, keepdims=True), (W, K))


def _evidence(votes: Votes, own: Floats) -> Floats:
    """Return log p(votes | one distribution) - log p(votes | one for each truth)."""
    W, _ = votes.shape
    total, by_truth = own.sum(axis=0) + MIN_COUNT, table_of(votes.who, votes.truth, votes.n, *votes.shape)
    blind = _log_rising(PRIOR_VOTES * total / total.sum(), own).sum(axis=1)
    blind -= _log_rising(PRIOR_VOTES, own.sum(axis=1))
    cells = _log_rising(PRIOR_VOTES * votes.pooled[votes.truth, votes.label], votes.n)
    seeing = np.bincount(votes.who, cells, minlength=W) - _log_rising(PRIOR_VOTES, by_truth).sum(axis=1)
    return np.asarray(blind - seeing)


def _log_rising(a: Floats | float, n: Floats) -> Floats:
    """Return log Gamma(a + n) / Gamma(a), a factor of the Dirichlet-multinomial likelihood of n votes."""
    risen: Floats = gammaln(a + n) - gammaln(a)
    return risen


def _score(votes: Votes) -> Floats:
    """Return (K sum_k |c_k|^2 - |sum_k c_k|^2) / (K (K - 1)), half the mean squared distance of the rows c_k.

    Rows include the pseudo-votes of the prior. The sums are written out so that no array [W, K, K] is needed.
    """
    W, K = votes.shape
    if K == 1:
        return np.zeros(W)
    size = table_of(votes.who, votes.truth, votes.n, W, K) + PRIOR_VOTES
    before = PRIOR_VOTES * votes.pooled
    old = before[votes.truth, votes.label]
    gained = ((old + votes.n) ** 2 - old**2) / size[votes.who, votes.truth] ** 2  # squares beyond those of the prior
    squares = np.bincount(votes.who, gained, minlength=W) + (1 / size**2) @ (before**2).sum(1)
    rows = table_of(votes.who, votes.label, votes.n / size[votes.who, votes.truth], W, K)
    together = rows + (1 / size) @ before
    score: Floats = (K * squares - (together**2).sum(axis=1)) / (K * (K - 1))
    return score
