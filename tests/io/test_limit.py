"""`limit` and `--limit` read the first tasks of a file, as if it ended there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import finegold
from finegold.errors import InputError
from finegold.votes.encoding import to_list
from tests.support.cli_helpers import run, write

LONG = "task,worker,label\nt9,ann,x\nt1,bob,y\nt9,bob,NA\nt5,eve,z\nt1,ann,x\n"
SAME: dict[str, tuple[str, dict[str, Any]]] = {
    "long": (LONG, {}),
    "wide": ("task,ann,bob,eve\nt9,x,,\nt1,x,y,\nt5,,,z\n", {"wide": True}),
    "transposed": ("worker,t9,t1,t5\nann,x,x,\nbob,,y,\neve,,,z\n", {"format": "transposed"}),
}


@pytest.mark.parametrize("shape", SAME)
def test_the_first_tasks_of_the_file_are_kept(tmp_path: Path, shape: str) -> None:
    text, how = SAME[shape]
    path = write(tmp_path / "votes.csv", text)
    votes = finegold.read(path, limit=2, **how)
    assert to_list(votes.task_names) == ["t1", "t9"]
    assert to_list(votes.annotator_names) == ["ann", "bob"]
    assert to_list(votes.class_names) == ["x", "y"]  # nobody else is listed, and no other class
    assert (votes.n_votes, list(votes.never_voted), list(votes.unlabelled)) == (3, [], [])
    assert finegold.read(path, limit=9, **how).n_tasks == 3


def test_truths_of_other_tasks_are_not_reported(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = write(tmp_path / "votes.csv", LONG)
    votes = finegold.read(path, limit=1, gold={"t9": "x", "t5": "z"})
    assert (votes.gold.tolist(), votes.counts.gold_unused) == ([0], 0)
    assert not recwarn.list


def test_sets_of_labels_can_be_limited(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", "task,worker,label\nb,ann,x;y\na,ann,y;z\nb,bob,x\n")
    assert to_list(finegold.read(path, multi=True, limit=1).task_names) == ["b"]


def test_the_command_line_has_it_and_refuses_no_tasks(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.csv", LONG)
    done = run("aggregate", path, "--limit", 2, "--method", "mv", "--json")
    assert [row["task"] for row in json.loads(done.stdout)["labels"]] == ["t1", "t9"]
    assert run("aggregate", path, "--limit", 0).exit_code == 2
    with pytest.raises(InputError, match="limit must be 1 or more, not 0"):
        finegold.read(path, limit=0)
