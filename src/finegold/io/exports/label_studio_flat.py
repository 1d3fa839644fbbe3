"""Label Studio's short exports: JSON-MIN and CSV have a record per annotation, the answers beside the task's data.

Neither tells answers from data. In JSON-MIN the answers stand between "id" and "annotator"; in CSV, where columns are
sorted by name, those columns are answers in which annotators of one task differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import polars as pl

from finegold.io.exports.export import ExportOptions, Vote, Wrong, in_batches, joined, numbered
from finegold.io.exports.peek import Peek
from finegold.io.exports.records import records_of
from finegold.io.readers.batches import batches
from finegold.io.readers.delimited import scan_delimited

__all__ = ["fits_csv", "fits_min", "read_csv", "read_min"]

ABOUT = frozenset(["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"])
MARKS = frozenset(("id", "annotator", "annotation_id", "lead_time"))
REGIONS = "marked regions"

AnswerOf = Callable[[dict[str, Any]], Any]


def fits_min(seen: Peek) -> bool:
    return seen.is_list and seen.record.keys() >= MARKS


def fits_csv(seen: Peek) -> bool:
    return seen.source.is_delimited and set(seen.columns) >= MARKS


def read_min(seen: Peek, options: ExportOptions, answer_of: AnswerOf) -> Iterator[pl.DataFrame]:
    return in_batches(numbered(records_of(seen), lambda record: _votes(record, options, answer_of)))


def read_csv(seen: Peek, options: ExportOptions, answer_of: AnswerOf) -> Iterator[pl.DataFrame]:
    task = options.task or "id"
    if task not in seen.columns:
        raise Wrong(f'there is no column "{task}"', remedy=f"choose --task among {', '.join(seen.columns)}")
    scan = scan_delimited(seen.source)
    questions = [options.question] if options.question in seen.columns else _answered(scan, seen.columns, task)
    for batch in batches(seen.source, scan, list(dict.fromkeys([task, "annotator", *questions]))):
        for question in questions:
            label = _plain(batch.get_column(question), options, answer_of)
            yield batch.select(task=task, annotator="annotator", label=label, question=pl.lit(question))


def _votes(record: Any, options: ExportOptions, answer_of: AnswerOf) -> Iterator[Vote]:
    if not isinstance(record, dict) or record.get("id") is None:
        raise Wrong('found no annotation with the "id" of its task')
    task = record.get(options.task or "id")
    if task is None:
        raise Wrong(f'there is no "{options.task}"', remedy=f"choose --task among {', '.join(record)}")
    names = list(record)
    end = names.index("annotator") if "annotator" in record else len(names)
    found = [options.question] if options.question in record else names[names.index("id") + 1 : end]
    for question in found:
        yield Vote(task, record.get("annotator"), _label(record[question], options, answer_of), question)
    if not found:
        yield Vote(task)


def _label(value: Any, options: ExportOptions, answer_of: AnswerOf) -> Any:
    """One choice is a text, several are {"choices": [...]}, all other answers a list such as [{"rating": 4}]."""
    values = value if isinstance(value, list) else [value]
    answers = [answer_of(item) if isinstance(item, dict) else item for item in values]
    known = [answer for answer in answers if answer is not None]
    options.left_out.update({REGIONS: 1} if len(known) < len(answers) else {})
    return joined(known)


def _answered(scan: pl.LazyFrame, columns: tuple[str, ...], task: str) -> list[str]:
    """Every annotation of a task repeats its data, so what differs is an answer. Hashes are enough, and small."""
    candidates = [column for column in columns if column not in ABOUT | {task}]
    hashed = pl.col(candidates).fill_null("").hash()
    spread = scan.group_by("id").agg(hashed.min() != hashed.max()).select(pl.col(candidates).any())
    found = spread.collect(engine="streaming").row(0, named=True)
    return [column for column in candidates if found[column]] or candidates


def _plain(cells: pl.Series, options: ExportOptions, answer_of: AnswerOf) -> pl.Series:
    """Answers that are not plain text stand there as JSON; few of them differ."""
    odd = cells.unique().drop_nulls()
    odd = odd.filter(odd.str.contains(r"^[\[{]"))
    meant: dict[str, str | None] = {}
    for cell in odd:
        with suppress(ValueError):  # a label that begins like JSON
            label = _label(json.loads(cell), options, answer_of)
            meant[cell] = None if label is None else str(label)
    return cells.replace(meant) if meant else cells
