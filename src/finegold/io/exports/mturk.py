"""Amazon Mechanical Turk: the results of a batch, a CSV with a row per assignment.

Input.* are the variables of the page, Answer.* what the worker did. A form of crowd-html-elements
has a column per button or box, Answer.<name>.<value> = true or false; `_boxes` says which of
these make one question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import polars as pl

from finegold.io.exports import base
from finegold.io.exports.base import ROW, DamagedExport, Export, ExportOptions, join_labels
from finegold.io.source import Source
from finegold.votes.labels import as_cell

ANSWER, INPUT = "Answer.", "Input."
STATUS, REJECT = "AssignmentStatus", "Reject"
DECISIONS = ("Approve", REJECT)
# of forms that are not known beforehand: all answers as JSON
ALL_ANSWERS = "Answer.taskAnswers"
# a group of buttons with names of their own
NAMELESS = "choice"


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    task = base.task_column(seen, options.task, "HITId", INPUT)
    answers = [name for name in seen.columns if name.startswith(ANSWER)]
    if not answers:
        raise DamagedExport("there is no Answer.* column")
    # The last columns may be for the requester to fill in; batches omit their cells.
    n_decisions = sum(1 for _ in takewhile(lambda name: name in DECISIONS, reversed(seen.columns)))
    table = base.read_sheet(seen, [task, "WorkerId", STATUS, REJECT, *answers], n_decisions)
    # Rejected, or marked in the column Reject of a file for upload.
    marks = {STATUS: pl.col(STATUS) == "Rejected", REJECT: pl.col(REJECT).is_not_null()}
    table = base.drop_rows(table, marks, "rejected assignments", options, "rejected")
    labels = _questions(_answers(table, answers), options)
    yield from base.votes_of_questions(table, task, "WorkerId", labels)


def _answers(table: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return a column per answer, named without "Answer."."""
    plain = [
        table[name].alias(name.removeprefix(ANSWER)) for name in columns if name != ALL_ANSWERS
    ]
    if ALL_ANSWERS not in columns:
        return pl.DataFrame(plain)
    forms = []
    for row, cell in table.select(ROW, ALL_ANSWERS).iter_rows():
        try:
            form = json.loads(cell or "[]")
        except ValueError as error:
            problem = f"the answers in {ALL_ANSWERS} are not JSON ({error})"
            raise DamagedExport(problem, record=row) from None
        form = form[0] if isinstance(form, list) and form else form
        forms.append(dict(_flat("", form)) if isinstance(form, dict) else {})
    names = dict.fromkeys(name for form in forms for name in form)
    more = [pl.Series(name, [form.get(name) for form in forms], pl.String) for name in names]
    return pl.DataFrame([*plain, *more])


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """{"car": {"on": true}} as ("car.on", "true"), which is how a CSV with columns says it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, str | int | float | list):
        parts = value if isinstance(value, list) else [value]
        if parts and all(str(part).strip() and not isinstance(part, dict) for part in parts):
            yield name, str(join_labels(value))


def _questions(answers: pl.DataFrame, chosen: ExportOptions) -> dict[str, pl.Series]:
    """Return the label of each assignment for each question."""
    said = answers.select(pl.all().str.to_lowercase())
    boxes = [
        name
        for name in answers.columns
        if "." in name and said[name].is_in(["true", "false"]).all() and said[name].count()
    ]
    labels = _boxes(said.select(boxes), False if chosen.question in boxes else chosen.multi)
    for cells in answers.drop(boxes):
        short = cells.name.removesuffix(".label").removesuffix(".labels")
        labels[cells.name if short in labels else short] = base.join_lists(cells, chosen)
    return labels


def _boxes(boxes: pl.DataFrame, multi: bool | None) -> dict[str, pl.Series]:
    """Buttons and boxes as questions.

    Those of one name are one question, unless somebody chose several. Those with names of their own
    are one question if everybody chose exactly one: a group of radio buttons. All others are each a
    question: true or false? If answers may be sets of labels, boxes of one name are one question,
    whose answer is the set of those that are ticked; if they are sets, all boxes with names of
    their own are one question, too.
    """
    groups: dict[str, dict[str, str]] = {}
    for box in boxes.columns:
        name, _, value = box.rpartition(".")
        groups.setdefault(name, {})[box] = value
    alone = {box: name for name, group in groups.items() if len(group) == 1 for box in group}
    labels: dict[str, pl.Series] = {}
    if len(alone) > 1:
        # the value of a button, if it differs from the others (not "on" or "selected")
        values = {box: box.rpartition(".")[2] for box in alone}
        label_of = values if len({*values.values()}) == len(alone) else alone
        if (chosen := _one_question(boxes, label_of, bool(multi), exactly=True)) is not None:
            labels, alone = {NAMELESS: chosen}, {}
    for name, label_of in groups.items():
        if len(label_of) > 1:
            chosen = _one_question(boxes, label_of, multi is not False)
            labels |= {box: boxes[box] for box in label_of} if chosen is None else {name: chosen}
    return labels | {name: boxes[box] for box, name in alone.items()}


def _one_question(
    boxes: pl.DataFrame, label_of: dict[str, str], may_be_sets: bool, exactly: bool = False
) -> pl.Series | None:
    """Return the label, or the set, that each assignment ticked; None if the boxes are not one
    question.
    """
    # null where no box has an answer
    ticked = [
        [label for label, cell in zip(label_of.values(), row, strict=True) if cell == "true"]
        if any(row)
        else None
        for row in boxes.select(list(label_of)).iter_rows()
    ]
    numbers = {len(labels or ()) for labels in ticked}
    if numbers <= ({1} if exactly else {0, 1}):
        return pl.Series([labels[0] if labels else None for labels in ticked], dtype=pl.String)
    if not may_be_sets:
        return None
    cells = [None if labels is None else as_cell(labels) for labels in ticked]
    return pl.Series(cells, dtype=pl.String)


REMEDY = "download it again: Manage, Results, Review Results of the batch, Download CSV"
EXPORT = Export(
    "mturk", "Amazon Mechanical Turk", REMEDY, None, read, include=("rejected",), takes_task=True
)
