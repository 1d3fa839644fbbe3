"""Find annotators whose votes do not depend on the truth: always the same class, or random classes.

The evidence is the log odds of two models of an annotator's votes: one distribution for all truths,
or one for each truth. Both are integrated over a Dirichlet prior, centred on the votes of
everybody, so few votes give little evidence. Truths are the labels of the result, on tasks with at
least two votes, so no label rests on the annotator's own vote alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from finegold.insight.votes import Floats, Integers, add_up, single_labels
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
    evidence: Floats
    kind: NDArray[np.str_]
    favourite: NDArray[np.int32]
    favourite_share: Floats


def spammers(result: ResultData) -> Any:
    """Return a data frame with one row per annotator, the most suspicious first."""
    result = single_labels(result)
    suspicion = spam(result)
    order = np.lexsort((-suspicion.evidence, suspicion.kind == ""))
    columns = {
        "annotator": result.annotator_names.take(order.astype(np.int32)),
        "n_votes": result.votes_per_annotator[order],
        "evidence": suspicion.evidence[order],
        "kind": suspicion.kind[order],
        "favourite": result.class_names.take(suspicion.favourite[order]),
        "favourite_share": suspicion.favourite_share[order],
    }
    return make_frame(columns, like=result.annotator_names)


def spam(result: ResultData) -> Spam:
    annotations = result.annotations
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
    blind = _log_rising(PRIOR_VOTES * total / total.sum(), own).sum(axis=1)
    blind -= _log_rising(PRIOR_VOTES, n_votes)
    seeing = add_up(who, _log_rising(PRIOR_VOTES * pooled[truth, label], n), W)
    seeing -= _log_rising(PRIOR_VOTES, by_truth).sum(axis=1)
    evidence, share = blind - seeing, own.max(axis=1) / np.maximum(n_votes, 1)
    kind, enough = np.full(W, "", dtype="U9"), n_votes >= MIN_VOTES
    kind[enough & (suggested_accuracies(result)[1] < 1 / K) & (evidence < 0)] = "inverted"
    is_blind = enough & (evidence > MIN_LOG_ODDS)
    kind[is_blind] = np.where(share[is_blind] >= ONE_CLASS_SHARE, "one class", "random")
    favourite = own.argmax(axis=1).astype(np.int32)
    return Spam(n_votes.astype(np.int64), evidence, kind, favourite, share)


def _log_rising(a: Floats | float, n: Floats) -> Floats:
    """Return log Gamma(a + n) / Gamma(a), a factor of the likelihood of n votes."""
    return np.asarray(gammaln(a + n) - gammaln(a))
