"""Fit a method with what an earlier result learned about annotators as prior knowledge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.fitting import solve
from finegold.fitting.solve import check_takes_prior
from finegold.methods.base import Method
from finegold.methods.ptbcc import PTBCC, Earlier
from finegold.results.archive import load
from finegold.results.data import ResultData, votes_of
from finegold.results.matrices import votes_by_truth
from finegold.results.sets import refuse_sets
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, listed, match, to_list

Floats = NDArray[np.float64]


def fit_with_prior(
    method: Method, votes: Annotations, prior: ResultData | str | Path, **keywords: Any
) -> ResultData:
    """Fit a method with an earlier result, or the file of one, as the prior of annotators."""
    check_takes_prior(method)
    earlier = prior if isinstance(prior, ResultData) else load(prior)
    refuse_sets(earlier, "matrices that could be a prior")
    # codes in the earlier result
    annotators = match(to_list(votes.annotator_names), earlier.annotator_names)
    classes = match(to_list(votes.class_names), earlier.class_names)
    if (annotators == MISSING).all():
        raise InputError(
            "the prior knows none of these annotators; are their names written as they were then?"
        )
    if (classes == MISSING).all():
        known_classes = listed(to_list(earlier.class_names))
        raise InputError(
            f"the prior knows none of these classes, only {known_classes}; it belongs to another"
            " question"
        )
    if isinstance(method, PTBCC):
        eta, mu = _prototypes(earlier, len(method.first_prototypes(len(classes))))
        counts: Any = Earlier(_of_annotators(eta, annotators), _of_classes(mu, classes))
    else:
        # methods that take a prior store these counts; those of others are counted
        n = earlier.learned.statistics.get("n")
        if n is None:
            n = votes_by_truth(votes_of(earlier), earlier.posterior).transpose(0, 2, 1)
        counts = _of_classes(_of_annotators(n, annotators), classes)
    result = solve.fit(method.with_prior(counts), votes, **keywords)
    known = int((annotators != MISSING).sum())
    of_all = f"{known:,} of {votes.n_annotators:,} annotators"
    note = f"{of_all} are known from an earlier run ({earlier.method})."
    return replace(result, notes=[note, *result.notes], known_annotators=known)


def _prototypes(earlier: ResultData, n_prototypes: int) -> tuple[Floats, Floats]:
    """Return eta [W, S] and mu [S, K, K] of an earlier result of PTBCC."""
    if earlier.method != "ptbcc":
        raise InputError(
            f"a prior of ptbcc must be a model of ptbcc, but this one is of {earlier.method}"
        )
    eta, mu = (earlier.learned.statistics[name] for name in ("eta", "mu"))
    if len(mu) != n_prototypes:
        raise InputError(f"the prior has {len(mu)} prototypes; set n_prototypes={len(mu)}")
    return eta, mu


def _of_annotators(values: Floats, codes: Codes) -> Floats:
    """[W, ...] Return the values in the new order, with zeros for new annotators."""
    reordered, known = np.zeros((len(codes), *values.shape[1:])), codes != MISSING
    reordered[known] = values[codes[known]]
    return reordered


def _of_classes(values: Floats, codes: Codes) -> Floats:
    """[..., K, K] Return the values in the new order, with zeros for new classes."""
    known = np.flatnonzero(codes != MISSING)
    old = codes[known]
    reordered = np.zeros((*values.shape[:-2], len(codes), len(codes)))
    reordered[..., known[:, None], known] = values[..., old[:, None], old]
    return reordered
