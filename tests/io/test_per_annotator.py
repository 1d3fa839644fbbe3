"""One file per annotator: files without a column of annotators are named by the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from tests.support.readers_votes import VOTES, votes_of, write

ROWS = {"ann": [("t2", "cat"), ("t1", "cat")], "bob": [("t1", "dog")]}
NUMBERS: dict[str, list[Any]] = {"ann": [(1, "x"), (2, "y")], "bob": [(1, "x"), (2.5, "y")]}


def as_csv(rows: list[Any]) -> str:
    return "task,label\n" + "".join(f"{task},{label}\n" for task, label in rows)


def as_lines(rows: list[Any]) -> str:
    return "".join(json.dumps({"task": task, "label": label}) + "\n" for task, label in rows)


def as_list(rows: list[Any]) -> str:
    return json.dumps([{"task": task, "label": label} for task, label in rows])


FORMS = {"csv": as_csv, "jsonl": as_lines, "json": as_list}


@pytest.mark.parametrize("form", FORMS)
def test_the_file_names_the_annotator_and_this_is_said(tmp_path: Path, form: str) -> None:
    for name, rows in ROWS.items():
        write(tmp_path / f"{name}.{form}", FORMS[form](rows))
    with pytest.warns(FinegoldWarning, match=r"no column of annotators.*each file.*one annotator: ann, bob"):
        votes = finegold.read(tmp_path)
    assert votes_of(votes) == VOTES


def test_files_of_the_same_name_are_told_by_their_folders(tmp_path: Path) -> None:
    paths = []
    for name, rows in ROWS.items():
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name / "votes.csv", as_csv(rows)))
    with pytest.warns(FinegoldWarning, match="one annotator: ann, bob"):
        assert votes_of(finegold.read(paths)) == VOTES


def test_numbers_that_become_text_keep_their_annotators(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", as_lines(rows)) for name, rows in NUMBERS.items()]
    with pytest.warns(FinegoldWarning, match="one annotator"):
        votes = finegold.read(paths)
    assert votes_of(votes) == {("1", "ann", "x"), ("2", "ann", "y"), ("1", "bob", "x"), ("2.5", "bob", "y")}


def test_a_short_row_is_still_an_error(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.csv", as_csv(rows)) for name, rows in ROWS.items()]
    write(paths[1], "task,label\nt1,dog\nt2\n")
    with pytest.raises(InputError, match="too few fields"):
        finegold.read(paths)


def test_files_that_share_no_tasks_are_not_of_one_annotator_each(tmp_path: Path) -> None:
    paths = [write(tmp_path / "part-0.csv", "task,label\na,x\n"), write(tmp_path / "part-1.csv", "task,label\nb,x\n")]
    with pytest.raises(InputError, match=r"the files share no task.*annotator=NAME"):
        finegold.read(paths)


def test_a_file_with_a_task_twice_is_not_of_one_annotator(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.csv", "task,label\na,x\na,y\n"), write(tmp_path / "b.csv", "task,label\na,x\n")]
    with pytest.raises(InputError, match=r"a file has a task more than once.*annotator=NAME"):
        finegold.read(paths)


def test_a_single_file_still_needs_annotators(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no annotator column"):
        finegold.read(write(tmp_path / "ann.csv", as_csv(ROWS["ann"])))
