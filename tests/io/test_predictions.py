"""Class probabilities of models beside votes: what is learned, what is labelled, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import finegold
from finegold.fitting import combining
from tests.support.cli_helpers import run, write

CLASSES = ["ant", "bee", "cat"]
N, VOTED = 300, 270  # the last tasks have predictions only


def draw(seed=0, accuracy=0.9, scale=1.0, skill=0.65, votes_per_task=3):
    """Return votes, probabilities of a classifier and truths."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, N)
    votes = [
        (i, f"w{j}", CLASSES[truth[i] if rng.random() < skill else rng.integers(3)])
        for i in range(VOTED)
        for j in rng.choice(25, votes_per_task, replace=False)
    ]
    s = {0.8: 1.55, 0.9: 2.1}[accuracy]
    z = scale * (s**2 * np.eye(3)[truth] + s * rng.normal(size=(N, 3)))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return (
        finegold.Annotations.from_arrays(*zip(*votes, strict=True)),
        p / p.sum(axis=1, keepdims=True),
        truth,
    )


def fit(votes, p, **options):
    return finegold.aggregate(votes, predictions=(range(len(p)), p), **options)


def share_right(result, truth):
    return (result.label_codes == truth[:VOTED]).mean()


def share_right_of(p, truth):
    return (p.argmax(axis=1) == truth)[:VOTED].mean()


def test_better_than_votes_alone_and_model_alone():
    for scale in (1.0, 4.0):
        found = []
        for seed in range(4):
            votes, p, truth = draw(seed, scale=scale)
            both = fit(votes, p)
            found.append(
                [share_right(finegold.aggregate(votes), truth), (p.argmax(1) == truth).mean()]
            )
            found[-1].append(share_right(both, truth))
        of_votes, of_model, of_both = np.mean(found, axis=0)
        assert of_both > max(of_votes, of_model) + 0.01


@pytest.mark.parametrize("how", ["anywhere", "next class"])
def test_a_model_that_is_confidently_wrong_on_a_third_does_not_spoil_labels(how):
    lost = []
    for seed in range(4):
        votes, p, truth = draw(seed, votes_per_task=7)
        rng = np.random.default_rng(seed)
        said, wrong = truth.copy(), rng.random(N) < 1 / 3
        said[wrong] = (
            truth[wrong] + (rng.integers(1, 3, wrong.sum()) if how == "anywhere" else 1)
        ) % 3
        p = np.full((N, 3), 0.005)
        p[np.arange(N), said] = 0.99
        both = fit(votes, p)
        lost.append(share_right(finegold.aggregate(votes), truth) - share_right(both, truth))
    assert np.mean(lost) < 0.03


def test_weight_and_accuracy_are_learned():
    votes, p, truth = draw()
    record = fit(votes, p).combined.records[0]
    calibrated = record.weight
    assert calibrated == pytest.approx(1, abs=0.4)
    assert record.accuracy == pytest.approx((p.argmax(1) == truth)[:VOTED].mean(), abs=0.05)
    assert (record.n_tasks, record.n_tasks_without_votes) == (VOTED, N - VOTED)
    votes, p, _ = draw(scale=4.0)
    record = fit(votes, p).combined.records[0]
    assert record.weight < calibrated - 0.1
    assert record.confidence > record.accuracy


def test_tasks_with_predictions_only_are_labelled_and_marked():
    votes, p, truth = draw()
    result = fit(votes, p)
    labels = result.labels(probabilities=True)
    assert labels["task"].to_list() == list(range(N))
    assert labels["predictions_only"].to_list() == [False] * VOTED + [True] * (N - VOTED)
    assert (labels["n_votes"] == 0).equals(labels["predictions_only"])
    assert "predictions_only" not in finegold.aggregate(votes).labels().columns
    only = labels.tail(N - VOTED)
    assert (only["label"] == pl.Series(CLASSES)[truth[VOTED:].tolist()]).mean() > 0.8
    assert np.allclose(only.select(CLASSES).to_numpy(), result.combined.posterior)
    plan = finegold.next_votes(result)
    assert set(range(VOTED, N)) & set(plan.tasks()["task"].to_list())


def test_forms_of_predictions_agree(tmp_path):
    votes, p, _ = draw()
    expected = fit(votes, p).posterior
    frame = pl.DataFrame(
        {"task": range(N), "cat": p[:, 2], "ant": p[:, 0], "bee": p[:, 1]}
    )  # another order
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "probs.parquet")
    frame.write_csv(tmp_path / "probs.csv")
    forms = [
        frame,
        pd.DataFrame(p, columns=CLASSES).assign(task=range(N)),
        frame.rename({"task": "id"}),
        frame.to_dict(as_series=False),
        {"bert": frame},
        [frame],
        (range(N), p[:, ::-1], CLASSES[::-1]),
        tmp_path / "probs.parquet",
        str(tmp_path / "probs.csv"),
    ]
    for form in forms:
        assert np.allclose(finegold.aggregate(votes, predictions=form).posterior, expected)
    two = finegold.aggregate(
        votes, predictions=[tmp_path / "probs.csv", tmp_path / "probs.parquet", (range(N), p)]
    )
    assert [record.model for record in two.combined.records] == [
        "probs 1",
        "probs 2",
        "predictions",
    ]
    assert two.models().columns[:2] == ["model", "n_tasks"]


def test_ids_of_other_kinds_and_tasks_whose_votes_are_missing_are_labelled_saved_and_loaded(
    tmp_path,
):
    votes = finegold.read(
        {"task": [1, 1, 2, 2, 3], "annotator": list("ababa"), "label": ["x", "x", "y", "x", None]}
    )
    assert list(votes.unlabelled) == [3]
    given = (["1", "2", "3", "new"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    result = finegold.aggregate(votes, predictions={"bert": given})
    labels = result.labels()
    assert [str(task) for task in labels["task"].to_list()] == ["1", "2", "3", "new"]
    assert labels["predictions_only"].to_list() == [False, False, True, True]
    result.save(tmp_path / "m.finegold")
    loaded = finegold.load(tmp_path / "m.finegold")
    assert loaded.labels(probabilities=True).equals(result.labels(probabilities=True))
    assert loaded.combined.records == result.combined.records
    assert loaded.combined.predictions.models == ["bert"]
    assert (
        loaded.combined.predictions.probabilities == result.combined.predictions.probabilities
    ).all()


def test_predictions_in_other_functions(tmp_path):
    votes, p, truth = draw()
    names = {i: CLASSES[truth[i]] for i in range(VOTED)}
    with_model = finegold.evaluate(votes, names, predictions=(range(N), p))["accuracy"][0]
    assert with_model > finegold.evaluate(votes, names)["accuracy"][0]
    assert (
        finegold.compare(votes, ["mv", "ds"], truth=names, predictions=(range(N), p)).rows()[0][
            "accuracy"
        ]
        > 0.9
    )
    plan = finegold.next_votes(votes, predictions=(range(N), p))
    assert set(range(VOTED, N)) & set(plan.tasks()["task"].to_list())
    result = fit(votes, p)
    result.trust(names)
    result.report(tmp_path / "report.html")
    assert (
        "tasks without votes were labelled from predictions only"
        in (tmp_path / "report.html").read_text()
    )


VOTES = "task,annotator,label\n" + "".join(
    f"{i},w{j},{'xy'[(i + j) % 2]}\n" for i in range(4) for j in range(3)
)


def refusal(tmp_path, predictions, *more):
    votes = write(tmp_path / "votes.csv", VOTES)
    given = write(tmp_path / "p.csv", predictions)
    done = run("aggregate", votes, "--predictions", given, *more)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (
            "task,x,y\n0,.5,.5\n1,.9,.8\n",
            "row 2 (task 1): 0.9, 0.8 are not probabilities, which are",
        ),
        ("task,x,y\n0,1.5,-.5\n", "row 1 (task 0): 1.5, -0.5 are not probabilities"),
        ("task,x,y\n0,high,low\n", "nan, nan are not probabilities"),
        ("task,x,y\n0,inf,0\n", "inf, 0 are not probabilities"),
        (
            "task,x,y,z\n0,1,0,0\n",
            'the column "z" is not a class of the votes (x, y); remove it, or use --classes',
        ),
        ("task,x,y\nt0,1,0\n", "none of the 1 tasks has votes; check that tasks are written alike"),
        (
            "task,x,y\n0,1,0\n0,0,1\n",
            "the task 0 has several rows of predictions; keep one of them",
        ),
        ("task,x,y\n0,1,0\n,0,1\n", "the task is missing; fill it in or remove the row"),
        ("name,x,y\n0,1,0\n", "there is no task column"),
        ("task,x,y\n", "has a header but no rows"),
    ],
)
def test_bad_predictions_are_refused(tmp_path, predictions, message):
    said = refusal(tmp_path, predictions)
    assert message in said
    assert "p.csv" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((range(1), np.zeros((2, 3))), "are no array of numbers for 1 tasks"),
        ((range(2), np.zeros((2, 3)), ["ant", "bee"]), "no array of numbers for 2 tasks and 2"),
        ((np.zeros((2, 3)),), "have 1 parts"),
        (np.zeros((2, 3)), "does not say which tasks its rows belong to"),
        ((range(2), [["a", "b", "c"], ["d", "e", "f"]]), "no array of numbers"),
    ],
)
def test_arrays_of_a_wrong_shape_are_refused(given, words):
    with pytest.raises(finegold.InputError, match=words):
        finegold.aggregate(draw()[0], predictions=given)


def test_command_line(tmp_path):
    votes, p, _ = draw()
    finegold.write_votes(votes, tmp_path / "votes.csv")
    pl.DataFrame({"task": range(N), **{name: p[:, k] for k, name in enumerate(CLASSES)}}).write_csv(
        tmp_path / "bert.csv"
    )
    given = (tmp_path / "votes.csv", "--predictions", tmp_path / "bert.csv")
    done = run("aggregate", *given, "-o", tmp_path / "labels.csv", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["models"][0]["model"] == "bert"
    assert found["predictions_only"] == N - VOTED
    assert "Model bert: weight" in done.stderr
    assert f"{N - VOTED} tasks without votes were labelled from predictions only" in done.stderr
    assert pl.read_csv(tmp_path / "labels.csv")["predictions_only"].sum() == N - VOTED
    for command in ("next-votes", "trust"):
        assert run(command, *given, "--json").exit_code == 0
    refused = run("aggregate", *given, "-o", tmp_path / "bert.csv")
    assert refused.exit_code == 2
    assert "is an input" in refused.stderr


def test_with_25_truths_a_crowd_that_errs_together_does_not_outvote_a_good_model():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 300)
    seen = np.where(
        rng.random(300) < 0.5, truth, (truth + 1) % 3
    )  # what all annotators see, wrong on half
    rows = [(i, f"w{j}", CLASSES[seen[i]]) for i in range(300) for j in range(4)]
    votes = finegold.Annotations.from_arrays(*zip(*rows, strict=True), classes=CLASSES)
    said = np.where(rng.random(300) < 0.9, truth, (truth + 2) % 3)
    p = np.where(np.eye(3)[said] == 1, 0.8, 0.1)
    names = {i: CLASSES[truth[i]] for i in range(25)}
    few, enough = (fit(votes, p, gold={i: names[i] for i in range(n)}) for n in (24, 25))
    rest = slice(25, None)
    assert (few.label_codes[rest] == truth[rest]).mean() < 0.8
    assert (enough.label_codes[rest] == truth[rest]).mean() >= (
        said[rest] == truth[rest]
    ).mean() - 0.005
    assert enough.label_codes[:25].tolist() == truth[:25].tolist()
    (record,) = enough.combined.records
    assert record.accuracy_low <= 0.9 <= record.accuracy_high
    assert "by 25 known truths" in enough.notes[-1]
    alone = finegold.aggregate(votes, gold={i: names[i] for i in range(24)})
    agreed = 0.7 * ((said == alone.label_codes) * alone.confidence).mean()
    assert (few.combined.records[0].accuracy_low, few.combined.records[0].accuracy_high) == (
        pytest.approx(agreed),
        1,
    )
    assert any(
        f"may be right on {agreed:.0%} to 100%; 25 tasks that you check" in note
        for note in few.notes
    )


def test_a_bad_model_does_little_harm():
    votes, _, truth = draw(votes_per_task=5)
    rng = np.random.default_rng(0)
    alone = share_right(finegold.aggregate(votes), truth)
    bad = [np.full((N, 3), 1 / 3), rng.dirichlet(np.ones(3), N), np.eye(3)[np.zeros(N, int)]]
    for model in bad:
        assert share_right(fit(votes, model), truth) >= alone - 0.03


def test_a_model_that_is_always_certain_is_at_most_followed():
    # votes cannot tell it from a model that is right wherever they err together
    for seed in range(4):
        votes, _, truth = draw(seed, votes_per_task=5)
        _, modest, _ = draw(seed, votes_per_task=5, accuracy=0.8)
        certain = np.clip(np.eye(3)[modest.argmax(axis=1)], 0.001, 0.998)
        both = fit(votes, certain / certain.sum(axis=1, keepdims=True))
        assert share_right(both, truth) >= share_right_of(certain, truth) - 0.01


def test_a_model_whose_classes_are_in_another_order_is_ignored_and_the_user_warned():
    votes, p, truth = draw(votes_per_task=5)
    with pytest.warns(finegold.FinegoldWarning, match=r"in another order\? It is ignored"):
        result = fit(votes, np.roll(p, 1, axis=1))
    assert result.combined.records[0].weight == 0
    assert np.allclose(result.posterior, finegold.aggregate(votes).posterior)
    assert not any("order" in note for note in fit(votes, p).notes)
    gold = {i: CLASSES[truth[i]] for i in range(25)}
    assert fit(votes, np.roll(p, 1, axis=1), gold=gold).combined.records[0].weight < 0.2


def test_a_good_model_beside_independent_votes_is_used_whatever_the_number_of_classes():
    """A model of 90 % agrees with contested pluralities more often than their posterior says."""
    rng = np.random.default_rng(2)
    for K in (3, 6):
        truth, skill = rng.integers(0, K, 1000), rng.uniform(0.5, 0.9, 25)
        task = np.repeat(np.arange(1000), 3)
        annotator = np.argsort(rng.random((1000, 25)), axis=1)[:, :3].ravel()
        wrong = (truth[task] + rng.integers(1, K, 3000)) % K
        label = np.where(rng.random(3000) < skill[annotator], truth[task], wrong)
        votes = finegold.Annotations.from_arrays(task, annotator, label, classes=list(range(K)))
        said = np.where(rng.random(1000) < 0.9, truth, (truth + rng.integers(1, K, 1000)) % K)
        p = np.where(np.eye(K)[said] == 1, 0.9, 0.1 / (K - 1))
        both = finegold.aggregate(votes, predictions=(range(1000), p))
        alone = (finegold.aggregate(votes).label_codes == truth).mean()
        assert (both.label_codes == truth).mean() >= max(alone, (said == truth).mean())


def test_a_class_that_a_model_does_not_know_is_neither_for_nor_against():
    votes, p, _ = draw()
    some = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    with pytest.warns(finegold.FinegoldWarning, match="does not know cat, so it says nothing"):
        result = finegold.aggregate(votes, predictions=(range(N), some, CLASSES[:2]))
    third = result.combined.predictions.probabilities[0]
    assert third[:, 2] == pytest.approx(1 / 3)
    assert third[:, :2] == pytest.approx(some * 2 / 3)


def test_an_answer_without_a_probability_counts_as_nine_tenths(tmp_path):
    votes, p, truth = draw()
    said = p.argmax(axis=1)
    nine_tenths = np.where(np.eye(3)[said] == 1, 0.9, 0.05)
    table = pl.DataFrame({"task": range(N), "label": [CLASSES[k] for k in said]})
    table.write_csv(tmp_path / "llm.csv")
    result = finegold.aggregate(votes, predictions=tmp_path / "llm.csv")
    assert np.allclose(result.posterior, fit(votes, nine_tenths).posterior)
    assert (result.combined.posterior.argmax(axis=1) == said[VOTED:]).all()  # tasks without votes
    assert "it gives no probabilities" in result.notes[0]
    named = finegold.aggregate(votes, predictions=table.rename({"label": "gpt-4o"}))
    assert np.array_equal(named.posterior, result.posterior)
    beside = finegold.aggregate(votes, predictions={"llm": table, "bert": (range(N), p)})
    both = finegold.aggregate(votes, predictions=[(range(N), nine_tenths), (range(N), p)])
    assert np.allclose(beside.posterior, both.posterior)
    gold = {i: CLASSES[truth[i]] for i in range(25)}
    by_truths = finegold.aggregate(votes, predictions=table, gold=gold)
    assert np.allclose(by_truths.posterior, fit(votes, nine_tenths, gold=gold).posterior)
    with pytest.raises(finegold.InputError, match='the answer "elk" is not a class of the votes'):
        finegold.aggregate(votes, predictions=table.with_columns(label=pl.lit("elk")))


def test_models_together_weigh_by_the_root_of_their_number_and_repeats_have_a_price():
    votes, p, _ = draw(seed=4)
    of_votes, x = (
        finegold.aggregate(votes).posterior.astype(float),
        np.log(np.maximum(p, 1e-3))[None],
    )
    alone, _ = combining._from_votes(of_votes, x, votes)
    twice, _ = combining._from_votes(of_votes, np.concatenate([x, x]), votes)
    assert twice == pytest.approx(alone[0] / np.sqrt(2))
    log_likelihood = np.log(np.maximum(of_votes, 1e-3))
    powers = [combining._weigh(x[0], log_likelihood, repeats)[2] for repeats in (0.0, 0.5, 1.0)]
    assert powers[0] > powers[1] > powers[2]
