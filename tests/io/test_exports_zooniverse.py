"""Zooniverse: hand-made classification exports in, the votes written by hand out."""

import csv
import io
import json

from tests.support.exports_cases import check_each, reads, refuses

HEADER = (
    "classification_id,user_name,user_id,user_ip,workflow_id,workflow_name,workflow_version,created_at,gold_standard,"
    "expert,metadata,annotations,subject_data,subject_ids"
)


def step(name, value):
    return {"task": name, "task_label": "What is it?", "value": value}


def export(*rows, workflows=("77",) * 9):
    """Rows of a volunteer, a subject and the steps."""
    csv.writer(out := io.StringIO()).writerows(
        [number, user, number * 7, "ab12", workflow, "Cats", "3.4", "2024-01-01 10:00:00 UTC",
         "true" if user == "expert" else "", "", '{"source": "api"}', steps, '{"1": {}}', subject]
        for number, ((user, subject, steps), workflow) in enumerate(zip(rows, workflows, strict=False))
    )  # fmt: skip
    return f"{HEADER}\n{out.getvalue()}"


def row(user, subject, *steps):
    return user, subject, json.dumps(steps)


ROWS = [
    row("ann", 101, step("T0", "Cat")),
    row("bob", 101, step("T0", "Dog")),
    row("ann", 102, step("T0", "Dog")),
]
VOTES = {(101, "ann", "Cat"), (101, "bob", "Dog"), (102, "ann", "Dog")}
STEPS = export(
    row("ann", 101, step("T0", "Cat"), step("T1", ["black", "big"])),
    row("bob", 101, step("T0", "Dog"), step("T1", [])),
)
COMBINED = export(row("ann", 101, step("T5", [step("T0", "Cat"), step("T1", 3)])))
LION = {"choice": "LION", "answers": {"HOWMANY": "1"}, "filters": {}}
SURVEYS = export(
    row(
        "ann",
        101,
        step("T0", [LION]),
        step("T1", [{"value": "ae3f", "option": True, "label": "Summer"}]),
    )
)
MARKS = export(
    *ROWS,
    row("eve", 103, step("T0", None), step("T2", [{"x": 1.5, "y": 3.0, "tool": 0, "frame": 0}])),
)
EXPERT = export(*ROWS, row("expert", 101, step("T0", "Cat")))
FILE = "cats-classifications.csv"

test_classifications = check_each({
    "a subject is a task and a volunteer an annotator": reads(FILE, export(*ROWS), VOTES, {}),
    "a step": reads(FILE, STEPS, {(101, "ann", "Cat"), (101, "bob", "Dog")}, question="T0"),
    "a step without an answer": reads(
        FILE, STEPS, {(101, "ann", "big|black")}, {"steps without an answer": 1}, question="T1"
    ),
    "a combined step holds others": reads(FILE, COMBINED, {"T0": {(101, "ann", "Cat")}, "T1": {(101, "ann", 3)}}),
    "surveys and drop-down lists": reads(FILE, SURVEYS, {"T0": {(101, "ann", "LION")}, "T1": {(101, "ann", "Summer")}}),
    "marks": reads(
        FILE, MARKS, VOTES, {"steps without an answer": 1, "marks and drawings": 1}, unlabelled=[103], missing=0
    ),
    "steps of several workflows": reads(FILE, export(*ROWS, workflows=("77", "77", "78")), {
        "77/T0": {(101, "ann", "Cat"), (101, "bob", "Dog")}, "78/T0": {(102, "ann", "Dog")}
    }),
    "experts give gold": reads(FILE, EXPERT, VOTES | {(101, "expert", "Cat")}, truths={101: "Cat"}, gold=True),
    "JSON that is cut": refuses(
        FILE, export(ROWS[0], ("bob", 101, '[{"task"')),
        "(Zooniverse export), record 2: the annotations are not valid JSON",
    ),
})  # fmt: skip
