"""Flips of the majority, votes that ignore the truth, and all of it in one place."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.insight.calibration import calibration
from finegold.insight.majority import contested, flips, n_flips, why
from finegold.insight.overview import trust
from finegold.insight.spam import spam, spammers
from finegold.results.data import Learned
from finegold.votes.frames import to_polars
from tests.support.cli_helpers import json_of, refusal_of, run, succeed, write
from tests.support.trust_helpers import panel


def by_hand():
    """Two bad annotators outvoted by a good one; all of it is set, so that weights can be computed by hand."""
    votes = Annotations.from_arrays(
        [1, 1, 1, 2, 2, 2, 3, 3], ["ann", "bob", "eve"] * 2 + ["ann", "bob"], list("xyyxxxxy")
    )
    good, bad = [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]
    result = finegold.aggregate(votes, "mv")
    known = Learned(class_prior=np.array([0.6, 0.4]), confusion=np.array([good, bad, bad]))
    posterior = np.array([[0.7, 0.3], [1.0, 0.0], [0.5, 0.5]])
    return replace(
        result,
        posterior=posterior,
        label_codes=np.zeros(3, np.int32),
        tied=posterior[:, 0] == 0.5,
        learned=known,
    )


def test_a_flip_names_both_sides_and_what_each_vote_weighs():
    (row,) = to_polars(flips(by_hand())).iter_rows(named=True)
    assert (row["task"], row["majority"], row["label"], row["n_votes"]) == (1, "y", "x", 3)
    assert (row["votes_majority"], row["votes_label"], row["confidence"]) == (2, 1, 0.7)
    assert row["why"] == "for: ann +1.5; against: bob -0.2, eve -0.2; class shares +0.4"


def test_the_weight_of_a_vote_is_its_log_likelihood_ratio():
    table = to_polars(why(by_hand(), 1))
    assert table["annotator"].to_list() == [None, "ann", "bob", "eve"]
    assert table["vote"].to_list() == [None, "x", "y", "y"]
    expected = [np.log(0.6 / 0.4), np.log(0.9 / 0.2), np.log(0.4 / 0.5), np.log(0.4 / 0.5)]
    assert table["weight"].to_list() == pytest.approx(expected)
    assert to_polars(why(by_hand(), 1, against="x"))["weight"].to_list() == [0, 0, 0, 0]
    runner_up = to_polars(why(by_hand(), 2))[
        "weight"
    ].to_list()  # nothing flipped: it is the opponent
    assert runner_up[1:] == pytest.approx([np.log(0.9 / 0.2), np.log(0.6 / 0.5), np.log(0.6 / 0.5)])


def test_names_that_are_not_there_are_said():
    with pytest.raises(InputError, match="there is no task 9 with votes"):
        why(by_hand(), 9)
    with pytest.raises(InputError, match="there is no class 'z'; there are \\['x', 'y'\\]"):
        why(by_hand(), 1, against="z")


def test_contested_tasks_come_closest_first_and_ties_are_marked():
    table = to_polars(contested(by_hand(), below=0.5))
    assert table["task"].to_list() == [3, 1]
    assert table["runner_up"].to_list() == ["y", "y"]
    assert table["margin"].to_list() == pytest.approx([0, 0.4])
    assert table["tied"].to_list() == [True, False]
    assert to_polars(by_hand().contested())["task"].to_list() == [3]


def test_the_majority_vote_never_flips_itself_and_gold_is_no_flip():
    votes, truth = panel(skills=(0.5, 0.5, 0.5, 0.5))
    assert n_flips(finegold.aggregate(votes, "mv")) == 0
    wrong = {task: int((truth[task] + 1) % 3) for task in range(200)}
    taught = finegold.aggregate(votes, gold=wrong)
    assert n_flips(taught) == len(to_polars(flips(taught))) == 0


@pytest.mark.parametrize("method", ["ptbcc", "ds", "catd", "hds"])
def test_flips_are_labels_with_fewer_votes_than_another_class(method):
    votes, _ = panel(skills=(0.95, 0.95, 0.9, 0.3, 0.3, 0.3, 0.3, 0.2), seed=2)
    result = finegold.aggregate(votes, method)
    table = to_polars(result.flips())
    counts = np.bincount(
        votes.votes()[0] * 3 + votes.votes()[2], minlength=3 * votes.n_tasks
    ).reshape(-1, 3)
    counted = np.count_nonzero(
        counts[np.arange(votes.n_tasks), result.label_codes] < counts.max(axis=1)
    )
    assert len(table) == n_flips(result) == counted > 0
    assert table["confidence"].is_sorted(descending=True)
    assert (table["votes_majority"] > table["votes_label"]).all()


def test_with_one_class_nothing_is_contested_or_suspect():
    result = finegold.aggregate(
        Annotations.from_arrays([1, 1, 2], ["a", "b", "a"], ["x", "x", "x"])
    )
    assert len(to_polars(contested(result))) == len(to_polars(flips(result))) == 0
    assert to_polars(spammers(result))["kind"].to_list() == ["", ""]
    assert trust(result).n_contested == 0


def test_tables_are_data_frames_of_the_users_kind():
    votes, truth = panel(votes=odd_ones)
    columns = dict(zip(("task", "worker", "label"), votes.votes(), strict=True))
    result = finegold.aggregate(pd.DataFrame(columns))
    found = result.trust().correlated
    tables = (result.flips(), result.contested(), result.spammers(), result.why(0))
    more = (calibration(result, truth).curve(), found.pairs(), found.groups())
    assert all(isinstance(table, pd.DataFrame) for table in (*tables, *more))


def odd_ones(rng, truth):
    """Annotators 4 to 7: always class 1; anything; nearly never right; somebody ordinary."""
    n = len(truth)
    inverted = np.where(rng.random(n) < 0.9, (truth + 1) % 3, truth)
    return (
        np.ones(n, int),
        rng.integers(3, size=n),
        inverted,
        np.where(rng.random(n) < 0.8, truth, 0),
    )


def test_votes_that_ignore_the_truth_are_found_and_named():
    votes, _ = panel(votes=odd_ones)
    table = to_polars(finegold.aggregate(votes, "ds").spammers())
    kinds = dict(zip(table["annotator"], table["kind"], strict=True))
    assert [kinds[j] for j in range(8)] == ["", "", "", "", "one class", "random", "inverted", ""]
    assert set(table["annotator"].to_list()[:3]) == {4, 5, 6}
    lazy = table.row(by_predicate=pl.col("annotator") == 4, named=True)
    assert (lazy["favourite"], lazy["favourite_share"]) == (1, 1.0)


def test_a_few_votes_prove_nothing():
    votes, _ = panel(n_tasks=4, votes=odd_ones)
    assert set(to_polars(finegold.aggregate(votes).spammers())["kind"]) == {""}


def test_nobody_is_judged_by_their_own_vote_alone():
    """b votes on tasks of their own, and would always be right there."""
    task, who = [1, 1, 2, 2, 3, 4], ["a", "c", "a", "c", "b", "b"]
    found = spam(finegold.aggregate(Annotations.from_arrays(task, who, list("xxyyxy")), "mv"))
    assert found.n.tolist() == [2, 0, 2]
    assert found.evidence[1] == 0


@pytest.fixture
def files(tmp_path):
    votes, truth = panel(votes=odd_ones)
    task, annotator, label = votes.votes()
    rows = "".join(f"t{t},w{a},{c}\n" for t, a, c in zip(task, annotator, label, strict=True))
    write(tmp_path / "votes.csv", "task,worker,label\n" + rows)
    write(
        tmp_path / "truth.csv", "task,truth\n" + "".join(f"t{t},{c}\n" for t, c in enumerate(truth))
    )
    return tmp_path


def test_the_command_says_what_to_know_and_writes_tables(files):
    names = ("flips", "contested", "spammers", "pairs", "calibration")
    tables = [f"--{name}={files / name}.csv" for name in names]
    words = ("trust", files / "votes.csv", "--method", "ds")
    done = succeed(*words, "--truth", files / "truth.csv", *tables)
    assert "labels against the majority vote" in done.stdout
    assert "best temperature" in done.stdout
    assert "warning: the votes of annotators w4, w5, w6 do not depend" in done.stderr
    heads = {name: (files / f"{name}.csv").read_text().split("\n")[0] for name in names}
    assert heads["flips"].endswith(",n_votes,why")
    assert heads["spammers"].startswith("worker,n_votes,evidence,kind")
    assert heads["calibration"].startswith("low,high,n,confidence,accuracy")
    assert "--calibration needs --truth FILE" in refusal_of(*words, tables[-1])


def test_a_saved_model_says_the_same_as_its_votes(files):
    succeed("aggregate", files / "votes.csv", "--method", "ds", "--save", files / "model.finegold")
    plain = json_of("trust", files / "votes.csv", "--method", "ds")
    assert plain == json_of("trust", files / "model.finegold")
    assert (plain["calibration"], plain["n_spammers"]) == (None, 3)
    assert (
        json_of("trust", files / "model.finegold", "--truth", files / "truth.csv")["calibration"][
            "n"
        ]
        == 200
    )


@pytest.mark.parametrize(
    "command", [["trust"], ["agreement"], ["compare", "--method", "mv"], ["evaluate", "--truth"]]
)
def test_what_does_not_count_is_said(files, command):
    with (files / "votes.csv").open("a") as votes:
        votes.write("t0,w99,\n")
    arguments = [*command, files / "truth.csv"] if command[-1] == "--truth" else command
    done = succeed(*arguments, files / "votes.csv")
    assert "left out: 1 row without a label" in done.stderr


def test_one_vote_is_little_to_go_by(tmp_path):
    votes = write(tmp_path / "votes.csv", "task,worker,label\nt1,w1,a\n")
    done = run("trust", votes)
    assert "1 task, 1 annotator\n" in "\n".join(line.rstrip() for line in done.stdout.splitlines())
    assert "undefined" in done.stdout
    assert "1 annotator, 0 tasks with two or more votes" in " ".join(
        run("agreement", votes).stdout.split()
    )
