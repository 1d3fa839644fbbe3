"""Posteriors in 32 bits: half of the memory, the same labels, and an error that is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import finegold
from finegold.errors import InputError

STATED = 1e-6  # in the docstring of PTBCC.single


@pytest.mark.parametrize(("n_tasks", "n_classes", "n_prototypes"), [(20_000, 5, 2), (6_000, 12, 3)])
def test_single_precision_ends_where_double_does(
    n_tasks: int, n_classes: int, n_prototypes: int
) -> None:
    votes = finegold.simulate(n_tasks, 200, n_classes, votes_per_task=5, seed=n_classes).annotations
    double, single = (
        finegold.aggregate(votes, finegold.PTBCC(n_prototypes=n_prototypes, precision=bits))
        for bits in ("double", "single")
    )
    assert double.posterior.dtype == np.float64
    assert single.posterior.dtype == np.float32
    assert single.iterations == double.iterations
    assert 0 < np.abs(single.posterior - double.posterior).max() < STATED
    assert (single.label_codes == double.label_codes).mean() > 0.9999
    assert single.steps[-1].bound == pytest.approx(double.steps[-1].bound, rel=1e-7)
    assert np.allclose(single.accuracy, double.accuracy, atol=STATED)
    assert np.diff([step.bound for step in single.steps]).min() > -1e-7 * abs(
        single.steps[-1].bound
    )


def test_a_single_result_is_saved_and_shown(tmp_path: Path) -> None:
    votes = finegold.simulate(100, 20, 3, seed=1).annotations
    result = finegold.aggregate(votes, finegold.PTBCC(precision="single"))
    result.save(tmp_path / "model.finegold")
    loaded = finegold.load(tmp_path / "model.finegold")
    assert loaded.posterior.dtype == np.float32
    assert np.array_equal(loaded.posterior, result.posterior)
    assert loaded.labels().equals(result.labels())


def test_any_other_precision_is_refused() -> None:
    with pytest.raises(InputError, match='precision must be "double" or "single"'):
        finegold.aggregate(
            finegold.simulate(10, 5, 2).annotations, finegold.PTBCC(precision="half")
        )
