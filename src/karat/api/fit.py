"""Fit one method to annotations and return a public `Result`."""

from __future__ import annotations

from typing import Any

from karat.api.renamed import on_step_of
from karat.api.result import Result
from karat.errors import InputError
from karat.fitting.prior import fit_with_prior
from karat.methods.lookup import Method
from karat.votes.annotations import Annotations

__all__ = ["fit"]


def fit(method: Method, annotations: Annotations, *, prior: Any = None, watch: Any = None, **keywords: Any) -> Result:
    """Fit the method, with an earlier result as the prior of the annotators if `prior` is given.

    Keywords are those of `solve.fit`; `watch` is the old name of its `on_step`.
    """
    if annotations.multi:
        raise InputError("sets of labels (--multi) are for aggregate, evaluate and report; leave it out here")
    keywords["on_step"] = on_step_of(keywords.get("on_step"), watch)
    return Result.of(fit_with_prior(method, annotations, prior, **keywords))
