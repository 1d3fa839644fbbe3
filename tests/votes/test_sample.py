"""The proof in small, on the sample that is part of Finegold: it runs where the public data sets are not at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import finegold
from finegold import Annotations
from tests.support.animals import TRUTH, VOTES
from tests.methods.reference import anchored, bwa, ds, hds

ACCURACY = {"mv": 0.8683, "anchored": 0.9367, "ds": 0.9400, "ptbcc": 0.9433}  # as in README.md


@pytest.fixture(scope="module")
def votes() -> Annotations:
    return finegold.read(VOTES)


@pytest.mark.parametrize("method", ACCURACY)
def test_the_accuracy_is_the_known_one(method: str, votes: Annotations) -> None:
    (row,) = finegold.evaluate(votes, str(TRUTH), [method])
    assert row["accuracy"] == pytest.approx(ACCURACY[method], abs=5e-5)


TWINS = {
    "anchored": lambda task, annotator, label: anchored.anchored(task, annotator, label, 4),
    "ds": lambda task, annotator, label: ds.fit(task, annotator, label, 4, iterations=20)[0],
    "hds": lambda task, annotator, label: hds.fit(task, annotator, label, 4, 20)[0],
    "bwa": lambda task, annotator, label: bwa.fit(task, annotator, label, 4)[0],
}


@pytest.mark.parametrize("method", TWINS)
def test_the_posterior_is_that_of_the_slow_twin(method: str, votes: Annotations) -> None:
    settings: dict[str, Any] = {"max_iterations": 20} if method in ("ds", "hds") else {}
    found = finegold.aggregate(votes, method, **settings)
    task = np.repeat(np.arange(votes.n_tasks), votes.votes_per_task)
    label = np.repeat(votes.cell_class, np.diff(votes.cell_ptr)).astype(np.int64)
    expected = TWINS[method](task, votes.annotator.astype(np.int64), label)
    np.testing.assert_allclose(found.posterior, expected, atol=1e-9)
