"""How an annotator is expected to vote: by every kind of knowledge, for those not seen, and best by the true model."""

from dataclasses import replace

import numpy as np
import pytest

from karat import Annotations, simulate
from karat.checks.laws import sample_votes
from karat.encoding import MISSING
from karat.hidden import hide
from karat.methods.ds import DS
from karat.methods.hds import HDS
from karat.methods.mv import MajorityVote
from karat.methods.ptbcc import PTBCC
from karat.predict import discounts, group_matrices, likelihood, likelihoods, log_scores, predictive
from karat.result import Part
from karat.solve import fit


@pytest.fixture(scope="module")
def votes():
    return Annotations.from_arrays(*sample_votes())


def test_a_confusion_matrix_predicts_by_its_rows_and_the_posterior(votes):
    result = fit(DS(), votes)
    expected = result.posterior[3] @ result.knowledge.confusion[5]
    assert np.allclose(result.predict(3, 5), [expected])


def test_prototypes_predict_by_the_annotator_s_mixture(votes):
    result = fit(PTBCC(), votes)
    assert np.allclose(result.predict(3, 5), [result.posterior[3] @ result.confusion(5)])


def test_a_method_without_matrices_predicts_by_a_coin(votes):
    result = fit(MajorityVote(), votes)
    p, right = result.posterior[3], result.accuracy[5]
    assert np.allclose(result.predict(3, 5), [right * p + (1 - right) * (1 - p) / 2])


def test_somebody_who_has_not_voted_is_the_mean_of_all_and_an_unknown_task_is_any(votes):
    result = fit(PTBCC(), votes)
    mean = np.mean([result.confusion(j) for j in range(9)], axis=0)
    expected = [result.posterior[3] @ mean, result.knowledge.class_prior @ result.confusion(5)]
    assert np.allclose(result.predict([3, -1], [-1, 5]), expected)


def test_a_blend_predicts_as_its_parts_each_by_its_share(votes):
    one, two, three = (fit(method, votes) for method in (PTBCC(), HDS(), MajorityVote()))
    shares = {"ptbcc": 0.5, "hds": 0.3, "mv": 0.2}
    kept = {
        fitted.method: Part(shares[fitted.method], fitted.method, {}, fitted.knowledge) for fitted in (one, two, three)
    }
    blend = replace(one, parts=kept)
    matrix = (0.5 * one.confusion(5) + 0.3 * two.confusion(5)) / 0.8  # the plain vote knows no matrices
    assert np.allclose(blend.confusion(5), matrix)
    assert np.allclose(blend.predict(3, 5), [one.posterior[3] @ matrix])
    assert np.allclose(blend.predict([3, -1, 7], [-1, 5, -1]).sum(axis=1), 1)
    who, truth, label = np.full(9, 5, np.int32), np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    assert np.allclose(likelihood(blend, who, truth, label).reshape(3, 3), matrix)
    everybody = np.mean([blend.confusion(j) for j in range(9)], axis=0)
    assert np.allclose(group_matrices(blend, np.ones(9), np.zeros(9, np.int64), 1), [everybody])


def test_votes_that_are_discounted_in_some_parts_count_less_by_their_share(votes):
    one, two = fit(PTBCC(), votes), fit(HDS(weights=[0.5] + [1.0] * 8), votes)
    shares = ((one, 0.75), (two, 0.25))
    blend = replace(
        one, parts={part.method: Part(share, part.method, part.settings, part.knowledge) for part, share in shares}
    )
    assert discounts(blend, np.array([0, 1])) == pytest.approx([0.875, 1])
    assert discounts(one, np.array([0, 1])).tolist() == [1, 1]


def test_one_task_serves_many_annotators(votes):
    result = fit(PTBCC(), votes)
    assert np.array_equal(result.predict(3, [0, 5])[1], result.predict(3, 5)[0])


def test_an_impossible_vote_costs_much_but_not_everything(votes):
    result = fit(DS(), votes)
    scores = log_scores(result, *(np.array([x], np.int32) for x in (0, 0, 0)))
    assert np.isfinite(scores).all()


def scores_of(annotations, *methods):
    """Mean log-probability of hidden votes under each method."""
    fits = {method.name: lambda rest, method=method: fit(method, rest, threads=1) for method in methods}
    n = annotations.n_annotators
    hidden = hide(annotations, fits, np.full(n, -1), np.ones(n), folds=3, seed=0)
    return {name: hidden.score(name)[0] for name in fits}


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
    scores = scores_of(Annotations.from_arrays(task, annotator, label), PTBCC(), HDS(), DS(), MajorityVote())
    assert max(scores, key=scores.get) == "hds"


@pytest.mark.parametrize("method", [PTBCC(), HDS(), MajorityVote()], ids=lambda method: method.name)
def test_likelihoods_of_every_truth_make_the_prediction(votes, method):
    result = fit(method, votes)
    task, annotator, label = votes.votes()
    annotator = np.append(np.int32(MISSING), annotator[1:])
    by_truth = likelihoods(result, annotator, label)
    seen = predictive(result, task, annotator)[np.arange(len(label)), label]
    assert (result.posterior[task] * by_truth).sum(axis=1) == pytest.approx(seen)
