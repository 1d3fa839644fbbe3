"""How an annotator is expected to vote: by every kind of matrix, for those not seen, and best by the true model."""

import numpy as np
import pytest

from finegold import Annotations, simulate
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.errors import InputError
from finegold.methods.ds import DS
from finegold.methods.hds import HDS
from finegold.methods.mv import MajorityVote
from finegold.methods.ptbcc import PTBCC
from finegold.results.matrices import annotator_matrices, evidence, group_matrices, predictive
from finegold.votes.encoding import match


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes())


def test_confusion_matrices_mixtures_of_prototypes_and_coins_predict_votes(votes):
    own, mixed, coin = (fit(method, votes) for method in (DS(), PTBCC(), MajorityVote()))
    assert np.allclose(own.predict(3, 5), [own.posterior[3] @ own.learned.confusion[5]])
    assert np.allclose(
        mixed.predict(3, [0, 5]), [mixed.posterior[3] @ mixed.confusion(j) for j in (0, 5)]
    )
    p, right = coin.posterior[3], coin.accuracy[5]
    assert np.allclose(coin.predict(3, 5), [right * p + (1 - right) * (1 - p) / 2])


def test_somebody_who_has_not_voted_is_the_mean_of_all_and_an_unknown_task_is_any(votes):
    result = fit(PTBCC(), votes)
    mean = np.mean([result.confusion(j) for j in range(9)], axis=0)
    expected = [result.posterior[3] @ mean, result.learned.class_prior @ result.confusion(5)]
    codes = np.array([3, -1], np.int32), np.array([-1, 5], np.int32)
    assert np.allclose(predictive(result, *codes), expected)


def test_an_unknown_annotator_is_refused_as_why_refuses_an_unknown_task(votes):
    result = fit(PTBCC(), votes)
    with pytest.raises(InputError, match="there is no annotator 'typo'"):
        result.predict([0, 1], [5, "typo"])
    with pytest.raises(InputError, match="there is no annotator 'typo'"):
        result.predict(0, "typo")
    assert np.allclose(
        result.predict("a new task", 5), [result.learned.class_prior @ result.confusion(5)]
    )


@pytest.mark.parametrize("method", [DS(), PTBCC(), MajorityVote()], ids=lambda method: method.name)
def test_a_prediction_is_the_posterior_times_the_matrix_whatever_form_it_has(votes, method):
    """Own matrices, mixtures of prototypes and coins answer the same questions in the same way."""
    result = fit(method, votes)
    found, classes = annotator_matrices(result), np.arange(3)
    who, truth, label = (
        grid.ravel() for grid in np.meshgrid(np.arange(9), classes, classes, indexing="ij")
    )
    dense = found.of(np.arange(9), classes)
    assert np.allclose(dense.sum(axis=2), 1)
    assert np.allclose(found.at(who, truth, label), dense.ravel())
    assert np.allclose(found.of(np.array([5]), classes[::-1]), dense[[5]][:, ::-1, ::-1])
    assert np.allclose(
        found.predict(result.posterior[:9], np.arange(9)),
        np.einsum("ik,ikl->il", result.posterior[:9], dense),
    )


@pytest.mark.parametrize("method", [PTBCC(), HDS()], ids=lambda method: method.name)
def test_matrices_are_the_same_by_vote_and_by_group(votes, method):
    result = fit(method, votes)
    who, truth, label = (
        np.full(9, 5, np.int32),
        np.repeat(np.arange(3), 3),
        np.tile(np.arange(3), 3),
    )
    assert np.allclose(
        annotator_matrices(result).at(who, truth, label).reshape(3, 3), result.confusion(5)
    )
    everybody = np.mean([result.confusion(j) for j in range(9)], axis=0)
    assert np.allclose(group_matrices(result, np.ones(9), np.zeros(9, np.int64), 1), [everybody])


def test_an_impossible_vote_costs_much_but_not_everything(votes):
    result = fit(DS(), votes)
    result.learned.confusion[0] = np.eye(3)
    who, label, one, other = (np.array([x], np.int32) for x in (0, 0, 1, 0))
    assert evidence(result, who, label, one, other) == pytest.approx(np.log(1e-9))


def scores_of(annotations, *methods):
    """Mean log-probability, under each method, of a third of the votes, which it has not seen."""
    votes = annotations.votes()
    hidden = np.random.default_rng(0).random(annotations.n_votes) < 1 / 3
    rest = Annotations.from_arrays(
        *(column[~hidden] for column in votes), classes=range(annotations.n_classes)
    )
    task, annotator, label = (column[hidden] for column in votes)
    n = np.arange(len(label))
    results = [fit(method, rest, threads=1) for method in methods]
    pairs = [
        (match(task, found.task_names), match(annotator, found.annotator_names))
        for found in results
    ]
    scores = [
        predictive(found, *pair)[n, label] for found, pair in zip(results, pairs, strict=True)
    ]
    return {
        found.method: np.log(score + 1e-9).mean()
        for found, score in zip(results, scores, strict=True)
    }


def test_votes_of_two_prototypes_are_predicted_best_by_prototypes():
    votes = simulate(500, 150, 4, votes_per_task=5, annotator_concentration=0.2, seed=3).annotations
    scores = scores_of(votes, PTBCC(), HDS(), DS(), MajorityVote())
    assert max(scores, key=scores.get) == "ptbcc"


def test_votes_of_many_different_annotators_are_predicted_best_by_their_own_matrices():
    rng = np.random.default_rng(5)
    alpha = 3 * (0.6 * np.eye(3) + 0.4 / 3)
    matrices = np.array([[rng.dirichlet(row) for row in alpha] for _ in range(20)])
    truth = rng.integers(3, size=400)
    task = np.repeat(np.arange(400), 6)
    annotator = np.concatenate([rng.permutation(20)[:6] for _ in range(400)])
    label = (matrices[annotator, truth[task]].cumsum(axis=1) < rng.random((2400, 1))).sum(axis=1)
    scores = scores_of(
        Annotations.from_arrays(task, annotator, label), PTBCC(), HDS(), DS(), MajorityVote()
    )
    assert max(scores, key=scores.get) == "hds"
