"""Use an earlier result as prior knowledge about annotators who vote again.

The votes of the earlier run are added to the sufficient statistics of the new fit, with the truths that the run found.
For PTBCC these are the Dirichlet counts of each annotator's mixture and of the prototypes; for the anchored vote, DS,
IBCC, HDS and HPT they are each annotator's votes by the truth of their tasks. Class frequencies are not carried over,
because they depend on the tasks, not on the annotators. Annotators and classes are matched by name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.fitting import solve
from finegold.methods.ibcc import IBCC
from finegold.methods.lookup import Method, method_class, method_names, method_of
from finegold.methods.ptbcc import PTBCC, Earlier
from finegold.methods.registry import REGISTRY
from finegold.results.archive import load
from finegold.results.data import ResultData, votes_of
from finegold.results.predictions import votes_by_truth
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_list
from finegold.votes.labels import listed
from finegold.votes.names import match

__all__ = ["check_takes_prior", "fit_with_prior"]

Floats = NDArray[np.float64]


class Matched(NamedTuple):
    """The codes of the new annotators and classes in the earlier result; MISSING for unknown ones."""

    annotators: Codes
    classes: Codes

    def annotators_of(self, values: Floats) -> Floats:
        """[W, ...] Return the values in the new order, with zeros for new annotators."""
        found = np.zeros((len(self.annotators), *values.shape[1:]))
        known = self.annotators != MISSING
        found[known] = values[self.annotators[known]]
        return found

    def classes_of(self, values: Floats) -> Floats:
        """[..., K, K] Return the values in the new order, with zeros for new classes."""
        K, known = len(self.classes), np.flatnonzero(self.classes != MISSING)
        found = np.zeros((*values.shape[:-2], K, K))
        old = self.classes[known]
        found[..., known[:, None], known] = values[..., old[:, None], old]
        return found


def fit_with_prior(
    method: Method, votes: Annotations, prior: ResultData | str | Path | None, **keywords: Any
) -> ResultData:
    """Fit a method with an earlier result, or the file of one, as prior knowledge about annotators."""
    if prior is None:
        return solve.fit(method, votes, **keywords)
    check_takes_prior(method)
    earlier = prior if isinstance(prior, ResultData) else load(prior)
    votes_of(earlier, "the prior")
    matched = _match(earlier, votes)
    result = solve.fit(_informed(method, earlier, matched), votes, **keywords)
    known = int((matched.annotators != MISSING).sum())
    note = f"{known:,} of {votes.n_annotators:,} annotators are known from an earlier run ({earlier.method})."
    return replace(result, notes=[note, *result.notes], known_annotators=known)


def check_takes_prior(method: Method) -> None:
    """Raise an error if the method cannot use an earlier result as a prior."""
    if not method.takes_prior:
        able = [name for name in method_names() if method_class(name).takes_prior]
        raise InputError(f"{method.name} cannot take a prior, only {', '.join(able)} can")


def _informed(method: Method, earlier: ResultData, matched: Matched) -> Method:
    if isinstance(method, PTBCC):
        return method.with_prior(_of_prototypes(method, earlier, matched))
    return method.with_prior(_votes_by_truth(earlier, matched))


def _match(earlier: ResultData, votes: Annotations) -> Matched:
    annotators = match(to_list(votes.annotator_names), earlier.annotator_names)
    classes = match(to_list(votes.class_names), earlier.class_names)
    if (annotators == MISSING).all():
        raise InputError("the prior knows none of these annotators; are their names written as they were then?")
    if (classes == MISSING).all():
        raise InputError(
            f"the prior knows none of these classes, only {listed(to_list(earlier.class_names))}; "
            "it belongs to another question"
        )
    return Matched(annotators, classes)


def _of_prototypes(method: PTBCC, earlier: ResultData, matched: Matched) -> Earlier:
    if earlier.method != "ptbcc":
        raise InputError(f"a prior of ptbcc must be a model of ptbcc, but this one is of {earlier.method}")
    eta, mu = earlier.learned.statistics["eta"], earlier.learned.statistics["mu"]
    if eta.shape[1] != len(method.first_prototypes(len(matched.classes))):
        raise InputError(f"the prior has {eta.shape[1]} prototypes; set n_prototypes={eta.shape[1]}")
    return Earlier(matched.annotators_of(eta), matched.classes_of(mu))


def _votes_by_truth(earlier: ResultData, matched: Matched) -> Floats:
    """[W, L, K] Return the votes of each annotator by truth, with those of the earlier run's own prior."""
    n = matched.classes_of(matched.annotators_of(_experience(earlier)))
    return n.transpose(0, 2, 1).copy()


def _experience(earlier: ResultData) -> Floats:
    """[W, K, K] Return the expected votes of each annotator by truth."""
    if not _counts_by_truth(earlier.method):
        return votes_by_truth(earlier)
    method = method_of(earlier)
    sums = method.sufficient_statistics(earlier).statistics
    by_truth: Floats = (sums.a if isinstance(method, IBCC) else sums.n).transpose(0, 2, 1)
    return by_truth


def _counts_by_truth(name: str) -> bool:
    """Return whether results of the method store these votes; results of removed methods do not."""
    return name in REGISTRY and method_class(name).takes_prior and not issubclass(method_class(name), PTBCC)
