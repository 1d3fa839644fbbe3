from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold.votes.simulation import simulate
from tests.support.cli_helpers import read_table, refusal_of, run, succeed

SMALL = [
    "--tasks",
    "40",
    "--annotators",
    "8",
    "--classes",
    "3",
    "--votes-per-task",
    "4",
    "--seed",
    "2",
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_votes_and_truth_are_written(tmp_path: Path, kind: str) -> None:
    result = succeed("simulate", "--out", tmp_path / "new", *SMALL, "--format", kind)
    assert result.stdout == ""
    assert "160 votes" in result.stderr
    votes, truth = (read_table(tmp_path / "new" / f"{name}.{kind}") for name in ("votes", "truth"))
    expected = simulate(40, 8, 3, votes_per_task=4, seed=2)
    assert truth["truth"].to_list() == expected.truth.tolist()
    assert votes.columns == ["task", "annotator", "label"]
    assert votes.rows() == list(
        zip(*(c.tolist() for c in expected.annotations.votes()), strict=True)
    )


def test_a_file_name_gets_the_truth_beside_it(tmp_path: Path) -> None:
    succeed("simulate", "--out", tmp_path / "mine.parquet", *SMALL)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mine-truth.parquet",
        "mine.parquet",
    ]


def test_class_names_appear_in_the_table_and_missing_votes_do_not(tmp_path: Path) -> None:
    options = ["--tasks", "50", "--class-names", "cat, dog", "--missing", "0.3"]
    run("simulate", "--out", tmp_path, *options)
    labels = pl.read_csv(tmp_path / "votes.csv")["label"]
    assert set(labels.to_list()) == {"cat", "dog"}
    assert "50 tasks" in run("aggregate", tmp_path / "votes.csv").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--votes-per-task", "99"], "votes_per_task must be from 1 to 8"),
        (["--prototype-weights", "a,b"], "must be numbers"),
        (["--class-names", "cat,dog"], "--classes is 3 but --class-names has 2"),
        (["--class-names", "cat,cat,dog"], "different names"),
        (["--tasks", "0"], "n_tasks must be from 1"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, options: list[str], message: str
) -> None:
    assert message in refusal_of("simulate", "--out", tmp_path / "new", *SMALL, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_extension_or_a_contradiction_is_refused(tmp_path: Path) -> None:
    assert "extension" in run("simulate", "--out", tmp_path / "x.doc", *SMALL).stderr
    assert (
        "the extension of"
        in run("simulate", "--out", tmp_path / "x.csv", "--format", "jsonl", *SMALL).stderr
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_disk_that_fills_up_leaves_nothing(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_up(pieces: Any, path: Path, **_: Any) -> None:
        next(iter(pieces)).head(1).write_csv(path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("finegold.io.writers.write_pieces", fill_up)
    assert "the disk is full" in refusal_of(
        "simulate", "--out", tmp_path / "new", *SMALL, "--format", kind
    )
    assert list(tmp_path.iterdir()) == []
