"""Wide and transposed tables, by option and found by themselves, also with a column or a row of truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from finegold.io.read import read
from tests.support.exports_cases import Case, check_each, reads, refuses
from tests.support.readers_votes import votes_of

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
    "truths beside a gold column": wide(WIDE, VOTES, truths={"t2": "b"}, gold={"t2": "b"}),
    **{f"a column named {name} is not an annotator either": wide(WIDE.replace("gold", name), VOTES)
       for name in ("truth", "ground_truth", "Gold")},
    **{f"a column named {name} names the tasks": wide(WIDE.replace("task", name), VOTES)
       for name in ("", "id", "index", "Unnamed: 0", "item_id")},
    "without a task column, tasks are named by their row from zero": wide(
        "gpt,claude\na,b\n,a\n", {(0, "gpt", "a"), (0, "claude", "b"), (1, "claude", "a")}),
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
    **{f"a wide table of {name} is found": reads("v.csv", FOUND.replace("item", name), FOUND_VOTES)
       for name in ("item", "prompt_id", "sample_id")},
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
    "a row without a task": refuses(
        "v.csv", "task,a,b\n1,x,y\n,x,y\n", 'row 2 (line 3), column "a": there is a label but no task', layout="wide"),
    "a label column": refuses("v.csv", WIDE, "label names no column of a wide table", layout="wide", label="gpt"),
    "no annotator": refuses("v.csv", "task,gold\n1,2\n", "no column is left for an annotator", layout="wide"),
    "a question": refuses("v.csv", TRANSPOSED, "a transposed table has one question", layout="transposed", question="t1"),
    "a row without an annotator": refuses(
        "v.csv", TRANSPOSED + ",a,,\n", 'v.csv, row 3 (line 4), column "t1": there is a label but no annotator',
        layout="transposed"),
    "no task": refuses("v.csv", "worker\nann\n", "no column is left for a task", layout="transposed"),
    "no votes": refuses("v.csv", "worker,t1\nann,\n", "there are no votes", layout="transposed"),
    "no task of this pattern": refuses(
        "v.csv", SURVEY, 'there is no column "z*" for the task', layout="transposed",
        annotator="who", task="z*"),
    "several names of people": refuses(
        "v.csv", MICROSOFT, 'the columns "ID", "Email", "Name" could each be the annotator; use annotator=',
        layout="transposed"),
    "a task in two rows": not_sure("item,person,score\n1,1,2\n1,2,1\n2,1,1\n"),
    "two columns that could be the tasks": not_sure("item,id,a,b\n1,5,x,x\n"),
    "annotators, tasks and scores": not_sure("worker,item,score\nann,1,1\nbob,2,2\n", "no label column"),
})  # fmt: skip


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
