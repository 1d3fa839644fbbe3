"""Batches of an export -> Annotations, one for each question."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use, warn_user
from finegold.io.diagnosis import problems_of_text
from finegold.io.exports import ALL
from finegold.io.exports.base import MISUSED, SPANS, DamagedExport, Export, ExportOptions
from finegold.io.exports.refusals import read_spans
from finegold.io.long import LongFrame, assemble, count_more, read_labels
from finegold.io.options import ReadOptions
from finegold.io.questions import Questions
from finegold.io.source import Source, reading
from finegold.io.tables import IDS, Progress, WatchReading
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.labels import NOTHING, drop_missing

COLUMNS = (*IDS, "label", "gold")
# in a batch, but for the last
FEWEST_ROWS = 2**12


def read_export(
    export: Export, sources: Sequence[Source], options: ReadOptions
) -> dict[str, Annotations]:
    """Return the votes for the chosen or only question, or for every question if all are asked for."""
    export_options = ExportOptions(
        task=options.task if isinstance(options.task, str | None) else ",".join(options.task),
        question=options.question,
        gold=options.gold is True,
        include=frozenset(
            [options.include] if isinstance(options.include, str) else options.include
        ),
        has_many_files=len(sources) > 1,
        multi=options.multi,
    )
    if export_options.task is not None and not export.takes_task:
        problem = f"the tasks of an export of {export.title} have ids of their own"
        raise InputError(problem, remedies=[leave_out("task")])
    if unknown := sorted(export_options.include - set(export.include)):
        known = (
            f"it can be {', '.join(export.include)}"
            if export.include
            else "there is nothing to include"
        )
        problem = f'there is no "{unknown[0]}" to include from an export of {export.title}; {known}'
        raise InputError(problem, remedies=[] if export.include else [leave_out("include")])
    if export_options.gold and not export.has_gold:
        remedy = use(gold=Placeholder("FILE"), text="with a file of truths")
        raise InputError(f"an export of {export.title} has no gold marks", remedies=[remedy])
    name = ", ".join(seen.name for seen in sources[:3]) + f" ({export.title} export)"
    wanted = export_options.question
    questions = Questions(is_text=True)
    for batch in _batches(export, sources, export_options, options.watch):
        questions.add(batch)
    if not questions.encoders:
        left_out = ", ".join(
            f"{what} ({number:,})" for what, number in export_options.left_out.items()
        )
        if left_out:
            remedies = [read_spans(sources)] if SPANS in export_options.left_out else []
            raise InputError(f"{name} holds no votes; left out were {left_out}", "", remedies)
        raise InputError(f"{name} holds no votes", remedies=[Remedy(text=export.remedy)])
    annotations = {}
    for question, encoder in questions.chosen(name, wanted):
        origin = f'{name}, question "{question}"' if question else name
        long = LongFrame.of(encoder, partial(_where, origin), origin)
        long.of_export = True
        has_votes = len(drop_missing(long.label, options.no_vote).names) > 0
        # the other questions can still be read
        if len(questions.encoders) > 1 and wanted == ALL and not has_votes:
            text = f'the question "{question}" has no votes and is left out'
            warn_user(text)
            continue
        annotations[question] = _assemble(long, export, export_options, options)
    if not annotations:
        raise InputError(f"{name} holds no votes: every label is missing")
    return annotations


def _where(origin: str, row: int) -> str:
    return f"{origin}, vote {row + 1:,}"


def _batches(
    export: Export,
    sources: Sequence[Source],
    export_options: ExportOptions,
    watch: WatchReading | None,
) -> Iterator[pl.DataFrame]:
    """Yield batches with all columns as text, small ones joined: some tools write a file per task."""
    began, done = time.perf_counter(), 0
    waiting: list[pl.DataFrame] = []

    def join_waiting() -> Iterator[pl.DataFrame]:
        nonlocal done
        yield pl.concat(waiting)
        done += sum(map(len, waiting))
        waiting.clear()
        if watch is not None:
            watch(Progress(done, None, time.perf_counter() - began))

    for seen in sources:
        try:
            with reading(seen):
                if (
                    seen.is_delimited
                    and not seen.columns
                    and (wrong := next(problems_of_text(seen), None))
                ):
                    raise wrong
                for batch in export.read(seen, export_options):
                    # An export with one question need not name it.
                    absent = {name: pl.lit(None) for name in COLUMNS if name not in batch.columns}
                    absent |= {} if "question" in batch.columns else {"question": pl.lit("")}
                    waiting.append(
                        batch.with_columns(**absent).select(
                            pl.col(*COLUMNS, "question").cast(pl.String)
                        )
                    )
                    if sum(map(len, waiting)) >= FEWEST_ROWS:
                        yield from join_waiting()
        except DamagedExport as error:
            raise error.of_tool(seen, export) from None
        except InputError as error:
            # about a text, its damage may be the fault of the export
            source, titled = seen, f"{seen.name} ({export.title} export)"
            if not source.is_delimited or not str(error).startswith(source.name):
                raise error from None
            where = error.where.replace(source.name, titled, 1) if error.where else ""
            problem = error.problem if where else error.problem.replace(source.name, titled, 1)
            if not error.remedies:
                raise InputError(f"{problem}, or {export.remedy}", where) from None
            raise InputError(
                problem, where, [*error.remedies, Remedy(text=export.remedy)]
            ) from None
        except MISUSED as error:
            damage = DamagedExport(f"a value is of a kind that is not expected there ({error})")
            raise damage.of_tool(seen, export) from None
    if waiting:
        yield from join_waiting()


def _assemble(
    long: LongFrame, export: Export, export_options: ExportOptions, options: ReadOptions
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
        export_options.left_out.update(export_options.empty)
    if not export_options.gold:
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
    return replace(
        annotations, counts=replace(annotations.counts, left_out=dict(export_options.left_out))
    )
