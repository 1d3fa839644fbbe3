"""One file per annotator: files without a column of annotators are named by the file."""

from __future__ import annotations

from typing import Any

from tests.support.exports_cases import Case, check_each, reads, refuses
from tests.support.readers_votes import VOTES

ROWS: dict[str, list[Any]] = {"ann": [("t2", "cat"), ("t1", "cat")], "bob": [("t1", "dog")]}
NUMBERS: dict[str, list[Any]] = {"ann": [(1, "x"), (2, "y")], "bob": [(1, "x"), (2.5, "y")]}
NUMBER_VOTES = {("1", "ann", "x"), ("2", "ann", "y"), ("1", "bob", "x"), ("2.5", "bob", "y")}
SAID = r"no column of annotators.*each file.*one annotator: ann, bob"


def text_of(rows: list[Any]) -> str:
    return "task,label\n" + "".join(f"{task},{label}\n" for task, label in rows)


def in_json(suffix: str, rows_of: dict[str, list[Any]], votes: Any) -> Case:
    files = {
        name + suffix: [{"task": task, "label": label} for task, label in rows]
        for name, rows in rows_of.items()
    }
    return reads("", files, votes, warns=SAID)


def not_of_one_each(*contents: str, words: str) -> Case:
    return refuses(
        "",
        {f"{number}.csv": f"task,label\n{content}" for number, content in enumerate(contents)},
        words,
    )


test_the_file_or_its_folder_names_the_annotator_and_this_is_said = check_each({
    "tables": reads("", {f"{name}.csv": text_of(rows) for name, rows in ROWS.items()}, VOTES, warns=SAID),
    "folders": reads(
        "*/votes.csv", {f"{name}/votes.csv": text_of(rows) for name, rows in ROWS.items()}, VOTES, warns=SAID),
    "lines of JSON": in_json(".jsonl", ROWS, VOTES),
    "lists of JSON": in_json(".json", ROWS, VOTES),
    "numbers that become text keep their annotators": in_json(".jsonl", NUMBERS, NUMBER_VOTES),
    "a short row is an error": not_of_one_each("t1,cat\n", "t1,dog\nt2\n", words="too few fields"),
    "files that share no task": not_of_one_each("a,x\n", "b,x\n", words="the files share no task"),
    "a file with a task twice": not_of_one_each("a,x\na,y\n", "a,x\n", words="a file has a task more than once"),
    "how annotators are named": not_of_one_each("a,x\n", "b,x\n", words="annotator=NAME"),
    "a single file needs annotators": not_of_one_each("a,x\n", words="there is no annotator column"),
})  # fmt: skip
