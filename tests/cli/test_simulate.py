from __future__ import annotations

from pathlib import Path

import pytest

from finegold.votes.simulation import simulate
from tests.support.cli_helpers import read_table, refusal_of, succeed

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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--votes-per-task", "99"], "votes_per_task must be from 1 to 8"),
        (["--tasks", "0"], "n_tasks must be from 1"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, options: list[str], message: str
) -> None:
    assert message in refusal_of("simulate", "--out", tmp_path / "new", *SMALL, *options)
    assert "must be a folder" in refusal_of("simulate", "--out", tmp_path / "x.csv", *SMALL)
    assert list(tmp_path.iterdir()) == []
