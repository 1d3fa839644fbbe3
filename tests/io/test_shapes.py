"""Wide and transposed tables are found by themselves, and long tables never taken for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import finegold
from finegold import InputError
from finegold.io.read import read
from tests.support.readers_votes import votes_of, write

WIDE = "item,gpt-4,claude,gold\n1,yes,no,yes\n2,no,no,\n3,yes,,\n"
VOTES = {(1, "gpt-4", "yes"), (1, "claude", "no"), (2, "gpt-4", "no"), (2, "claude", "no"), (3, "gpt-4", "yes")}


@pytest.mark.parametrize("name", ["item", "prompt_id", "sample_id"])
def test_a_wide_table_is_found(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "v.csv", WIDE.replace("item", name))
    assert votes_of(read(path)) == VOTES == votes_of(read(path, wide=True))
    assert read(path, gold=True).gold.tolist() == [1, -1, -1]
    assert votes_of(read(path, task=name)) == VOTES
    assert len(finegold.aggregate(path, "mv").label) == 3


def test_a_transposed_table_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "Timestamp,Email Address,art?,war?\n8:00,ann@x.org,yes,no\n8:05,bob@x.org,no,no\n")
    with pytest.warns(
        finegold.FinegoldWarning, match=r"a transposed table, whose tasks are art\?, war\?; Timestamp left aside"
    ):
        found = read(path)
    expected = {
        ("art?", "ann@x.org", "yes"),
        ("war?", "ann@x.org", "no"),
        ("art?", "bob@x.org", "no"),
        ("war?", "bob@x.org", "no"),
    }
    assert votes_of(found) == expected


def test_columns_that_hold_no_votes_are_left_aside_and_said(tmp_path: Path) -> None:
    path = write(
        tmp_path / "v.csv", "id,prompt,gpt-4,claude,level\n1,why?,a,b,easy\n2,how?,b,b,hard\n3,who?,a,a,easy\n"
    )
    with pytest.warns(
        finegold.FinegoldWarning, match=r"a wide table, whose annotators are gpt-4, claude; prompt, level left aside"
    ):
        found = read(path)
    assert found.annotator_names.to_list() == ["claude", "gpt-4"]
    assert found.n_votes == 6


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"task": [1, 2, 3], "a": ["x", "y", "x"], "b": ["x", "x", None]}),
        pd.DataFrame({"task": [1, 2, 3], "a": ["x", "y", "x"], "b": ["x", "x", None]}),
    ],
)
def test_data_frames(frame: Any) -> None:
    assert votes_of(read(frame)) == {(1, "a", "x"), (2, "a", "y"), (3, "a", "x"), (1, "b", "x"), (2, "b", "x")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("item,person,score\n1,1,2\n1,2,1\n2,1,1\n", "no annotator and no label column"),  # a task in two rows: long
        ("item,person,score\n1,7,2\n2,8,1\n3,9,1\n", "no annotator and no label column"),  # nothing in common
        ("item,person,score\n1,1,3\n2,5,4\n3,6,5\n4,7,9\n", "no annotator and no label column"),  # but a five
        ("item,a,b,c,d\n1,x,x,u,u\n2,y,x,v,u\n", "no annotator and no label column"),  # two sets of labels
        ("a,b,c\nx,x,y\ny,x,x\n", "no task and no annotator and no label column"),  # nothing names the rows
        ("item,a\n1,x\n", "no annotator and no label column"),
        ("item,id,a,b\n1,5,x,x\n", "no annotator and no label column"),
        ("worker,item,score\nann,1,1\nbob,2,2\n", "no label column"),
    ],
)
def test_what_is_not_sure_is_asked(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.csv", content))


def test_a_long_table_is_never_taken_for_another(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,worker,label\n1,1,1\n2,2,2\n3,1,2\n")
    assert votes_of(read(path)) == {(1, 1, 1), (2, 2, 2), (3, 1, 2)}
