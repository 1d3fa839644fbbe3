"""Sheets are read as if they were saved as CSV: long, wide, truths, and exports of tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import finegold
from finegold import InputError
from finegold.io.read import read
from tests.support.readers_votes import CSV, VOTES, votes_of, write
from tests.support.workbooks import LONG, Sheets, ods, xls, xlsx


@pytest.mark.parametrize("make", [xlsx, ods])
def test_a_long_table_in_a_sheet(tmp_path: Path, make: Any) -> None:
    path = make(tmp_path / f"votes.{make.__name__}", {"Votes": LONG, "Notes": []})
    assert votes_of(read(path)) == VOTES
    assert votes_of(read(f"{path}#Votes")) == VOTES
    with path.open("rb") as stream:
        assert votes_of(read(stream)) == VOTES
    assert len(finegold.aggregate(path, "mv").label) == 2


def test_the_old_binary_format_and_text_that_is_called_a_workbook(tmp_path: Path) -> None:
    assert votes_of(read(xls(tmp_path / "votes.xls"))) == {
        (1, "ann", "cat"),
        (1, "bob", "dog"),
        (2, "ann", "cat"),
    }
    assert votes_of(read(write(tmp_path / "votes.xls", CSV))) == VOTES


def test_numbers_and_truth_values_are_as_they_look(tmp_path: Path) -> None:
    rows = [
        ["task", "worker", "label", "score"],
        [1, "007", True, 1.5],
        [2.0, "a,b", False, None],
        [12345678901, 'say "x"', True, 2],
    ]
    path = xlsx(tmp_path / "votes.xlsx", {"S": rows})
    assert votes_of(read(path)) == {
        (1, "007", "true"),
        (2, "a,b", "false"),
        (12345678901, 'say "x"', "true"),
    }
    assert {label for _, _, label in votes_of(read(path, label="score"))} == {"1.5", "2"}


def test_empty_rows_and_columns_around_the_table_do_not_count(tmp_path: Path) -> None:
    rows = [
        [None] * 6,
        *([None, task, None, None, worker, label] for task, worker, label in LONG),
        [None] * 6,
    ]
    found = read(xlsx(tmp_path / "votes.xlsx", {"S": rows, "Nothing": [[None]]}))
    assert votes_of(found) == VOTES
    assert found.counts.missing == 0


def test_an_export_that_was_saved_as_a_workbook(tmp_path: Path) -> None:
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Answer.mood"]
    rows = [["H1", "A1", "ann", "Approved", "good"], ["H1", "A2", "bob", "Rejected", "bad"]]
    found = read(xlsx(tmp_path / "batch.xlsx", {"Batch": [header, *rows]}))
    assert votes_of(found) == {("H1", "ann", "good")}
    assert found.counts.left_out == {"rejected assignments": 1}


@pytest.mark.parametrize(
    ("sheets", "path", "words"),
    [
        (
            {"A": LONG, "B": LONG},
            "v.xlsx",
            r'v\.xlsx holds the sheets "A", "B"; choose one: .*v\.xlsx#A',
        ),
        ({"A": LONG}, "v.xlsx#B", r'v\.xlsx has no sheet "B"; it has "A"'),
        ({"A": []}, "v.xlsx", r'v\.xlsx: the sheet "A" is empty'),
        ({"A": LONG[:1]}, "v.xlsx", r'v\.xlsx, sheet "A" has a header but no rows'),
        (
            {"A": [*LONG, ["t3", None, "cat"]]},
            "v.xlsx",
            r'v\.xlsx, sheet "A", row 4 \(line 5\): there is a label but no',
        ),
        (
            {"A": [[1, 2, 3], [4, 5, 6]]},
            "v.xlsx",
            r'v\.xlsx, sheet "A": the first line \(1, 2, 3\) looks like data',
        ),
    ],
)
def test_what_is_wrong_is_said_of_the_sheet(
    tmp_path: Path, sheets: Sheets, path: str, words: str
) -> None:
    xlsx(tmp_path / "v.xlsx", sheets)
    with pytest.raises(InputError, match=words):
        read(tmp_path / path)


def test_a_damaged_workbook(tmp_path: Path) -> None:
    whole = xlsx(tmp_path / "v.xlsx", {"A": LONG}).read_bytes()
    with pytest.raises(
        InputError, match=r"cut\.xlsx is a damaged workbook \(.*save it again, or as CSV"
    ):
        read(write(tmp_path / "cut.xlsx", whole[:-100]))
    with pytest.raises(InputError, match=r"cut\.xls is a damaged workbook"):
        read(write(tmp_path / "cut.xls", xls(tmp_path / "v.xls").read_bytes()[:600]))
    with pytest.raises(InputError, match=r"v\.xlsx is a workbook without sheets"):
        read(xlsx(tmp_path / "v.xlsx", {}))


def test_a_file_with_a_hash_in_its_name(tmp_path: Path) -> None:
    assert votes_of(read(write(tmp_path / "a#b.csv", CSV))) == VOTES
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "none.xlsx#A")


def test_the_library_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = xlsx(tmp_path / "v.xlsx", {"A": LONG})
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(
        InputError, match=r"v\.xlsx is a workbook; to read it: pip install 'finegold\[excel\]'"
    ):
        read(path)
