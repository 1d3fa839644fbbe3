"""What crowd-kit's documentation does with its majority vote and Dawid-Skene, with only the import changed."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest

import finegold
from finegold.crowdkit.aggregation import DawidSkene, MajorityVote

BLOCK = {
    "basic vote": "result = MajorityVote().fit_predict(df)",
    "weighted vote": """
df = pd.DataFrame(
    [["t1", "p1", 0], ["t1", "p2", 0], ["t1", "p3", 1], ["t2", "p1", 1], ["t2", "p2", 0], ["t2", "p3", 1]],
    columns=["task", "worker", "label"],
)
skills = pd.Series({"p1": 0.5, "p2": 0.7, "p3": 0.4})
result = MajorityVote().fit_predict(df, skills)
""",
    "Dawid-Skene, iterations by position": "ds = DawidSkene(100)\nresult = ds.fit_predict(df)",
    "Dawid-Skene, iterations by name": "result = DawidSkene(n_iter=100).fit_predict(df)",
    "Dawid-Skene with known truths": "true_labels = gt[:30]\nresult = DawidSkene(100).fit_predict(df, true_labels)",
    "Dawid-Skene with a history": """
index = pd.MultiIndex.from_arrays([["w0", "w0", "w1", "w1"], [0, 1, 0, 1]], names=["worker", "label"])
initial_error = pd.DataFrame(data=[[9, 1], [1, 9], [9, 1], [1, 9]], index=index, columns=[0, 1])
ds = DawidSkene(100, initial_error_strategy="addition")
result = ds.fit_predict(df, initial_error=initial_error)
""",
    "the notebook": """
agg_mv = MajorityVote().fit_predict(df)
agg_wawa = Wawa().fit_predict(df)
agg_ds = DawidSkene(n_iter=10).fit_predict(df)
assert (gt == agg_mv[gt.index]).mean() > 0.8
assert (gt == agg_wawa[gt.index]).mean() > 0.8
assert (gt == agg_ds[gt.index]).mean() > 0.8
assert agg_ds.to_frame("label").reset_index().columns.tolist() == ["task", "label"]
result = agg_ds
""",
}
HEAD = """
import pandas as pd
from finegold.crowdkit.aggregation import DawidSkene, MajorityVote, Wawa
from crowdkit.datasets import load_dataset
df, gt = load_dataset("relevance-2")
"""


def small_crowd() -> tuple[pd.DataFrame, pd.Series]:
    """In the form of crowd-kit's data sets: worker, task, label; and truths by task, for some tasks."""
    random = np.random.default_rng(7)
    truth = random.integers(0, 2, 60)
    rows = [
        (f"w{worker}", f"t{task}", int(truth[task] if random.random() < skill else 1 - truth[task]))
        for worker, skill in enumerate([0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.55])
        for task in range(60)
        if random.random() < 0.8
    ]
    rows += [("once", "t0", 1), ("twice", "t1", 0), ("twice", "t2", 1)]  # little is known of them
    index = pd.Index([f"t{task}" for task in range(50)], name="task")
    return pd.DataFrame(rows, columns=["worker", "task", "label"]), pd.Series(
        truth[:50], index, name="true_label"
    )


@pytest.fixture(autouse=True)
def crowdkit_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    """crowd-kit's loader downloads; here it has a table of the same form."""
    datasets = types.ModuleType("crowdkit.datasets")
    datasets.load_dataset = lambda name: small_crowd()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "crowdkit", types.ModuleType("crowdkit"))
    monkeypatch.setitem(sys.modules, "crowdkit.datasets", datasets)


@pytest.mark.parametrize("example", BLOCK)
def test_the_example_runs_with_only_the_import_changed(example: str) -> None:
    names: dict[str, Any] = {}
    exec(HEAD + BLOCK[example], names)
    result = names["result"]
    assert isinstance(result, pd.Series)
    assert (result.index.name, result.name) == ("task", "agg_label")
    assert sorted(result.index) == sorted(names["df"]["task"].unique())
    assert result.dtype == np.int64


def by_hand(
    votes: pd.DataFrame, n_iter: int, truths: pd.Series | None, history: dict[Any, float]
) -> pd.DataFrame:
    """Dawid-Skene as the textbook says, with arrays of all tasks, workers and labels, and nothing of Finegold in it."""
    codes, names = zip(
        *(pd.factorize(votes[name], sort=True) for name in ("task", "worker", "label")), strict=True
    )
    said = np.zeros([len(each) for each in names])
    np.add.at(said, codes, 1.0)
    phi = said.sum(axis=1) / said.sum(axis=(1, 2))[:, None]
    first = np.zeros(
        said.shape[1:] + said.shape[2:]
    )  # by worker, label and truth; it counts in the first step only
    for (worker, label, truth), n in history.items():
        first[list(names[1]).index(worker), label, truth] = n
    for step in range(n_iter + 1):
        if step:
            count = np.einsum("twl,tk->wlk", said, phi) + (first if step == 1 else 0)
            count = np.where(count.sum(axis=2, keepdims=True) > 0, np.maximum(count, 1e-10), 0)
            errors = np.where(
                said.sum(axis=0)[:, :, None] > 0, count / count.sum(axis=1, keepdims=True), 1
            )
            score = np.log(phi.mean(axis=0)) + np.einsum("twl,wlk->tk", said, np.log(errors))
            phi = np.exp(score - score.max(axis=1, keepdims=True))
            phi /= phi.sum(axis=1, keepdims=True)
        if truths is not None:
            phi[names[0].get_indexer(truths.index)] = np.eye(phi.shape[1])[truths]
    return pd.DataFrame(phi, index=names[0], columns=names[2])


@pytest.mark.parametrize("with_truths", [False, True])
@pytest.mark.parametrize("with_history", [False, True])
def test_dawid_skene_is_the_algorithm_of_the_textbook(
    with_truths: bool, with_history: bool
) -> None:
    votes, truth = small_crowd()
    truths = truth[:20] if with_truths else None
    history = (
        {("w0", c, k): 9.0 if c == k else 1.0 for c in (0, 1) for k in (0, 1)}
        if with_history
        else {}
    )
    error = pd.Series(history).unstack() if history else None
    if error is not None:
        error.index.names = ["worker", "label"]
    model = DawidSkene(4, tol=0, initial_error_strategy="addition" if with_history else None)
    found = model.fit_predict_proba(votes, truths, error)
    expected = by_hand(votes, 4, truths, history)
    np.testing.assert_allclose(found.loc[expected.index, expected.columns], expected, atol=1e-9)
    assert found.columns.name == "label"


def test_an_assigned_history_replaces_the_first_estimate() -> None:
    votes, _ = small_crowd()
    workers = votes.worker.unique()
    index = pd.MultiIndex.from_product([workers, [0, 1]], names=["worker", "label"])
    turned = pd.DataFrame(
        np.tile([[0.1, 0.9], [0.9, 0.1]], (len(workers), 1)), index=index, columns=[0, 1]
    )
    model = DawidSkene(1, tol=0, initial_error_strategy="assign")
    prior = MajorityVote().fit_predict_proba(votes)[1].mean()
    ones, zeros = (votes[votes.label == label].groupby("task").size() for label in (1, 0))
    odds = (
        prior / (1 - prior) * 9.0 ** zeros.sub(ones, fill_value=0)
    )  # everybody is thought to say the contrary
    found = model.fit_predict_proba(votes, initial_error=turned)[1]
    np.testing.assert_allclose(found, (odds / (1 + odds))[found.index], atol=1e-9)


def test_what_was_learned_has_the_names_and_forms_of_the_field() -> None:
    votes, _ = small_crowd()
    model = DawidSkene(100).fit(votes)
    assert model.priors_.name == "prior"
    assert model.priors_.sum() == pytest.approx(1)
    assert model.errors_.index.names == ["worker", "label"]
    assert sorted(model.errors_.columns) == [0, 1]
    np.testing.assert_allclose(model.errors_.groupby("worker").sum(), 1)
    assert model.errors_.loc[("w0", 1), 1] > model.errors_.loc[("w6", 1), 1]
    assert 1 < len(model.loss_history_) < 100
    assert sorted(model.loss_history_) == model.loss_history_
    assert len(DawidSkene(3, tol=0).fit(votes).loss_history_) == 3
    assert finegold.DS is not DawidSkene


def test_arguments_may_be_named_as_there() -> None:
    votes, truth = small_crowd()
    labels = DawidSkene(n_iter=10, tol=1e-5).fit_predict(data=votes, true_labels=truth)
    assert (labels[truth.index] == truth).all()
    assert MajorityVote().fit_predict_proba(data=votes, skills=None).shape == (60, 2)


VOTES = pd.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "b"], "label": ["x", "y", "y"]})


def test_missing_skills_are_ignored_or_replaced_when_asked() -> None:
    votes = pd.concat([VOTES, pd.DataFrame({"task": [2], "worker": ["a"], "label": ["x"]})])
    skills = pd.Series({"a": 1.0, "b": np.nan})
    assert MajorityVote(on_missing_skill="ignore").fit_predict(votes, skills).to_dict() == {
        1: "x",
        2: "x",
    }
    assert MajorityVote(on_missing_skill="value", default_skill=3.0).fit_predict(
        votes, skills
    ).to_dict() == {
        1: "y",
        2: "y",
    }
