"""Judges of one family err alike: that is found, told and counted; independent ones are left in peace."""

import numpy as np
import pytest

import finegold
from finegold import Annotations
from finegold.insight.correlation import correlated_annotators, family_of
from finegold.votes.frames import to_polars

NAMES = ["gpt-4o", "gpt-4o-mini", "openai/gpt-5", "claude-3-haiku", "mistral-large", "qwen2.5-72b"]


def panel(*arguments, **settings):
    return panel_and_truth(*arguments, **settings)[0]


def panel_and_truth(
    sizes, names=NAMES, n_tasks=500, shared=0.6, K=2, skill=0.8, seed=0, repeated=1
):
    """Families of judges: each of two or more gives the family's answer in `shared` of the cases, else their own."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n_tasks)

    def answer():
        return np.where(
            rng.random(n_tasks) < skill, truth, (truth + rng.integers(1, K, size=n_tasks)) % K
        )

    columns = []
    for size in sizes:
        family = answer()
        columns += [
            np.where(rng.random(n_tasks) < (shared if size > 1 else 0), family, answer())
            for _ in range(size)
        ]
    answers = np.repeat(np.array(columns).T, repeated, axis=1)
    task, judge = np.indices(answers.shape)
    who = np.array(names, dtype=object)[judge.ravel() // repeated]
    return Annotations.from_arrays(task.ravel(), who, answers.ravel(), repeated="all"), truth


def found_in(votes, method="ptbcc"):
    return correlated_annotators(finegold.aggregate(votes, method))


@pytest.mark.parametrize("seed", range(5))
def test_a_family_that_errs_alike_is_told_and_counts_less(seed):
    found = found_in(panel((3, 1, 1, 1), seed=seed))
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(
        "gpt-4o, gpt-4o-mini, openai/gpt-5 are of one family and err alike"
    )
    assert 1.2 < found.weights[[1, 2, 4]].sum() < 2.4  # in the order of names
    assert 4 < found.effective < 5.5


@pytest.mark.parametrize("seed", range(5))
def test_a_family_of_independent_judges_is_left_in_peace(seed):
    found = found_in(panel((1,) * 6, seed=seed))
    assert found.warnings == []
    assert found.effective == 6
    assert len(found.excess) == 0
    assert not to_polars(found.pairs())["suspicious"].any()


def test_strangers_who_copy_are_a_group_without_a_family():
    found = found_in(panel((2, 1, 1, 1), names=list("abcde"), shared=0.9))
    (row,) = to_polars(found.groups()).iter_rows(named=True)
    assert (row["members"], row["n_members"]) == ("a, b", 2)
    assert 1 < row["worth"] < 1.5
    (warning,) = found.warnings
    assert warning.startswith("annotators a, b agree more than their skill explains")
    worth = f"they are worth about {row['worth']:.1f} independent ones"
    assert warning.endswith(f"(excess agreement {row['excess']:.2f}); {worth}")


def test_a_panel_of_one_family_is_warned_of_by_its_names_alone():
    """Errors that all share look like the truth, and no vote can show it."""
    found = found_in(panel((4,), names=["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5"]))
    assert found.effective == 4
    (warning,) = found.warnings
    assert "4 of 4 annotators are of the family gpt" in warning
    assert "gold truths" in warning


def test_known_truths_show_errors_that_all_share():
    votes, truth = panel_and_truth((4,), names=["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5"])
    result = finegold.aggregate(votes)
    known = {task: int(truth[task]) for task in range(150)}
    found = correlated_annotators(result, known)
    assert found.effective < 2.5
    assert "are of one family and err alike" in found.warnings[0]
    assert to_polars(found.pairs())["n_shared"].to_list() == [150] * 6
    assert result.trust(known).correlated.effective == found.effective


@pytest.mark.parametrize(
    ("names", "family"),
    [
        (["gpt-4o", "gpt-4o-mini", "openai/gpt-4o", "azure:gpt-4.1", "chatgpt-latest"], "gpt"),
        (["Llama-3-8B", "meta-llama/Llama-3-70B"], "llama"),
        (["o1", "o3-mini"], "o"),
        (["house-7b", "house-13b"], "house"),
        (["worker-1", "worker-2", "anna", "annette", "A1B2", "A3C4", "1", "Otto", "Oskar"], ""),
    ],
)
def test_families_are_known_by_names(names, family):
    assert {family_of(name) for name in names} == {family}
