"""EBCC against its slow twin, and what is particular to it: subtypes, restarts."""

import numpy as np
import pytest

from finegold.api.fit import fit
from finegold.methods.ebcc import EBCC
from tests.methods.reference import ebcc as twin
from tests.methods.reference import sample, vote_shares


@pytest.mark.parametrize("n_subtypes", [1, 3, 10])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("with_gold", [False, True])
def test_the_fast_sweep_equals_the_slow_twin(n_subtypes, n_classes, with_gold):
    votes, annotations, known = sample(n_classes, with_gold)
    method = EBCC(
        n_subtypes=n_subtypes,
        n_restarts=1,
        tolerance=0,
        max_iterations=25,
        seed=3,
    )
    result = fit(method, annotations, threads=1)
    shares = vote_shares(votes[0], votes[2], n_classes, known)
    rho = twin.first_rho(shares, seed=3, restart=0, block=0, n_subtypes=n_subtypes)
    alpha = shares.sum(axis=0)
    phi, bounds, rho = twin.fit(*votes, rho, alpha, iterations=25, gold=known)
    assert np.allclose(result.posterior, phi, atol=1e-10)
    assert np.allclose(result.objective, bounds, rtol=1e-11)
    eta = 0.1 / n_subtypes + rho.sum(axis=0)
    assert np.allclose(result.learned.statistics["subtypes"], -np.sort(-eta))  # the largest first
    assert np.allclose(result.learned.confusion, twin.confusion(*votes, rho, eta))


def test_restarts_differ_and_the_best_bound_wins(data_set):
    steps = []
    result = fit(EBCC(n_restarts=6), data_set("face").annotations, threads=1, on_step=steps.append)
    last = {step.restart: step.objective for step in steps}
    assert len({round(bound, 6) for bound in last.values()}) > 1
    assert result.steps[-1].objective == max(last.values())
    first = [step.objective for step in steps if step.iteration == 1]
    assert len(set(first)) == 6
