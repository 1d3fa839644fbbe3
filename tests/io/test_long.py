"""Long tables: which column is which, what is a vote, which classes there are; and nothing is lost in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold.errors import FinegoldWarning, InputError
from finegold.io.read import read
from finegold.votes.encoding import to_list
from tests.support.exports_cases import Case, check_each, put, reads, refuses
from tests.support.readers_votes import CSV, VOTES, votes_of, write

HEADER = "task,worker,label\n"
NAMES = [
    "item,annotator,answer",
    "question,user,response",
    "unit,rater,rating",
    "_unit_id,_worker_id,choice",
    "HITId,WorkerId,class",
    "Item ID,Performer,LABEL",
    " task , worker , label ",
]
LINES = '{"task":1,"worker":"a","label":true}\n{"task":2,"worker":7,"label":false}\n{"task":3,"worker":7}\n'


def long(text: str, votes: Any, **options: Any) -> Case:
    return reads("v.csv", HEADER + text, votes, **options)


test_a_table_is_read = check_each({
    **{f"the usual names are known: {names}": reads("v.csv", CSV.replace(HEADER, f"{names}\n"), VOTES)
       for names in NAMES},
    "the user names the columns": reads(
        "v.csv", CSV.replace(HEADER, "a,b,c\n"), VOTES, task="a", annotator="b", label="C"),
    "a named column is no candidate for another role": reads(
        "v.csv", "task,item,worker,label\nx,t1,ann,a\n", {("t1", "ann", "a")}, task="item"),
    **{f"a name that is not a plain integer keeps a column text: {odd}": long(
        f"10,1,1\n9,1,0\n{odd},1,1\n", {("10", 1, 1), ("9", 1, 0), (odd, 1, 1)})
       for odd in ("007", "+7", "1.0", "1e3", " 7", "-0", "99999999999999999999", "x")},
    "ids beside a blank row are integers": long("7,ann,a\n,,\n8,ann,b\n", {(7, "ann", "a"), (8, "ann", "b")}, rows=3),
    "JSON keeps its types, and mixtures become text": reads("v.jsonl", LINES, {(1, "a", True), (2, "7", False)}),
})  # fmt: skip


def test_what_means_missing_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", f"{HEADER}t1,ann,NA\nt1,bob,-\nt1,cy,\n")
    assert votes_of(read(path, missing=["-"])) == {("t1", "ann", "NA")}


test_what_is_wrong_is_said_with_its_column_or_row = check_each({
    **{f"two candidates for a role: {header}": refuses(
        "v.csv", f"{header}\n1,2,3,4\n", f'the columns "{names}" could each be the {role}. The columns are ',
        f"; use {role}=NAME to say which")
       for header, role, names in [
           ("task,item,worker,label", "task", 'task", "item'),
           ("task,worker,rater,label", "annotator", 'worker", "rater'),
           ("task,worker,label,rating", "label", 'label", "rating'),
           ("task,Task,worker,label", "task", 'task", "Task'),
       ]},
    "no label": refuses(
        "v.csv", "task,worker,x\n1,2,3\n", 'v.csv: there is no label column. The columns are "task" ',
        '"x" (1 value: 3); use label'),
    "another class": refuses(
        "v.csv", CSV, "row 2 (line 3): label 'dog' is not among the classes cat, cow", classes=["cat", "cow"]),
    **{f"no {role} in {row}": refuses(
        "v.csv", f'{HEADER}"t\n0",ann,a\n{row}\n', f"v.csv, row 2 (line 4): there is a label but no {role}")
       for row, role in [(",ann,a", "task"), ("t1,,a", "annotator"), ('" ",ann,a', "task")]},
})  # fmt: skip


def test_whole_numbers_become_integers_in_numerical_order(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", f"{HEADER}10,2,1\n9,-1,0\n0,2,NA\n"))
    assert to_list(annotations.task_names) == [9, 10]
    assert to_list(annotations.unlabelled) == [0]
    assert to_list(annotations.annotator_names) == [-1, 2]
    assert to_list(annotations.class_names) == [0, 1]
    assert annotations.task_names.values.dtype.is_integer()


def test_three_plain_columns_without_a_header_are_task_annotator_and_label(tmp_path: Path) -> None:
    wrong = {("ann", 3), ("bob", 7), ("eve", 10)}
    rows = [
        (f"t{n}", who, "xy"[(n + ((who, n) in wrong)) % 2])
        for n in range(12)
        for who in ("ann", "bob", "eve")
    ]
    path = write(tmp_path / "v.csv", "".join(f"{','.join(row)}\n" for row in rows))
    with pytest.warns(match="taken as task, annotator and label, in this order"):
        annotations = read(path, header=False)
    assert (annotations.n_votes, annotations.n_tasks, annotations.n_annotators) == (36, 12, 3)
    with pytest.raises(InputError, match="no task and no annotator"):
        read(
            write(
                tmp_path / "other.csv",
                "".join(f"{who},{task},{vote}\n" for task, who, vote in rows),
            ),
            header=False,
        )


LARGE = [1580661436132757506, 1580661436132757507]
AS_TEXT = sorted(["0.5", *map(str, LARGE)])


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (pl.Series(LARGE), pl.Series([0.5]), AS_TEXT),
        (pl.Series(LARGE, dtype=pl.UInt64), pl.Series([0.5]), AS_TEXT),
        (
            pl.Series([1, 2**53 - 1], dtype=pl.UInt64),
            pl.Series([0.5]),
            ["0.5", "1", str(2**53 - 1)],
        ),
        (
            pl.Series(LARGE, dtype=pl.UInt64),
            pl.Series([-3]),
            [-3, *LARGE],
        ),  # which stay what they are
    ],
)
def test_ids_of_two_files_are_never_rounded(
    tmp_path: Path, first: pl.Series, second: pl.Series, names: list[Any]
) -> None:
    for number, tasks in enumerate((first, second)):
        frame = pl.DataFrame({"task": tasks}).with_columns(worker=pl.lit("w"), label=pl.lit("a"))
        frame.write_parquet(tmp_path / f"{number}.parquet")
    assert to_list(read(tmp_path).task_names) == names
    assert (
        to_list(read(tmp_path, layout="wide", task="task", annotator=["worker"]).task_names)
        == names
    )


@pytest.mark.parametrize("name", ["v.jsonl", "v.json"])
def test_large_integers_and_fractions_in_json_are_not_merged(tmp_path: Path, name: str) -> None:
    rows = [{"task": task, "worker": "w", "label": "a"} for task in (*LARGE, 0.5)]
    assert to_list(read(put(tmp_path, name, rows)).task_names) == AS_TEXT


def test_rows_of_one_answer_are_joined_and_rows_without_an_annotator_left_out() -> None:
    rows = [("1", "ann", "a;b"), ("1", "ann", "c"), ("2", None, None), ("2", "bo", "a")]
    frame = pl.DataFrame(rows, schema=["task", "annotator", "label"], orient="row")
    with pytest.warns(FinegoldWarning, match="are one answer: 1 of 4 joined an earlier row"):
        votes = read(frame, multi=True)
    assert (to_list(votes.annotator_names), votes.n_votes) == (["ann", "bo"], 4)


def test_a_column_that_tells_questions_apart_and_predictions_beside_labels_are_asked_about(
    tmp_path: Path,
) -> None:
    rows = [
        f"{task},{who},{question},{question}1"
        for task in range(9)
        for who in "ab"
        for question in "xy"
    ]
    with pytest.raises(InputError, match="question"):
        read(write(tmp_path / "questions.csv", "\n".join(["task,worker,question,label", *rows])))
    rows = [f"{task},{who},{'ab'[task % 2]},{'abc'[task % 3]}" for task in range(9) for who in "vw"]
    with pytest.raises(InputError, match="may hold the truth"):
        read(write(tmp_path / "rivals.csv", "\n".join(["task,worker,label,prediction", *rows])))
