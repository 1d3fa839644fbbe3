"""Groups who copy are found, independent annotators are not."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.job import fit
from finegold.insight import correlated_pairs as correlated_pairs
from finegold.insight.correlated_pairs import MAX_VOTE_PAIRS, Pairs, correlated_groups
from finegold.methods.ptbcc import PTBCC


def crowd(n_tasks=300, n_annotators=12, votes=8, copiers=5, K=3, copy=0.95, skill=0.6, seed=0):
    """Everybody is right as often; the first `copiers` nearly always give the answer of one of them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n_tasks)
    wrong = rng.integers(K, size=(n_tasks, n_annotators))
    answers = np.where(rng.random((n_tasks, n_annotators)) < skill, truth[:, None], wrong)
    copied = rng.random((n_tasks, copiers)) < copy
    answers[:, :copiers] = np.where(copied, answers[:, :1], answers[:, :copiers])
    asked = rng.random((n_tasks, n_annotators)).argsort(axis=1) < votes
    task, annotator = np.nonzero(asked)
    return Annotations.from_arrays(task, annotator, answers[task, annotator]), truth


def panel(family, n_tasks=400, skill=0.8, follows=0.7, seed=0):
    """Judges of two answers, who all vote on every task, and often as their family does."""
    rng = np.random.default_rng(seed)
    family = np.asarray(family)
    truth = rng.integers(2, size=n_tasks)
    views = np.where(rng.random((n_tasks, family.max() + 1)) < skill, truth[:, None], 1 - truth[:, None])
    own = np.where(rng.random((n_tasks, len(family))) < skill, truth[:, None], 1 - truth[:, None])
    answers = np.where(rng.random(own.shape) < follows, views[:, family], own)
    return Annotations.from_arrays(*np.nonzero(np.ones_like(answers)), answers.ravel()), truth


def found_in(votes, seed=0):
    return correlated_groups(votes, fit(PTBCC(), votes, threads=1).posterior, seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_those_who_copy_are_one_group_and_nobody_else_is_in_it(seed):
    votes, _ = crowd(seed=seed)
    found = found_in(votes)
    assert found.n_groups == 1
    assert np.flatnonzero(found.group >= 0).tolist() == [0, 1, 2, 3, 4]
    assert found.rho[0] > 0.6


@pytest.mark.parametrize("copiers", [5, 0])
def test_where_matrices_of_all_annotators_do_not_fit_the_pooled_one_serves(copiers, monkeypatch):
    votes, _ = crowd(copiers=copiers, K=40)
    monkeypatch.setattr(correlated_pairs, "MAX_MATRIX_NUMBERS", 40 * 40)
    monkeypatch.setattr(correlated_pairs, "CHUNK_NUMBERS", 1000)
    assert np.flatnonzero(found_in(votes).group >= 0).tolist() == list(range(copiers))


@pytest.mark.parametrize("seed", range(6))
def test_independent_annotators_form_no_group(seed):
    votes, _ = crowd(copiers=0, seed=seed)
    assert found_in(votes).n_groups == 0


@pytest.mark.parametrize("seed", range(4))
def test_families_of_a_small_panel_are_found_although_they_only_lean_together(seed):
    family = [0, 0, 0, 1, 1, 2]
    found = found_in(panel(family, n_tasks=800, seed=seed)[0])
    assert found.n_groups == 2
    assert [len(set(found.group[:3])), len(set(found.group[3:5])), found.group[5]] == [1, 1, -1]


def test_an_excess_that_all_pairs_show_makes_no_group():
    """Tasks that are hard for everybody bring it about: it is baseline there."""
    rng = np.random.default_rng(5)
    one, other = (np.tile(side, 400) for side in np.triu_indices(8, 1))
    agree = rng.random(len(one)) < 0.5 + 0.3 * 0.5  # rho = .3 where .5 is expected
    pairs = Pairs(one, other, agree - 0.5, np.full(len(one), 0.5), np.repeat(rng.random(400) < 0.5, 28))
    found, baseline = correlated_pairs._find_groups(pairs, 8)
    assert baseline == pytest.approx(0.3, abs=0.03)
    assert (correlated_pairs._confirm(pairs, found, baseline)[0] == -1).all()


def test_annotators_who_always_vote_alike_whatever_the_task_do_not_copy():
    """Their agreement follows from their own habits."""
    votes, _ = crowd(copiers=0, seed=4)
    task, annotator, label = votes.votes()
    lazy = np.where(annotator < 4, 1, label)
    assert found_in(Annotations.from_arrays(task, annotator, lazy)).n_groups == 0


def test_a_sparse_crowd_that_copies_is_found_although_no_two_share_many_tasks():
    votes, _ = crowd(n_tasks=400, n_annotators=200, votes=20, copiers=80, seed=1)
    found = found_in(votes)
    members = found.group >= 0
    assert members[:80].mean() > 0.8
    assert members[80:].mean() < 0.1


def test_chance_groups_of_sparse_votes_are_not_confirmed_by_the_other_half_of_the_tasks():
    votes, _ = crowd(n_tasks=400, n_annotators=300, votes=8, copiers=0, seed=2)
    assert found_in(votes).n_groups == 0


def test_of_large_data_some_tasks_stand_for_all():
    votes, _ = crowd(n_tasks=6000, votes=12)
    assert votes.n_tasks * 12 * 11 // 2 > 3 * MAX_VOTE_PAIRS
    found = found_in(votes)
    assert np.flatnonzero(found.group >= 0).tolist() == [0, 1, 2, 3, 4]


def test_tasks_with_one_vote_have_no_pairs():
    assert found_in(Annotations.from_arrays([0, 1, 2], [0, 1, 0], ["a", "b", "a"])).n_groups == 0
