"""doccano: a zip archive with a file per member of the project, or these files themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePath
from typing import Any, BinaryIO

from finegold.io.columns import ANNOTATOR, candidates
from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Spans, Vote
from finegold.io.source import Source, long_fields

REMEDY = "export it again: Dataset, Actions, Export dataset, format JSONL"
FILES = (".jsonl", ".json", ".csv")
# "cats" where slots are filled beside the intent; versions before 1.3 have annotations with users
LABELS = ("label", "cats", "labels")
USERS = "annotations"
# where relations are marked, too
ENTITIES = "entities"
EVERYBODY = "all"


def fits(seen: Source) -> bool:
    """Recognise an archive by what lies in it, and tell a table from one that names annotators."""
    if seen.members:
        return all("/" not in name and name.lower().endswith(FILES) for name in seen.members)
    if _has_users(seen.record):
        return all(isinstance(each, dict) and "label" in each for each in seen.record[USERS])
    return not seen.is_delimited or not candidates(seen.columns, ANNOTATOR)


def _has_users(record: Any) -> bool:
    return isinstance(record, dict) and USERS in record and record.keys().isdisjoint(LABELS)


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    """Yield votes. The name of a file is the name of the annotator."""
    own, is_zip = PurePath(seen.name.removesuffix(".gz")).name, seen.format == "zip"
    has_users = _has_users(seen.record)
    is_nameless = isinstance(seen.data, bytes) and not own.lower().endswith(FILES)
    if is_nameless and not is_zip and not has_users:
        problem = "the name of the file is that of the annotator, and this is not a file"
        raise DamagedExport(problem, "give its path")
    members = seen.members if is_zip else (own,)
    names = [name for name in members if has_users or PurePath(name).stem != EVERYBODY]
    if not names:
        raise DamagedExport(
            "it holds the labels of all members together, so that nobody can tell who voted for"
            " what",
            'votes are kept apart only in projects without "Share annotations across all users"',
        )
    files: Iterable[tuple[str, BinaryIO]] = (
        base.members_of(seen, names) if is_zip else [(own, seen.open_bytes())]
    )
    for name, file in files:
        with file, long_fields():
            records: Iterable[Any] = base.json_records(file)
            if name.lower().endswith(".csv"):
                records = csv.DictReader(io.TextIOWrapper(file, "utf-8-sig", newline=""))
            make = partial(_votes, who=PurePath(name).stem, options=options)
            try:
                yield from base.with_numbers(records, make, name * is_zip)
            except csv.Error as error:
                raise DamagedExport(f"in {name}, not valid CSV ({error})") from None


def _votes(record: Any, who: str, options: ExportOptions) -> list[Vote]:
    """Return the votes of a member, or of each user whom the annotations of an old version name."""
    task, text = base.need_id(record, "id", options), record.get("text")
    if _has_users(record):
        chosen: dict[Any, list[Any]] = {}
        for each in base.need(record, USERS, list):
            user = each.get("user_name", each.get("user"))
            if user is None:
                raise DamagedExport('found an annotation without a "user"')
            chosen.setdefault(user, []).append(each)
        votes = []
        for user, each in chosen.items():
            if any("start_offset" in one for one in each):
                label: Any = base.spans_in(each, "start_offset", "end_offset")
            else:
                label = base.join_labels([one.get("label_name", one.get("label")) for one in each])
            votes.append(Vote(task, user, label, "", text=text))
        return votes or [Vote(task)]
    if ENTITIES in record:
        spans = base.spans_in(record[ENTITIES], "start_offset", "end_offset")
        return [Vote(task, who, spans, "", text=text)]
    field = next((name for name in LABELS if record.get(name) is not None), LABELS[0])
    value = record.get(field) or []
    # CSV has several labels in one text
    value = {field: value.split("#") if isinstance(value, str) else value}
    labels = base.need(value, field, list)
    if labels and all(isinstance(label, list) for label in labels):
        marks = [(int(start), int(end), str(label)) for start, end, label in labels]
        return [Vote(task, who, Spans(marks), "", text=text)]
    return [Vote(task, who, base.join_labels(labels), "", text=text)]


EXPORT = Export("doccano", "doccano", REMEDY, fits, read, takes_task=True)
