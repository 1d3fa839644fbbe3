"""doccano: a zip archive with a file per member of the project, or these files themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import PurePath
from typing import Any, BinaryIO

import polars as pl

from finegold.io.columns import ANNOTATOR, candidates
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source, long_fields

REMEDY = "export it again: Dataset, Actions, Export dataset, format JSONL"
FILES = (".jsonl", ".json", ".csv")
DATA = {"text", "filename", "data"}
# "cats" where slots are filled beside the intent
LABELS = ("label", "cats", "labels")
EVERYBODY = "all"
# one of these is in every record of versions before 1.3
OLD = ("annotation_approver", "meta")


def fits(seen: Source) -> bool:
    record, columns = seen.record, set(seen.columns)
    if seen.format == "zip":
        return bool(seen.members) and all(
            "/" not in name and name.lower().endswith(FILES) for name in seen.members
        )
    if seen.is_delimited:
        return (
            {"id", "label"} < columns
            and bool(DATA & columns)
            and not candidates(seen.columns, ANNOTATOR)
        )
    has_labels = any(isinstance(record.get(name), list) for name in LABELS)
    return _is_old(record) or ("id" in record and bool(DATA & record.keys()) and has_labels)


def _is_old(record: dict[str, Any]) -> bool:
    """Return whether the record is of an old version, which writes the user into every annotation."""
    annotations = record.get("annotations")
    has_marks = {"id", "text"} <= record.keys() and any(name in record for name in OLD)
    if not has_marks or not isinstance(annotations, list):
        return False
    return all(isinstance(annotation, dict) and "label" in annotation for annotation in annotations)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    if _is_old(seen.record):
        return base.by_record(_old_votes)(seen, options)
    return base.in_batches(_votes_of_members(seen, options))


def _votes_of_members(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    """Yield votes. The name of a file is the name of the annotator."""
    is_zip = seen.format == "zip"
    if not is_zip and isinstance(seen.data, bytes):
        raise DamagedExport(
            "the name of the file is that of the annotator, and this is not a file", "give its path"
        )
    files = seen.members if is_zip else (PurePath(seen.name.removesuffix(".gz")).name,)
    files = tuple(name for name in files if PurePath(name).stem != EVERYBODY)
    if not files:
        problem = (
            "it holds the labels of all members together, so that nobody can tell who voted for"
            " what"
        )
        kept_apart = (
            'votes are kept apart only in projects without "Share annotations across all users"'
        )
        raise DamagedExport(problem, kept_apart)
    with base.open_zip(seen) if is_zip else nullcontext() as archive:
        for name in files:
            with (
                base.open_export(seen) if archive is None else base.open_member(archive, name)
            ) as file:
                yield from _votes(name, file, options)


def _votes(name: str, file: BinaryIO, options: ExportOptions) -> Iterator[Vote]:
    def vote_of(record: Any) -> Vote:
        task = base.need_id(record, options.task or "id")
        field = next((name for name in LABELS if record.get(name) is not None), None)
        labels = [] if field is None else record[field]
        # CSV has several labels in one text
        if isinstance(labels, str):
            labels = labels.split("#")
        if not isinstance(labels, list):
            raise DamagedExport(f'found {labels!r} for "{field}", expected a list of labels')
        if any(isinstance(label, list | dict) for label in labels):
            options.left_out["marked spans"] += len(labels)
            return Vote(task)
        return Vote(task, PurePath(name).stem, base.join_labels(labels), "")

    end = name.lower().rpartition(".")[2]
    records = (
        _rows(file)
        if end == "csv"
        else base.json_items(file, "item")
        if end == "json"
        else base.json_lines(file)
    )
    return base.with_numbers(records, lambda record: [vote_of(record)])


def _rows(file: BinaryIO) -> Iterator[dict[str, str]]:
    try:
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text, long_fields():
            yield from csv.DictReader(text)
    except (csv.Error, UnicodeError) as error:
        raise DamagedExport(f"not valid CSV in UTF-8 ({error})") from None


def _old_votes(record: Any, options: ExportOptions) -> Iterable[Vote]:
    """Return a vote per user: what one user chose of several labels is one answer."""
    task = base.need_id(record, options.task or "id")
    labels: dict[Any, list[Any]] = {}
    for annotation in base.need(record, "annotations", list):
        user = annotation.get("user_name", annotation.get("user"))
        if user is None:
            raise DamagedExport('found an annotation without a "user"')
        if "start_offset" in annotation:
            options.left_out["marked spans"] += 1
        else:
            labels.setdefault(user, []).append(
                annotation.get("label_name", annotation.get("label"))
            )
    return [
        Vote(task, user, base.join_labels(answers), "") for user, answers in labels.items()
    ] or [Vote(task)]


EXPORT = Export("doccano", "doccano", REMEDY, fits, read, takes_task=True)
