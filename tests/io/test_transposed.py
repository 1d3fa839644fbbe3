"""Transposed tables, a row a respondent: files, data frames, forms of Google and Microsoft, a row of truths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import finegold
from finegold import InputError
from finegold.io.read import read
from tests.support.readers_votes import VOTES, votes_of, write

TABLE = "worker,t1,t2,t3\nann,cat,cat,\nbob,dog,NA,\n"


def test_rows_are_annotators_and_columns_are_tasks(tmp_path: Path) -> None:
    found = read(write(tmp_path / "v.csv", TABLE), format="transposed")
    assert votes_of(found) == VOTES
    assert found.unlabelled.to_list() == ["t3"]
    assert (found.counts.rows, found.counts.missing) == (6, 3)
    assert votes_of(read(write(tmp_path / "v.csv", TABLE), format="transposed", wide=True)) == VOTES


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"worker": ["ann", "bob"], "t1": ["cat", "dog"], "t2": ["cat", None]}),
        pd.DataFrame({"worker": ["ann", "bob"], "t1": ["cat", "dog"], "t2": ["cat", None]}),
        pd.DataFrame({"t1": ["cat", "dog"], "t2": ["cat", None]}, index=["ann", "bob"]),
    ],
)
def test_data_frames_of_any_library(frame: Any) -> None:
    assert votes_of(read(frame, format="transposed")) == VOTES
    assert len(finegold.aggregate(frame, "mv", format="transposed").label) == 2


def test_rows_without_a_name_are_numbered(tmp_path: Path) -> None:
    found = read(write(tmp_path / "v.csv", "t1,t2\na,b\nb,b\n"), format="transposed")
    assert votes_of(found) == {("t1", 0, "a"), ("t2", 0, "b"), ("t1", 1, "b"), ("t2", 1, "b")}


def test_columns_of_forms_that_are_no_tasks_are_left_alone(tmp_path: Path) -> None:
    google = "Timestamp,Email Address,Is it art?,Is it war?\n2024/01/01 10:00,ann@x.org,yes,no\n,bob@x.org,no,no\n"
    found = read(write(tmp_path / "g.csv", google), format="transposed")
    assert found.task_names.to_list() == ["Is it art?", "Is it war?"]
    assert found.annotator_names.to_list() == ["ann@x.org", "bob@x.org"]
    microsoft = "ID,Start time,Completion time,Email,Name,art\n1,8:00,8:01,anonymous,,yes\n2,8:00,8:02,anonymous,,no\n"
    path = write(tmp_path / "m.csv", microsoft)
    with pytest.raises(
        InputError, match=r'm\.csv: the columns "ID", "Email", "Name" could each be the annotator; use annotator='
    ):
        read(path, format="transposed")
    assert votes_of(read(path, format="transposed", annotator="ID")) == {("art", 1, "yes"), ("art", 2, "no")}


def test_tasks_can_be_chosen_by_patterns(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "who,age,a1,a2,b1\nann,30,x,y,z\n")
    found = read(path, format="transposed", annotator="who", task="a?, b1")
    assert votes_of(found) == {("a1", "ann", "x"), ("a2", "ann", "y"), ("b1", "ann", "z")}
    assert votes_of(read(path, format="transposed", annotator="who", task="*1,w*")) == {
        ("a1", "ann", "x"),
        ("b1", "ann", "z"),
    }
    with pytest.raises(InputError, match=r"there is no column of a task that fits z\* among who, age"):
        read(path, format="transposed", task="z*")


def test_a_row_of_truths_is_no_annotator(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", TABLE + "Gold,dog,,cat\n")
    found = read(path, format="transposed")
    assert votes_of(found) == VOTES
    assert (found.gold == -1).all()
    assert found.counts.rows == 6
    taught = read(path, format="transposed", gold={"t2": "dog"})
    assert taught.gold.tolist() == [-1, 1]
    with pytest.warns(finegold.FinegoldWarning, match="1 gold truths belong to tasks without votes"):
        assert read(path, format="transposed", gold=True).gold.tolist() == [1, -1]
    with pytest.raises(InputError, match="has no row called gold or truth"):
        read(write(tmp_path / "w.csv", TABLE), format="transposed", gold=True)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (TABLE, {"label": "t1"}, "a transposed table has one column of annotators"),
        (TABLE, {"question": "t1"}, "question is for exports"),
        (TABLE + ",cat,,\n", {}, r'v\.csv, row 3 \(line 4\), column "t1": there is a label but no annotator'),
        ("worker\nann\n", {}, "there is no column of a task among worker"),
        ("worker,t1\nann,\n", {}, "there are no votes"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.csv", content), format="transposed", **options)


def test_classes_may_be_numbers_in_any_column(tmp_path: Path) -> None:
    found = read(write(tmp_path / "v.csv", "worker,1,2\n7,0,1\n8,1,-1\n"), format="transposed", missing=[-1])
    assert votes_of(found) == {(1, 7, 0), (2, 7, 1), (1, 8, 1)}
