"""The content of tasks, shown to people who judge them: the other columns of the file, or the data of the records.

It is collected when the votes are read and kept in the project, so that the file is not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from finegold.errors import InputError
from finegold.io.columns import ANNOTATOR, LABEL, TASK, TRUTH, candidates
from finegold.io.diagnosis import reading
from finegold.io.exports import look
from finegold.io.exports.base import DamagedExport, Peek, read_records
from finegold.io.tables import Opened, open_sources
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.votes.names import text_of

__all__ = ["KEY", "Contents", "collect"]

KEY = "\ntask"  # the column with the names of the tasks; no column of a file is called so
ID_KEYS = ("id", "_input_hash", "_task_hash", "_server_id")  # what tools call the number of a record
CONTENT_KEYS = ("data", "fields")  # where they put what was shown to annotators
MAX_BYTES = 256 * 2**20  # of JSON whose records are collected
MAX_LENGTH = 4000
MAX_FIELDS = 20

Fields = dict[str, str]


class Contents:
    """The content of all tasks, in a Parquet file that `collect` made. Only what is asked for is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = pl.scan_parquet(path)
        self.names = [name for name in self._rows.collect_schema().names() if name != KEY]

    def of(self, task: Any) -> Fields:
        """Return the fields of a task that are not blank."""
        found = self._rows.filter(pl.col(KEY) == text_of(task)).head(1).collect().to_dicts()
        return _filled(found[0]) if found else {}

    def lines(self, tasks: list[Any], length: int) -> list[str]:
        """Return the beginning of the longest field of each task, in one line."""
        keys = [text_of(task) for task in tasks]
        rows = {row[KEY]: row for row in self._rows.filter(pl.col(KEY).is_in(keys)).collect().to_dicts()}
        longest = [max(_filled(rows[key]).values(), key=len, default="") if key in rows else "" for key in keys]
        return [" ".join(text.split())[:length] for text in longest]

    def containing(self, part: str) -> list[str]:
        """Return the names of the tasks with a field that contains this text, whatever its case."""
        if not self.names:
            return []
        wanted = part.lower()
        texts = [selectors.by_name(name).as_expr().str.to_lowercase() for name in self.names]
        inside = pl.any_horizontal([text.str.contains(wanted, literal=True) for text in texts])
        return self._rows.filter(inside).select(KEY).collect(engine="streaming").get_column(KEY).to_list()


def collect(path: Path, options: Reading) -> pl.DataFrame:
    """Return the content of all tasks of a file; it has no fields if the file has nothing but votes."""
    found = None
    with suppress(InputError):  # reading the votes reports what is wrong
        found = _of_file(path, options)
    return pl.DataFrame(schema={KEY: pl.String}) if found is None else found


def _of_file(path: Path, options: Reading) -> pl.DataFrame | None:
    sources = find_sources(path, options)
    seen = look(sources)[0]
    if find_tool([seen], options) is None:
        return _of_table(open_sources(sources), options)
    if seen.source.format in ("json", "jsonl") and path.stat().st_size <= MAX_BYTES:
        return _of_records(seen)
    return None


def _of_table(opened: Opened, options: Reading) -> pl.DataFrame | None:
    columns = [str(column) for column in opened.columns]
    by_task = options.task or next(iter(candidates(columns, TASK)), None)
    shown = _content_columns(columns, options, by_task)
    if by_task is None or not shown:
        return None
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)  # pl.col reads patterns
    fields = [selectors.by_name(name).as_expr().cast(pl.String).str.slice(0, MAX_LENGTH + 1) for name in shown]
    with reading(opened.sources[0]):
        rows = opened.scans[0].select(key, *fields).unique(KEY, keep="first", maintain_order=True)
        return rows.collect(engine="streaming")


def _content_columns(columns: list[str], options: Reading, by_task: str | None) -> list[str]:
    """Return the columns with neither votes nor truths, because these would influence the person who judges."""
    votes = options.columns
    if options.shape == "transposed" or (options.shape == "wide" and not votes):
        return []
    roles = {options.annotator, options.label, options.gold} | {by_task, *(votes or [])}
    usual = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    return [column for column in columns if column not in roles | usual][:MAX_FIELDS]


def _of_records(seen: Peek) -> pl.DataFrame | None:
    rows: list[dict[str, str]] = []
    with suppress(DamagedExport):  # a damaged end of the file was already reported when the votes were read
        for record in _objects(seen):
            inside = next((record[key] for key in CONTENT_KEYS if isinstance(record.get(key), dict)), record)
            ids = [text_of(record[key]) for key in ID_KEYS if isinstance(record.get(key), str | int)]
            rows.extend({KEY: task} | _texts(inside) for task in ids)
    names = list(dict.fromkeys(name for row in rows for name in row if name != KEY))[:MAX_FIELDS]
    if not names:
        return None
    schema = {KEY: pl.String} | dict.fromkeys(names, pl.String)
    return pl.DataFrame(rows, schema=schema).unique(KEY, keep="first", maintain_order=True)


def _objects(seen: Peek) -> Iterator[dict[str, Any]]:
    return (record for record in read_records(seen) if isinstance(record, dict))


def _texts(fields: Mapping[str, Any]) -> Fields:
    plain = {str(name): value for name, value in fields.items() if isinstance(value, str | int | float | bool)}
    return {name: text_of(value)[: MAX_LENGTH + 1] for name, value in plain.items()}


def _filled(row: Mapping[str, str | None]) -> Fields:
    filled = {name: text for name, text in row.items() if name != KEY and text is not None and text.strip()}
    return {name: text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..." for name, text in filled.items()}
