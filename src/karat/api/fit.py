"""Fit one method to annotations; the result is the public one."""

from __future__ import annotations

from typing import Any

from karat.api.result import Result
from karat.fitting.prior import fit_with_prior
from karat.methods.lookup import Method
from karat.votes.annotations import Annotations

__all__ = ["fit"]


def fit(method: Method, annotations: Annotations, *, prior: Any = None, watch: Any = None, **keywords: Any) -> Result:
    """Fit the method, with what an earlier result knows of the annotators.

    Keywords are those of `solve.fit`; `watch` is another name of its `on_step`.
    """
    if watch is not None:
        keywords["on_step"] = watch
    return Result.of(fit_with_prior(method, annotations, prior, **keywords))
