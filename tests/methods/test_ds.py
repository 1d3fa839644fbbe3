"""Dawid-Skene against its slow twin, with its options and its hard zeros."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.kernels import confusion
from finegold.kernels.compiling import fixed_length
from finegold.methods.ds import DS
from finegold.votes.annotations import kernel_votes
from tests.methods.reference import ds as twin
from tests.methods.reference import sample


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("with_gold", [False, True])
def test_the_fast_sweep_equals_the_slow_twin_after_every_iteration(n_classes, with_gold):
    votes, annotations, known = sample(n_classes, with_gold)
    for iterations in (1, 2, 5, 20):
        result = fit(DS(max_iterations=iterations), annotations, threads=1)
        phi, likelihoods, p, v = twin.fit(*votes, n_classes, iterations, gold=known)
        assert result.iterations == iterations
        assert np.allclose(result.posterior, phi, atol=1e-9)
        assert np.allclose(result.objective, likelihoods, rtol=1e-10)
        assert np.allclose(result.learned.class_prior, p, atol=1e-9)
        assert np.allclose(result.learned.confusion, v, atol=1e-9)


def test_an_impossible_class_has_probability_zero_and_a_task_without_possible_ones_is_uniform():
    votes = Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    with np.errstate(divide="ignore"):
        log_v = np.log(
            np.tile(np.eye(2), (2, 1, 1))
        )  # nobody errs, so the votes on task 1 cannot be
    phi, tau, n = np.full((2, 2), 0.5), np.zeros(2), np.zeros((2, 2, 2))
    change, log_norm = confusion.sweep(
        fixed_length(2), kernel_votes(votes), votes.gold, np.log([0.5, 0.5]), log_v, phi, tau, n
    )
    assert phi.tolist() == [[1, 0], [0.5, 0.5]]
    assert tau.tolist() == [1.5, 0.5]
    assert n[1].tolist() == [
        [1, 0],
        [0.5, 0.5],
    ]  # annotator 1: a vote for 0 on task 0, one for 1 on task 1
    assert change == 0.5
    assert log_norm < -1e299


def test_an_annotator_who_saw_no_task_of_a_class_keeps_the_first_row():
    votes = Annotations.from_arrays([0, 1, 2, 2], [0, 0, 1, 2], [0, 1, 2, 2], gold={0: 0, 1: 1})
    confusion_of_0 = fit(DS(), votes, threads=1).confusion(0)
    assert np.allclose(confusion_of_0, [[1, 0, 0], [0, 1, 0], [0.15, 0.15, 0.7]])
