"""Long tables: which column is which, what is a vote, which classes there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.read import read
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import to_list
from tests.support.readers_votes import CSV, VOTES, votes_of, write


def test_annotations_come_back_as_they_are() -> None:
    annotations = Annotations.from_arrays(["a"], ["b"], ["c"])
    assert read(annotations) is annotations


def test_options_for_columns_are_refused_for_annotations() -> None:
    with pytest.raises(InputError, match="task cannot be applied to Annotations"):
        read(Annotations.from_arrays(["a"], ["b"], ["c"]), task="x")


@pytest.mark.parametrize(
    "header",
    [
        "item,annotator,answer",
        "question,user,response",
        "unit,rater,rating",
        "_unit_id,_worker_id,choice",
        "HITId,WorkerId,class",
        "task_id,judge,verdict",
        "Item ID,Performer,LABEL",
        " task , worker , label ",
    ],
)
def test_the_usual_names_of_columns_are_known(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "v.csv", CSV.replace("task,worker,label", header))
    assert votes_of(read(path)) == VOTES


def test_the_user_can_name_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", CSV.replace("task,worker,label", "a,b,c"))
    assert votes_of(read(path, task="a", annotator="b", label="C")) == VOTES


def test_a_named_column_is_no_candidate_for_another_role(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,item,worker,label\nx,t1,ann,a\n")
    assert votes_of(read(path, task="item")) == {("t1", "ann", "a")}


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("task,item,worker,label", "task"),
        ("task,worker,rater,label", "annotator"),
        ("task,worker,label,rating", "label"),
        ("task,Task,worker,label", "task"),
    ],
)
def test_two_candidates_for_a_role_are_an_error_that_lists_both(tmp_path: Path, header: str, role: str) -> None:
    with pytest.raises(
        InputError, match=f"could each be the {role}. The columns are .*; use {role}=NAME to say which"
    ) as caught:
        read(write(tmp_path / "v.csv", header + "\n1,2,3,4\n"))
    assert str(caught.value).partition(" could")[0].count('"') == 4


REFUSED: list[tuple[str, dict[str, Any], str]] = [
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
        (f'task,worker,label\n"t\n0",ann,a\n{row}\n', {}, rf"v\.csv, row 2 \(line 4\): there is a label but no {role}")
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
    annotations = read(write(tmp_path / "v.csv", "task,worker,label\n10,2,1\n9,-1,0\n0,2,NA\n"))
    assert to_list(annotations.task_names) == [9, 10]
    assert to_list(annotations.unlabelled) == [0]
    assert to_list(annotations.annotator_names) == [-1, 2]
    assert to_list(annotations.class_names) == [0, 1]
    assert annotations.task_names.values.dtype.is_integer()


@pytest.mark.parametrize("odd", ["007", "+7", "1.0", "1e3", " 7", "-0", "99999999999999999999", "x"])
def test_one_name_that_is_no_plain_integer_keeps_a_column_text(tmp_path: Path, odd: str) -> None:
    annotations = read(write(tmp_path / "v.csv", f"task,worker,label\n10,1,1\n9,1,0\n{odd},1,1\n"))
    assert to_list(annotations.task_names) == sorted(["10", "9", odd])


def test_whitespace_in_names_is_kept(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", "task,worker,label\n t1,ann , a b\n"))
    assert votes_of(annotations) == {(" t1", "ann ", " a b")}


@pytest.mark.parametrize("word", ["", '""', "  ", "NA", "null", "NaN"])
def test_missing_labels_are_no_votes_but_counted(tmp_path: Path, word: str) -> None:
    annotations = read(write(tmp_path / "v.csv", f"task,worker,label\nt1,ann,{word}\nt1,bob,a\n"))
    assert votes_of(annotations) == {("t1", "bob", "a")}
    assert to_list(annotations.class_names) == ["a"]
    assert annotations.counts.missing == 1


def test_what_means_missing_can_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,worker,label\nt1,ann,NA\nt1,bob,-\nt1,cy,\n")
    assert votes_of(read(path, missing=["-"])) == {("t1", "ann", "NA")}


def test_minus_one_is_a_class_in_a_long_table(tmp_path: Path) -> None:
    assert to_list(read(write(tmp_path / "v.csv", "task,worker,label\n1,2,-1\n")).class_names) == [-1]


def test_a_missing_id_in_parquet_is_named_by_its_row(tmp_path: Path) -> None:
    pl.DataFrame({"task": [1, None], "worker": [1, 2], "label": [1, 1]}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(InputError, match=r"v\.parquet, row 2: there is a label but no task"):
        read(tmp_path / "v.parquet")


def test_a_row_without_id_and_label_is_left_out_but_counted(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", "task,worker,label\n7,ann,a\n,,\n8,ann,b\n"))
    assert votes_of(annotations) == {(7, "ann", "a"), (8, "ann", "b")}
    assert (annotations.counts.rows, annotations.counts.missing) == (3, 1)


def test_given_classes_keep_their_order_and_may_be_unused(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", CSV), classes=["dog", "cow", "cat"])
    assert to_list(annotations.class_names) == ["dog", "cow", "cat"]
    assert votes_of(annotations) == VOTES


@pytest.mark.parametrize("classes", [["2", "1", "0"], [2, 1, 0]])
def test_given_classes_may_be_text_or_numbers(tmp_path: Path, classes: list[object]) -> None:
    text = read(write(tmp_path / "v.csv", "task,worker,label\n1,1,0\n1,2,1\n"), classes=classes)
    typed = read(pl.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [0, 1]}), classes=classes)
    for found in (text, typed):
        assert to_list(found.class_names) == [2, 1, 0]
        assert votes_of(found) == {(1, 1, 0), (1, 2, 1)}


def test_json_keeps_its_types_and_mixtures_become_text(tmp_path: Path) -> None:
    lines = '{"task":1,"worker":"a","label":true}\n{"task":2,"worker":7,"label":false}\n{"task":3,"worker":7}\n'
    annotations = read(write(tmp_path / "v.jsonl", lines))
    assert votes_of(annotations) == {(1, "a", True), (2, "7", False)}
    assert annotations.counts.missing == 1


def test_a_column_of_lists_is_an_error() -> None:
    with pytest.raises(InputError, match='column "label" holds a list'):
        read(pl.DataFrame({"task": [1], "worker": [1], "label": [[1, 2]]}))


def test_repeated_votes_follow_the_wish(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,worker,label\n1,1,a\n1,1,b\n")
    assert votes_of(read(path)) == {(1, 1, "a")}
    assert votes_of(read(path, repeated="last")) == {(1, 1, "b")}


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
    result = finegold.aggregate(
        write(tmp_path / "v.csv", CSV.replace("task,worker,label", "Item ID,rater,answer")), "mv"
    )
    result.export(tmp_path / "train.parquet", "sklearn")
    tables = [result.labels(), result.soft_labels(), pl.read_parquet(tmp_path / "train.parquet")]
    assert [table.columns[0] for table in tables] == ["Item ID"] * 3
