"""Memory follows the number of votes, also where a task has very many: pairs of votes are sampled, and that is said."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import finegold
from finegold import Annotations
from finegold.insight.correlation import correlated_annotators
from finegold.insight.pairs import annotator_pairs, vote_pairs

SAMPLED = "too many pairs of votes to compare all annotators two by two"


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


def everybody(
    n_annotators: int, n_tasks: int, n_classes: int = 4, skill: float = 0.6
) -> Annotations:
    """All vote on all tasks."""
    rng = np.random.default_rng(0)
    task, who = np.divmod(np.arange(n_tasks * n_annotators, dtype=np.int32), np.int32(n_annotators))
    truth = rng.integers(n_classes, size=n_tasks)
    label = np.where(
        rng.random(len(task)) < skill, truth[task], rng.integers(n_classes, size=len(task))
    )
    names = (np.arange(n) for n in (n_tasks, n_annotators, n_classes))
    return Annotations.from_codes(task, who, label.astype(np.int32), *names)


def test_a_survey_of_many_respondents_takes_little_memory() -> None:
    finegold.aggregate(
        everybody(30, 20), "ptbcc", threads=1
    ).trust()  # compiles, which is slow while memory is traced
    result = finegold.aggregate(everybody(8_000, 20), "ptbcc", threads=1)
    with at_most(500):
        found = result.trust()
    assert any(SAMPLED in warning for warning in found.warnings)
    assert any(SAMPLED in note for note in found.agreement.notes)
    assert len(found.agreement.pairs_found.one) > 1000
    assert found.agreement.cohen == pytest.approx(found.agreement.alpha, abs=0.05)


def test_a_million_votes_on_one_task_take_little_memory() -> None:
    votes = everybody(1_000_000, 1)
    with at_most(500):
        found = finegold.agreement(votes)
    assert SAMPLED in found.notes[0]
    assert found.n_votes == 1_000_000
    with at_most(500):
        assert len(found.annotators()) == 1_000_000


def test_many_classes_take_no_table_of_pairs_by_classes() -> None:
    votes = everybody(200, 20, 2_000, skill=0.5)
    with at_most(150):
        found = finegold.agreement(votes)
    assert len(found.pairs_found.one) == 200 * 199 // 2


def test_pairs_of_ordinary_data_are_all_there_and_of_too_many_those_who_voted_most() -> None:
    votes = finegold.simulate(200, 12, 3, votes_per_task=5, seed=1).annotations
    found = vote_pairs(votes)
    task = votes.votes()[0]
    expected = {
        (i, j) for i in range(len(task)) for j in range(i + 1, len(task)) if task[i] == task[j]
    }
    assert set(zip(found.one.tolist(), found.other.tolist(), strict=True)) == expected
    assert (found.task == task[found.one]).all()
    assert found.note == ""
    task, who = np.divmod(np.arange(60 * 40), 40)
    keep = ~((task % 2 == 1) & (who < 20))  # the first twenty vote half as often
    votes = Annotations.from_arrays(task[keep], who[keep], np.zeros(keep.sum(), int))
    found = vote_pairs(votes, 60 * 45)
    assert found.note.endswith("this was done for the 10 annotators with the most votes")
    pairs = set(zip(votes.annotator[found.one], votes.annotator[found.other], strict=True))
    assert len(found.one) == 60 * 45
    assert {who for pair in pairs for who in pair} == set(range(20, 30))


def test_copiers_are_found_where_everybody_votes_on_everything() -> None:
    rng = np.random.default_rng(3)
    truth, n = rng.integers(3, size=60), 700
    answers = np.where(rng.random((60, n)) < 0.6, truth[:, None], rng.integers(3, size=(60, n)))
    answers[:, 1] = answers[:, 0]
    extra = [
        (1000 + t, w) for t in range(3) for w in (0, 1)
    ]  # these two vote most, and so are compared
    task, who = np.indices(answers.shape).reshape(2, -1)
    votes = Annotations.from_arrays(
        [*task, *(t for t, _ in extra)],
        [*who, *(w for _, w in extra)],
        [*answers.ravel(), *(t % 3 for t, _ in extra)],
    )
    found = correlated_annotators(finegold.aggregate(votes, "ptbcc", threads=1))
    assert np.flatnonzero(found.group >= 0).tolist() == [0, 1]
    assert SAMPLED in found.warnings[-1]


def test_kappa_of_pairs_equals_that_of_full_tables() -> None:
    votes = finegold.simulate(100, 6, 5, votes_per_task=6, seed=4).annotations
    found = annotator_pairs(votes, 10)[0]
    table = np.empty((100, 6), np.int64)
    table[votes.votes()[0], votes.annotator] = votes.votes()[2]
    pairs = zip(found.one, found.other, strict=True)
    assert found.excess == pytest.approx([_kappa(table[:, a], table[:, b]) for a, b in pairs])


def _kappa(one: np.ndarray, other: np.ndarray) -> float:
    chance = sum((one == k).mean() * (other == k).mean() for k in range(5))
    return ((one == other).mean() - chance) / (1 - chance)
