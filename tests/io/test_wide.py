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
from finegold.errors import FinegoldWarning, InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from finegold.votes.frames import native_column
from tests.support.readers_votes import votes_of, write

BY_WIDE: dict[str, Any] = {"wide": True}
BY_FORMAT: dict[str, Any] = {"format": "transposed"}
WIDE = "task,gpt,claude,gold\nt1,a,b,a\nt2,,a,\nt3,NA,,b\n"
TRANSPOSED = "worker,t1,t2,t3\ngpt,a,,NA\nclaude,b,a,\n"
VOTES = {("t1", "gpt", "a"), ("t1", "claude", "b"), ("t2", "claude", "a")}
FOUND = "item,gpt-4,claude,gold\n1,yes,no,yes\n2,no,no,\n3,yes,,\n"
FOUND_VOTES = {(1, "gpt-4", "yes"), (1, "claude", "no"), (2, "gpt-4", "no"), (2, "claude", "no"), (3, "gpt-4", "yes")}
CODES = "task,a,b\n1,0,-1\n2,1,1\n"
SURVEY = "who,age,a1,a2,b1\nann,30,x,y,z\n"
FORM = "Timestamp,Email Address,art?,war?\n2024/01/01 10:00,ann@x.org,yes,no\n10:05,bob@x.org,no,no\n"
FORM_VOTES = {
    ("art?", "ann@x.org", "yes"),
    ("war?", "ann@x.org", "no"),
    ("art?", "bob@x.org", "no"),
    ("war?", "bob@x.org", "no"),
}
MICROSOFT = "ID,Start time,Completion time,Email,Name,art\n1,8:00,8:01,anonymous,,yes\n2,8:00,8:02,anonymous,,no\n"
READ: dict[str, tuple[str, dict[str, Any], set[Any]]] = {
    "a gold column is not an annotator": (WIDE, BY_WIDE, VOTES),
    **{
        f"a column named {name} is not an annotator either": (WIDE.replace("gold", name), BY_WIDE, VOTES)
        for name in ("truth", "ground_truth", "Gold")
    },
    **{
        f"a column named {name} names the tasks": (WIDE.replace("task", name), BY_WIDE, VOTES)
        for name in ("", "id", "index", "Unnamed: 0", "item_id")
    },
    "without a task column, tasks are named by their row from zero": (
        "gpt,claude\na,b\n,a\n",
        BY_WIDE,
        {(0, "gpt", "a"), (0, "claude", "b"), (1, "claude", "a")},
    ),
    "minus one is no vote on request": (
        CODES,
        {"wide": True, "missing": [-1]},
        {(1, "a", 0), (2, "a", 1), (2, "b", 1)},
    ),
    "with no word for a missing vote, minus one is a class": (
        CODES,
        {"wide": True, "missing": []},
        {(1, "a", 0), (1, "b", -1), (2, "a", 1), (2, "b", 1)},
    ),
    "the columns of annotators can be chosen": (
        "task,text,gpt,claude\nt1,hello,a,b\n",
        {"wide": True, "annotator": ["gpt", "claude"]},
        {("t1", "gpt", "a"), ("t1", "claude", "b")},
    ),
    "numbered annotators become integers": ("task,10,9\nt1,a,b\n", BY_WIDE, {("t1", 10, "a"), ("t1", 9, "b")}),
    "rows are annotators in a transposed table": (TRANSPOSED, BY_FORMAT, VOTES),
    "a transposed table is wide as well": (TRANSPOSED, {"format": "transposed", "wide": True}, VOTES),
    "rows without a name are numbered": (
        "t1,t2\na,b\nb,b\n",
        BY_FORMAT,
        {("t1", 0, "a"), ("t2", 0, "b"), ("t1", 1, "b"), ("t2", 1, "b")},
    ),
    "the time stamps of a form of Google are not a task": (FORM, BY_FORMAT, FORM_VOTES),
    "one of several names of people in a form of Microsoft is chosen": (
        MICROSOFT,
        {"format": "transposed", "annotator": "ID"},
        {("art", 1, "yes"), ("art", 2, "no")},
    ),
    "tasks are chosen by names and patterns": (
        SURVEY,
        {"format": "transposed", "annotator": "who", "task": "a?, b1"},
        {("a1", "ann", "x"), ("a2", "ann", "y"), ("b1", "ann", "z")},
    ),
    "a pattern may fit no task beside one that does": (
        SURVEY,
        {"format": "transposed", "annotator": "who", "task": "*1,w*"},
        {("a1", "ann", "x"), ("b1", "ann", "z")},
    ),
    "the classes of a transposed table may be numbers": (
        "worker,1,2\n7,0,1\n8,1,-1\n",
        {"format": "transposed", "missing": [-1]},
        {(1, 7, 0), (2, 7, 1), (1, 8, 1)},
    ),
    **{
        f"a wide table of {name} is found": (FOUND.replace("item", name), {}, FOUND_VOTES)
        for name in ("item", "prompt_id", "sample_id")
    },
    "a wide table is found beside a named column": (FOUND, {"task": "item"}, FOUND_VOTES),
    "a long table is never taken for another": (
        "task,worker,label\n1,1,1\n2,2,2\n3,1,2\n",
        {},
        {(1, 1, 1), (2, 2, 2), (3, 1, 2)},
    ),
}


@pytest.mark.parametrize(("text", "options", "votes"), READ.values(), ids=READ)
def test_a_table_is_read(tmp_path: Path, text: str, options: dict[str, Any], votes: set[Any]) -> None:
    assert votes_of(read(write(tmp_path / "v.csv", text), **options)) == votes


NOT_SURE = "no annotator and no label column"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("task,a\n1,2\n", {"wide": True, "gold": True}, 'no gold column among "task", "a"'),
    (
        "task,a,b\n1,x,y\n2,x,z\n",
        {"wide": True, "classes": ["x", "y"]},
        r"row 2 \(line 3\), column \"b\": label 'z' is not among the classes x, y",
    ),
    ("task,a,b\n1,x,y\n,x,y\n", BY_WIDE, r"row 2 \(line 3\), column \"a\": there is a label but no task"),
    (WIDE, {"wide": True, "label": "gpt"}, "a wide table has no label column"),
    ("task,item,a\n1,2,x\n", BY_WIDE, "could each be the task"),
    ("task,gold\n1,2\n", BY_WIDE, "no column is left for an annotator"),
    (TRANSPOSED, {"format": "transposed", "label": "t1"}, "a transposed table has one column of annotators"),
    (TRANSPOSED, {"format": "transposed", "question": "t1"}, "question is for exports"),
    (TRANSPOSED, {"format": "transposed", "gold": True}, "has no row called gold or truth"),
    (TRANSPOSED + ",a,,\n", BY_FORMAT, r'csv, row 3 \(line 4\), column "t1": there is a label but no annotator'),
    ("worker\nann\n", BY_FORMAT, "there is no column of a task among worker"),
    ("worker,t1\nann,\n", BY_FORMAT, "there are no votes"),
    (
        SURVEY,
        {"format": "transposed", "annotator": "who", "task": "z*"},
        r"there is no column of a task that fits z\* among who, age",
    ),
    (MICROSOFT, BY_FORMAT, r'the columns "ID", "Email", "Name" could each be the annotator; use annotator='),
    ("item,person,score\n1,1,2\n1,2,1\n2,1,1\n", {}, NOT_SURE),  # a task in two rows: long
    ("item,person,score\n1,7,2\n2,8,1\n3,9,1\n", {}, NOT_SURE),  # nothing in common
    ("item,person,score\n1,1,3\n2,5,4\n3,6,5\n4,7,9\n", {}, NOT_SURE),  # but a five
    ("item,a,b,c,d\n1,x,x,u,u\n2,y,x,v,u\n", {}, NOT_SURE),  # two sets of labels
    ("a,b,c\nx,x,y\ny,x,x\n", {}, "no task and no annotator and no label column"),  # nothing names the rows
    ("item,a\n1,x\n", {}, NOT_SURE),
    ("item,id,a,b\n1,5,x,x\n", {}, NOT_SURE),
    ("worker,item,score\nann,1,1\nbob,2,2\n", {}, "no label column"),
]


@pytest.mark.parametrize(("text", "options", "words"), REFUSED)
def test_what_is_wrong_or_not_sure_is_said(tmp_path: Path, text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.csv", text), **options)


@pytest.mark.parametrize(("text", "options"), [(WIDE, BY_WIDE), (TRANSPOSED + "Gold,a,,b\n", BY_FORMAT)])
@pytest.mark.filterwarnings("ignore:1 gold truths belong to tasks without votes")
def test_truths_beside_the_votes_are_used_on_request(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    path = write(tmp_path / "v.csv", text)
    found = read(path, **options)
    assert votes_of(found) == VOTES
    assert to_list(found.unlabelled) == ["t3"]
    assert (found.counts.rows, found.counts.missing) == (6, 3)
    assert found.gold.tolist() == [-1, -1]
    taught = read(path, gold=True, **options)
    assert (taught.gold.tolist(), taught.counts.gold_unused) == ([0, -1], 1)
    assert read(path, gold={"t2": "b"}, **options).gold.tolist() == [-1, 1]


def test_a_column_of_truths_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", FOUND)
    assert read(path, gold="gold").gold.tolist() == read(path, gold=True).gold.tolist() == [1, -1, -1]


LEFT_ASIDE = {
    FORM: r"a transposed table, whose tasks are art\?, war\?; Timestamp left aside",
    "id,prompt,gpt-4,claude,level\n1,why?,a,b,easy\n2,how?,b,b,hard\n3,who?,a,a,easy\n": (
        "a wide table, whose annotators are gpt-4, claude; prompt, level left aside"
    ),
}


@pytest.mark.parametrize(("text", "words"), LEFT_ASIDE.items())
def test_columns_that_hold_no_votes_are_left_aside_and_said(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path / "v.csv", text)
    with pytest.warns(FinegoldWarning, match=words):
        found = read(path)
    if text == FORM:
        assert votes_of(found) == FORM_VOTES
    else:
        assert (to_list(found.annotator_names), found.n_votes) == (["claude", "gpt-4"], 6)


COLUMNS = {"task": ["t1", "t2"], "gpt": ["a", None], "claude": ["b", "a"]}
ROWS = {"worker": ["gpt", "claude"], "t1": ["a", "b"], "t2": [None, "a"]}
LIBRARIES = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table, "lazy": pl.LazyFrame}


@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize(("columns", "options"), [(COLUMNS, BY_WIDE), (ROWS, BY_FORMAT)], ids=["wide", "transposed"])
def test_every_kind_of_frame_gives_the_same_votes_in_its_own_kind(
    kind: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    annotations = read(LIBRARIES[kind](columns), **options)
    assert votes_of(annotations) == VOTES
    for names in (annotations.task_names, annotations.annotator_names, annotations.class_names):
        assert type(native_column(names)).__module__.split(".")[0] == kind.replace("lazy", "polars")


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_a_wide_frame_is_found(kind: str) -> None:
    frame = LIBRARIES[kind]({"task": [1, 2, 3], "a": ["x", "y", "x"], "b": ["x", "x", None]})
    assert votes_of(read(frame)) == {(1, "a", "x"), (2, "a", "y"), (3, "a", "x"), (1, "b", "x"), (2, "b", "x")}
    assert len(finegold.aggregate(frame, "mv").label) == 3


@pytest.mark.parametrize(("columns", "options"), [(COLUMNS, BY_WIDE), (ROWS, BY_FORMAT)], ids=["wide", "transposed"])
def test_the_index_of_pandas_names_the_rows(columns: dict[str, Any], options: dict[str, Any]) -> None:
    frame = pd.DataFrame(columns)
    assert votes_of(read(frame.set_index(frame.columns[0]).rename_axis(None), **options)) == VOTES


def test_integers_that_blanks_made_floats_are_one_class_with_the_others() -> None:
    frame = pd.DataFrame({"task": [1, 2], "a": [0, 1], "b": [1.0, np.nan]})
    annotations = read(frame, wide=True)
    assert votes_of(annotations) == {(1, "a", 0), (2, "a", 1), (1, "b", 1)}
    assert str(native_column(annotations.class_names).dtype) == "int64"


def test_numbered_columns_of_pandas_are_annotators() -> None:
    assert votes_of(read(pd.DataFrame([[0, 1], [-1, 0]]), wide=True, missing=[-1])) == {(0, 0, 0), (0, 1, 1), (1, 1, 0)}
