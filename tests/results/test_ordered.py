"""Ordered classes: scores, metrics that know the order, and the proposal to use them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import InputError
from finegold.results.metrics import (
    consecutive_integers,
    mean_absolute_error,
    quadratic_kappa,
    scale_of,
)
from tests.support.cli_helpers import run, succeed, write

ROWS = [("a", [1, 1, 2]), ("b", [3, 3, 3]), ("c", [1, 2, 3]), ("d", [2, 2, 3])]
CSV = "task,worker,label\n" + "".join(
    f"{task},w{i},{label}\n" for task, labels in ROWS for i, label in enumerate(labels)
)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", CSV)


def test_the_scale_is_that_of_the_numbers_or_of_the_positions() -> None:
    assert scale_of(np.array([1, 2, 5])).tolist() == [1, 2, 5]
    assert scale_of(np.array(["0.5", "1", "10"])).tolist() == [0.5, 1, 10]
    assert scale_of(np.array(["bad", "fair", "good"])).tolist() == [1, 2, 3]
    assert scale_of(np.array(["1", "2", "inf"])).tolist() == [1, 2, 3]


def test_only_integers_without_a_gap_look_like_a_scale() -> None:
    assert consecutive_integers(np.array([1, 2, 3])) == [1, 2, 3]
    for names in ([0, 1], [1, 2, 4], ["1", "2", "3"], [False, True]):
        assert consecutive_integers(np.array(names)) == []


def test_metrics_are_those_of_the_definitions() -> None:
    labels, truth, scale = (
        np.array([0, 1, 2, 2]),
        np.array([0, 2, 2, -1]),
        np.array([1.0, 2.0, 3.0]),
    )
    assert mean_absolute_error(labels, truth, scale) == pytest.approx(1 / 3)
    found, true = scale[labels[:3]], scale[truth[:3]]
    by_chance = np.mean([(one - other) ** 2 for one in found for other in true])
    assert quadratic_kappa(labels, truth, scale) == pytest.approx(1 - (1 / 3) / by_chance)
    assert np.isnan(quadratic_kappa(np.array([1]), np.array([1]), scale))
    with pytest.raises(InputError, match="a truth is not among the ordered classes"):
        mean_absolute_error(labels, np.array([3, 0, 0, 0]), scale)


def test_results_have_scores_in_the_order_given() -> None:
    table = pl.DataFrame(
        {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["low", "high", "mid", "high"]}
    )
    result = finegold.aggregate(table, "mv", ordered=["low", "mid", "high"])
    assert result.scores().columns == ["task", "score", "score_low", "score_high"]
    assert result.scores()["score"].to_list() == [2.0, 2.5]
    with pytest.raises(InputError, match="label 'high' is not among the classes low, mid"):
        finegold.aggregate(table, "mv", ordered=["low", "mid"])
    with pytest.raises(
        InputError, match="both list the classes; leave out classes, or leave out ordered"
    ):
        finegold.aggregate(
            table, "mv", ordered=["low", "mid", "high"], classes=["low", "mid", "high"]
        )
    for few in (["low"], []):
        with pytest.raises(InputError, match="needs at least two classes"):
            finegold.aggregate(table, "mv", ordered=few)  # type: ignore[arg-type]


def test_labels_get_scores_on_the_command_line(votes: Path) -> None:
    done = succeed("aggregate", votes, "--method", "mv", "--ordered", "1,2,3", "--json")
    assert "--ordered" not in done.stderr
    rows = json.loads(done.stdout)["labels"]
    assert list(rows[0])[-3:] == ["score", "score_low", "score_high"]
    assert [row["score"] for row in rows] == pytest.approx([4 / 3, 3, 2, 7 / 3], abs=0.05)


def test_an_order_is_proposed_for_consecutive_integers(votes: Path) -> None:
    done = run("aggregate", votes, "--method", "mv")
    assert (
        "classes are 1 to 3; if they are a scale, --ordered 1,2,3 adds expected scores"
        in done.stderr
    )
    assert "score" not in done.stdout


def test_evaluation_adds_the_error_and_kappa(votes: Path, tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.csv", "task,truth\na,1\nb,3\nc,1\nd,3\n")
    done = succeed("evaluate", votes, "--truth", truth, "--method", "mv", "--ordered", "1,2,3")
    assert "quadratic" in done.stdout
    (score,) = finegold.evaluate(votes, truth, "mv", ordered=[1, 2, 3]).to_dicts()
    labels = finegold.aggregate(votes, "mv").label.to_list()
    assert score["mean_absolute_error"] == np.mean(np.abs(np.array(labels) - [1, 3, 1, 3]))
    assert 0 < score["quadratic_kappa"] < 1
    assert finegold.evaluate(votes, truth, "mv")["quadratic_kappa"].to_list() == [None]
