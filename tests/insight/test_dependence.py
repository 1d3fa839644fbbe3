"""Groups who copy are found, independent annotators are not."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.insight import correlation
from finegold.insight.correlation import correlated_annotators
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
    return Annotations.from_arrays(task, annotator, answers[task, annotator])


def panel(family, n_tasks=400, skill=0.8, follows=0.7, seed=0):
    """Judges of two answers, who all vote on every task, and often as their family does."""
    rng = np.random.default_rng(seed)
    family = np.asarray(family)
    truth = rng.integers(2, size=n_tasks)
    views = np.where(
        rng.random((n_tasks, family.max() + 1)) < skill, truth[:, None], 1 - truth[:, None]
    )
    own = np.where(rng.random((n_tasks, len(family))) < skill, truth[:, None], 1 - truth[:, None])
    answers = np.where(rng.random(own.shape) < follows, views[:, family], own)
    return Annotations.from_arrays(*np.nonzero(np.ones_like(answers)), answers.ravel())


def groups_in(votes):
    """Return the group of each annotator, -1 for none."""
    return correlated_annotators(fit(PTBCC(), votes, threads=1)).group


@pytest.mark.parametrize(
    ("settings", "members"),
    [
        *(({"seed": seed}, 5) for seed in range(3)),
        *(({"seed": seed, "copiers": 0}, 0) for seed in range(6)),
    ],
    ids=str,
)
def test_those_who_copy_are_one_group_and_nobody_else_is_in_it(settings, members):
    found = groups_in(crowd(**settings))
    assert np.flatnonzero(found == 0).tolist() == list(range(members))
    assert members or found.max() == -1


@pytest.mark.parametrize("copiers", [5, 0])
def test_where_matrices_of_all_annotators_do_not_fit_the_pooled_one_serves(copiers, monkeypatch):
    monkeypatch.setattr(correlation, "MAX_MATRIX_NUMBERS", 40 * 40)
    monkeypatch.setattr(correlation, "CHUNK_NUMBERS", 1000)
    assert np.flatnonzero(groups_in(crowd(copiers=copiers, K=40)) >= 0).tolist() == list(
        range(copiers)
    )


@pytest.mark.parametrize("seed", range(4))
def test_families_of_a_small_panel_are_found_although_they_only_lean_together(seed):
    found = groups_in(panel([0, 0, 0, 1, 1, 2], n_tasks=800, seed=seed))
    assert found.max() == 1
    assert [len(set(found[:3])), len(set(found[3:5])), found[5]] == [1, 1, -1]


def test_annotators_who_always_vote_alike_whatever_the_task_do_not_copy():
    """Their agreement follows from their own habits."""
    task, annotator, label = crowd(copiers=0, seed=4).votes()
    lazy = np.where(annotator < 4, 1, label)
    assert (groups_in(Annotations.from_arrays(task, annotator, lazy)) == -1).all()


def test_tasks_with_one_vote_have_no_pairs():
    assert (groups_in(Annotations.from_arrays([0, 1, 2], [0, 1, 0], ["a", "b", "a"])) == -1).all()
