"""The slow NumPy versions of tests/reference, each from the same start and for the same iterations as the fast one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from finegold.methods.tiremge import TiReMGE
from tests.methods.reference import cbcc, ds, ebcc, fgbcc, ibcc, tiremge

__all__ = ["TWINS", "seconds_of"]

Votes = tuple[Any, Any, Any]


def _ds(votes: Votes, n_classes: int, iterations: int) -> None:
    ds.fit(*votes, n_classes, iterations)


def _ibcc(votes: Votes, n_classes: int, iterations: int) -> None:
    ibcc.ep(*votes, n_classes, iterations)


def _cbcc(votes: Votes, n_classes: int, iterations: int) -> None:
    n_annotators = int(votes[1].max()) + 1
    r = np.eye(4)[np.random.default_rng(0).integers(4, size=n_annotators)]
    cbcc.fit(*votes, r, n_classes, iterations)


def _ebcc(votes: Votes, n_classes: int, iterations: int) -> None:
    shares = np.zeros((int(votes[0].max()) + 1, n_classes))
    np.add.at(shares, (votes[0], votes[2]), 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    rho = ebcc.first_rho(shares, seed=4, restart=0, block=0, n_subtypes=10)
    ebcc.fit(*votes, rho, shares.sum(axis=0), iterations)


def _fgbcc(votes: Votes, n_classes: int, iterations: int) -> None:
    mu = np.tile(2.0 * np.eye(n_classes), (int(votes[1].max()) + 1, 1, 1))
    fgbcc.fit(*votes, mu, np.full_like(mu, 4.0), iterations)


def _tiremge(votes: Votes, n_classes: int, iterations: int) -> None:
    weights = TiReMGE().first_weights(n_classes)
    tiremge.fit(tiremge.Graph(*votes), [*weights[:6], weights.w4.T, weights.b4], steps=iterations)


# The function, and how many iterations both run.
TWINS: dict[str, tuple[Callable[[Votes, int, int], None], int]] = {
    "ds": (_ds, 20),
    "ibcc": (_ibcc, 40),
    "cbcc": (_cbcc, 40),
    "ebcc": (_ebcc, 30),
    "fgbcc": (_fgbcc, 60),
    "tiremge": (_tiremge, 20),
}


def seconds_of(name: str, votes: Votes, n_classes: int) -> tuple[float, int]:
    run, iterations = TWINS[name]
    start = time.perf_counter()
    run(votes, n_classes, iterations)
    return time.perf_counter() - start, iterations
