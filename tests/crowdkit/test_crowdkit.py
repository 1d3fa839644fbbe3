"""finegold.crowdkit against crowd-kit's answers: tests/data/crowdkit.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from finegold import InputError, crowdkit

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "crowdkit.json").read_text())
ALL_CASES = [(group, case) for group in GOLDEN["groups"] for case in group["cases"]]
DIFFERS = {
    ("BradleyTerry", "loss_history_"),  # crowd-kit leaves it empty
    ("MMSR", "scores_"),  # is probas_ here
}
# fitted by Finegold's own methods
OWN = {"GLAD", "MACE"}
CASES = [(group, case) for group, case in ALL_CASES if case["name"] not in OWN]
VOTES = pd.DataFrame({"task": list("aabb"), "worker": list("xyxy"), "label": ["p", "q", "p", "p"]})
NAMES = ["DawidSkene", "GLAD", "KOS", "MACE", "MMSR", "MajorityVote", "OneCoinDawidSkene", "Wawa"]
NAMES += ["ZeroBasedSkill"]


def name_of(case: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in case["settings"].items())
    return f"{case['name']}({settings})({', '.join(case['arguments'])})"


def values_of(group: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """Run a case with Finegold."""
    name, settings = case["name"], case["settings"]
    frame = pd.DataFrame(group["data"].get(name, group["data"]["votes"]))
    known = (group["known"][argument] for argument in case["arguments"])
    given = [pd.Series(each["values"], each["index"]) for each in known]
    if "value" in case["values"]:
        return {"value": getattr(crowdkit, name)(frame, *given, **settings)}
    model = getattr(crowdkit, name)(**settings).fit(frame, *given)
    if hasattr(model, "predict"):
        model.predict(frame)
    return {
        attribute: getattr(model, attribute)
        for attribute in case["values"]
        if (name, attribute) not in DIFFERS
    }


def difference(expected: Any, found: Any) -> float:
    """Return the largest difference of two values, whose names must be in the same order."""
    if isinstance(expected, dict):
        index = [list(name) if isinstance(name, tuple) else name for name in found.index]
        assert index == expected["index"]
        assert list(getattr(found, "columns", [])) == expected.get("columns", [])
        expected, found = expected["values"], found.to_numpy().tolist()
    found = found.tolist() if isinstance(found, np.ndarray) else found
    if expected == found:
        return 0.0
    gap = np.abs(np.asarray(expected, float) - np.asarray(found, float))
    return float(np.max(gap, initial=0.0))


@pytest.mark.filterwarnings("ignore:Removed")
@pytest.mark.parametrize(("group", "case"), CASES, ids=[name_of(case) for _, case in CASES])
def test_equals_crowdkit_to_1e_8(group: dict[str, Any], case: dict[str, Any]) -> None:
    found = values_of(group, case)
    for attribute, expected in case["values"].items():
        if (case["name"], attribute) not in DIFFERS:
            assert difference(expected, found[attribute]) < 1e-8, attribute


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_missing_column_is_a_key_error_that_says_which(name: str, column: str) -> None:
    with pytest.raises(KeyError, match=f'no column "{column}"'):
        getattr(crowdkit, name)().fit(VOTES.drop(columns=column))


COMPARED = pd.DataFrame({"left": ["a"], "right": ["b"], "label": ["d"]})
X = pd.Series({"x": 1.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: crowdkit.Wawa().fit(VOTES.assign(label=["p", "q", None, "p"])),
            "row 2 has no label",
        ),
        (lambda: crowdkit.GLAD().fit(VOTES[:0]), "is empty"),
        (lambda: crowdkit.MajorityVote().fit(VOTES, X), "worker 'y' has no skill"),
        (
            lambda: crowdkit.MajorityVote(on_missing_skill="ignore").fit(VOTES, X[:0]),
            "nobody who voted on a task has a skill",
        ),
        (
            lambda: crowdkit.KOS().fit(VOTES.assign(label=list("pqrs"))),
            "two classes, but there are 4",
        ),
        (lambda: crowdkit.MMSR().fit(VOTES.assign(label="p")), "at least two classes"),
        (lambda: crowdkit.BradleyTerry(1).fit(COMPARED), "row 0 has a label that is neither"),
        (lambda: crowdkit.MACE(method="em").fit(VOTES), 'by method="vb" only'),
        (lambda: crowdkit.uncertainty(VOTES, X), "no value for 'y'"),
    ],
)
def test_what_cannot_work_is_refused_with_words(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_missing_skills_are_ignored_or_replaced_when_asked() -> None:
    votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": list("abba"), "label": list("xyyx")})
    skills = pd.Series({"a": 1.0, "b": np.nan})
    found = crowdkit.MajorityVote(on_missing_skill="ignore").fit_predict(votes, skills)
    assert found.to_dict() == {1: "x", 2: "x"}
    vote = crowdkit.MajorityVote(on_missing_skill="value", default_skill=3.0)
    assert vote.fit_predict(votes, skills).to_dict() == {1: "y", 2: "y"}


@pytest.mark.parametrize("model", [crowdkit.GLAD(), crowdkit.MACE()])
def test_methods_of_finegold_keep_names_and_find_the_truth(model: Any) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    rows = [
        (f"t{i}", f"w{j}", "xyz"[truth[i] if rng.random() < 0.4 + 0.1 * j else rng.integers(3)])
        for i in range(200)
        for j in range(6)
    ]
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = model.fit_predict(votes)
    right = pd.Series(["xyz"[k] for k in truth], [f"t{i}" for i in range(200)])
    assert (found == right.reindex(found.index)).mean() > 0.93
    assert model.probas_.columns.tolist() == votes["label"].unique().tolist()
    np.testing.assert_allclose(model.probas_.sum(axis=1), 1)


def test_workers_without_a_common_task_do_not_disagree() -> None:
    """Two groups agree among themselves, and share no task: crowd-kit gives the second a negative skill."""
    rows = [
        (task, worker, "pq"[task % 2])
        for worker in "abcdef"
        for task in range(6)
        if (worker < "d") == (task < 3)
    ]
    skills = crowdkit.MMSR().fit(pd.DataFrame(rows, columns=["task", "worker", "label"])).skills_
    assert (skills > 0).all()


def test_comparisons_end_at_the_maximum_and_take_no_steps_if_asked() -> None:
    rows = [("a", "b", "a"), ("b", "c", "c"), ("c", "a", "a"), ("b", "a", "b"), ("c", "b", "b")]
    pairs = pd.DataFrame(rows, columns=["left", "right", "label"])
    assert crowdkit.BradleyTerry(0).fit_predict(pairs).tolist() == pytest.approx([1 / 3] * 3)
    model = crowdkit.BradleyTerry(10000, tol=1e-12).fit(pairs)
    exact = crowdkit.BradleyTerry(3000, tol=0).fit(pairs)
    np.testing.assert_allclose(model.scores_, exact.scores_, atol=1e-4)
    assert 2 < len(model.loss_history_) < 3000


def test_low_entropy_is_that_among_workers_with_enough_answers_and_half_of_the_votes_warn() -> None:
    few = pd.DataFrame({"task": list("cde"), "worker": list("uvw"), "label": list("ppp")})
    votes = pd.concat([VOTES.assign(label=list("ppqp")), few])
    kept = crowdkit.entropy_threshold(votes, percentile=50, min_answers=2)
    assert kept["worker"].tolist() == ["x", "x", "u", "v", "w"]
    with pytest.warns(UserWarning, match="Removed >= 1/2 of answers with entropy_threshold"):
        crowdkit.entropy_threshold(VOTES.assign(label="p"))


def test_accuracy_by_group_uses_weights_and_several_truths() -> None:
    gold = pd.Series(["p", "p", "q"], index=["a", "b", "b"])
    assert crowdkit.get_accuracy(VOTES, gold) == 0.75
    by_worker = crowdkit.get_accuracy(VOTES.assign(weight=[1, 2, 3, 2]), gold, by="worker")
    assert by_worker.to_dict() == {"x": 1.0, "y": 0.5}


def test_several_labels_per_task_and_none() -> None:
    votes = VOTES.assign(label=[["p", "q"], ["p"], ["r"], ["q", "r"]])
    for base in (crowdkit.MajorityVote(), crowdkit.DawidSkene(), crowdkit.Wawa()):
        assert crowdkit.BinaryRelevance(base).fit_predict(votes)["b"][-1] == "r"
    assert crowdkit.BinaryRelevance().fit_predict(VOTES[:0]).empty
