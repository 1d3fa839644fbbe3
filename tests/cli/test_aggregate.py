from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest

import finegold
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.votes.encoding import to_list
from finegold.votes.sample import VOTES
from tests.support.cli_helpers import CSV, json_of, run, succeed, write

WIDE = "task,ann,bob,eve\nt1,x,x,y\nt2,y,,y\n"


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", CSV)


def test_labels_go_to_standard_output_and_words_to_standard_error(votes: Path) -> None:
    result = succeed("aggregate", votes)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["task", "label", "confidence", "n_votes", "tied", "is_gold"]
    assert [row["task"] for row in rows] == ["t1", "t2", "t3", "t4"]
    assert [row["label"] for row in rows][:2] == ["x", "y"]
    assert f"{DEFAULT_METHOD}: 12 votes by 3 annotators on 4 tasks, 3 classes" in result.stderr
    assert (
        "\n4 passes, " in result.stderr
    )  # the number of sweeps is part of the method: it does not converge
    assert "tied" in result.stderr
    assert "best annotators: " in result.stderr


def test_the_summary_of_the_sample_says_how_many_votes_and_labels_are_tied_and_who_agrees() -> None:
    """The labels of the sample are better than its majority vote because they decide ties, not against majorities."""
    said = run("aggregate", VOTES).stderr
    assert "votes tied on 40 tasks, labels on 0; 0 labels against the majority vote\n" in said
    agreement = dict(
        finegold.aggregate(VOTES).annotators().select("annotator", "agreement").iter_rows()
    )
    assert (
        f"best annotators: person_2 ({100 * agreement['person_2']:.0f} % agreement), person_1 ("
        in said
    )


def test_probabilities_annotators_and_model_are_written_on_request(
    votes: Path, tmp_path: Path
) -> None:
    labels, annotators, model = (
        tmp_path / name for name in ("labels.csv", "annotators.jsonl", "model.finegold")
    )
    succeed(
        "aggregate",
        votes,
        "-o",
        labels,
        "--probabilities",
        "--annotators",
        annotators,
        "--save",
        model,
    )
    table = pl.read_csv(labels)
    assert table.columns[6:] == ["x", "y", "z"]
    assert table.select(pl.sum_horizontal("x", "y", "z")).to_series().to_list() == pytest.approx(
        [1] * 4
    )
    assert pl.read_ndjson(annotators)["worker"].to_list() == ["ann", "bob", "eve"]
    assert to_list(finegold.load(model).label) == table["label"].to_list()
    assert {path.name for path in tmp_path.iterdir()} == {
        votes.name,
        labels.name,
        annotators.name,
        model.name,
    }


def test_json_is_one_object_with_the_labels_unless_they_go_to_a_file(
    votes: Path, tmp_path: Path
) -> None:
    printed = json_of("aggregate", votes)
    assert printed["method"] == DEFAULT_METHOD
    assert printed["n_votes"] == 12
    assert printed["classes"] == ["x", "y", "z"]
    counts = {
        "rows": 12,
        "missing": 0,
        "repeated": 0,
        "gold_unused": 0,
        "left_out": {},
        "disagreeing": 0,
    }
    assert printed["rows"] == counts
    assert printed["labels"][0]["task"] == "t1"
    filed = json_of("aggregate", votes, "-o", tmp_path / "out.csv")
    assert "labels" not in filed
    assert filed["files"]["labels"] == str(tmp_path / "out.csv")


def test_what_is_left_out_is_counted_on_standard_error(tmp_path: Path) -> None:
    file = write(tmp_path / "v.csv", "task,worker,label\n1,a,x\n1,a,y\n1,b,\n2,b,x\n3,a,\n")
    result = succeed("aggregate", file)
    assert "2 rows without a label" in result.stderr
    assert "1 repeated vote" in result.stderr
    assert "1 task without any vote" in result.stderr
    assert result.stdout.splitlines()[-1] == "3,,,0,false,false"


def test_gold_truths_are_kept_and_counted(votes: Path, tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.csv", "task,truth\nt1,z\n")
    result = run("aggregate", votes, "--gold", gold)
    assert result.stdout.splitlines()[1].startswith("t1,z,1.0")
    assert "1 given by gold truths" in result.stderr


def test_settings_reach_the_method(votes: Path) -> None:
    ptbcc = ["aggregate", votes, "--method", "ptbcc"]
    settings = [
        "--set",
        "n_prototypes=3",
        "--set",
        "f=4",
        "--set",
        "further=uniform",
        "--set",
        "max-iterations=7",
    ]
    found = json_of(*ptbcc, *settings, "--set", "seed=5")
    assert found["settings"]["n_prototypes"] == 3
    assert found["settings"]["f"] == 4.0
    assert found["settings"]["further"] == "uniform"
    assert found["settings"]["seed"] == 5
    assert found["iterations"] <= 7


def test_a_fit_that_did_not_converge_is_a_warning(votes: Path) -> None:
    result = succeed("aggregate", votes, "--method", "ptbcc", "--set", "max_iterations=1")
    assert "warning: stopped at max_iterations = 1" in result.stderr
    assert "warning" not in run("aggregate", votes).stderr
