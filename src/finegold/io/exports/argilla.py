"""Argilla: records as `dataset.records.to_json` writes them, or flattened, as JSON, JSON Lines or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import (
    DamagedExport,
    Export,
    ExportOptions,
    Vote,
    in_batches,
    join_labels,
    need,
    read_records,
    unknown_task,
    with_numbers,
)
from finegold.io.source import Source

RESPONSES, SUGGESTION = ".responses", ".suggestion"
NO_VOTES = {"draft": "drafts", "discarded": "discarded responses", "pending": "pending responses"}
SOME_AGENT = "suggestion"


def fits(seen: Source) -> bool:
    is_whole = "fields" in seen.record and isinstance(seen.record.get("responses"), dict | list)
    names = seen.columns if seen.format == "parquet" else seen.record
    return is_whole or any(name.endswith(f"{RESPONSES}.users") for name in names)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    records: Iterator[Any] = read_records(seen)
    if seen.format == "parquet":
        scan = pl.scan_parquet(seen.data, glob=False)
        names = scan.collect_schema().names()
        wanted = [name for name in names if name in ("id", options.task) or RESPONSES in name or ".sugg" in name]
        records = (row for batch in scan.select(wanted).collect_batches() for row in batch.iter_rows(named=True))
    return in_batches(with_numbers(records, lambda record: _votes(record, options)))


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    task = _task(record, options)
    votes = []
    for status, vote in [*_responses(record, task), *_flattened(record, task)]:
        what = NO_VOTES.get(status)
        if what is None or what.split()[0] in options.include:
            votes.append(vote)
        else:
            options.left_out[what] += 1
    suggestions = list(_suggestions(record, task))
    if "suggestions" in options.include:
        votes += suggestions
    elif suggestions:
        options.left_out["suggestions of models"] += len(suggestions)
    labels = [_label(vote.label, options) for vote in votes]
    for vote, label in zip(votes, labels, strict=True):
        if label is not None:
            yield vote._replace(label=label)
    if all(label is None for label in labels):
        yield Vote(task)


def _task(record: Any, options: ExportOptions) -> Any:
    ids = [record.get(name) for name in ("id", "_server_id")] if isinstance(record, dict) else []
    task = next((name for name in ids if name is not None), None)
    if task is None:
        raise DamagedExport('found no record with an "id"')
    if options.task is None:
        return task
    fields = need(record, "fields", dict, record)  # flattened, they stand beside the id
    if fields.get(options.task) is None:
        raise unknown_task(f'the record has no field "{options.task}"', fields)
    return fields[options.task]


def _responses(record: dict[str, Any], task: Any) -> Iterator[tuple[str, Vote]]:
    """Yield the status of each response, if known, and the vote."""
    if isinstance(record.get("responses"), list):
        # The server and Argilla 1 write the answers of one user to all questions together.
        for response in record["responses"]:
            for question, answer in need(response, "values", dict, {}).items():
                vote = Vote(task, response.get("user_id"), need(answer, "value", object), question)
                yield str(response.get("status") or ""), vote
        return
    responses = need(record, "responses", dict, {})
    for question in responses:
        for response in need(responses, question, list, []):
            vote = Vote(task, need(response, "user_id", str), need(response, "value", object), question)
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


def _suggestions(record: dict[str, Any], task: Any) -> Iterator[Vote]:
    """Yield the suggestions of models, each under the name of its agent."""
    listed = record.get("suggestions")
    if isinstance(listed, list):
        record = {**record, "suggestions": {need(made, "question_name", str): made for made in listed}}
    for question, suggestion in need(record, "suggestions", dict, {}).items():
        value = need(suggestion, "value", object)
        yield Vote(task, suggestion.get("agent") or SOME_AGENT, value, question)
    for name in record:
        if name.endswith(SUGGESTION) and record[name] is not None:
            yield Vote(task, record.get(f"{name}.agent") or SOME_AGENT, record[name], name.removesuffix(SUGGESTION))


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
    include=("suggestions", "drafts", "discarded"),
    takes_task=True,
)
