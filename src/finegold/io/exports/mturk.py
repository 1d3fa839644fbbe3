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
MARKS = {"HITId", "WorkerId", "AssignmentId"}
# a group of buttons whose names have nothing in common
NAMELESS = "choice"


def fits(seen: Source) -> bool:
    is_batch = STATUS in seen.columns or any(name.startswith(ANSWER) for name in seen.columns)
    return seen.is_delimited and set(seen.columns) >= MARKS and is_batch


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    # several in one HIT: for the task url Input.url1, Input.url2, ..., by their numbers
    items: dict[str, str] = {}
    if options.task is not None and not {options.task, INPUT + options.task} & {*seen.columns}:
        with_number = re.compile(
            re.escape(INPUT + options.task.removeprefix(INPUT)) + r"[_-]?(\d+)"
        )
        items = {found[1]: name for name in seen.columns if (found := with_number.fullmatch(name))}
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
    if not items:
        yield from base.votes_of_questions(table, task, "WorkerId", labels, {})
        return
    common = dict(labels)
    # Answer.mood1 is what Answer.mood says about the first item
    for number, column in items.items():
        end = re.compile(rf"(?<!\d)[_-]?{number}$")
        mine = {end.sub("", name): common.pop(name) for name in labels if end.search(name)}
        yield from base.votes_of_questions(table, column, "WorkerId", mine, {})
    if common:
        n_answers = sum(len(label.drop_nulls()) for label in common.values())
        options.left_out["answers that are about a whole HIT"] += n_answers


def _answers(table: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return a column per answer, named without "Answer."."""
    plain = table.select(
        pl.col(name).alias(name.removeprefix(ANSWER)) for name in columns if name != ALL_ANSWERS
    )
    if ALL_ANSWERS not in columns:
        return plain
    forms = []
    for row, cell in table.select(ROW, ALL_ANSWERS).iter_rows():
        try:
            form = json.loads(cell or "[]")
        except ValueError as error:
            raise DamagedExport(
                f"the answers in {ALL_ANSWERS} are not JSON ({error})", record=row
            ) from None
        form = form[0] if isinstance(form, list) and form else form
        forms.append(dict(_flat("", form)) if isinstance(form, dict) else {})
    names = dict.fromkeys(name for form in forms for name in form)
    more = {name: pl.Series([form.get(name) for form in forms], dtype=pl.String) for name in names}
    return plain.with_columns(**more) if plain.width else pl.DataFrame(more)


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
    is_option = {}
    for cells in answers:
        said = cells.drop_nulls().str.to_lowercase()
        is_option[cells.name] = (
            "." in cells.name and len(said) > 0 and bool(said.is_in(["true", "false"]).all())
        )
    options = [name for name in answers.columns if is_option[name]]
    multi = False if chosen.question in options else chosen.multi
    labels = _options(answers.select(pl.col(options).str.to_lowercase()), multi)
    for cells in answers:
        if not is_option[cells.name]:
            short = cells.name.removesuffix(".label").removesuffix(".labels")
            labels[cells.name if short in labels else short] = base.join_lists(cells)
    return labels


def _options(boxes: pl.DataFrame, multi: bool | None) -> dict[str, pl.Series]:
    """Buttons and boxes as questions.

    Those of one name are one question, unless somebody chose several. Those with names of their own
    are one question if everybody chose exactly one: a group of radio buttons. All others are each a
    question: true or false? If answers may be sets of labels, boxes of one name are one question,
    whose answer is the set of those that are ticked; if they are sets, all boxes with names of
    their own are one question, too.
    """
    by_name: dict[str, list[str]] = {}
    for box in boxes.columns:
        by_name.setdefault(box.rpartition(".")[0], []).append(box)
    alone = [group[0] for group in by_name.values() if len(group) == 1]
    # the name of a question, its boxes, and the label that each stands for
    groups = [
        (name, {box: box.rpartition(".")[2] for box in group}, False)
        for name, group in by_name.items()
        if len(group) > 1
    ]
    if len(alone) > 1:
        start = os.path.commonprefix([box.rpartition(".")[0] for box in alone])  # noqa: RUF071 (names, not paths)
        # The value of a button if it differs from the others (not "on" or "selected"), or else its
        # name.
        part = 2 if len({box.rpartition(".")[2] for box in alone}) == len(alone) else 0
        label_of = {box: box.rpartition(".")[part] for box in alone}
        groups.insert(0, (start.rstrip("_-.0123456789 ") or NAMELESS, label_of, True))
    labels: dict[str, pl.Series] = {}
    for name, label_of, are_alone in groups:
        ticks = boxes.select(
            pl.sum_horizontal((pl.col(list(label_of)) == "true").fill_null(False))
        ).to_series()
        if ((ticks == 1) if are_alone else (ticks <= 1)).all():
            chosen = [
                pl.when(pl.col(box) == "true").then(pl.lit(label))
                for box, label in label_of.items()
            ]
            labels[name] = boxes.select(pl.coalesce(chosen)).to_series()
        elif multi or (multi is None and not are_alone):
            cells: list[str | None] = []
            for row in boxes.select(list(label_of)).iter_rows():
                ticked = [
                    label
                    for label, cell in zip(label_of.values(), row, strict=True)
                    if cell == "true"
                ]
                # null where no box has an answer
                cells.append(as_cell(ticked) if any(row) else None)
            labels[name] = pl.Series(cells, dtype=pl.String)
        elif not are_alone:
            labels.update({box: boxes[box] for box in label_of})
        if are_alone and name in labels:
            alone = []
    return labels | {box.rpartition(".")[0]: boxes[box] for box in alone}


REMEDY = "download it again: Manage, Results, Review Results of the batch, Download CSV"
EXPORT = Export(
    "mturk", "Amazon Mechanical Turk", REMEDY, fits, read, include=("rejected",), takes_task=True
)
