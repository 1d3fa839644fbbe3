"""Argilla: records as `dataset.records.to_json` writes them, or flattened, as JSON, JSON Lines or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Peek,
    Vote,
    in_batches,
    join_labels,
    need,
    read_records,
    unknown_task,
    with_numbers,
)

__all__ = ["EXPORT"]

RESPONSES = ".responses"
NO_VOTES = {"draft": "drafts", "discarded": "discarded responses", "pending": "pending responses"}
INCLUDE = ("suggestions", "drafts", "discarded")
SOME_AGENT = "suggestion"


def fits(seen: Peek) -> bool:
    if seen.source.format == "parquet":
        return any(column.endswith(f"{RESPONSES}.users") for column in seen.columns)
    is_whole = "fields" in seen.record and isinstance(seen.record.get("responses"), dict | list)
    return is_whole or any(name.endswith(f"{RESPONSES}.users") for name in seen.record)


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    return in_batches(with_numbers(_records(seen, options), lambda record: _votes(record, options)))


def _records(seen: Peek, options: ExportOptions) -> Iterator[Any]:
    if seen.source.format != "parquet":
        return read_records(seen)
    scan = pl.scan_parquet(seen.source.data, glob=False)
    names = scan.collect_schema().names()
    wanted = [name for name in names if name in ("id", options.task) or RESPONSES in name or ".sugg" in name]
    return (row for batch in scan.select(wanted).collect_batches() for row in batch.iter_rows(named=True))


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    task = _task(record, options)
    found = [vote for vote in _responses(record, task) if _counts(vote[0], options)]
    votes = [vote for _, vote in found] + list(_suggestions(record, task, options))
    is_voted = False
    for vote in votes:
        label = _label(vote.label, options)
        if label is not None:
            is_voted = True
            yield vote._replace(label=label)
    if not is_voted:
        yield Vote(task)


def _task(record: Any, options: ExportOptions) -> Any:
    ids = [record.get(name) for name in ("id", "_server_id")] if isinstance(record, dict) else []
    found = next((one for one in ids if one is not None), None)
    if found is None:
        raise DamagedExport('found no record with an "id"')
    if options.task is None:
        return found
    fields = need(record, "fields", dict, record)  # flattened, they stand beside the id
    if fields.get(options.task) is None:
        raise unknown_task(f'the record has no field "{options.task}"', fields)
    return fields[options.task]


def _responses(record: dict[str, Any], task: Any) -> Iterator[tuple[str, Vote]]:
    """Yield the status of each response, if known, and the vote."""
    if isinstance(record.get("responses"), list):
        yield from _of_users(record["responses"], task)
        return
    responses = need(record, "responses", dict, {})
    for question in responses:
        for response in need(responses, question, list, []):
            vote = Vote(task, need(response, "user_id", str), need(response, "value", object), question)
            yield str(response.get("status") or ""), vote
    yield from _flattened(record, task)


def _of_users(responses: list[Any], task: Any) -> Iterator[tuple[str, Vote]]:
    """Read responses of the server and of Argilla 1: each holds the answers of one user to all questions."""
    for response in responses:
        for question, answer in need(response, "values", dict, {}).items():
            vote = Vote(task, response.get("user_id"), need(answer, "value", object), question)
            yield str(response.get("status") or ""), vote


def _flattened(record: dict[str, Any], task: Any) -> Iterator[tuple[str, Vote]]:
    for name in record:
        if not name.endswith(RESPONSES) or record[name] is None:
            continue
        values, users = need(record, name, list), need(record, f"{name}.users", list)
        states = need(record, f"{name}.status", list, [""] * len(values))
        if not len(values) == len(users) == len(states):
            raise DamagedExport(f'"{name}" has {len(values)} answers by {len(users)} users with {len(states)} states')
        for value, user, status in zip(values, users, states, strict=True):
            yield str(status or ""), Vote(task, user, value, name.removesuffix(RESPONSES))


def _counts(status: str, options: ExportOptions) -> bool:
    what = NO_VOTES.get(status)
    if what is None or what.split()[0] in options.include:
        return True
    options.left_out[what] += 1
    return False


def _suggestions(record: dict[str, Any], task: Any, options: ExportOptions) -> Iterator[Vote]:
    """Yield the suggestions of models, each under the name of its agent."""
    found = list(_suggested(record, task))
    if "suggestions" in options.include:
        yield from found
    elif found:
        options.left_out["suggestions of models"] += len(found)


def _suggested(record: dict[str, Any], task: Any) -> Iterator[Vote]:
    listed = record.get("suggestions")
    if isinstance(listed, list):
        record = {**record, "suggestions": {need(one, "question_name", str): one for one in listed}}
    for question, suggestion in need(record, "suggestions", dict, {}).items():
        value = need(suggestion, "value", object)
        yield Vote(task, suggestion.get("agent") or SOME_AGENT, value, question)
    for name in record:
        if name.endswith(".suggestion") and record[name] is not None:
            yield Vote(task, record.get(f"{name}.agent") or SOME_AGENT, record[name], name.removesuffix(".suggestion"))


def _label(value: Any, options: ExportOptions) -> Any:
    """Return a label, a rating or several labels. Ranks and spans concern parts of a task, and are left out."""
    if value == []:
        return options.nothing("responses without an answer")
    if value is None:
        options.left_out["responses without an answer"] += 1
        return None
    if not isinstance(value, list):
        return value
    if any(isinstance(part, dict | list) for part in value):
        options.left_out["rankings and spans"] += 1
        return None
    return join_labels(value)


EXPORT = Export(
    name="argilla",
    title="Argilla",
    remedy="export it again: dataset.records.to_json(FILE) in Python",
    fits=fits,
    read=read,
    include=INCLUDE,
    takes_task=True,
)
