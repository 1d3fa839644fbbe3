"""Long tables: which column is which, what is a vote, which classes there are; and nothing is lost in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from tests.support.readers_votes import CSV, VOTES, votes_of, write

HEADER = "task,worker,label\n"
NAMES = [
    "item,annotator,answer",
    "question,user,response",
    "unit,rater,rating",
    "_unit_id,_worker_id,choice",
    "HITId,WorkerId,class",
    "task_id,judge,verdict",
    "Item ID,Performer,LABEL",
    " task , worker , label ",
]
LINES = '{"task":1,"worker":"a","label":true}\n{"task":2,"worker":7,"label":false}\n{"task":3,"worker":7}\n'
READ: dict[str, tuple[str, dict[str, Any], set[Any]]] = {
    **{f"the usual names are known: {names}": (CSV.replace(HEADER, f"{names}\n"), {}, VOTES) for names in NAMES},
    "the user names the columns": (
        CSV.replace(HEADER, "a,b,c\n"),
        {"task": "a", "annotator": "b", "label": "C"},
        VOTES,
    ),
    "a named column is no candidate for another role": (
        "task,item,worker,label\nx,t1,ann,a\n",
        {"task": "item"},
        {("t1", "ann", "a")},
    ),
    **{
        f"a name that is not a plain integer keeps a column text: {odd}": (
            f"{HEADER}10,1,1\n9,1,0\n{odd},1,1\n",
            {},
            {("10", 1, 1), ("9", 1, 0), (odd, 1, 1)},
        )
        for odd in ("007", "+7", "1.0", "1e3", " 7", "-0", "99999999999999999999", "x")
    },
    "spaces in names are kept": (f"{HEADER} t1,ann , a b\n", {}, {(" t1", "ann ", " a b")}),
    "a quoted blank is no vote": (f'{HEADER}t1,ann,""\nt1,bob,a\n', {}, {("t1", "bob", "a")}),
    "what means missing can be chosen": (
        f"{HEADER}t1,ann,NA\nt1,bob,-\nt1,cy,\n",
        {"missing": ["-"]},
        {("t1", "ann", "NA")},
    ),
    "ids beside a blank row are integers": (f"{HEADER}7,ann,a\n,,\n8,ann,b\n", {}, {(7, "ann", "a"), (8, "ann", "b")}),
    "JSON keeps its types, and mixtures become text": (LINES, {}, {(1, "a", True), (2, "7", False)}),
    "the first of repeated votes counts": (f"{HEADER}1,1,a\n1,1,b\n", {}, {(1, 1, "a")}),
    "the last of repeated votes counts on request": (f"{HEADER}1,1,a\n1,1,b\n", {"repeated": "last"}, {(1, 1, "b")}),
}


@pytest.mark.parametrize(("text", "options", "votes"), READ.values(), ids=READ)
def test_a_long_table_is_read(tmp_path: Path, text: str, options: dict[str, Any], votes: set[Any]) -> None:
    path = write(tmp_path / ("v.jsonl" if text.startswith("{") else "v.csv"), text)
    assert votes_of(read(path, **options)) == votes


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(
        (
            f"{header}\n1,2,3,4\n",
            {},
            rf'the columns "\w+", "\w+" could each be the {role}. The columns are .*; use {role}=NAME to say which',
        )
        for header, role in [
            ("task,item,worker,label", "task"),
            ("task,worker,rater,label", "annotator"),
            ("task,worker,label,rating", "label"),
            ("task,Task,worker,label", "task"),
        ]
    ),
    (
        "task,worker,x\n1,2,3\n",
        {},
        r'v\.csv: there is no label column. The columns are "task" .*"worker" .*"x" \(1 value: 3\); use label',
    ),
    ("task,gpt,claude\n1,a,b\n", {}, "use wide=True"),
    (CSV, {"label": "lable"}, r'no column "lable" for the label; .* did you mean "label"'),
    ("task,worker,label\n1,2,NA\n", {}, "there are no votes"),
    (CSV, {"classes": ["cat", "cow"]}, r"row 2 \(line 3\): label 'dog' is not among the classes cat, cow"),
    (CSV, {"classes": ["cat", "cat"]}, "must be one or more different labels"),
    *(
        (f'{HEADER}"t\n0",ann,a\n{row}\n', {}, rf"v\.csv, row 2 \(line 4\): there is a label but no {role}")
        for row, role in [(",ann,a", "task"), ("t1,,a", "annotator"), ('" ",ann,a', "task")]
    ),
]


@pytest.mark.parametrize(("text", "options", "words"), REFUSED)
def test_what_is_wrong_is_said_with_its_column_or_row(
    tmp_path: Path, text: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.csv", text), **options)


def test_whole_numbers_become_integers_in_numerical_order(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", f"{HEADER}10,2,1\n9,-1,0\n0,2,NA\n"))
    assert to_list(annotations.task_names) == [9, 10]
    assert to_list(annotations.unlabelled) == [0]
    assert to_list(annotations.annotator_names) == [-1, 2]
    assert to_list(annotations.class_names) == [0, 1]
    assert annotations.task_names.values.dtype.is_integer()


def test_a_missing_id_in_parquet_is_named_by_its_row(tmp_path: Path) -> None:
    pl.DataFrame({"task": [1, None], "worker": [1, 2], "label": [1, 1]}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(InputError, match=r"v\.parquet, row 2: there is a label but no task"):
        read(tmp_path / "v.parquet")


@pytest.mark.parametrize("classes", [["2", "1", "0"], [2, 1, 0]])
def test_given_classes_keep_their_order_and_may_be_unused_text_or_numbers(
    tmp_path: Path, classes: list[object]
) -> None:
    text = read(write(tmp_path / "v.csv", f"{HEADER}1,1,0\n1,2,1\n"), classes=classes)
    typed = read(pl.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [0, 1]}), classes=classes)
    for found in (text, typed):
        assert to_list(found.class_names) == [2, 1, 0]
        assert votes_of(found) == {(1, 1, 0), (1, 2, 1)}


def test_three_plain_columns_without_a_header_are_task_annotator_and_label(tmp_path: Path) -> None:
    wrong = {("ann", 3), ("bob", 7), ("eve", 10)}
    rows = [(f"t{n}", who, "xy"[(n + ((who, n) in wrong)) % 2]) for n in range(12) for who in ("ann", "bob", "eve")]
    path = write(tmp_path / "v.csv", "".join(f"{','.join(row)}\n" for row in rows))
    with pytest.warns(match="taken as task, annotator and label, in this order"):
        annotations = read(path, header=False)
    assert (annotations.n_votes, annotations.n_tasks, annotations.n_annotators) == (36, 12, 3)
    with pytest.raises(InputError, match="no task and no annotator"):
        read(write(tmp_path / "other.csv", "".join(f"{who},{task},{vote}\n" for task, who, vote in rows)), header=False)


def test_python_keeps_the_users_name_of_the_column_of_tasks(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", CSV.replace("task,worker,label", "Item ID,rater,answer"))
    result = finegold.aggregate(path, "mv")
    result.export(tmp_path / "train.parquet", "sklearn")
    tables = [result.labels(), result.soft_labels(), pl.read_parquet(tmp_path / "train.parquet")]
    assert [table.columns[0] for table in tables] == ["Item ID"] * 3


LARGE = [1580661436132757506, 1580661436132757507]
SEVERAL: dict[str, tuple[pl.Series, pl.Series, list[Any]]] = {
    "large integers beside fractions become text": (
        pl.Series(LARGE),
        pl.Series([0.5]),
        sorted(["0.5", *map(str, LARGE)]),
    ),
    "large unsigned integers beside fractions become text": (
        pl.Series(LARGE, dtype=pl.UInt64),
        pl.Series([0.5]),
        sorted(["0.5", *map(str, LARGE)]),
    ),
    "small integers beside fractions become text": (
        pl.Series([1, 2**53 - 1], dtype=pl.UInt64),
        pl.Series([0.5]),
        ["0.5", "1", str(2**53 - 1)],
    ),
    "unsigned and signed integers stay what they are": (
        pl.Series(LARGE, dtype=pl.UInt64),
        pl.Series([-3]),
        [-3, *LARGE],
    ),
}


@pytest.mark.parametrize(("first", "second", "names"), SEVERAL.values(), ids=SEVERAL)
def test_ids_of_two_files_are_never_rounded(
    tmp_path: Path, first: pl.Series, second: pl.Series, names: list[Any]
) -> None:
    for number, tasks in enumerate((first, second)):
        frame = pl.DataFrame({"task": tasks}).with_columns(worker=pl.lit("w"), label=pl.lit("a"))
        frame.write_parquet(tmp_path / f"{number}.parquet")
    assert to_list(read(tmp_path).task_names) == names
    assert to_list(read(tmp_path, wide=True, task="task", annotator=["worker"]).task_names) == names


@pytest.mark.parametrize("name", ["v.jsonl", "v.json"])
def test_large_integers_and_fractions_in_json_are_not_merged(tmp_path: Path, name: str) -> None:
    rows = [{"task": task, "worker": "w", "label": "a"} for task in (*LARGE, 0.5)]
    text = "\n".join(map(json.dumps, rows)) if name == "v.jsonl" else json.dumps(rows)
    assert to_list(read(write(tmp_path / name, text)).task_names) == sorted(["0.5", *map(str, LARGE)])
