"""Fit one method to annotations and return a public `Result`."""

from __future__ import annotations

from typing import Any

from finegold.api.result import Result
from finegold.errors import InputError
from finegold.fitting.prior import fit_with_prior
from finegold.methods.lookup import Method
from finegold.votes.annotations import Annotations

__all__ = ["fit"]


def fit(method: Method, annotations: Annotations, *, prior: Any = None, **keywords: Any) -> Result:
    """Fit the method, with an earlier result as the prior of the annotators if `prior` is given.

    Keywords are those of `solve.fit`.
    """
    if annotations.multi:
        raise InputError("sets of labels (--multi) are for aggregate, evaluate and report; leave it out here")
    return Result.of(fit_with_prior(method, annotations, prior, **keywords))
