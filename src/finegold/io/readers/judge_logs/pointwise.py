"""Pointwise verdicts: pass or fail, classes, or scores, which are ordered classes."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.readers.judge_logs.log import JudgeLog
from finegold.io.readers.judge_logs.names import costs_of, encoded, gold_of_items, refuse_unreadable
from finegold.io.readers.verdicts import Meaning, class_of, failure_of, number_of
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_list

__all__ = ["log_of_votes", "pointwise_log"]

Failures = NDArray[np.int8]
MOSTLY = 0.8  # share of numbers from which verdicts are scores
MOST_CLASSES = 20
NO_SCORE = -1.0  # how MT-bench writes that no score was found


def pointwise_log(table: pl.DataFrame, source: str) -> JudgeLog:
    """Make the log of a table whose columns are text with the names of their roles."""
    items = encoded(table.get_column("item"), "item", source)
    judges = encoded(table.get_column("judge"), "judge", source)
    verdicts = table.get_column("verdict")
    meaning = {text: class_of(text) for text in verdicts.drop_nulls().unique()}
    is_scores = _is_scores(verdicts, meaning)
    if is_scores:
        meaning = {text: _score(said) for text, said in meaning.items()}
    names = _classes(meaning, source, is_scores)
    answer, failure = _codes(verdicts, meaning, names)
    failure = _with_errors(table, failure)
    answer = np.where(failure > 0, MISSING, answer).astype(np.int32)
    unreadable = verdicts.filter(pl.Series(failure == Meaning.UNREADABLE))
    refuse_unreadable(unreadable, source, n_readable=int((answer >= 0).sum()), kind="pointwise")
    nowhere = np.full(len(items.names), MISSING, np.int32)
    return JudgeLog(
        kind="pointwise",
        item=items.codes,
        judge=judges.codes,
        answer=answer,
        first=np.full(table.height, -1, np.int8),
        failure=failure,
        cost=costs_of(table),
        item_names=to_list(items.names),
        judge_names=[str(name) for name in to_list(judges.names)],
        class_names=names,
        system_names=[],
        system_a=nowhere,
        system_b=nowhere,
        gold=gold_of_items(items, _gold(table, names, is_scores), source),
        is_ordered=is_scores,
    )


def log_of_votes(votes: Annotations) -> JudgeLog:
    """Make a log of votes that another reader has read, such as the scores in a log of Inspect."""
    task, annotator, label = votes.votes()
    nowhere = np.full(votes.n_tasks, MISSING, np.int32)
    left_out = [f"{number:,} {what} left out" for what, number in votes.counts.left_out.items()]
    return JudgeLog(
        kind="pointwise",
        item=task,
        judge=annotator,
        answer=label,
        first=np.full(len(task), -1, np.int8),
        failure=np.zeros(len(task), np.int8),
        cost=np.full(len(task), np.nan),
        item_names=to_list(votes.task_names),
        judge_names=[str(name) for name in to_list(votes.annotator_names)],
        class_names=to_list(votes.class_names),
        system_names=[],
        system_a=nowhere,
        system_b=nowhere,
        gold=votes.gold,
        notes=left_out,
    )


def _is_scores(verdicts: pl.Series, meaning: dict[str, str | Meaning]) -> bool:
    """Return whether most verdicts that can be read are numbers."""
    is_class = {text: isinstance(said, str) for text, said in meaning.items()}
    is_number = {text: isinstance(said, str) and number_of(said) is not None for text, said in meaning.items()}
    n_classes, n_numbers = (
        int(verdicts.replace_strict(kind, default=False, return_dtype=pl.Boolean).sum())
        for kind in (is_class, is_number)
    )
    return n_classes > 0 and n_numbers >= MOSTLY * n_classes


def _score(said: str | Meaning) -> str | Meaning:
    """Return a score as text: 4 for 4.0 and 4/5."""
    if not isinstance(said, str):
        return said
    number = number_of(said)
    if number is None:
        return Meaning.UNREADABLE
    return Meaning.EMPTY if number == NO_SCORE else f"{number:g}"


def _classes(meaning: dict[str, str | Meaning], source: str, is_scores: bool) -> list[str]:
    names = {said for said in meaning.values() if isinstance(said, str)}
    if len(names) > MOST_CLASSES and is_scores:
        raise InputError(
            f"{source}: the verdicts have {len(names):,} different scores, more than {MOST_CLASSES}; "
            "round them to fewer, such as 1 to 5, or name another column with --verdict NAME"
        )
    return sorted(names, key=float) if is_scores else sorted(names)


def _codes(verdicts: pl.Series, meaning: dict[str, str | Meaning], names: list[str]) -> tuple[Codes, Failures]:
    """Return the class of each verdict, and why there is none."""
    place = {name: code for code, name in enumerate(names)}
    class_of_text = {text: place[said] if isinstance(said, str) else MISSING for text, said in meaning.items()}
    why = {text: 0 if isinstance(said, str) else int(said) for text, said in meaning.items()}
    answer = verdicts.replace_strict(class_of_text, default=MISSING, return_dtype=pl.Int32).fill_null(MISSING)
    failure = verdicts.replace_strict(why, default=int(Meaning.EMPTY), return_dtype=pl.Int8).fill_null(Meaning.EMPTY)
    return answer.to_numpy(), failure.to_numpy()


def _with_errors(table: pl.DataFrame, failure: Failures) -> Failures:
    if "error" not in table.columns:
        return failure
    failed = [failure_of(text) for text in table.get_column("error")]
    return np.where(np.array(failed) & (failure != Meaning.REFUSAL), Meaning.ERROR, failure).astype(np.int8)


def _gold(table: pl.DataFrame, names: list[str], is_scores: bool) -> Codes:
    if "gold" not in table.columns:
        return np.full(table.height, MISSING, np.int32)
    place = {name: code for code, name in enumerate(names)}
    said = {text: place.get(str(class_of(text)), MISSING) for text in table.get_column("gold").drop_nulls().unique()}
    return (
        table.get_column("gold")
        .replace_strict(said, default=MISSING, return_dtype=pl.Int32)
        .fill_null(MISSING)
        .to_numpy()
    )
