"""The content of a task, shown to people who judge it: the other columns of its row, or the data of its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from karat.io.readers.columns import ANNOTATOR, LABEL, TASK, TRUTH, candidates
from karat.io.readers.diagnosis import reading
from karat.io.readers.exports import find_export, look
from karat.io.readers.exports.export import Wrong
from karat.io.readers.exports.peek import Peek
from karat.io.readers.exports.records import records_of
from karat.io.readers.files import sources_of
from karat.io.readers.table import Opened, open_sources
from karat.votes.names import text_of

__all__ = ["content_of"]

ID_KEYS = ("id", "_input_hash", "_task_hash", "_server_id")  # what tools call the number of a record
CONTENT_KEYS = ("data", "fields")  # where they put what was shown to annotators
MAX_BYTES = 256 * 2**20  # of JSON that is searched for a record
MAX_LENGTH = 4000
MAX_FIELDS = 20

Content = dict[str, str]


def content_of(path: Path, options: Mapping[str, Any], task: Any) -> Content:
    """Return names and values as text; empty if the file holds nothing more about the task."""
    sources = sources_of(str(path))
    seen = look(sources)[0]
    if seen.source.format in ("json", "jsonl") and find_export([seen]) is not None:
        return _of_records(seen, task) if path.stat().st_size <= MAX_BYTES else {}
    if find_export([seen]) is not None:
        return {}
    return _of_table(open_sources(sources), options, task)


def _of_table(opened: Opened, options: Mapping[str, Any], task: Any) -> Content:
    columns = [str(column) for column in opened.columns]
    by_task = options.get("task") or next(iter(candidates(columns, TASK)), None)
    shown = _content_columns(columns, options, by_task)
    if by_task is None or not shown:
        return {}
    with reading(opened.sources[0]):
        is_task = selectors.by_name(by_task).as_expr().cast(pl.String) == text_of(task)  # pl.col reads patterns
        found = opened.scans[0].filter(is_task).select(selectors.by_name(*shown)).head(1).collect()
    return _texts(found.to_dicts()[0]) if found.height else {}


def _content_columns(columns: list[str], options: Mapping[str, Any], by_task: str | None) -> list[str]:
    """Return the columns with neither votes nor truths, because these would influence the person who judges."""
    votes = options.get("columns")
    if options.get("shape") == "transposed" or (options.get("shape") == "wide" and not votes):
        return []
    roles = {options.get(role) for role in ("annotator", "label", "gold")} | {by_task, *(votes or [])}
    usual = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    return [column for column in columns if column not in roles | usual][:MAX_FIELDS]


def _of_records(seen: Peek, task: Any) -> Content:
    wanted = text_of(task)
    with suppress(Wrong):  # a damaged end of the file was already reported when the votes were read
        for record in _objects(seen):
            if any(key in record and text_of(record[key]) == wanted for key in ID_KEYS):
                inside = next((record[key] for key in CONTENT_KEYS if isinstance(record.get(key), dict)), record)
                return _texts(inside)
    return {}


def _objects(seen: Peek) -> Iterator[dict[str, Any]]:
    return (record for record in records_of(seen) if isinstance(record, dict))


def _texts(fields: Mapping[str, Any]) -> Content:
    plain = {str(name): value for name, value in fields.items() if isinstance(value, str | int | float | bool)}
    filled = [(name, text_of(value)) for name, value in plain.items() if str(value).strip()]
    return {name: text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..." for name, text in filled[:MAX_FIELDS]}
