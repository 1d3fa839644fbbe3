"""Values on a scale: the equations of finegold.results.scores."""

import numpy as np
import pytest

from finegold.results.scores import ANNOTATOR_PRIOR, SWEEPS, TASK_PRIOR, estimate

RNG = np.random.default_rng(4)
TASK, ANNOTATOR = (
    each.ravel() for each in np.meshgrid(np.arange(200), np.arange(8), indexing="ij")
)
VALUE = RNG.normal(50, 15, 200)


def rate(bias, noise):
    """Return ratings of all tasks by annotators with this bias and this noise."""
    return (
        VALUE[TASK]
        + np.asarray(bias)[ANNOTATOR]
        + RNG.normal(0, 1, 1600) * np.asarray(noise)[ANNOTATOR]
    )


def error_of(values):
    return np.abs(values - VALUE).mean()


def test_the_fast_form_equals_the_equations_written_out():
    task, annotator = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 2, 1])
    vote = np.array([1.0, 3, 2, 5, 9, 4])
    mean = [vote[task == t].mean() for t in range(3)]
    value = list(mean)
    rows = list(zip(task.tolist(), annotator.tolist(), vote.tolist(), strict=True))
    n_votes, n_given = np.bincount(task), np.bincount(annotator)
    for _ in range(SWEEPS):
        bias = [
            sum(y - value[t] for t, i, y in rows if i == j) / (n_given[j] + ANNOTATOR_PRIOR)
            for j in range(3)
        ]
        squares = [
            (j, (y - bias[j] - value[t]) ** 2 * n_votes[t] / (n_votes[t] - 1))
            for t, j, y in rows
            if n_votes[t] > 1
        ]
        usual = np.mean([square for _, square in squares])
        noise = []
        for j in range(3):
            mine = [square for i, square in squares if i == j]
            noise.append((sum(mine) + ANNOTATOR_PRIOR * usual) / (len(mine) + ANNOTATOR_PRIOR))
        for t in range(3):
            given = [(y - bias[j], noise[j]) for i, j, y in rows if i == t]
            weighted = sum(y / s for y, s in given) / sum(1 / s for _, s in given)
            value[t] = (mean[t] + weighted) / 2
    spread = np.array([((vote[task == t] - mean[t]) ** 2).sum() for t in range(3)])
    pooled = spread.sum() / 3
    half = 1.959964 * np.sqrt((spread + TASK_PRIOR * pooled) / (n_votes - 1 + TASK_PRIOR) / n_votes)
    scores = estimate(task, annotator, vote, 3, 3)
    assert scores.value == pytest.approx(value)
    assert scores.bias == pytest.approx(bias)
    assert scores.noise == pytest.approx(np.sqrt(noise))
    assert scores.high - scores.value == pytest.approx(half)
    assert scores.value - scores.low == pytest.approx(half)


def test_annotators_who_give_more_or_anything_move_values_less_than_they_move_the_mean():
    careful = rate([0] * 8, [4] * 8)
    # annotator 0 rates half of the tasks
    seen = (ANNOTATOR > 0) | (TASK < 100)
    biased = np.where(ANNOTATOR == 0, careful + 30, careful)
    random = np.where(ANNOTATOR == 0, RNG.uniform(0, 100, 1600), careful)
    for votes, share in ((biased, 0.95), (random, 0.8)):
        task, annotator, vote = TASK[seen], ANNOTATOR[seen], votes[seen]
        scores = estimate(task, annotator, vote, 200, 8)
        mean = np.bincount(task, vote) / np.bincount(task)
        assert error_of(scores.value) < share * error_of(mean)
    assert scores.noise.argmax() == 0
    assert estimate(TASK, ANNOTATOR, biased, 200, 8).bias.argmax() == 0


def test_who_uses_half_of_the_range_has_half_the_scale():
    votes = np.where(ANNOTATOR == 3, 50 + (VALUE[TASK] - 50) / 2, VALUE[TASK])
    scale = estimate(TASK, ANNOTATOR, votes + RNG.normal(0, 2, 1600), 200, 8).scale
    assert scale[3] == pytest.approx(0.53, abs=0.05)
    assert np.delete(scale, 3) == pytest.approx(np.full(7, 1.05), abs=0.05)


def test_units_do_not_matter():
    votes = rate(RNG.normal(0, 5, 8), RNG.uniform(2, 12, 8))
    plain = estimate(TASK, ANNOTATOR, votes, 200, 8)
    scaled = estimate(TASK, ANNOTATOR, votes / 20 - 3, 200, 8)
    assert scaled.value == pytest.approx(plain.value / 20 - 3)
    assert scaled.low == pytest.approx(plain.low / 20 - 3)
    assert scaled.scale == pytest.approx(plain.scale)
    assert scaled.noise == pytest.approx(plain.noise / 20)


def test_votes_that_agree_and_tasks_with_one_vote_have_values():
    scores = estimate(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([2.0, 2.0, 5.0]), 2, 2)
    assert scores.value.tolist() == [2, 5]
    assert (scores.high == scores.value).all()
    alone = estimate(np.array([0, 1]), np.array([0, 1]), np.array([2.0, 5.0]), 2, 2)
    assert alone.value.tolist() == [2, 5]
