"""One file per annotator: files without a column of annotators are named by the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from tests.support.readers_votes import VOTES, votes_of, write

ROWS: dict[str, list[Any]] = {"ann": [("t2", "cat"), ("t1", "cat")], "bob": [("t1", "dog")]}
NUMBERS: dict[str, list[Any]] = {"ann": [(1, "x"), (2, "y")], "bob": [(1, "x"), (2.5, "y")]}
NUMBER_VOTES = {("1", "ann", "x"), ("2", "ann", "y"), ("1", "bob", "x"), ("2.5", "bob", "y")}


def text_of(rows: list[Any], form: str) -> str:
    if form.endswith("csv"):
        return "task,label\n" + "".join(f"{task},{label}\n" for task, label in rows)
    records = [{"task": task, "label": label} for task, label in rows]
    return json.dumps(records) if form == "json" else "\n".join(map(json.dumps, records))


@pytest.mark.parametrize(
    ("rows", "form", "votes"),
    [
        *((ROWS, form, VOTES) for form in ("csv", "jsonl", "json")),
        (ROWS, "/votes.csv", VOTES),  # the folder names the annotator
        (NUMBERS, "jsonl", NUMBER_VOTES),  # numbers that become text keep their annotators
    ],
)
def test_the_file_or_its_folder_names_the_annotator_and_this_is_said(
    tmp_path: Path, rows: dict[str, list[Any]], form: str, votes: set[Any]
) -> None:
    for name, given in rows.items():
        path = tmp_path / (name + form if "/" in form else f"{name}.{form}")
        path.parent.mkdir(exist_ok=True)
        write(path, text_of(given, form))
    files = sorted(tmp_path.rglob("*.*")) if "/" in form else tmp_path
    with pytest.warns(FinegoldWarning, match=r"no column of annotators.*each file.*one annotator: ann, bob"):
        assert votes_of(finegold.read(files)) == votes


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (("t1,cat\n", "t1,dog\nt2\n"), "too few fields"),
        (("a,x\n", "b,x\n"), r"the files share no task.*annotator=NAME"),
        (("a,x\na,y\n", "a,x\n"), r"a file has a task more than once.*annotator=NAME"),
        (("a,x\n",), "there is no annotator column"),
    ],
)
def test_other_files_are_not_of_one_annotator_each(tmp_path: Path, contents: tuple[str, ...], words: str) -> None:
    for number, content in enumerate(contents):
        write(tmp_path / f"{number}.csv", "task,label\n" + content)
    with pytest.raises(InputError, match=words):
        finegold.read(tmp_path)
