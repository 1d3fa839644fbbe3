"""Gold truths and truths for evaluation, wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from finegold.io.read import read
from finegold.io.truth import match_truth, read_truth
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import to_list
from tests.support.exports_cases import check_each, reads
from tests.support.readers_votes import CSV, VOTES, write

GOLD = {"t1": "dog", "t2": "cat"}
ANNOTATIONS = Annotations.from_arrays(["a", "b"], ["x", "x"], [0, 1])


def gold_of(annotations: Annotations) -> dict[Any, Any]:
    classes = to_list(annotations.class_names)
    tasks = to_list(annotations.task_names)
    return {
        task: classes[code] for task, code in zip(tasks, annotations.gold, strict=True) if code >= 0
    }


FRAME = pl.DataFrame({"task": ["t1", "t2"], "truth": ["dog", "cat"]})
CODES = "task,worker,label\n1,1,0\n1,2,1\n"
WITH_GOLD = "task,worker,label,gold\nt2,ann,cat,cat\nt1,bob,dog,dog\nt1,ann,cat,\n"


@pytest.mark.parametrize(
    "gold",
    [
        *("item,truth", "task,gold", "task,label", "HITId,ground_truth"),
        *(FRAME, FRAME.to_pandas(), GOLD, pd.Series(GOLD)),
        *({**GOLD, "t3": unknown} for unknown in (None, float("nan"), pd.NA, pd.NaT, "", "NA")),
    ],
)
def test_gold_comes_from_a_file_a_frame_or_a_mapping_and_may_be_unknown(
    tmp_path: Path, gold: Any
) -> None:
    if isinstance(gold, str):
        gold = write(tmp_path / "gold.csv", f"{gold}\nt1,dog\nt2,cat\n")
    assert gold_of(read(write(tmp_path / "v.csv", CSV + "t3,ann,cat\n"), gold=gold)) == GOLD


test_gold_comes_from_a_column_of_the_votes_and_may_be_a_new_class = check_each({
    "a column of truths": reads("v.csv", WITH_GOLD, VOTES, truths=GOLD, gold=True),
    "a named column": reads("v.csv", WITH_GOLD, VOTES, truths=GOLD, gold="gold"),
    "a column that nobody asked for": reads("v.csv", WITH_GOLD, VOTES),
    "a class without votes": reads("v.csv", CSV, VOTES, truths={"t1": "bee"}, gold={"t1": "bee"}),
    "a class as text among integers": reads("v.csv", CODES, {(1, 1, 0), (1, 2, 1)}, truths={1: 7}, gold={1: "7"}),
    "a class as an integer": reads("v.csv", CODES, {(1, 1, 0), (1, 2, 1)}, truths={1: 7}, gold={1: 7}),
    "a word makes text of all classes": reads(
        "v.csv", CODES, {(1, 1, "0"), (1, 2, "1")}, truths={1: "x"}, gold={1: "x"}),
})  # fmt: skip


def test_text_and_numbers_of_the_same_id_match(tmp_path: Path) -> None:
    votes = pl.DataFrame({"task": ["1", "x"], "worker": [1, 1], "label": [0, 1]})
    gold = write(
        tmp_path / "gold.csv", "task,truth\n1,0\n"
    )  # here the task is the number 1, there the text
    assert gold_of(read(votes, gold=gold)) == {"1": 0}
    floats = pd.DataFrame({"task": [1.0, 2.0], "worker": [1, 1], "label": [True, False]})
    assert gold_of(
        read(floats, gold=write(tmp_path / "g.csv", "task,truth\n1,true\n2,False\n"))
    ) == {1: True, 2: False}


def test_ids_of_truths_that_look_like_those_of_tasks_match_under_normalise() -> None:
    votes = read([("T1", "ann", "cat"), ("t2", "ann", "dog")], normalise=True)
    with pytest.warns(FinegoldWarning, match="without votes"):
        key = match_truth(votes, [("t1", "cat"), ("t2", "cat"), ("t3", "cat")])
    assert (key.n_known, key.n_unmatched) == (2, 1)


def test_007_is_not_7(tmp_path: Path) -> None:
    votes = write(tmp_path / "v.csv", "task,worker,label\n007,1,a\n")
    with pytest.warns(FinegoldWarning, match="1 gold truths belong to tasks without votes"):
        assert gold_of(read(votes, gold={7: "a"})) == {}


FRAME_OF_CODES = pl.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [0, 1]})
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (CSV, {"gold": {"t1": ["dog"]}}, "a list cannot be a name; expected text"),
    (
        CSV,
        {"gold": "task,truth\nt1,a\nt1,b\n"},
        r"row 1 \(line 2\): task 't1' has the truth 'a' here and 'b' in",
    ),
    (CSV, {"gold": "task,truth\nt1,a\n,b\n"}, r"row 2 \(line 3\): there is a truth but no task"),
    (
        CSV,
        {"gold": "task,x\nt1,a\n"},
        r"no truth column. The columns are .*; name the column truth in the file",
    ),
    (
        CSV,
        {"gold": {"t1": "bee"}, "classes": ["cat", "dog"]},
        "gold truth 'bee' is not among the classes cat, dog",
    ),
    (FRAME_OF_CODES, {"gold": {1: "x"}}, r"'x' and the labels .such as 0. have different types"),
    (ANNOTATIONS, {"gold": {"b": 5}}, "1 gold truths are not among the classes"),
]


@pytest.mark.parametrize(("votes", "options", "words"), REFUSED)
def test_truths_that_cannot_be_are_refused(
    tmp_path: Path, votes: Any, options: dict[str, Any], words: str
) -> None:
    if isinstance(options["gold"], str):
        options = {"gold": write(tmp_path / "gold.csv", options["gold"])}
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.csv", votes) if isinstance(votes, str) else votes, **options)


def test_truths_are_read_once_each_from_columns_that_can_be_named(tmp_path: Path) -> None:
    truth = read_truth(write(tmp_path / "gold.csv", "task,truth\nt2,b\nt1,a\nt1,a\nt3,NA\n"))
    assert (to_list(truth.task), to_list(truth.truth)) == (["t1", "t2"], ["a", "b"])
    path = write(tmp_path / "gold.csv", "a,b\nt1,x\n")
    truth = read_truth(path, task="a", label="b")
    assert (to_list(truth.task), to_list(truth.truth)) == (["t1"], ["x"])
    with pytest.raises(InputError, match=r"no truth column.*truth_label=NAME"):
        read_truth(path, task="a")


def test_truths_are_matched_to_tasks_and_classes(tmp_path: Path) -> None:
    annotations = read(write(tmp_path / "v.csv", CSV))
    with pytest.warns(
        FinegoldWarning, match="1 truth belongs to a task without votes and cannot be used: t9"
    ):
        found = match_truth(annotations, {"t2": "dog", "t1": "bee", "t9": "cat"})
    assert found.codes.tolist() == [2, 1]
    assert found.codes.dtype == "int32"
    assert (found.class_names, found.n_new_classes) == (["cat", "dog", "bee"], 1)
    assert (found.n_unmatched, found.n_unvoted) == (1, 1)


def test_truths_may_be_codes_and_a_class_of_nobody_is_one_more_class() -> None:
    votes = Annotations.from_arrays([1, 2, 3, 4], ["a"] * 4, ["x", "y", "x", "x"])
    key = match_truth(votes, np.array([1, 900, -5, 900]))
    assert key.codes.tolist() == [1, 2, -1, 2]
    assert key.class_names == ["x", "y", "900"]
    assert match_truth(votes, key) is key


@pytest.mark.parametrize(
    "judge", [finegold.coverage, lambda *given: finegold.aggregate(given[0], "mv").trust(given[1])]
)
def test_truths_of_tasks_without_votes_are_named_and_truths_of_no_task_refused(judge: Any) -> None:
    """They were left out in silence where trust, calibration and coverage judge by them."""
    votes = Annotations.from_arrays(["a", "a", "b"], ["x", "y", "x"], [0, 1, 1])
    with pytest.warns(
        FinegoldWarning,
        match="4 truths belong to tasks without votes and cannot be used: c, d, e, ...",
    ):
        judge(votes, {"a": 0, "b": 7, "c": 0, "d": 1, "e": 1, "f": 0})
    with pytest.raises(
        InputError, match="none of the 2 truths belongs to a task with votes; check that the tasks"
    ):
        judge(votes, {"A": 0, "B": 1})


def test_gold_for_tasks_that_annotations_do_not_have_is_counted_and_said() -> None:
    with pytest.warns(FinegoldWarning, match="1 gold truths belong to tasks without votes"):
        found = read(ANNOTATIONS, gold={"b": 0, "c": 1})
    assert found.counts.gold_unused == 1
    assert found.gold.tolist() == [-1, 0]


def test_in_a_table_of_two_columns_the_one_without_truths_has_the_tasks(tmp_path: Path) -> None:
    votes = write(tmp_path / "votes.csv", "doc,worker,label\nd1,ann,x\nd1,bob,y\nd2,ann,y\n")
    gold = write(tmp_path / "gold.csv", "doc,truth\nd1,y\n")
    assert finegold.aggregate(votes, task="doc", gold=gold).label.to_list() == ["y", "y"]
    assert finegold.evaluate(votes, gold, task="doc")["n_truths"][0] == 1
    used = write(tmp_path / "used.csv", "doc,label\nd1,x\n")
    assert finegold.audit(votes, used, task="doc")["doc"].to_list() == ["d1"]


def test_tables_without_a_column_of_tasks_are_numbered_from_0_as_matrices_are(
    tmp_path: Path,
) -> None:
    wide = pl.DataFrame({"w0": [0, 1, 2], "w1": [0, 1, 1]})
    table = read(write(tmp_path / "wide.csv", wide.write_csv()), layout="wide")
    matrix = Annotations.from_matrix(wide.to_numpy())
    assert to_list(table.task_names) == to_list(matrix.task_names) == [0, 1, 2]
