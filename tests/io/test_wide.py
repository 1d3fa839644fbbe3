"""Wide and transposed tables, by option and found by themselves, also with a column or a row of truths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import finegold
from finegold.io.read import read
from tests.support.exports_cases import Case, check_each, reads, refuses
from tests.support.readers_votes import votes_of, write

WIDE = "task,gpt,claude,gold\nt1,a,b,a\nt2,,a,\nt3,NA,,b\n"
TRANSPOSED = "worker,t1,t2,t3\ngpt,a,,NA\nclaude,b,a,\n"
VOTES = {("t1", "gpt", "a"), ("t1", "claude", "b"), ("t2", "claude", "a")}
FOUND = "item,gpt-4,claude,gold\n1,yes,no,yes\n2,no,no,\n3,yes,,\n"
FOUND_VOTES = {
    (1, "gpt-4", "yes"),
    (1, "claude", "no"),
    (2, "gpt-4", "no"),
    (2, "claude", "no"),
    (3, "gpt-4", "yes"),
}
MIXED = "id,prompt,gpt-4,claude,level\n1,why?,a,b,easy\n2,how?,b,b,hard\n3,who?,a,a,easy\n"
SURVEY = "who,age,a1,a2,b1\nann,30,x,y,z\n"
FORM = (
    "Timestamp,Email Address,art?,war?\n2024/01/01 10:00,ann@x.org,yes,no\n10:05,bob@x.org,no,no\n"
)
FORM_VOTES = {(task, who, "yes" if (task, who[0]) == ("art?", "a") else "no")
              for task in ("art?", "war?") for who in ("ann@x.org", "bob@x.org")}  # fmt: skip
MICROSOFT = "ID,Start time,Completion time,Email,Name,art\n1,8:00,8:01,anonymous,,yes\n2,8:00,8:02,anonymous,,no\n"
UNUSED = "1 gold truths belong to tasks without votes"


def wide(text: str, votes: Any, **more: Any) -> Case:
    return reads("v.csv", text, votes, layout="wide", **more)


def transposed(text: str, votes: Any, **more: Any) -> Case:
    return reads("v.csv", text, votes, layout="transposed", **more)


test_a_table_is_read = check_each({
    "a gold column is not an annotator": wide(WIDE, VOTES, missing=3, rows=6, unlabelled=["t3"]),
    "a gold column has the truths on request": wide(WIDE, VOTES, truths={"t1": "a"}, gold=True, warns=UNUSED),
    "a gold column is named": wide(WIDE, VOTES, truths={"t1": "a"}, gold="gold", warns=UNUSED),
    "truths beside a gold column": wide(WIDE, VOTES, truths={"t2": "b"}, gold={"t2": "b"}),
    **{f"a column named {name} is not an annotator either": wide(WIDE.replace("gold", name), VOTES)
       for name in ("truth", "ground_truth", "Gold")},
    **{f"a column named {name} names the tasks": wide(WIDE.replace("task", name), VOTES)
       for name in ("", "id", "index", "Unnamed: 0", "item_id")},
    "without a task column, tasks are named by their row from zero": wide(
        "gpt,claude\na,b\n,a\n", {(0, "gpt", "a"), (0, "claude", "b"), (1, "claude", "a")}),
    "the columns of annotators can be chosen": wide(
        "task,text,gpt,claude\nt1,hi,a,b\n", {("t1", "gpt", "a"), ("t1", "claude", "b")}, annotator=["gpt", "claude"]),
    "numbered annotators become integers": wide("task,10,9\nt1,a,b\n", {("t1", 10, "a"), ("t1", 9, "b")}),
    "rows are annotators in a transposed table": transposed(
        TRANSPOSED, VOTES, missing=3, rows=6, unlabelled=["t3"]),
    "a row of truths is not an annotator": transposed(TRANSPOSED + "Gold,a,,b\n", VOTES, missing=3, rows=6),
    "truths beside a row of truths": transposed(
        TRANSPOSED + "Gold,a,,b\n", VOTES, truths={"t2": "b"}, gold={"t2": "b"}),
    "rows without a name are numbered": transposed(
        "t1,t2\na,b\nb,b\n", {("t1", 0, "a"), ("t2", 0, "b"), ("t1", 1, "b"), ("t2", 1, "b")}),
    "the time stamps of a form of Google are not a task": transposed(FORM, FORM_VOTES),
    "one of several names of people in a form of Microsoft is chosen": transposed(
        MICROSOFT, {("art", 1, "yes"), ("art", 2, "no")}, annotator="ID"),
    "tasks are chosen by names and patterns": transposed(
        SURVEY, {("a1", "ann", "x"), ("a2", "ann", "y"), ("b1", "ann", "z")}, annotator="who", task="a?, b1"),
    "a pattern may fit no task beside one that does": transposed(
        SURVEY, {("a1", "ann", "x"), ("b1", "ann", "z")}, annotator="who", task="*1,w*"),
    "the classes of a transposed table may be numbers": transposed(
        "worker,1,2\n7,0,1\n8,1,-1\n", {(1, 7, 0), (2, 7, 1), (1, 8, 1), (2, 8, -1)}, warns="the label -1 "),
    **{f"a wide table of {name} is found": reads("v.csv", FOUND.replace("item", name), FOUND_VOTES)
       for name in ("item", "prompt_id", "sample_id")},
    "a wide table is found beside a named column": reads("v.csv", FOUND, FOUND_VOTES, task="item"),
    "the truths of a wide table that is found": reads("v.csv", FOUND, FOUND_VOTES, truths={1: "yes"}, gold="gold"),
    "a transposed table is found": reads("v.csv", FORM, FORM_VOTES, warns=(
        r"a transposed table, whose tasks are art\?, war\?; Timestamp left aside")),
    "columns that hold no votes are left aside": reads(
        "v.csv", MIXED, {(1, "gpt-4", "a"), (1, "claude", "b"), (2, "gpt-4", "b"), (2, "claude", "b"),
                         (3, "gpt-4", "a"), (3, "claude", "a")},
        warns="a wide table, whose annotators are gpt-4, claude; prompt, level left aside"),
    "a long table is never taken for another": reads(
        "v.csv", "task,worker,label\n1,1,1\n2,2,2\n3,1,2\n", {(1, 1, 1), (2, 2, 2), (3, 1, 2)}),
})  # fmt: skip


def not_sure(text: str, words: str = "no annotator and no label column") -> Case:
    return refuses("v.csv", text, words)


test_what_is_wrong_or_not_sure_is_said = check_each({
    "no gold column": refuses("v.csv", "task,a\n1,2\n", 'no gold column among "task", "a"', layout="wide", gold=True),
    "another class": refuses(
        "v.csv", "task,a,b\n1,x,y\n2,x,z\n", "row 2 (line 3), column \"b\": label 'z' is not among the classes x, y",
        layout="wide", classes=["x", "y"]),
    "a row without a task": refuses(
        "v.csv", "task,a,b\n1,x,y\n,x,y\n", 'row 2 (line 3), column "a": there is a label but no task', layout="wide"),
    "a label column": refuses("v.csv", WIDE, "label names no column of a wide table", layout="wide", label="gpt"),
    "two columns of tasks": refuses("v.csv", "task,item,a\n1,2,x\n", "could each be the task", layout="wide"),
    "no annotator": refuses("v.csv", "task,gold\n1,2\n", "no column is left for an annotator", layout="wide"),
    "a label column of a transposed table": refuses(
        "v.csv", TRANSPOSED, "label names no column of a transposed table", layout="transposed", label="t1"),
    "a question": refuses("v.csv", TRANSPOSED, "a transposed table has one question", layout="transposed", question="t1"),
    "no row of truths": refuses(
        "v.csv", TRANSPOSED, "a transposed table has no gold column", layout="transposed", gold=True),
    "a row without an annotator": refuses(
        "v.csv", TRANSPOSED + ",a,,\n", 'v.csv, row 3 (line 4), column "t1": there is a label but no annotator',
        layout="transposed"),
    "no task": refuses("v.csv", "worker\nann\n", "no column is left for a task", layout="transposed"),
    "no votes": refuses("v.csv", "worker,t1\nann,\n", "there are no votes", layout="transposed"),
    "no task of this pattern": refuses(
        "v.csv", SURVEY, "no column is left for a task", layout="transposed",
        annotator="who", task="z*"),
    "several names of people": refuses(
        "v.csv", MICROSOFT, 'the columns "ID", "Email", "Name" could each be the annotator; use annotator=',
        layout="transposed"),
    "a task in two rows": not_sure("item,person,score\n1,1,2\n1,2,1\n2,1,1\n"),
    "columns with nothing in common": not_sure("item,person,score\n1,7,2\n2,8,1\n3,9,1\n"),
    "columns with little in common": not_sure("item,person,score\n1,1,3\n2,5,4\n3,6,5\n4,7,9\n"),
    "two sets of labels": not_sure("item,a,b,c,d\n1,x,x,u,u\n2,y,x,v,u\n"),
    "nothing names the rows": not_sure("a,b,c\nx,x,y\ny,x,x\n", "no task and no annotator and no label column"),
    "one column beside the tasks": not_sure("item,a\n1,x\n"),
    "two columns that could be the tasks": not_sure("item,id,a,b\n1,5,x,x\n"),
    "annotators, tasks and scores": not_sure("worker,item,score\nann,1,1\nbob,2,2\n", "no label column"),
})  # fmt: skip


@pytest.mark.parametrize(("missing", "of_none"), [([-1], set()), ([], {(1, "b", -1)})])
def test_minus_one_is_no_vote_on_request(
    tmp_path: Path, missing: list[int], of_none: set[Any]
) -> None:
    path = write(tmp_path / "v.csv", "task,a,b\n1,0,-1\n2,1,1\n")
    assert (
        votes_of(read(path, layout="wide", missing=missing))
        == {(1, "a", 0), (2, "a", 1), (2, "b", 1)} | of_none
    )


BY_WIDE, BY_FORMAT = {"layout": "wide"}, {"layout": "transposed"}
COLUMNS = {"task": ["t1", "t2"], "gpt": ["a", None], "claude": ["b", "a"]}
ROWS = {"worker": ["gpt", "claude"], "t1": ["a", "b"], "t2": [None, "a"]}
LIBRARIES = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "lazy": pl.LazyFrame,
}


@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize(
    ("columns", "options"), [(COLUMNS, BY_WIDE), (ROWS, BY_FORMAT)], ids=["wide", "transposed"]
)
def test_every_kind_of_frame_gives_the_same_votes_in_its_own_kind(
    kind: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    annotations = read(LIBRARIES[kind](columns), **options)
    assert votes_of(annotations) == VOTES
    for names in (annotations.task_names, annotations.annotator_names, annotations.class_names):
        assert names.backend == (kind if kind in ("pandas", "pyarrow") else None)


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_wide_frame_is_found(kind: str) -> None:
    frame = LIBRARIES[kind]({"task": [1, 2, 3], "a": ["x", "y", "x"], "b": ["x", "x", None]})
    assert votes_of(read(frame)) == {
        (1, "a", "x"),
        (2, "a", "y"),
        (3, "a", "x"),
        (1, "b", "x"),
        (2, "b", "x"),
    }
    assert len(finegold.aggregate(frame, "mv").label) == 3


@pytest.mark.parametrize(
    ("columns", "options"), [(COLUMNS, BY_WIDE), (ROWS, BY_FORMAT)], ids=["wide", "transposed"]
)
def test_the_index_of_pandas_names_the_rows(
    columns: dict[str, Any], options: dict[str, Any]
) -> None:
    frame = pd.DataFrame(columns)
    assert votes_of(read(frame.set_index(frame.columns[0]).rename_axis(None), **options)) == VOTES


def test_integers_that_blanks_made_floats_are_one_class_with_the_others() -> None:
    frame = pd.DataFrame({"task": [1, 2], "a": [0, 1], "b": [1.0, np.nan]})
    annotations = read(frame, layout="wide")
    assert votes_of(annotations) == {(1, "a", 0), (2, "a", 1), (1, "b", 1)}
    assert annotations.class_names.tolist() == [0, 1]


def test_numbered_columns_of_pandas_are_annotators() -> None:
    assert votes_of(read(pd.DataFrame([[0, 1], [-1, 0]]), layout="wide", missing=[-1])) == {
        (0, 0, 0),
        (0, 1, 1),
        (1, 1, 0),
    }
