"""Amazon Mechanical Turk: the results of a batch, a CSV with a row per assignment.

Input.* are the variables of the page, Answer.* what the worker did. A form of crowd-html-elements
has a column per button or box, Answer.<name>.<value> = true or false. Those of one name are one
question, and so are all those that have names of their own: the answer is what was ticked.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, join_labels
from finegold.io.source import Source

ANSWER, INPUT = "Answer.", "Input."
STATUS, REJECT = "AssignmentStatus", "Reject"
DECISIONS = ("Approve", REJECT)
# of forms that are not known beforehand: all answers as JSON
ALL_ANSWERS = "Answer.taskAnswers"
# of boxes with names of their own
NAMELESS = "choice"
REMEDY = "download it again: Manage, Results, Review Results of the batch, Download CSV"


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    task = base.task_column(seen, options.task, "HITId", INPUT)
    answers = [name for name in seen.columns if name.startswith(ANSWER)]
    if not answers:
        raise DamagedExport("there is no Answer.* column")

    def votes(row: dict[str, Any]) -> Iterator[Vote]:
        # marked in the column Reject of a file for upload
        is_rejected = row.get(STATUS) == "Rejected" or row.get(REJECT) is not None
        if options.leaves_out(is_rejected, "rejected assignments", "rejected"):
            return
        said = {name.removeprefix(ANSWER): row[name] for name in answers if name != ALL_ANSWERS}
        try:
            form = json.loads(row.get(ALL_ANSWERS) or "{}")
        except ValueError as error:
            raise DamagedExport(f"the answers in {ALL_ANSWERS} are not JSON ({error})") from None
        form = form[0] if isinstance(form, list) and form else form
        said |= dict(_flat("", form)) if isinstance(form, dict) else {}
        for question, label in _labels(said, options).items():
            yield Vote(row[task], row["WorkerId"], label, question)

    # The last columns may be for the requester to fill in; batches omit their cells.
    n_decisions = sum(1 for _ in takewhile(lambda name: name in DECISIONS, reversed(seen.columns)))
    rows = base.read_rows(seen, [task, "WorkerId", STATUS, REJECT, *answers], n_decisions)
    return base.with_numbers(rows, votes)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str | None]]:
    """{"car": {"on": true}} as ("car.on", "true"), which is how a CSV with columns says it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        # marks in an image
        return
    else:
        label = join_labels(value)
        text = str(label).lower() if isinstance(label, bool) else str(label)
        yield name, text if label is not None and text.strip() else None


def _labels(said: dict[str, str | None], options: ExportOptions) -> dict[str, Any]:
    """Return the label of an assignment for each question."""
    labels, groups = {}, defaultdict[str, dict[str, bool]](dict)
    for name, cell in said.items():
        box, _, value = name.rpartition(".")
        if box and cell is not None and cell.lower() in ("true", "false"):
            groups[box][value] = cell.lower() == "true"
        else:
            labels[name.removesuffix(".label").removesuffix(".labels")] = base.label_in(
                cell, options
            )
    alone = {box: group for box, group in groups.items() if len(group) == 1}
    if len(alone) > 1:
        # the value of a button, if it differs from the others (not "on" or "selected")
        values = {value for group in alone.values() for value in group}
        are_names = len(values) < len(alone)
        for box in alone:
            [(value, is_ticked)] = groups.pop(box).items()
            groups[NAMELESS][box if are_names else value] = is_ticked
    for box, group in groups.items():
        ticked = [value for value, is_ticked in group.items() if is_ticked]
        if len(group) == 1:
            labels[box] = "true" if ticked else "false"
        elif not ticked:
            labels[box] = options.nothing("answers in which nothing was chosen")
        else:
            labels[box] = join_labels(ticked)
    return labels


EXPORT = Export("mturk", "Amazon Mechanical Turk", REMEDY, None, read, ("rejected",), True)
