"""Where the next votes are worth most."""

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.insight.next_votes import expected_gains
from finegold.methods.mv import MajorityVote
from finegold.results.matrices import group_matrices
from tests.support.cli_helpers import CSV, json_of, read_table, succeed, write


def crowd(rights, n_tasks=60, share=0.6, seed=0):
    """Annotators who are right as often as said, each on some of the tasks; classes x, y, z."""
    rng = np.random.default_rng(seed)
    rows = [
        (i, who, "xyz"[i % 3 if rng.random() < right else rng.integers(3)])
        for who, right in rights.items()
        for i in range(n_tasks)
        if rng.random() < share
    ]
    return Annotations.from_arrays(*zip(*rows, strict=True))


@pytest.fixture(scope="module")
def result():
    skilled = {f"s{number}": 0.8 for number in range(6)}
    return finegold.aggregate(crowd({**skilled, "spammer": 0.0}), "hds")


def test_the_gain_is_what_bayes_expects_of_one_more_vote(result):
    """The slow way: every annotator who has not voted, every vote, the posterior after it."""
    one_each = np.arange(len(result.annotator_accuracy))  # no groups, so that the sums are exact
    matrices = group_matrices(result, np.ones(len(one_each)), one_each, len(one_each))
    task, annotator, _ = result.annotations.votes()
    gain = np.zeros(len(result.posterior))
    for i, phi in enumerate(np.sqrt(result.posterior)):
        phi /= phi.sum()  # less sure than the method is
        left = result.votes_per_annotator * ~np.isin(one_each, annotator[task == i])
        for j in np.flatnonzero(left):
            for vote in range(3):
                joint = phi * matrices[j][:, vote]
                gain[i] += left[j] / left.sum() * (joint.sum() * ((joint / joint.sum()) ** 2).sum())
        gain[i] -= (phi**2).sum() if left.any() else 0
    found, _ = expected_gains(result)
    assert np.allclose(found, gain, atol=0.01)  # seven annotators in groups of alike accuracy
    assert np.corrcoef(found, gain)[0, 1] > 0.99


def test_disputed_tasks_come_first_and_sure_ones_not_at_all(result):
    plan = finegold.next_votes(result)
    gains = plan.tasks()["gain"].to_numpy()
    assert (np.diff(gains) <= 0).all()
    assert (result.confidence[plan.ask] < 0.95).all()
    assert plan.safe.sum() == (result.confidence >= 0.95).sum() == len(plan.safe_tasks())
    assert len(plan.ask) + plan.safe.sum() + plan.exhausted.sum() == len(result.posterior)


def test_a_budget_takes_the_most_rewarding(result):
    every = finegold.next_votes(result, safe=0.99)
    few = finegold.next_votes(result, 5, safe=0.99)
    assert few.ask.tolist() == every.ask[:5].tolist()
    assert len(every.ask) > 5


@pytest.mark.parametrize(
    ("gold", "wish", "exhausted", "safe"),
    [
        (None, {"safe": 1.0}, [True, False], [False, True]),
        (None, {"safe": 1.0, "available": ["ann"]}, [True, False], [False, True]),
        (None, {"safe": 1.0, "available": ["ann", "bob"]}, [True, False], [False, True]),
        ({1: "x"}, {}, [False, False], [True, True]),
    ],
)
def test_nobody_is_asked_twice_and_known_truths_are_safe(gold, wish, exhausted, safe):
    votes = Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["x", "y", "x"], gold=gold)
    result = fit(MajorityVote(), votes)
    plan = finegold.next_votes(result, **wish)
    assert (plan.exhausted.tolist(), plan.safe.tolist(), plan.gain[0]) == (exhausted, safe, 0)
    with pytest.raises(InputError, match="no annotator 'zoe'"):
        finegold.next_votes(result, available=["zoe"])


def test_who_does_not_look_at_the_task_is_dropped_and_who_errs_is_retrained():
    skilled = {f"s{number}": 0.85 for number in range(8)}
    votes = crowd({**skilled, "spammer": 0.0, "poor": 0.3}, n_tasks=300, share=0.5)
    task, annotator, label = votes.votes()
    muddled = (annotator == list(votes.annotator_names).index("s3")) & (
        task % 3 == 2
    )  # s3 takes every z for y
    columns = (
        votes.task_names[task],
        votes.annotator_names[annotator],
        votes.class_names[np.where(muddled, 1, label)],
    )
    plan = finegold.next_votes(Annotations.from_arrays(*columns), method="hds")
    advice = {row[0]: row for row in plan.annotators().rows()}
    actions = {who: row[1] for who, row in advice.items()}
    assert actions == {"spammer": "drop", "poor": "retrain", "s3": "retrain"}
    assert "votes y in" in advice["s3"][4]
    assert "cases of z" in advice["s3"][4]
    assert "hardly depend on the truth" in advice["spammer"][4]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"budget": 0}, "at least 1 vote"),
        ({"budget": 2.5}, "a whole number"),
        ({"safe": 1.5}, "a probability"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(result, wish, words):
    with pytest.raises(InputError, match=words):
        finegold.next_votes(result, **wish)


def test_the_command_writes_tables_and_json(tmp_path):
    votes, model = write(tmp_path / "votes.csv", CSV), tmp_path / "model"
    succeed("aggregate", votes, "--method", "mv", "--save", model)
    assert json_of("next-votes", model, "--budget", 2)["exhausted"] == 3
    fewer = write(tmp_path / "fewer.csv", CSV.replace("t1,eve,y\n", ""))
    succeed("aggregate", fewer, "--method", "mv", "--save", model)
    tables = ("-o", tmp_path / "ask.csv", "--safe-tasks", tmp_path / "safe.csv")
    done = succeed("next-votes", model, "--budget", 2, "--safe", 1, *tables)
    assert "safe" in done.stderr
    assert set(read_table(tmp_path / "safe.csv")["task"]) == {"t1", "t2"}
    succeed("next-votes", votes, "--method", "mv")  # votes are fitted first


@pytest.mark.parametrize("task", ["[/b]", "5000"])
def test_the_command_shows_tasks_as_they_are_called(tmp_path, task):
    """Brackets mean nothing, and numbers that are names have no commas."""
    agreed = [f"{t},w{who},{'xy'[(t + who // 4) % 2]}" for t in range(12) for who in range(5)]
    rows = ["task,annotator,label", *agreed, f"{task},w1,x", f"{task},w2,y"]
    votes = write(tmp_path / "votes.csv", "\n".join(rows))
    done = succeed("next-votes", votes, "--method", "ds", "--safe", 1)
    assert "Ask about (1)" in done.stdout
    assert task in done.stdout
