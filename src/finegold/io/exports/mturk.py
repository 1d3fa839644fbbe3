"""Amazon Mechanical Turk: the results of a batch, a CSV with a row per assignment.

Input.* are the variables of the page, Answer.* what the worker did. A form of crowd-html-elements
has a column per button or box, Answer.<name>.<value> = true or false; `_options` says which of
these make one question.
"""

from __future__ import annotations

import json
import os
import re
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
# a group of buttons whose names have nothing in common
NAMELESS = "choice"


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    items = _items(seen, options.task)
    task = "HITId" if items else base.task_column(seen, options.task, "HITId", INPUT)
    answers = [name for name in seen.columns if name.startswith(ANSWER)]
    if not answers:
        raise DamagedExport("there is no Answer.* column")
    wanted = [task, "WorkerId", STATUS, REJECT, *answers, *items.values()]
    # The last columns may be for the requester to fill in; batches omit their cells.
    n_decisions = sum(1 for _ in takewhile(lambda name: name in DECISIONS, reversed(seen.columns)))
    table = base.read_sheet(seen, wanted, may_omit=n_decisions)
    # Rejected, or marked in the column Reject of a file for upload.
    marks = {STATUS: pl.col(STATUS) == "Rejected", REJECT: pl.col(REJECT).is_not_null()}
    table = base.drop_rows(table, marks, "rejected assignments", options, "rejected")
    labels = _questions(_answers(table, answers), options)
    # Answer.mood1 is what Answer.mood says about the first item
    for number, column in items.items():
        end = re.compile(rf"(?<!\d)[_-]?{number}$")
        mine = {end.sub("", name): labels.pop(name) for name in list(labels) if end.search(name)}
        yield from base.votes_of_questions(table, column, "WorkerId", mine)
    if not items:
        yield from base.votes_of_questions(table, task, "WorkerId", labels)
    elif labels:
        n_answers = sum(len(label.drop_nulls()) for label in labels.values())
        options.left_out["answers that are about a whole HIT"] += n_answers


def _items(seen: Source, task: str | None) -> dict[str, str]:
    """Return the columns of several items in one HIT, by their numbers: Input.url1, Input.url2, ...
    for the task url.
    """
    if task is None or {task, INPUT + task} & {*seen.columns}:
        return {}
    with_number = re.compile(re.escape(INPUT + task.removeprefix(INPUT)) + r"[_-]?(\d+)")
    return {found[1]: name for name in seen.columns if (found := with_number.fullmatch(name))}


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
    return pl.DataFrame(plain).with_columns(more) if plain else pl.DataFrame(more)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """{"car": {"on": true}} as ("car.on", "true"), which is how a CSV with columns says it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, list):
        if value and all(isinstance(item, str | int | float) for item in value):
            yield name, str(join_labels(value))
    elif value is not None and str(value).strip():
        yield name, str(value)


def _questions(answers: pl.DataFrame, chosen: ExportOptions) -> dict[str, pl.Series]:
    """Return the label of each assignment for each question."""
    said = answers.select(pl.all().str.to_lowercase())
    options = [
        name
        for name in answers.columns
        if "." in name and said[name].is_in(["true", "false"]).all() and said[name].count()
    ]
    multi = False if chosen.question in options else chosen.multi
    labels = _options(said.select(options), multi)
    for cells in answers.drop(options):
        short = cells.name.removesuffix(".label").removesuffix(".labels")
        labels[cells.name if short in labels else short] = base.join_lists(cells, chosen)
    return labels


def _options(boxes: pl.DataFrame, multi: bool | None) -> dict[str, pl.Series]:
    """Buttons and boxes as questions.

    Those of one name are one question, unless somebody chose several. Those with names of their own
    are one question if everybody chose exactly one: a group of radio buttons. All others are each a
    question: true or false? If answers may be sets of labels, boxes of one name are one question,
    whose answer is the set of those that are ticked; if they are sets, all boxes with names of
    their own are one question, too.
    """
    by_name: dict[str, dict[str, str]] = {}
    for box in boxes.columns:
        name, _, value = box.rpartition(".")
        by_name.setdefault(name, {})[box] = value
    labels: dict[str, pl.Series] = {}
    alone = [box for group in by_name.values() if len(group) == 1 for box in group]
    if len(alone) > 1:
        start = os.path.commonprefix([box.rpartition(".")[0] for box in alone])  # noqa: RUF071 (names, not paths)
        # The value of a button if it differs from the others (not "on" or "selected"), or else its
        # name.
        part = 2 if len({box.rpartition(".")[2] for box in alone}) == len(alone) else 0
        label_of = {box: box.rpartition(".")[part] for box in alone}
        if (chosen := _one_question(boxes, label_of, bool(multi), exactly=True)) is not None:
            labels[start.rstrip("_-.0123456789 ") or NAMELESS] = chosen
            alone = []
    for name, label_of in by_name.items():
        if len(label_of) > 1:
            chosen = _one_question(boxes, label_of, multi is not False)
            labels |= {box: boxes[box] for box in label_of} if chosen is None else {name: chosen}
    return labels | {box.rpartition(".")[0]: boxes[box] for box in alone}


def _one_question(
    boxes: pl.DataFrame, label_of: dict[str, str], may_be_sets: bool, exactly: bool = False
) -> pl.Series | None:
    """Return the label, or the set, that each assignment ticked; None if the boxes are not one
    question.
    """
    own = boxes.select(list(label_of))
    is_ticked = own.select((pl.all() == "true").fill_null(False))
    ticks = is_ticked.select(pl.sum_horizontal(pl.all())).to_series()
    if ((ticks == 1) if exactly else (ticks <= 1)).all():
        chosen = [pl.when(pl.col(box)).then(pl.lit(label)) for box, label in label_of.items()]
        return is_ticked.select(pl.coalesce(chosen)).to_series()
    if not may_be_sets:
        return None
    names = list(label_of.values())
    # null where no box has an answer
    cells = [
        as_cell([name for name, cell in zip(names, row, strict=True) if cell == "true"])
        if any(row)
        else None
        for row in own.iter_rows()
    ]
    return pl.Series(cells, dtype=pl.String)


REMEDY = "download it again: Manage, Results, Review Results of the batch, Download CSV"
EXPORT = Export(
    "mturk", "Amazon Mechanical Turk", REMEDY, None, read, include=("rejected",), takes_task=True
)
