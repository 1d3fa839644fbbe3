"""Batches of an export -> Annotations, one for each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io.diagnosis import problems_of_text
from finegold.io.exports.base import (
    SPANS,
    DamagedExport,
    Export,
    ExportOptions,
    in_batches,
)
from finegold.io.exports.marks import read_spans
from finegold.io.long import LongFrame, assemble, count_more, read_labels
from finegold.io.options import ReadOptions
from finegold.io.questions import Questions
from finegold.io.source import Source, reading
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.labels import NOTHING, drop_missing

# in a batch, but for the last
FEWEST_ROWS = 2**12


def read_export(
    export: Export, sources: Sequence[Source], options: ReadOptions
) -> dict[str, Annotations]:
    """Return the votes for the chosen or only question, or for every question if all are asked for."""
    asked = _asked(export, sources, options)
    name = ", ".join(seen.name for seen in sources[:3]) + f" ({export.title} export)"
    questions = Questions(is_text=True)
    waiting: list[pl.DataFrame] = []
    n_rows = n_added = 0
    for seen in sources:
        for batch in _batches_of(export, seen, asked):
            waiting, n_rows = [*waiting, batch], n_rows + len(batch)
            # small ones are joined: some tools write a file per task
            if n_rows - n_added >= FEWEST_ROWS:
                questions.add(pl.concat(waiting))
                waiting, n_added = [], n_rows
                if options.watch is not None:
                    options.watch(n_rows)
    if waiting:
        questions.add(pl.concat(waiting))
    # columns that nobody answered
    if answered := +questions.n_votes:
        questions.n_votes = answered
        questions.encoders = {each: questions.encoders[each] for each in answered}
    if not questions.encoders:
        left_out = ", ".join(f"{what} ({number:,})" for what, number in asked.left_out.items())
        if left_out:
            remedies = [read_spans(sources)] if SPANS in asked.left_out else []
            raise InputError(f"{name} holds no votes; left out were {left_out}", "", remedies)
        raise InputError(f"{name} holds no votes", remedies=[Remedy(text=export.remedy)])
    annotations = {}
    for question, encoder in questions.chosen(name, asked.question):
        origin = f'{name}, question "{question}"' if question else name
        long = LongFrame.of(encoder, partial(_where, origin), origin)
        long.of_export = True
        annotations[question] = _assemble(long, export, asked, options)
    return annotations


def _asked(export: Export, sources: Sequence[Source], options: ReadOptions) -> ExportOptions:
    """Return what the reader is asked for. Refuse what the tool does not have."""
    include = {options.include} if isinstance(options.include, str) else {*options.include}
    task = options.task if isinstance(options.task, str | None) else ",".join(options.task)
    tool = f"an export of {export.title}"
    if task is not None and not export.takes_task:
        raise InputError(f"the tasks of {tool} have ids of their own", "", [leave_out("task")])
    if unknown := sorted(include - {*export.include}):
        known = ", ".join(export.include) or "nothing else"
        problem = f'there is no "{unknown[0]}" to include from {tool}; it has {known}'
        raise InputError(problem, remedies=[leave_out("include")])
    if options.gold is True and not export.has_gold:
        remedy = use(gold=Placeholder("FILE"), text="with a file of truths")
        raise InputError(f"{tool} has no gold marks", remedies=[remedy])
    return ExportOptions(
        task=task,
        question=options.question,
        gold=options.gold is True,
        include=frozenset(include),
        has_many_files=len(sources) > 1,
        multi=options.multi,
    )


def _where(origin: str, row: int) -> str:
    return f"{origin}, vote {row + 1:,}"


def _batches_of(export: Export, seen: Source, asked: ExportOptions) -> Iterator[pl.DataFrame]:
    """Yield the batches of a file. Errors get the title and the remedy of the tool."""
    title = f"{seen.name} ({export.title} export)"
    try:
        with reading(seen):
            if seen.is_delimited and not seen.columns and (wrong := [*problems_of_text(seen)]):
                raise wrong[0]
            yield from in_batches(export.read(seen, asked), asked)
    except InputError as error:
        if not seen.is_delimited or not str(error).startswith(seen.name):
            raise
        # about a text, whose damage may be the fault of the export
        where, problem = (
            text.replace(seen.name, title, 1) for text in (error.where, error.problem)
        )
        if not error.remedies:
            raise InputError(f"{problem}, or {export.remedy}", where) from None
        raise InputError(problem, where, [*error.remedies, Remedy(text=export.remedy)]) from None
    except DamagedExport as error:
        raise error.of_tool(seen, export) from None


def _assemble(
    long: LongFrame, export: Export, asked: ExportOptions, options: ReadOptions
) -> Annotations:
    annotators = long.annotator
    names = to_list(annotators.names)
    if export.shorten is not None and all(isinstance(name, str) for name in names):
        # A tool may write more than the name of an annotator, which shows when all are known.
        annotators.names = annotators.names.of(export.shorten(names))
    labels = read_labels(long, options)
    if not labels.are_sets:
        # answers in which nothing was chosen: the task was only asked
        is_nothing = (labels.coded.names.values == NOTHING).to_numpy()
        if is_nothing.any():
            is_empty = np.isin(labels.coded.codes, np.flatnonzero(is_nothing))
            annotators.codes = np.where(is_empty, np.int32(MISSING), annotators.codes)
            labels = labels._replace(coded=labels.coded.without(is_nothing))
        asked.left_out.update(asked.empty)
    if not asked.gold:
        long.gold = None
    elif long.gold is None or not len(drop_missing(long.gold, options.no_vote).names):
        remedies = [
            use(gold=Placeholder("FILE"), text="with a file of truths"),
            Remedy(text="read it without gold"),
        ]
        raise InputError(f"{long.name} marks no gold", remedies=remedies)
    is_asked = (annotators.codes == MISSING) & (labels.coded.codes == MISSING)
    is_asked &= long.task.codes != MISSING
    # some annotator, so that tasks that nobody answered are listed
    if is_asked.any() and len(annotators.names):
        annotators.codes = np.where(is_asked, np.int32(0), annotators.codes)
    annotations = assemble(long, options, labels)
    n_asked = -int(is_asked.sum())
    annotations = count_more(annotations, rows=n_asked, missing=n_asked)
    return replace(annotations, counts=replace(annotations.counts, left_out=dict(asked.left_out)))
