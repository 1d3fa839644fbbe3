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
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote
from finegold.io.source import Source, long_fields

REMEDY = "export it again: Dataset, Actions, Export dataset, format JSONL"
FILES = (".jsonl", ".json", ".csv")
# "cats" where slots are filled beside the intent; versions before 1.3 have annotations with users
LABELS = ("label", "cats", "labels")
USERS = "annotations"
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
    if not is_zip and isinstance(seen.data, bytes) and not has_users:
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
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            is_table = name.lower().endswith(".csv")
            records: Iterable[Any] = csv.DictReader(text) if is_table else base.json_records(file)
            make = partial(_votes, who=PurePath(name).stem, options=options)
            try:
                yield from base.with_numbers(records, make, name * is_zip)
            except csv.Error as error:
                raise DamagedExport(f"in {name}, not valid CSV ({error})") from None


def _votes(record: Any, who: str, options: ExportOptions) -> list[Vote]:
    """Return the votes of a member, or of each user whom the annotations of an old version name."""
    task = base.need_id(record, "id", options)
    chosen: dict[Any, list[Any]] = {}
    if _has_users(record):
        for each in base.need(record, USERS, list):
            user = each.get("user_name", each.get("user"))
            if user is None:
                raise DamagedExport('found an annotation without a "user"')
            label = {} if "start_offset" in each else each.get("label_name", each.get("label"))
            chosen.setdefault(user, []).append(label)
    else:
        field = next((name for name in LABELS if record.get(name) is not None), LABELS[0])
        value = record.get(field) or []
        # CSV has several labels in one text
        value = {field: value.split("#") if isinstance(value, str) else value}
        chosen[who] = base.need(value, field, list)
    votes = []
    for user, labels in chosen.items():
        if spans := sum(isinstance(label, list | dict) for label in labels):
            options.left_out[base.SPANS] += spans
        else:
            votes.append(Vote(task, user, base.join_labels(labels), ""))
    return votes or [Vote(task)]


EXPORT = Export("doccano", "doccano", REMEDY, fits, read, takes_task=True)
