"""finegold.crowdkit against crowd-kit's answers: tests/data/crowdkit.json, made by bench/rivals/crowdkit_values.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from finegold import InputError
from finegold.crowdkit import aggregation, postprocessing
from finegold.crowdkit.aggregation import pairwise, utils
from finegold.crowdkit.metrics import data as data_metrics
from finegold.crowdkit.metrics import workers as worker_metrics

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "crowdkit.json").read_text())
CASES = [(group, case) for group in GOLDEN["groups"] for case in group["cases"]]
DIFFERS = {("BradleyTerry", "loss_history_")}  # crowd-kit leaves it empty
ROUNDING = {"loss_history_": 1e-8}  # crowd-kit clips probabilities at 1e-10 before it computes it


def name_of(case: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in case["settings"].items())
    return f"{case['name']}({settings})({', '.join(case['arguments'])})"


def values_of(group: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """Run a case with Finegold."""
    name, settings = case["name"], case["settings"]
    frame = pd.DataFrame(group["data"].get(name, group["data"]["votes"]))
    given = [
        pd.Series(known["values"], known["index"])
        for known in (group["known"][a] for a in case["arguments"])
    ]
    if "value" in case["values"]:
        modules = (data_metrics, worker_metrics, postprocessing)
        module = next(module for module in modules if hasattr(module, name))
        return {"value": getattr(module, name)(frame, *given, **settings)}
    model = getattr(aggregation, name)(**settings).fit(frame, *given)
    for predict in ("predict", "predict_score"):
        if hasattr(model, predict):
            getattr(model, predict)(frame)
    return {attribute: getattr(model, attribute) for attribute in case["values"]}


def difference(expected: Any, found: Any) -> float:
    """Return the largest difference of two values, whose names must be in the same order."""
    if isinstance(expected, dict):
        index = [list(name) if isinstance(name, tuple) else name for name in found.index]
        assert index == expected["index"]
        if "columns" in expected:
            assert list(found.columns) == expected["columns"]
        expected, found = expected["values"], found.to_numpy().tolist()
    if np.asarray(expected, dtype=object).size and not _is_number(expected):
        return 0.0 if expected == found else np.inf
    expected, found = np.asarray(expected, float), np.asarray(found, float)
    assert expected.shape == found.shape
    return float(np.max(np.where(expected == found, 0.0, np.abs(expected - found)), initial=0.0))


def _is_number(values: Any) -> bool:
    while isinstance(values, list) and values:
        values = values[0]
    return not isinstance(values, str | list)


@pytest.mark.parametrize(("group", "case"), CASES, ids=[name_of(case) for _, case in CASES])
def test_equals_crowdkit_to_1e_9(group: dict[str, Any], case: dict[str, Any]) -> None:
    found = values_of(group, case)
    for attribute, expected in case["values"].items():
        if (case["name"], attribute) not in DIFFERS:
            assert difference(expected, found[attribute]) < ROUNDING.get(attribute, 1e-9), attribute


def test_the_kept_answers_are_those_of_crowdkit() -> None:
    reason = (
        "crowd-kit is not installed, so its answers are those that tests/data/crowdkit.json keeps"
    )
    pytest.importorskip("crowdkit.aggregation", reason=reason)
    from bench.rivals import crowdkit_values

    groups = [
        group
        for seed, n_classes in ((0, 2), (1, 3))
        for group in crowdkit_values.cases(seed, n_classes)
    ]
    texts = json.dumps(groups), json.dumps(GOLDEN["groups"])
    made, kept = (
        json.loads(text, parse_float=lambda number: round(float(number), 7)) for text in texts
    )
    assert made == kept


VOTES = pd.DataFrame({"task": list("aabb"), "worker": list("xyxy"), "label": ["p", "q", "p", "p"]})
EMPTY = pd.DataFrame([], columns=["task", "worker", "label"])
PAIRS = pd.DataFrame(
    [
        ("x", "a", "b", "a"),
        ("x", "b", "c", "c"),
        ("y", "c", "a", "a"),
        ("y", "b", "a", "b"),
        ("z", "c", "b", "b"),
    ],
    columns=["worker", "left", "right", "label"],
)
NAMES = [
    "DawidSkene",
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_missing_column_is_a_key_error_that_says_which(name: str, column: str) -> None:
    with pytest.raises(KeyError, match=f'no column "{column}"'):
        getattr(aggregation, name)().fit(VOTES.drop(columns=column))


@pytest.mark.parametrize("name", NAMES)
def test_a_vote_without_a_label_is_refused(name: str) -> None:
    with pytest.raises(InputError, match='row 2 has no value in the column "label"'):
        getattr(aggregation, name)().fit(VOTES.assign(label=["p", "q", None, "p"]))


@pytest.mark.parametrize(
    "name", ["DawidSkene", "KOS", "MajorityVote", "OneCoinDawidSkene", "Wawa", "BinaryRelevance"]
)
def test_no_votes_give_no_labels(name: str) -> None:
    labels = getattr(aggregation, name)().fit_predict(EMPTY)
    assert labels.empty
    assert labels.name == "agg_label"


@pytest.mark.parametrize("name", ["GLAD", "MACE", "ZeroBasedSkill", "MMSR"])
def test_methods_that_need_votes_say_so(name: str) -> None:
    with pytest.raises(InputError, match=r"no votes|at least two classes"):
        getattr(aggregation, name)().fit(EMPTY)


def test_predictions_are_the_attributes_and_need_a_fit() -> None:
    for model in (aggregation.Wawa(), aggregation.ZeroBasedSkill(), aggregation.MMSR()):
        with pytest.raises(AttributeError, match="not fitted yet"):
            model.predict(VOTES)
        assert model.fit_predict(VOTES) is model.labels_
        assert model.skills_.name == "skill"
    wawa = aggregation.Wawa().fit(VOTES)
    assert not hasattr(wawa, "labels_")
    assert wawa.predict_proba(VOTES) is wawa.probas_


def test_ties_go_to_the_class_that_appears_first() -> None:
    votes = pd.DataFrame({"task": list("bbaa"), "worker": list("xyxy"), "label": list("zmmz")})
    assert aggregation.MajorityVote().fit_predict(votes).to_dict() == {"b": "z", "a": "z"}
    skills = pd.Series(1.0, index=["x", "y"])
    assert aggregation.MajorityVote().fit_predict(votes, skills).to_dict() == {"a": "m", "b": "m"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: aggregation.MajorityVote().fit(VOTES, pd.Series({"x": 1.0})),
            r"no skill for worker 'y' \(2 votes",
        ),
        (
            lambda: aggregation.MajorityVote(on_missing_skill="no").fit(
                VOTES, pd.Series({"x": 1.0})
            ),
            'must be "error"',
        ),
        (
            lambda: aggregation.MajorityVote(on_missing_skill="value").fit(
                VOTES, pd.Series({"x": 1.0})
            ),
            "default_skill",
        ),
        (
            lambda: aggregation.MajorityVote(on_missing_skill="ignore").fit(
                VOTES, pd.Series(dtype=float)
            ),
            "nobody who voted on task a",
        ),
        (
            lambda: aggregation.KOS().fit(VOTES.assign(label=list("pqrs"))),
            "KOS is for two classes, but there are 4",
        ),
        (lambda: aggregation.MACE(method="mcmc").fit(VOTES), 'must be "vb" or "em"'),
        (
            lambda: aggregation.DawidSkene(initial_error_strategy="mix").fit(VOTES),
            'must be "assign" or "addition"',
        ),
        (
            lambda: aggregation.BradleyTerry(1).fit(PAIRS.assign(label="d")),
            "row 0 says that 'd' won",
        ),
        (
            lambda: aggregation.GLAD(labels_priors=pd.Series({"p": 1.0})).fit(VOTES),
            "labels_priors has no value for 'q'",
        ),
        (
            lambda: data_metrics.consistency(VOTES, aggregator=aggregation.KOS()),
            "KOS has no skills_",
        ),
        (
            lambda: aggregation.DawidSkene(initial_error_strategy="assign").fit(
                VOTES, initial_error=VOTES
            ),
            "indexed by worker and label",
        ),
    ],
)
def test_what_cannot_work_is_a_value_error(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (
            KeyError,
            'must be "task" or "worker"',
            lambda: data_metrics.uncertainty(VOTES, compute_by="label"),
        ),
        (
            AssertionError,
            "no skill for the worker 'y'",
            lambda: data_metrics.uncertainty(VOTES, pd.Series({"x": 0.9})),
        ),
        (
            AssertionError,
            "no skill for the worker 'y'",
            lambda: data_metrics.consistency(VOTES, pd.Series({"x": 0.9})),
        ),
        (
            AssertionError,
            "has no skills_",
            lambda: data_metrics.uncertainty(VOTES, None, aggregation.DawidSkene(1)),
        ),
    ],
)
def test_errors_are_of_the_kinds_that_crowdkit_raises(
    kind: type[Exception], words: str, call: Any
) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_what_nothing_is_known_of_is_neither_agreement_nor_an_error() -> None:
    single = VOTES.drop_duplicates("task")
    assert np.isnan(data_metrics.alpha_krippendorff(single))
    pd.testing.assert_frame_equal(postprocessing.entropy_threshold(VOTES, min_answers=3), VOTES)


def test_low_entropy_is_that_among_workers_with_enough_answers() -> None:
    few = pd.DataFrame(
        {"task": list("cde"), "worker": list("uvw"), "label": list("ppp")}
    )  # their entropy is 0
    votes = pd.concat([VOTES.assign(label=list("ppqp")), few])
    kept = postprocessing.entropy_threshold(votes, percentile=50, min_answers=2)
    assert kept["worker"].tolist() == ["x", "x", "u", "v", "w"]


def test_workers_without_a_common_task_do_not_disagree() -> None:
    """Two groups agree among themselves, and share no task: crowd-kit gives the second a negative skill."""
    rows = [
        (task, worker, "pq"[task % 2])
        for worker in "abcdef"
        for task in range(6)
        if (worker < "d") == (task < 3)
    ]
    skills = aggregation.MMSR().fit(pd.DataFrame(rows, columns=["task", "worker", "label"])).skills_
    assert (skills > 0).all()


def error_matrix(values: list[list[float]]) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([["x", "y"], ["p", "q"]], names=["worker", "label"])
    return pd.DataFrame(values, index=index, columns=["p", "q"])


def test_known_errors_replace_or_join_the_first_estimate() -> None:
    known = error_matrix([[0.9, 0.2], [0.1, 0.8], [0.6, 0.3], [0.4, 0.7]])
    assigned = aggregation.DawidSkene(0, initial_error_strategy="assign").fit(
        VOTES, initial_error=known
    )
    pd.testing.assert_frame_equal(assigned.errors_, known.loc[assigned.errors_.index])
    with pytest.raises(ValueError, match=r"must sum to 1"):
        aggregation.DawidSkene(0, initial_error_strategy="assign").fit(
            VOTES, initial_error=known * 2
        )
    with pytest.raises(ValueError, match=r"no values for worker 'y' \(1 are missing\)"):
        aggregation.DawidSkene(0, initial_error_strategy="assign").fit(
            VOTES, initial_error=known[:2]
        )
    added = aggregation.DawidSkene(0, initial_error_strategy="addition").fit(
        VOTES, initial_error=known[2:] * 10
    )
    # y: half a vote for q on task a where the truth is p; a vote for p on b
    assert added.errors_.loc[("y", "q"), "p"] == pytest.approx(4.5 / 11.5)
    # of the given ones, or sorted; with a step, as they appear
    order = [("x", "p"), ("x", "q"), ("y", "p"), ("y", "q")]
    assert (assigned.errors_.index.tolist(), added.errors_.index.tolist()) == (
        order,
        [order[0], *order[2:]],
    )
    assert aggregation.DawidSkene(1).fit(VOTES).errors_.index.tolist() == [
        ("x", "p"),
        ("y", "q"),
        ("y", "p"),
    ]
    unused = aggregation.DawidSkene(2).fit(VOTES, initial_error=known)
    pd.testing.assert_frame_equal(unused.errors_, aggregation.DawidSkene(2).fit(VOTES).errors_)


def test_the_gradient_of_noisy_comparisons_is_their_derivative() -> None:
    pairs = pairwise._read(PAIRS)
    worker = pd.factorize(PAIRS["worker"])[0]
    x = np.random.default_rng(0).normal(size=1 + 3 + 2 * 3)

    def loss(point: Any) -> float:
        return pairwise._objective(point, pairs, worker, 0.1)[0]

    steps = np.eye(len(x)) * 1e-6
    numeric = [(loss(x + step) - loss(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(pairwise._objective(x, pairs, worker, 0.1)[1], numeric, atol=1e-8)


def test_comparisons_end_at_the_maximum_and_take_no_steps_if_asked() -> None:
    first = aggregation.BradleyTerry(0).fit_predict(PAIRS)
    assert first.tolist() == pytest.approx([1 / 3] * 3)
    model = aggregation.BradleyTerry(10000, tol=1e-12).fit(PAIRS)
    exact = aggregation.BradleyTerry(3000, tol=0).fit(PAIRS)
    np.testing.assert_allclose(model.scores_, exact.scores_, atol=1e-4)
    assert 2 < len(model.loss_history_) < 3000
    noisy = aggregation.NoisyBradleyTerry().fit(PAIRS)
    assert (noisy.scores_.name, noisy.skills_.name, noisy.biases_.name) == (
        "agg_score",
        "skill",
        "bias",
    )
    assert aggregation.NoisyBradleyTerry(0).fit_predict(PAIRS).index.tolist() == ["a", "b", "c"]


def test_names_may_be_tuples_sets_and_truth_values() -> None:
    votes = VOTES.assign(label=[frozenset("p"), frozenset("q"), frozenset("p"), frozenset("p")])
    assert data_metrics.consistency(votes) == pytest.approx(data_metrics.consistency(VOTES))
    assert (
        aggregation.DawidSkene(5).fit_predict(VOTES.assign(label=[True, False, True, True])).dtype
        == bool
    )
    tuples = PAIRS.assign(
        **{c: [("q1", name) for name in PAIRS[c]] for c in ("left", "right", "label")}
    )
    assert aggregation.BradleyTerry(3).fit_predict(tuples).tolist() == pytest.approx(
        aggregation.BradleyTerry(3).fit_predict(PAIRS).tolist()
    )


def test_accuracy_by_group_uses_weights_and_several_truths() -> None:
    gold = pd.Series(["p", "p", "q"], index=["a", "b", "b"])
    assert utils.get_accuracy(VOTES, gold) == 0.75
    assert utils.get_accuracy(VOTES.assign(weight=[1, 2, 3, 2]), gold, by="worker").to_dict() == {
        "x": 1.0,
        "y": 0.5,
    }
    assert (
        utils.evaluate(
            gold[:1].to_frame("label"), pd.DataFrame({"label": ["p"]}, ["a"]), utils.evaluate_equal
        )
        == 1.0
    )
