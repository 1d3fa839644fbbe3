"""Wide tables: one row per task, one column per annotator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.errors import InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from finegold.votes.frames import native_column
from tests.support.readers_votes import votes_of, write

WIDE = "task,gpt,claude,gold\nt1,a,b,a\nt2,,a,\nt3,NA,,b\n"
VOTES = {("t1", "gpt", "a"), ("t1", "claude", "b"), ("t2", "claude", "a")}


def test_a_wide_table_is_read_and_its_gold_column_is_no_annotator(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", WIDE), wide=True)
    assert votes_of(annotations) == VOTES
    assert to_list(annotations.annotator_names) == ["claude", "gpt"]
    assert to_list(annotations.unlabelled) == ["t3"]
    assert (annotations.gold == -1).all()
    assert (annotations.counts.rows, annotations.counts.missing) == (6, 3)


@pytest.mark.filterwarnings("ignore:1 gold truths belong to tasks without votes")
@pytest.mark.parametrize("gold", [True, "gold"])
def test_the_gold_column_is_used_on_request(tmp_path: Path, gold: object) -> None:
    annotations = read(write(tmp_path / "v.csv", WIDE), wide=True, gold=gold)
    assert annotations.gold.tolist() == [0, -1]
    assert annotations.counts.gold_unused == 1


def test_gold_on_request_without_a_gold_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no gold column among "task", "a"'):
        read(write(tmp_path / "v.csv", "task,a\n1,2\n"), wide=True, gold=True)


@pytest.mark.parametrize("name", ["truth", "ground_truth", "Gold"])
def test_other_names_of_the_truth_are_no_annotators_either(tmp_path: Path, name: str) -> None:
    annotations = read(write(tmp_path / "v.csv", WIDE.replace("gold", name)), wide=True)
    assert votes_of(annotations) == VOTES


def test_without_a_task_column_tasks_are_named_by_their_row_from_zero(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", "gpt,claude\na,b\n,a\n"), wide=True)
    assert votes_of(annotations) == {(0, "gpt", "a"), (0, "claude", "b"), (1, "claude", "a")}


@pytest.mark.parametrize("name", ["", "id", "index", "Unnamed: 0", "item_id"])
def test_a_column_of_row_ids_names_the_tasks(tmp_path: Path, name: str) -> None:
    assert votes_of(read(write(tmp_path / "v.csv", WIDE.replace("task", name)), wide=True)) == VOTES


def test_minus_one_is_no_vote_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,a,b\n1,0,-1\n2,1,1\n")
    annotations = read(path, wide=True, missing=[-1])
    assert votes_of(annotations) == {(1, "a", 0), (2, "a", 1), (2, "b", 1)}
    assert to_list(annotations.class_names) == [0, 1]
    assert votes_of(read(path, wide=True, missing=[])) == {(1, "a", 0), (1, "b", -1), (2, "a", 1), (2, "b", 1)}


def test_the_annotator_columns_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,text,gpt,claude\nt1,hello,a,b\n")
    assert votes_of(read(path, wide=True, annotator=["gpt", "claude"])) == {
        ("t1", "gpt", "a"),
        ("t1", "claude", "b"),
    }


def test_numbered_annotators_become_integers(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", "task,10,9\nt1,a,b\n"), wide=True)
    assert votes_of(annotations) == {("t1", 10, "a"), ("t1", 9, "b")}
    assert to_list(annotations.annotator_names) == [9, 10]


def test_a_label_outside_the_classes_is_named_with_row_and_column(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column \"b\": label 'z' is not among the classes x, y"):
        read(write(tmp_path / "v.csv", "task,a,b\n1,x,y\n2,x,z\n"), wide=True, classes=["x", "y"])


def test_a_row_of_labels_without_a_task_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2 \(line 3\), column \"a\": there is a label but no task"):
        read(write(tmp_path / "v.csv", "task,a,b\n1,x,y\n,x,y\n"), wide=True)


def test_a_label_column_makes_no_sense_in_a_wide_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a wide table has no label column"):
        read(write(tmp_path / "v.csv", WIDE), wide=True, label="gpt")


def test_two_task_columns_are_an_error_in_wide_tables_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="could each be the task"):
        read(write(tmp_path / "v.csv", "task,item,a\n1,2,x\n"), wide=True)


def test_a_wide_table_without_annotators_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column is left for an annotator"):
        read(write(tmp_path / "v.csv", "task,gold\n1,2\n"), wide=True)


def test_integers_that_blanks_made_floats_are_one_class_with_the_others() -> None:
    frame = pd.DataFrame({"task": [1, 2], "a": [0, 1], "b": [1.0, np.nan]})
    annotations = read(frame, wide=True)
    assert votes_of(annotations) == {(1, "a", 0), (2, "a", 1), (1, "b", 1)}
    assert str(native_column(annotations.class_names).dtype) == "int64"


def test_the_index_of_pandas_names_the_tasks() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["x", None]}, index=["t1", "t2"])
    assert votes_of(read(frame, wide=True)) == {("t1", "a", "x"), ("t2", "a", "y"), ("t1", "b", "x")}


def test_numbered_columns_of_pandas_are_annotators() -> None:
    assert votes_of(read(pd.DataFrame([[0, 1], [-1, 0]]), wide=True, missing=[-1])) == {(0, 0, 0), (0, 1, 1), (1, 1, 0)}


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "lazy"])
def test_every_kind_of_wide_frame_gives_the_same_votes_in_its_own_kind(kind: str) -> None:
    columns = {"task": ["t1", "t2"], "gpt": ["a", None], "claude": ["b", "a"]}
    frames = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table, "lazy": pl.LazyFrame}
    annotations = read(frames[kind](columns), wide=True)
    assert votes_of(annotations) == VOTES
    for names in (annotations.task_names, annotations.annotator_names, annotations.class_names):
        assert type(native_column(names)).__module__.split(".")[0] == kind.replace("lazy", "polars")
