"""Tests that every method must pass ("laws"). Run them on your own method:

from finegold.checks import LAWS
for law in LAWS:
    law(MyMethod)

A law takes a function that creates the method, and raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.api.fit import fit
from finegold.api.result import Result, load
from finegold.engines.local import LocalEngine
from finegold.methods.base import Method
from finegold.votes.annotations import Annotations

__all__ = ["LAWS"]

# how much a posterior may change if the same sums are added in another order
ROUNDING = 1e-6

Make = Callable[[], Method]
Column = NDArray[Any]
Votes = tuple[Column, Column, Column]


def sample_votes(
    n_tasks: int = 60, n_annotators: int = 9, n_classes: int = 3, seed: int = 1
) -> Votes:
    """Return votes of annotators with accuracies from 40 to 90 %; each task has three to six votes."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.4, 0.9, n_annotators)
    truth = rng.integers(n_classes, size=n_tasks)
    places = rng.random((n_tasks, n_annotators)).argsort(axis=1)
    asked = places < rng.integers(3, 7, size=(n_tasks, 1))
    task, annotator = np.nonzero(asked)
    right = rng.random(len(task)) < skill[annotator]
    label = np.where(right, truth[task], rng.integers(n_classes, size=len(task)))
    return task, annotator, label


def fit_arrays(make: Make, votes: Votes, **keywords: Any) -> Result:
    return fit(make(), Annotations.from_arrays(*votes, **keywords), threads=1)


def posterior_rows_sum_to_one(make: Make) -> None:
    result = fit_arrays(make, sample_votes())
    assert np.allclose(result.posterior.sum(axis=1), 1, atol=1e-9)
    assert (result.posterior >= 0).all()


def the_objective_never_falls(make: Make) -> None:
    if not make().has_objective:
        return
    objective = fit_arrays(make, sample_votes()).objective
    assert len(objective) > 0
    assert np.isfinite(objective).all()
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all(), objective


def the_order_of_votes_does_not_matter(make: Make) -> None:
    votes = sample_votes()
    order = np.random.default_rng(2).permutation(len(votes[0]))
    shuffled = (votes[0][order], votes[1][order], votes[2][order])
    assert same_bits(fit_arrays(make, votes), fit_arrays(make, shuffled))


def the_names_of_tasks_and_annotators_do_not_matter(make: Make) -> None:
    for seed in (1, 5):
        task, annotator, label = sample_votes(seed=seed)
        there, other = _renaming(int(task.max()) + 1, 3), _renaming(int(annotator.max()) + 1, seed)
        if make().random_start:
            # random numbers are assigned to tasks in their order
            there = np.arange(len(there))
        plain = fit_arrays(make, (task, annotator, label))
        renamed = fit_arrays(make, (there[task], other[annotator], label))
        assert np.allclose(plain.posterior, renamed.posterior[there], atol=ROUNDING)
        assert np.allclose(
            plain.annotator_accuracy, renamed.annotator_accuracy[other], atol=ROUNDING
        )


def renaming_classes_permutes_the_answer(make: Make) -> None:
    if make().random_start:
        return
    task, annotator, label = sample_votes()
    there = _renaming(int(label.max()) + 1, 5)
    plain = fit_arrays(make, (task, annotator, label))
    renamed = fit_arrays(make, (task, annotator, there[label]))
    assert np.allclose(plain.posterior, renamed.posterior[:, there], atol=ROUNDING)


def symmetric_votes_are_tied(make: Make) -> None:
    """Two annotators contradict each other on every task, equally often in both directions."""
    if make().random_start:
        return
    for n_classes in (2, 3):
        said, contrary, _ = np.array(
            [(a, b, i) for a in range(n_classes) for b in range(n_classes) for i in range(3)]
        ).T
        said, contrary = said[said != contrary], contrary[said != contrary]
        task = np.tile(np.arange(len(said)), 2)
        who, votes = np.repeat([0, 1], len(said)), np.concatenate([said, contrary])
        result = fit_arrays(make, (task, who, votes))
        assert result.tied.all(), result.posterior
        # a tie gives the first class
        assert (result.label_codes == np.minimum(said, contrary)).all()


def the_same_seed_gives_the_same_bits(make: Make) -> None:
    assert same_bits(fit_arrays(make, sample_votes()), fit_arrays(make, sample_votes()))


def the_input_is_untouched(make: Make) -> None:
    gold = {0: 1} if make().takes_gold else None
    annotations = Annotations.from_arrays(*sample_votes(), gold=gold)
    arrays = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
    before = {name: getattr(annotations, name).copy() for name in arrays}
    fit(make(), annotations, threads=1)
    assert all(np.array_equal(old, getattr(annotations, name)) for name, old in before.items())


def any_number_of_threads_gives_the_same_bits(make: Make) -> None:
    annotations = Annotations.from_arrays(*sample_votes(n_tasks=400, n_annotators=5))
    engines = [LocalEngine(n, fewest_votes=100) for n in (1, 2, 4)]
    alone, *others = (fit(make(), annotations, engine=engine) for engine in engines)
    assert all(same_bits(alone, other) for other in others)


def blocks_do_not_change_the_answer(make: Make) -> None:
    if make().random_start:
        # each block draws its own random numbers
        return
    annotations = Annotations.from_arrays(*sample_votes(n_tasks=400, n_annotators=5))
    sizes = (100, 10**9)
    many, single = (fit(make(), annotations, engine=LocalEngine(1, fewest_votes=n)) for n in sizes)
    assert np.allclose(many.posterior, single.posterior, atol=ROUNDING)


def small_data_behave(make: Make) -> None:
    cases: dict[str, tuple[list[int], list[int], list[str], list[str] | None]] = {
        "one vote": ([0], [0], ["a"], ["a"]),
        "one task": ([0, 0, 0], [0, 1, 2], ["a", "a", "b"], None),
        "one annotator": ([0, 1, 2], [0, 0, 0], ["a", "b", "b"], None),
        "one class": ([0, 0, 1], [0, 1, 0], ["a", "a", "a"], ["a", "a"]),
        "unanimous": ([0, 0, 1, 1], [0, 1, 0, 1], ["a", "a", "b", "b"], ["a", "b"]),
    }
    for name, (task, annotator, label, expected) in cases.items():
        result = fit(make(), Annotations.from_arrays(task, annotator, label), threads=1)
        assert np.allclose(result.posterior.sum(axis=1), 1), name
        assert np.isfinite(result.annotator_accuracy).all(), name
        assert expected is None or result.label.tolist() == expected, name


def a_class_that_nobody_voted_for_behaves(make: Make) -> None:
    task, annotator, label = sample_votes()
    result = fit_arrays(make, (task, annotator, label), classes=[0, 1, 2, 9])
    assert result.posterior.shape[1] == 4
    assert np.allclose(result.posterior.sum(axis=1), 1)
    assert (result.label != 9).all()


def gold_truths_are_kept(make: Make) -> None:
    if not make().takes_gold:
        return
    votes = sample_votes()
    against = {i: (int(np.bincount(votes[2][votes[0] == i]).argmax()) + 1) % 3 for i in range(10)}
    result = fit_arrays(make, votes, gold=against)
    assert result.label[:10].tolist() == list(against.values())
    assert np.allclose(result.confidence[:10], 1)


def saving_and_loading_round_trips(make: Make) -> None:
    result = fit_arrays(make, sample_votes())
    with TemporaryDirectory() as folder:
        result.save(Path(folder) / "model.finegold")
        again = load(Path(folder) / "model.finegold")
    assert same_bits(result, again)
    assert again.method == result.method
    assert again.notes == result.notes
    assert again.steps == result.steps or not np.isfinite(result.objective).all()
    assert set(again.learned.statistics) == set(result.learned.statistics)


def same_bits(one: Result, other: Result) -> bool:
    return np.array_equal(one.posterior, other.posterior) and np.array_equal(
        one.annotator_accuracy, other.annotator_accuracy
    )


def _renaming(n: int, seed: int) -> Column:
    return np.random.default_rng(seed).permutation(n)


LAWS: list[Callable[[Make], None]] = [
    posterior_rows_sum_to_one, the_objective_never_falls, the_order_of_votes_does_not_matter,
    the_names_of_tasks_and_annotators_do_not_matter,
    renaming_classes_permutes_the_answer, symmetric_votes_are_tied, the_same_seed_gives_the_same_bits,
    the_input_is_untouched, any_number_of_threads_gives_the_same_bits, blocks_do_not_change_the_answer,
    small_data_behave, a_class_that_nobody_voted_for_behaves, gold_truths_are_kept, saving_and_loading_round_trips,
]  # fmt: skip
