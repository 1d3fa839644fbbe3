"""The anchored vote: the fast kernel equals the slow twin, whose constants are written out."""

import numpy as np
import pytest

import finegold
from finegold.methods.anchored import coin, small_data_caution, typical_accuracy, uniformity
from tests.methods.reference import anchored as reference
from tests.mutants import kills

ANCHORED = "methods/anchored.py"


def draw(seed, n_tasks=40, n_annotators=9, K=4, skills=(0.2, 0.95), d=5):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n_tasks)
    skill = np.linspace(*skills, n_annotators)
    task = np.repeat(np.arange(n_tasks), d)
    annotator = np.concatenate([rng.permutation(n_annotators)[:d] for _ in range(n_tasks)])
    right = rng.random(len(task)) < skill[annotator]
    return task, annotator, np.where(right, truth[task], rng.integers(K, size=len(task))), truth


def fit(task, annotator, label, K, **more):
    votes = finegold.Annotations.from_arrays(task, annotator, label, classes=list(range(K)))
    return finegold.aggregate(votes, "anchored", **more)


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


def test_annotators_who_are_worse_than_chance_keep_the_least_weight():
    """Two of them are always wrong; on tasks where they vote alone, their weights decide."""
    task, annotator, label, truth = draw(4, K=3, skills=(0.8, 0.9))
    wrong = annotator < 2
    label = np.where(wrong, (truth[task] + 1) % 3, label)
    expected = reference.anchored(task, annotator, label, 3)
    np.testing.assert_allclose(fit(task, annotator, label, 3).posterior, expected, atol=1e-10)


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


def test_the_default_stops_after_four_sweeps():
    task, annotator, label, _ = draw(0)
    result = fit(task, annotator, label, 4)
    assert result.iterations == 4
    assert result.converged


def test_residuals_are_correlated_where_tasks_are_hard_for_everybody():
    """Half of the tasks are hard: their votes split, which those of independent annotators would not do."""
    rng = np.random.default_rng(0)
    n_tasks, d = 400, 20
    skill = np.repeat([0.95, 0.6], n_tasks // 2)[:, None]
    task, annotator = (x.ravel() for x in np.mgrid[:n_tasks, :d])
    truth = rng.integers(3, size=(n_tasks, 1))

    def rho(skill):
        right = rng.random((n_tasks, d)) < skill
        label = np.where(right, truth, (truth + rng.integers(1, 3, size=(n_tasks, d))) % 3).ravel()
        found, scale = fit(task, annotator, label, 3).learned.statistics["excess"]
        return found / scale

    assert rho(skill) == pytest.approx(0.175**2 / (0.775 * 0.225), abs=0.03)
    assert rho(0.775) == pytest.approx(0.0, abs=0.02)


def test_labelling_functions_that_vote_for_one_class_keep_their_votes():
    """Each function votes for one class only, so that its matrix says nothing: majority vote decides."""
    task = np.array([0, 0, 0, 1, 1, 2])
    annotator = np.array([0, 1, 2, 2, 3, 0])
    label = np.array([0, 0, 1, 1, 1, 0])
    result = fit(task, annotator, label, 2)
    assert result.label_codes.tolist() == [0, 1, 0]
    assert uniformity(np.array([[5.0, 0.0], [0.0, 3.0]])) == 0.0


@kills(ANCHORED, "if entropy > 0 else 1.0", "if entropy > 0 else 0.0")
def test_uniformity_is_one_where_all_use_the_classes_alike():
    assert uniformity(np.array([[2.0, 4.0], [1.0, 2.0], [0.0, 0.0]])) == pytest.approx(1.0)
    assert uniformity(np.array([[3.0, 0.0], [5.0, 0.0]])) == 1.0  # one class only


@pytest.mark.parametrize("a", [0.4, 0.6, 0.9])
@pytest.mark.parametrize("K", [2, 3, 10])
def test_typical_accuracy_solves_its_equation(a, K):
    if a < 1 / K:
        pytest.skip("below chance")
    p, many = a**2 + (1 - a) ** 2 / (K - 1), 1e12
    assert typical_accuracy(np.array([p * many, many]), K) == pytest.approx(a, abs=1e-5)


@kills(ANCHORED, "p = (pairs[0] + 1) / (pairs[1] + 2)", "p = (pairs[0] + 1) / (pairs[1] + 1)")
def test_a_typical_vote_starts_from_one_pair_that_agrees_and_one_that_does_not():
    """a^2 + (1 - a)^2 / 2 is 2/3 after one more pair that agrees, with three classes."""
    assert typical_accuracy(np.zeros(2), 2) == pytest.approx(
        0.52
    )  # p = 1/2: chance, and the margin
    assert typical_accuracy(np.array([1.0, 1.0]), 3) == pytest.approx((1 + 2 * np.sqrt(0.5)) / 3)
    assert typical_accuracy(np.array([1e9, 1e9]), 3) == pytest.approx(0.98)
    assert typical_accuracy(np.array([0.0, 1e9]), 3) == pytest.approx(1 / 3 + 0.02)


@kills(ANCHORED, "error = (1 - a) / max(K - 1, 1)", "error = (1 - a) / (K - 1)")
def test_a_coin_has_any_number_of_sides():
    assert coin(0.7, 4).sum(axis=1) == pytest.approx(np.ones(4))
    assert coin(0.9, 1).tolist() == [[0.9]]


@kills(ANCHORED, "if n_tasks >= FEW_TASKS:", "if n_tasks > FEW_TASKS:")
def test_confidences_of_fewer_than_a_hundred_tasks_are_called_rough():
    assert small_data_caution(99).startswith("Only 99 tasks")
    assert small_data_caution(100) == ""


def test_why_has_the_weights_that_the_model_uses():
    """Half of a vote's weight is that of the annotator's own matrix, half that of everybody's."""
    task, annotator, label, _ = draw(3, K=2, skills=(0.6, 0.9))
    result = fit(task, annotator, label, 2)
    k = int(result.label_codes[0])
    pi, mu = result.learned.confusion, result.learned.statistics["mu"]
    rows = result.why(0, against=1 - k)
    for who, vote, weight in zip(
        rows["annotator"][1:], rows["vote"][1:], rows["weight"][1:], strict=True
    ):
        own, pooled = (np.log(m[k, vote] / m[1 - k, vote]) for m in (pi[who], mu))
        assert weight == pytest.approx((own + pooled) / 2)


def test_new_votes_are_folded_in_close_to_a_fit_of_all():
    task, annotator, label, _ = draw(11, n_tasks=300, K=3)
    first = task < 270
    early = finegold.Annotations.from_arrays(
        task[first], annotator[first], label[first], classes=[0, 1, 2]
    )
    late = finegold.Annotations.from_arrays(
        task[~first], annotator[~first], label[~first], classes=[0, 1, 2]
    )
    updated, scratch = (
        finegold.aggregate(early, "anchored").update(late),
        fit(task, annotator, label, 3),
    )
    assert (updated.label_codes != scratch.label_codes).mean() < 0.01
    assert np.abs(updated.posterior - scratch.posterior).max() < 0.1


@pytest.mark.parametrize(("name", "accuracy"), [("val5", 0.46), ("web", 0.8251), ("ms", 0.7957)])
def test_accuracy_on_the_data_sets_of_the_paper(data_set, name, accuracy):
    data = data_set(name)
    result = finegold.aggregate(data.annotations, "anchored")
    assert data.accuracy(result.posterior) == pytest.approx(accuracy, abs=2e-4)
