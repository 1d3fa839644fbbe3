from __future__ import annotations

import numpy as np
import pytest

from finegold.api.fit import fit
from finegold.errors import InputError
from finegold.methods.ptbcc import PTBCC
from finegold.votes.simulation import Simulation, simulate


def votes_of(simulation: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return simulation.annotations.votes()


def test_the_sizes_are_those_asked_for() -> None:
    simulation = simulate(200, 12, 3, class_names=["no", "yes", "?"], votes_per_task=4, seed=3)
    annotations = simulation.annotations
    assert (annotations.n_tasks, annotations.n_annotators, annotations.n_classes) == (200, 12, 3)
    assert annotations.n_votes == 800
    assert simulation.truth.shape == (200,)
    assert simulation.weights.shape == (12, 2)
    assert simulation.prototypes.shape == (2, 3, 3)
    assert annotations.class_names.tolist() == ["no", "yes", "?"]
    assert simulate(50, 5, 1).annotations.n_classes == 1


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    one, same, other = (simulate(300, 20, 4, seed=seed) for seed in (7, 7, 8))
    assert all(np.array_equal(a, b) for a, b in zip(votes_of(one), votes_of(same), strict=True))
    assert np.array_equal(one.truth, same.truth)
    assert not np.array_equal(one.truth, other.truth)


@pytest.mark.parametrize("n_annotators", [5, 300])
def test_nobody_is_asked_twice_about_a_task(n_annotators: int) -> None:
    simulation = simulate(400, n_annotators, 2, votes_per_task=5, activity_spread=2, seed=1)
    assert simulation.annotations.counts.repeated == 0
    assert simulation.annotations.n_votes == 2000


def test_votes_per_task_may_lie_between_two_whole_numbers() -> None:
    per_task = simulate(4000, 40, 2, votes_per_task=2.25).annotations.votes_per_task
    assert set(per_task.tolist()) == {2, 3}
    assert per_task.mean() == pytest.approx(2.25, abs=0.03)


@pytest.mark.parametrize("n_annotators", [20, 200])
def test_active_annotators_are_asked_more_often(n_annotators: int) -> None:
    votes = simulate(20_000, n_annotators, 2, votes_per_task=4, seed=2).annotations
    shares = np.sort(np.bincount(votes.annotator) / votes.n_votes)
    assert shares[-1] > 5 * shares[0]
    alike = simulate(20_000, n_annotators, 2, votes_per_task=4, activity_spread=0).annotations
    shares = np.bincount(alike.annotator) / alike.n_votes
    assert shares.max() < 1.3 / n_annotators


def test_votes_follow_the_prototypes_and_the_truth() -> None:
    simulation = simulate(40_000, 10, 3, votes_per_task=3, annotator_concentration=0.5, seed=5)
    task, annotator, label = votes_of(simulation)
    counts = np.zeros((10, 3, 3))
    np.add.at(counts, (annotator, simulation.truth[task], label), 1)
    found = counts / counts.sum(axis=2, keepdims=True)
    expected = np.tensordot(simulation.weights, simulation.prototypes, axes=1)
    many = counts.sum(axis=2) > 1000
    assert many.any()
    assert np.abs(found - expected)[many].max() < 0.06


def test_imbalance_sets_the_ratio_of_the_classes() -> None:
    drawn = simulate(20_000, 5, 3, votes_per_task=1, imbalance=9)
    assert drawn.tau[0] / drawn.tau[2] == pytest.approx(9, rel=0.4)
    assert np.bincount(drawn.truth) / 20_000 == pytest.approx(drawn.tau, abs=0.02)


def test_the_truth_belongs_to_the_tasks_that_have_votes() -> None:
    simulation = simulate(500, 400, 3, votes_per_task=1, missing=0.5, seed=4)
    assert len(simulation.truth) == simulation.annotations.n_tasks < 500
    assert len(simulation.weights) == simulation.annotations.n_annotators < 400


def test_ptbcc_finds_the_prototypes_again() -> None:
    simulation = simulate(3000, 60, 3, annotator_concentration=0.3, seed=1)
    weak_priors = PTBCC(pi_strength=0.01, v_strength=0.01, tolerance=1e-4)  # let the votes speak
    result = fit(weak_priors, simulation.annotations, threads=1)
    assert result.learned.prototypes is not None
    assert np.abs(result.learned.prototypes - simulation.prototypes).max() < 0.05


@pytest.mark.parametrize(
    ("sizes", "settings", "message"),
    [
        ((0, 5, 2), {}, "n_tasks must be from 1"),
        ((9, 0, 2), {}, "n_annotators must be from 1"),
        ((9, 5, 0), {}, "n_classes must be from 1"),
        ((9, 5, 10**20), {}, "n_classes must be from 1"),
        ((9, 5, 2), {"n_prototypes": 0}, "n_prototypes must be from 1"),
        ((9, 5, 2), {"votes_per_task": 6}, "votes_per_task must be from 1 to 5, not 6"),
        ((9, 5, 2), {"votes_per_task": float("nan")}, "votes_per_task"),
        ((9, 5, 2), {"imbalance": 0.5}, "imbalance must be from 1"),
        ((9, 5, 2), {"missing": 1.0}, "missing must be from 0"),
        ((9, 5, 2), {"activity_spread": -1}, "activity_spread must be from 0"),
        ((9, 5, 2), {"annotator_concentration": 0}, "annotator_concentration"),
        ((9, 5, 2), {"seed": -1}, "seed must be from 0"),
        ((9, 5, 2), {"class_names": ["a"]}, "2 classes but 1 class names"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    sizes: tuple[int, int, int], settings: dict, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        simulate(*sizes, **settings)
