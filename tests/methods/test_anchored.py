"""The anchored vote: the fast kernel equals the slow twin, whose constants are written out."""

import numpy as np
import pytest

import finegold
from finegold.methods.anchored import uniformity
from tests.methods.reference import anchored as reference


def draw(seed, n_tasks=40, n_annotators=9, K=4, skills=(0.2, 0.95), d=5):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n_tasks)
    skill = np.linspace(*skills, n_annotators)
    task = np.repeat(np.arange(n_tasks), d)
    annotator = np.concatenate([rng.permutation(n_annotators)[:d] for _ in range(n_tasks)])
    right = rng.random(len(task)) < skill[annotator]
    return task, annotator, np.where(right, truth[task], rng.integers(K, size=len(task))), truth


def fit(task, annotator, label, K, gold=None, **settings):
    votes = finegold.Annotations.from_arrays(task, annotator, label, classes=list(range(K)))
    return finegold.aggregate(votes, finegold.AnchoredVote(**settings), gold=gold)


@pytest.mark.parametrize(
    ("seed", "K", "skills", "sweeps"),
    [
        (0, 4, (0.2, 0.95), 4),  # from worse than most to nearly perfect
        (1, 2, (0.05, 0.9), 4),  # some are worse than chance: the least skill
        (2, 3, (0.999, 1.0), 4),  # nearly unanimous: accuracies stay below 1
        (3, 6, (0.3, 0.6), 4),  # annotators who agree by chance
        *[(5, 4, (0.2, 0.95), sweeps) for sweeps in (1, 2, 3, 7)],
    ],
)
def test_equals_the_slow_twin_after_any_number_of_sweeps(seed, K, skills, sweeps):
    task, annotator, label, _ = draw(seed, K=K, skills=skills)
    expected = reference.anchored(task, annotator, label, K, sweeps=sweeps)
    np.testing.assert_allclose(
        fit(task, annotator, label, K, max_iterations=sweeps).posterior, expected, atol=1e-10
    )


def test_known_truths_are_kept_and_teach():
    task, annotator, label, truth = draw(7, skills=(0.3, 0.7))
    gold = {int(i): int(truth[i]) for i in range(0, 40, 3)}
    result = fit(task, annotator, label, 4, gold=gold)
    np.testing.assert_allclose(
        result.posterior, reference.anchored(task, annotator, label, 4, gold=gold), atol=1e-10
    )
    untaught = fit(task, annotator, label, 4)
    others = [i for i in range(40) if i not in gold]
    assert not np.allclose(result.posterior[others], untaught.posterior[others], atol=1e-3)


def test_labelling_functions_that_vote_for_one_class_keep_their_votes():
    """Each function votes for one class only, so that its matrix says nothing: majority vote decides."""
    task = np.array([0, 0, 0, 1, 1, 2])
    annotator = np.array([0, 1, 2, 2, 3, 0])
    label = np.array([0, 0, 1, 1, 1, 0])
    result = fit(task, annotator, label, 2)
    assert result.label_codes.tolist() == [0, 1, 0]
    assert uniformity(np.array([[5.0, 0.0], [0.0, 3.0]])) == 0.0
