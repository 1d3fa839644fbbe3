"""HPT: PTBCC first, then the updates of HDS from its posterior."""

import numpy as np

from finegold import Annotations
from finegold.api.job import fit
from finegold.checks import sample_votes
from finegold.methods.hds import HDS
from finegold.methods.hpt import HPT
from finegold.methods.ptbcc import PTBCC
from tests.methods.reference import hds as twin


def test_the_record_holds_the_sweeps_of_ptbcc_first_and_counts_on():
    votes = Annotations.from_arrays(*sample_votes())
    before, after = fit(PTBCC(), votes), fit(HPT(), votes)
    n = before.iterations
    assert after.iterations > n
    assert [step.iteration for step in after.steps] == list(range(1, after.iterations + 1))
    assert np.array_equal(after.change[:n], before.change)
    assert np.isnan(after.bound[:n]).all()
    assert np.isfinite(after.bound[n:]).all()


def test_it_goes_on_from_the_posterior_of_ptbcc_as_the_twin_does():
    task, annotator, label = sample_votes()
    votes = Annotations.from_arrays(task, annotator, label, gold={0: 1, 5: 2})
    known = np.full(60, -1)
    known[[0, 5]] = 1, 2
    before = fit(PTBCC(), votes)
    result = fit(HPT(max_iterations=7, tolerance=0.0), votes)
    phi, bounds, _, v = twin.fit(task, annotator, label, 3, 7, gold=known, phi=before.posterior)
    assert np.allclose(result.posterior, phi, atol=1e-8)
    assert np.allclose(result.bound[before.iterations :], bounds, rtol=1e-9)
    assert np.allclose(result.learned.confusion, v, atol=1e-7)


def test_max_iterations_counts_its_own_sweeps():
    votes = Annotations.from_arrays(*sample_votes())
    result = fit(HPT(max_iterations=2, tolerance=0.0), votes)
    assert result.iterations == fit(PTBCC(), votes).iterations + 2
    assert not result.converged


def test_prototypes_find_a_basin_that_vote_shares_miss(data_set):
    data = data_set("val5")
    assert data.accuracy(fit(HPT(), data.annotations).posterior) > 0.5
    assert data.accuracy(fit(HDS(), data.annotations).posterior) < 0.45
