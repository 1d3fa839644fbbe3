"""Find annotators whose votes do not depend on the truth: always the same class, or random classes.

score     V. Raykar and S. Yu (JMLR 13, 2012): the mean squared distance between the rows of the
confusion matrix,
          0 if all rows are equal (votes do not depend on the truth), 1 for an annotator who is
          always right
evidence  log odds of two models of the votes: one distribution for all truths, or one for each
truth. Both are
          integrated over a Dirichlet prior, centred on the votes of everybody, so few votes give
          little evidence

Both use the labels of the result as truths, on tasks with at least two votes, so no label rests on
the annotator's own vote alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from finegold.insight.votes import Floats, Integers, add_up, single_labels, votes_of
from finegold.results.data import ResultData, suggested_accuracies
from finegold.votes.frames import make_frame

# What the kinds of annotators do whose votes tell nothing.
KINDS = {
    "one class": "nearly always votes for one class",
    "random": "votes independently of the truth",
    "inverted": "is wrong more often than by chance",
}
# pseudo-votes of each distribution, in the proportions of everybody's votes
PRIOR_VOTES = 2.0
# odds of twenty to one
MIN_LOG_ODDS = 3.0
# with fewer votes, four in ten suspicions were wrong on real data: bench/trust/promises.py
MIN_VOTES = 20
# of the most frequent class, for the kind "one class"
ONE_CLASS_SHARE = 0.95
# for classes without votes
MIN_COUNT = 1e-9


class Spam(NamedTuple):
    """What is found about each annotator, arrays of shape [W]."""

    # number of votes used
    n: Integers
    score: Floats
    evidence: Floats
    kind: NDArray[np.str_]
    favourite: NDArray[np.int32]
    favourite_share: Floats


def spammers(result: ResultData) -> Any:
    """Return a data frame with one row per annotator, the most suspicious first.

    `kind` is "one class" or "random" if the votes do not depend on the truth, "inverted" if they
    are wrong more often than by chance, and empty otherwise.
    """
    result = single_labels(result)
    suspicion = spam(result)
    order = np.lexsort((suspicion.score, -suspicion.evidence, suspicion.kind == ""))
    columns = {
        "annotator": result.annotator_names.take(order.astype(np.int32)),
        "n_votes": result.votes_per_annotator[order],
        "score": suspicion.score[order],
        "evidence": suspicion.evidence[order],
        "kind": suspicion.kind[order],
        "favourite": result.class_names.take(suspicion.favourite[order]),
        "favourite_share": suspicion.favourite_share[order],
    }
    return make_frame(columns, like=result.annotator_names)


def spam(result: ResultData) -> Spam:
    annotations = votes_of(result)
    W, K = annotations.n_annotators, annotations.n_classes
    task, who, label = (codes.astype(np.int64) for codes in annotations.votes())
    judged = annotations.votes_per_task[task] >= 2
    # How often an annotator voted for a label if the truth is another; combinations without votes
    # are left out.
    key, counts = np.unique(
        ((who * K + result.label_codes[task]) * K + label)[judged], return_counts=True
    )
    who, truth, label, n = key // K**2, key // K % K, key % K, counts.astype(np.float64)
    pooled = np.bincount(truth * K + label, counts, minlength=K * K).reshape(K, K) + MIN_COUNT
    # confusion matrix of all annotators together
    pooled = pooled / pooled.sum(axis=1, keepdims=True)

    def table(of: Integers, values: Floats) -> Floats:
        """[W, K] Sum the values of each annotator by class."""
        return add_up(who * K + of, values, W * K).reshape(W, K)

    own, by_truth = table(label, n), table(truth, n)
    n_votes, total = own.sum(axis=1), own.sum(axis=0) + MIN_COUNT
    # log p(votes | one distribution) - log p(votes | one for each truth)
    blind = _log_rising(PRIOR_VOTES * total / total.sum(), own).sum(axis=1) - _log_rising(
        PRIOR_VOTES, n_votes
    )
    cells = _log_rising(PRIOR_VOTES * pooled[truth, label], n)
    seeing = np.bincount(who, cells, minlength=W) - _log_rising(PRIOR_VOTES, by_truth).sum(axis=1)
    evidence, share = blind - seeing, own.max(axis=1) / np.maximum(n_votes, 1)
    # (K sum_k |c_k|^2 - |sum_k c_k|^2) / (K (K - 1)), half the mean squared distance of the rows
    # c_k, which include the pseudo-votes of the prior. The sums are written out so that no array
    # [W, K, K] is needed.
    size, before = by_truth + PRIOR_VOTES, PRIOR_VOTES * pooled
    old, of_row = before[truth, label], size[who, truth]
    # squares beyond those of the prior
    gained = ((old + n) ** 2 - old**2) / of_row**2
    squares = np.bincount(who, gained, minlength=W) + (1 / size**2) @ (before**2).sum(1)
    together = table(label, n / of_row) + (1 / size) @ before
    score = (K * squares - (together**2).sum(axis=1)) / (K * (K - 1)) if K > 1 else np.zeros(W)
    kind, enough = np.full(W, "", dtype="U9"), n_votes >= MIN_VOTES
    kind[enough & (suggested_accuracies(result)[1] < 1 / K) & (evidence < 0)] = "inverted"
    is_blind = enough & (evidence > MIN_LOG_ODDS)
    kind[is_blind] = np.where(share[is_blind] >= ONE_CLASS_SHARE, "one class", "random")
    return Spam(
        n_votes.astype(np.int64), score, evidence, kind, own.argmax(axis=1).astype(np.int32), share
    )


def _log_rising(a: Floats | float, n: Floats) -> Floats:
    """Return log Gamma(a + n) / Gamma(a), a factor of the Dirichlet-multinomial likelihood of n
    votes.
    """
    return np.asarray(gammaln(a + n) - gammaln(a))
