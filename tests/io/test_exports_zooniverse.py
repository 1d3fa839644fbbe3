"""Zooniverse: hand-made classification exports in, the votes written by hand out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write

HEADER = [
    "classification_id", "user_name", "user_id", "user_ip", "workflow_id", "workflow_name", "workflow_version",
    "created_at", "gold_standard", "expert", "metadata", "annotations", "subject_data", "subject_ids",
]  # fmt: skip


def step(name: str, value: Any) -> dict[str, Any]:
    return {"task": name, "task_label": "What is it?", "value": value}


def export(path: Path, *rows: tuple[str, str, Any], workflows: tuple[str, ...] = (), gold: str = "") -> Path:
    """Write rows of a volunteer, a subject and the steps."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for number, (user, subject, steps) in enumerate(rows):
        workflow = workflows[number] if workflows else "77"
        answers = steps if isinstance(steps, str) else json.dumps(steps)
        writer.writerow(
            [number, user, number * 7, "ab12", workflow, "Cats", "3.4", "2024-01-01 10:00:00 UTC",
             gold if user == "expert" else "", "", '{"source": "api"}', answers, '{"1": {}}', subject]
        )  # fmt: skip
    return write(path / "cats-classifications.csv", out.getvalue())


ROWS = [("ann", "101", [step("T0", "Cat")]), ("bob", "101", [step("T0", "Dog")]), ("ann", "102", [step("T0", "Dog")])]
VOTES = {(101, "ann", "Cat"), (101, "bob", "Dog"), (102, "ann", "Dog")}


def test_a_subject_is_a_task_and_a_volunteer_an_annotator(tmp_path: Path) -> None:
    found = read(export(tmp_path, *ROWS))
    assert votes_of(found) == VOTES
    assert found.counts.left_out == {}


def test_workflow_steps_are_questions(tmp_path: Path) -> None:
    path = export(
        tmp_path,
        ("ann", "101", [step("T0", "Cat"), step("T1", ["black", "big"])]),
        ("bob", "101", [step("T0", "Dog"), step("T1", [])]),
    )
    with pytest.raises(InputError, match=r'asks 2 questions: "T0" \(2 votes\), "T1" \(1 vote\)'):
        read(path)
    assert votes_of(read(path, question="T0")) == {(101, "ann", "Cat"), (101, "bob", "Dog")}
    found = read(path, question="T1")
    assert votes_of(found) == {(101, "ann", "big|black")}
    assert found.counts.left_out == {"steps without an answer": 1}


def test_a_combined_step_holds_others(tmp_path: Path) -> None:
    both = step("T5", [step("T0", "Cat"), step("T1", 3)])
    assert list(read_each(export(tmp_path, ("ann", "101", [both])))) == ["T0", "T1"]


def test_surveys_and_drop_down_lists(tmp_path: Path) -> None:
    survey = [{"choice": "LION", "answers": {"HOWMANY": "1"}, "filters": {}}]
    listed = [{"value": "ae3f", "option": True, "label": "Summer"}]
    each = read_each(export(tmp_path, ("ann", "101", [step("T0", survey), step("T1", listed)])))
    assert votes_of(each["T0"]) == {(101, "ann", "LION")}
    assert votes_of(each["T1"]) == {(101, "ann", "Summer")}


def test_a_label_that_is_chosen_twice_is_one_label(tmp_path: Path) -> None:
    twice = [{"choice": "LION", "answers": {"HOWMANY": number}} for number in "12"]
    assert votes_of(read(export(tmp_path, *ROWS, ("eve", "103", [step("T0", twice)])))) == {
        *VOTES,
        (103, "eve", "LION"),
    }


def test_marks_are_left_out_and_counted(tmp_path: Path) -> None:
    marks = [{"x": 1.5, "y": 3.0, "tool": 0, "frame": 0}]
    found = read(export(tmp_path, *ROWS, ("eve", "103", [step("T0", None), step("T2", marks)])))
    assert votes_of(found) == VOTES
    assert found.unlabelled.to_list() == [103]
    assert found.counts.left_out == {"steps without an answer": 1, "marks and drawings": 1}
    assert found.counts.missing == 0


def test_steps_of_several_workflows_are_kept_apart(tmp_path: Path) -> None:
    path = export(tmp_path, *ROWS, workflows=("77", "77", "78"))
    assert list(read_each(path)) == ["77/T0", "78/T0"]


def test_classifications_of_experts_are_gold(tmp_path: Path) -> None:
    found = read(export(tmp_path, *ROWS, ("expert", "101", [step("T0", "Cat")]), gold="true"), gold=True)
    assert found.gold.tolist() == [0, -1]


def test_damage_is_named_with_the_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\(Zooniverse export\), record 2: the annotations are not valid JSON"):
        read(export(tmp_path, ROWS[0], ("bob", "101", '[{"task"')))
    with pytest.raises(InputError, match=r"record 1: found no \"task\""):
        read(export(tmp_path, ("bob", "101", [{"value": "Cat"}])))
    with pytest.raises(InputError, match='there is no column "subject"'):
        read(export(tmp_path, *ROWS), task="subject")
