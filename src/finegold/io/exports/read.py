"""Batches of an export -> Annotations, one for each question."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.diagnosis import reading
from finegold.io.exports.base import ALL, WRONG_KINDS, Export, ExportOptions, Peek, Wrong
from finegold.io.layouts import Labels, assemble, count_more, read_labels, refuse_lost_ids
from finegold.io.options import ReadOptions
from finegold.io.tables import Progress, Streamed, WatchReading, growing
from finegold.io.truth import gold_truth
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING
from finegold.votes.frames import series_like, to_list
from finegold.votes.names import Coded, without
from finegold.votes.sets import NOTHING

__all__ = ["complain", "read_export"]

IDS, VALUES = ("task", "annotator"), ("label", "gold")
COLUMNS = ("task", "annotator", "label", "question", "gold")
FEWEST_ROWS = 2**12  # in a batch, but for the last


def read_export(
    export: Export, peeks: Sequence[Peek], export_options: ExportOptions, options: ReadOptions
) -> dict[str, Annotations]:
    """Return the votes for the chosen or only question, or for every question if all are asked for."""
    _check(export, export_options)
    export_options = replace(export_options, has_many_files=len(peeks) > 1)
    name = ", ".join(seen.source.name for seen in peeks[:3]) + f" ({export.title} export)"
    questions: dict[str, QuestionVotes] = {}
    common: list[pl.DataFrame] = []  # tasks that were asked, and nobody answered
    for batch in _watched(_together(_batches(export, peeks, export_options)), options.watch):
        for question, part in _by_question(batch):
            if question is None:
                common.append(part)
                continue
            if question not in questions:
                questions[question] = QuestionVotes(name, question)
            questions[question].add(part, keep=export_options.question in (None, ALL, question))
    return {
        question: _assembled(_filled(votes, common).finish(), export, export_options, options)
        for question, votes in _chosen(questions, export_options, name, export.remedy).items()
    }


def _check(export: Export, export_options: ExportOptions) -> None:
    if export_options.task is not None and not export.takes_task:
        raise InputError(f"the tasks of an export of {export.title} have ids of their own; leave out --task")
    unknown = sorted(export_options.include - set(export.include))
    if unknown:
        known = f"it can be {', '.join(export.include)}" if export.include else "there is nothing to include"
        raise InputError(f"--include {unknown[0]} means nothing for an export of {export.title}; {known}")
    if export_options.gold and not export.has_gold:
        raise InputError(f"an export of {export.title} has no gold marks; give a file of truths (--gold FILE)")


def _batches(export: Export, peeks: Sequence[Peek], export_options: ExportOptions) -> Iterator[pl.DataFrame]:
    for seen in peeks:
        try:
            with reading(seen.source):
                for batch in export.read(seen, export_options):
                    yield _with_all_columns(batch)
        except Wrong as error:
            complain(seen, export, error)
        except InputError as error:
            raise _of_tool(seen, export, error) from None
        except WRONG_KINDS as error:
            complain(seen, export, Wrong(f"a value is of a kind that is not expected there ({error})"))


def _of_tool(seen: Peek, export: Export, error: InputError) -> InputError:
    """Add the remedy of the tool: a damaged text may be the fault of the export."""
    name, said = seen.source.name, str(error)
    if not seen.source.is_delimited or not said.startswith(name):
        return error
    return InputError(f"{name} ({export.title} export){said.removeprefix(name)}, or {export.remedy}")


def _together(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Join small batches: some tools write a file per task."""
    waiting: list[pl.DataFrame] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= FEWEST_ROWS:
            yield pl.concat(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting)


def _with_all_columns(batch: pl.DataFrame) -> pl.DataFrame:
    """Return all columns as text. An export with one question need not name it."""
    absent = {name: pl.lit("" if name == "question" else None) for name in COLUMNS if name not in batch.columns}
    return batch.with_columns(**absent).select(pl.col(COLUMNS).cast(pl.String))


def complain(seen: Peek, export: Export, error: Wrong) -> NoReturn:
    place = f", record {error.record:,}" if error.record else ""
    remedy = error.remedy or export.remedy
    raise InputError(f"{seen.source.name} ({export.title} export){place}: {error.found}; {remedy}") from None


def _watched(batches: Iterator[pl.DataFrame], watch: WatchReading | None) -> Iterator[pl.DataFrame]:
    began, done = time.perf_counter(), 0
    for batch in batches:
        yield batch
        done += batch.height
        if watch is not None:
            watch(Progress(done, None, time.perf_counter() - began))


def _by_question(batch: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    for (question,), part in batch.partition_by("question", as_dict=True, include_key=False).items():
        yield None if question is None else str(question), part


def _chosen(
    questions: dict[str, QuestionVotes], export_options: ExportOptions, name: str, remedy: str
) -> dict[str, QuestionVotes]:
    if not questions:
        left_out = ", ".join(f"{what} ({number:,})" for what, number in export_options.left_out.items())
        raise InputError(f"{name} holds no votes" + (f"; left out were {left_out}" if left_out else f"; {remedy}"))
    if export_options.question is None and len(questions) > 1:
        raise InputError(
            f"{name} asks {len(questions):,} questions: {_listed(questions)}; choose one with --question NAME "
            f"(question= in Python); aggregate and convert also take --question {ALL}"
        )
    if export_options.question in (None, ALL):
        return dict(sorted(questions.items()))
    if export_options.question not in questions:
        near = difflib.get_close_matches(export_options.question or "", questions, n=1)
        meant = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError(f'{name} has no question "{export_options.question}"; it has {_listed(questions)}{meant}')
    return {export_options.question: questions[export_options.question]}


def _listed(questions: dict[str, QuestionVotes], most: int = 20) -> str:
    """List the questions, those with the most votes first."""
    by_votes = sorted(questions.items(), key=lambda item: -item[1].n_votes)
    names = [
        f'"{question}" ({votes.n_votes:,} {"vote" if votes.n_votes == 1 else "votes"})'
        for question, votes in by_votes[:most]
    ]
    return ", ".join(names + ([f"and {len(questions) - most:,} more"] if len(questions) > most else []))


class QuestionVotes:
    """The votes for one question, as columns that are encoded batch by batch."""

    def __init__(self, name: str, question: str) -> None:
        self.name, self.question, self.n_votes = name, question, 0
        self.columns = {
            (column, is_id): growing(pl.String(), is_id=is_id, is_text=True)
            for columns, is_id in ((IDS, True), (VALUES, False))
            for column in columns
        }

    def add(self, batch: pl.DataFrame, keep: bool = True) -> None:
        """Add votes. Votes for a question that was not chosen are only counted."""
        self.n_votes += int((batch.get_column("label").fill_null("") != "").sum())
        for (column, _), grown in self.columns.items() if keep else ():
            grown.add(batch.get_column(column))

    def finish(self) -> Exported:
        coded = {key: self.columns.pop(key).finish() for key in list(self.columns)}
        place = f'{self.name}, question "{self.question}"' if self.question else self.name
        return Exported(is_text=True, coded=coded, place=place)


def _filled(votes: QuestionVotes, common: list[pl.DataFrame]) -> QuestionVotes:
    for batch in common:
        votes.add(batch)
    return votes


@dataclass(frozen=True, kw_only=True)
class Exported(Streamed):
    """The codes of one question's votes."""

    place: str

    def where(self, row: int) -> str:
        return f"{self.place}, vote {row + 1:,}"


def _assembled(table: Exported, export: Export, export_options: ExportOptions, options: ReadOptions) -> Annotations:
    tasks, annotators = table.ids("task"), _shortened(table.ids("annotator"), export)
    labels = read_labels(table.values("label"), options, of_export=True)
    if not labels.are_sets:
        annotators, labels = _without_empty(annotators, labels)
        export_options.left_out.update(export_options.empty)
    refuse_lost_ids("task", tasks.codes, labels.coded.codes, table.where)
    refuse_lost_ids("annotator", annotators.codes, labels.coded.codes, table.where)
    gold = "gold" if export_options.gold else None
    truth = gold_truth(table, tasks, gold, options.gold, options.no_vote)
    if gold is not None and truth is not None and not len(truth.task):
        raise InputError(f"{table.place} marks no gold; leave out --gold-from-export, or give a file (--gold FILE)")
    only_asked = (annotators.codes == MISSING) & (labels.coded.codes == MISSING) & (tasks.codes != MISSING)
    annotators = _anybody(annotators, only_asked)
    annotations = assemble(tasks, annotators, labels, truth, options, True, table.where)
    annotations = count_more(annotations, rows=-int(only_asked.sum()), missing=-int(only_asked.sum()))
    return replace(annotations, counts=replace(annotations.counts, left_out=dict(export_options.left_out)))


def _without_empty(annotators: Coded, labels: Labels) -> tuple[Coded, Labels]:
    """Take answers in which nothing was chosen as tasks that were only asked, unless votes are sets."""
    empty = [code for code, name in enumerate(to_list(labels.coded.names)) if name == NOTHING]
    if not empty:
        return annotators, labels
    people = np.where(labels.coded.codes == empty[0], np.int32(MISSING), annotators.codes)
    kept = without(labels.coded, lambda name: name == NOTHING)
    return Coded(people, annotators.names), labels._replace(coded=kept)


def _shortened(annotators: Coded, export: Export) -> Coded:
    """Shorten names: a tool may write more than the name of an annotator, which shows when all are known."""
    names = to_list(annotators.names)
    if export.shorten is None or not all(isinstance(name, str) for name in names):
        return annotators
    return Coded(annotators.codes, series_like(export.shorten(names), annotators.names))


def _anybody(annotators: Coded, only_asked: NDArray[np.bool_]) -> Coded:
    """Give tasks that nobody answered some annotator, so that they are listed."""
    if not only_asked.any() or not len(annotators.names):
        return annotators
    return Coded(np.where(only_asked, np.int32(0), annotators.codes), annotators.names)
