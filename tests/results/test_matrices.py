"""How annotators vote given the truth: own matrices, mixtures of prototypes, and coins."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.ds import DS
from finegold.methods.hds import HDS
from finegold.methods.mv import MajorityVote
from finegold.methods.ptbcc import PTBCC
from finegold.results.matrices import evidence, group_matrices, matrices, probability


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes())


@pytest.mark.parametrize("method", [DS(), PTBCC(), MajorityVote()], ids=lambda method: method.name)
def test_matrices_answer_the_same_whatever_form_they_have(votes, method):
    """Own matrices, mixtures of prototypes and coins answer the same questions in the same way."""
    result = fit(method, votes)
    classes = np.arange(3)
    who, truth, label = (
        grid.ravel() for grid in np.meshgrid(np.arange(9), classes, classes, indexing="ij")
    )
    dense = matrices(result, np.arange(9), classes)
    assert np.allclose(dense.sum(axis=2), 1)
    assert np.allclose(probability(result, who, truth, label), dense.ravel())
    assert np.allclose(matrices(result, np.array([5]), classes[::-1]), dense[[5]][:, ::-1, ::-1])


@pytest.mark.parametrize("method", [PTBCC(), HDS()], ids=lambda method: method.name)
def test_matrices_are_the_same_by_vote_and_by_group(votes, method):
    result = fit(method, votes)
    who, truth, label = (
        np.full(9, 5, np.int32),
        np.repeat(np.arange(3), 3),
        np.tile(np.arange(3), 3),
    )
    assert np.allclose(probability(result, who, truth, label).reshape(3, 3), result.confusion(5))
    everybody = np.mean([result.confusion(j) for j in range(9)], axis=0)
    assert np.allclose(group_matrices(result, np.ones(9), np.zeros(9, np.int64), 1), [everybody])


def test_an_impossible_vote_costs_much_but_not_everything(votes):
    result = fit(DS(), votes)
    result.learned.confusion[0] = np.eye(3)
    who, label, one, other = (np.array([x], np.int32) for x in (0, 0, 1, 0))
    assert evidence(result, who, label, one, other) == pytest.approx(np.log(1e-9))
