"""Toloka: hand-made exports in, the votes written by hand out."""

from __future__ import annotations

from pathlib import Path

import pytest

from finegold import FinegoldWarning, InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

HEADER = [
    "INPUT:image",
    "OUTPUT:result",
    "GOLDEN:result",
    "HINT:text",
    "ASSIGNMENT:link",
    "ASSIGNMENT:task_id",
    "ASSIGNMENT:assignment_id",
    "ASSIGNMENT:worker_id",
    "ASSIGNMENT:status",
]
ROWS = [
    ["u1", "cat", "cat", "", "l", "t1", "a1", "ann", "APPROVED"],
    ["u2", "dog", "", "", "l", "t2", "a1", "ann", "APPROVED"],
    [],
    ["u1", "dog", "cat", "", "l", "t1", "a2", "bob", "SUBMITTED"],
    ["u2", "dog", "", "", "l", "t2", "a3", "eve", "REJECTED"],
    ["u2", "", "", "", "l", "t2", "a4", "joe", "SKIPPED"],
    ["u3", "", "", "", "l", "t3", "a4", "joe", "EXPIRED"],
]
VOTES = {("t1", "ann", "cat"), ("t2", "ann", "dog"), ("t1", "bob", "dog")}


def tsv(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    return write(path / "assignments.tsv", "\n".join("\t".join(row) for row in [header, *rows]) + "\n")


def test_votes_of_assignments_that_count(tmp_path: Path) -> None:
    found = read(tsv(tmp_path, HEADER, ROWS))
    assert votes_of(found) == VOTES
    assert found.counts.left_out == {"rejected assignments": 1, "skipped or unfinished assignments": 2}
    assert (found.gold == -1).all()
    path = tsv(tmp_path, HEADER, ROWS)
    assert votes_of(read(path, include="rejected")) == VOTES | {("t2", "eve", "dog")}
    assert {task for task, _, _ in votes_of(read(path, task="image"))} == {"u1", "u2"}


def test_golden_answers_are_gold_when_asked(tmp_path: Path) -> None:
    found = read(tsv(tmp_path, HEADER, ROWS), gold=True)
    assert found.gold.tolist() == [0, -1]
    assert found.class_names.to_list() == ["cat", "dog"]
    silent = [[*row[:2], "", *row[3:]] if row else row for row in ROWS]
    with pytest.raises(InputError, match=r"Toloka export.* marks no gold"):
        read(tsv(tmp_path, HEADER, silent), gold=True)


def test_several_outputs_are_several_questions(tmp_path: Path) -> None:
    header = ["INPUT:url", "OUTPUT:mood", "OUTPUT:tags", "OUTPUT:never", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"]
    rows = [["u", "true", '["b","a"]', "", "t1", "ann"], ["u", "false", '["a"]', "", "t1", "bob"]]
    each = read_each(tsv(tmp_path, header, rows))
    assert list(each) == ["mood", "tags"]  # nobody answered the third
    assert votes_of(each["mood"]) == {("t1", "ann", "true"), ("t1", "bob", "false")}
    assert votes_of(each["tags"]) == {("t1", "ann", "a|b"), ("t1", "bob", "a")}


def test_old_exports_have_no_task_ids(tmp_path: Path) -> None:
    header = ["INPUT:url", "OUTPUT:mood", "ASSIGNMENT:worker_id"]
    assert votes_of(read(tsv(tmp_path, header, [["u", "ok", "ann"]]))) == {("u", "ann", "ok")}
    header, row = ["INPUT:url", "INPUT:text", "OUTPUT:mood", "ASSIGNMENT:worker_id"], ["u", "t", "ok", "ann"]
    assert votes_of(read(tsv(tmp_path, header, [row]), task="text")) == {("t", "ann", "ok")}


def test_damage_is_named_with_the_tool_and_the_remedy(tmp_path: Path) -> None:
    title = r"assignments\.tsv \(Toloka export\)"
    with pytest.raises(
        InputError, match=rf"{title}: there is no OUTPUT:\* column; download it again: .*Download results"
    ):
        read(tsv(tmp_path, ["INPUT:url", "ASSIGNMENT:worker_id"], [["u", "ann"]]))
    with pytest.raises(InputError, match=r"there is no ASSIGNMENT:task_id, and no INPUT:\* either"):
        read(tsv(tmp_path, ["OUTPUT:mood", "ASSIGNMENT:worker_id"], [["u", "ann"]]))
    with pytest.raises(InputError, match=rf"{title}: there is no ASSIGNMENT:worker_id column"):
        read(tsv(tmp_path, ["INPUT:url", "OUTPUT:mood", "ASSIGNMENT:status"], [["u", "a", "APPROVED"]]))
    with pytest.raises(
        InputError, match=r"assignments\.tsv \(Toloka export\), line 3: too few fields.*, or (download|export) it again"
    ):
        read(tsv(tmp_path, HEADER, [ROWS[0], ROWS[1][:4]]))
    with pytest.raises(InputError, match=r"holds no votes; left out were .*rejected assignments"):
        read(tsv(tmp_path, HEADER, [ROWS[4]]))


def test_tasks_without_ids_are_told_apart_by_all_inputs(tmp_path: Path) -> None:
    header = ["INPUT:left", "INPUT:right", "OUTPUT:better", "ASSIGNMENT:worker_id"]
    rows = [["a", "b", "left", "ann"], ["a", "c", "left", "ann"], ["a", "b", "right", "bob"]]
    path = tsv(tmp_path, header, rows)
    with pytest.warns(FinegoldWarning, match="INPUT:left and INPUT:right together name the tasks"):
        found = read(path)
    assert votes_of(found) == {("a | b", "ann", "left"), ("a | c", "ann", "left"), ("a | b", "bob", "right")}
    assert votes_of(read(path, task="left,right")) == votes_of(found)
    with pytest.raises(InputError, match='there is no column "middle"; use task=NAME with one of'):
        read(path, task="left,middle")
