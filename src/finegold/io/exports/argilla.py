"""Argilla: records as `dataset.records.to_json` writes them, or flattened, as JSON, JSON Lines or
Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, need
from finegold.io.source import Source

REMEDY = "export it again: dataset.records.to_json(FILE) in Python"
RESPONSES, SUGGESTION = ".responses", ".suggestion"
SUGGESTED, SOME_AGENT = "suggested", "suggestion"
# by status
NO_VOTES = {"draft": "drafts", "discarded": "discarded responses", "pending": "pending responses"}
NO_VOTES |= {SUGGESTED: "suggestions of models"}


def fits(seen: Source) -> bool:
    is_whole = "fields" in seen.record and isinstance(seen.record.get("responses"), dict | list)
    names = seen.columns if seen.format == "parquet" else seen.record
    return is_whole or any(name.endswith(f"{RESPONSES}.users") for name in names)


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    records: Iterator[Any] = base.read_records(seen)
    if seen.format == "parquet":
        scan = pl.scan_parquet(seen.data, glob=False)
        names = scan.collect_schema().names()
        wanted = [
            name
            for name in names
            if name in ("id", options.task) or RESPONSES in name or ".sugg" in name
        ]
        records = (
            row
            for batch in scan.select(wanted).collect_batches()
            for row in batch.iter_rows(named=True)
        )
    return base.in_batches(base.with_numbers(records, lambda record: _votes(record, options)))


def _votes(record: Any, options: ExportOptions) -> Iterable[Vote]:
    ids = [record.get(name) for name in ("id", "_server_id")] if isinstance(record, dict) else []
    task = next((name for name in ids if name is not None), None)
    if task is None:
        raise DamagedExport('found no record with an "id"')
    if options.task is not None:
        # flattened, they stand beside the id
        fields = need(record, "fields", dict, record)
        task = base.chosen_task(fields, options.task, "the record has no field")
    answers = []
    for status, *answer in _answers(record):
        what = NO_VOTES.get(str(status or ""))
        if what is None or what.split()[0] in options.include:
            answers.append(answer)
        else:
            options.left_out[what] += 1
    votes = [
        Vote(task, annotator, _label(value, options), question)
        for annotator, value, question in answers
    ]
    return [vote for vote in votes if vote.label is not None] or [Vote(task)]


def _answers(record: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the status of each response or suggestion, if known, who gave it, the answer and the
    question.
    """
    if isinstance(record.get("responses"), list):
        # The server and Argilla 1 write the answers of one user to all questions together.
        for response in record["responses"]:
            for question, answer in need(response, "values", dict, {}).items():
                yield (
                    response.get("status"),
                    response.get("user_id"),
                    need(answer, "value", object),
                    question,
                )
    else:
        responses = need(record, "responses", dict, {})
        for question in responses:
            for response in need(responses, question, list, []):
                user = need(response, "user_id", str)
                yield response.get("status"), user, need(response, "value", object), question
    # flattened
    for name in record:
        if not name.endswith(RESPONSES) or record[name] is None:
            continue
        values, users = need(record, name, list), need(record, f"{name}.users", list)
        states = need(record, f"{name}.status", list, [""] * len(values))
        if not len(values) == len(users) == len(states):
            raise DamagedExport(
                f'"{name}" has {len(values)} answers by {len(users)} users with {len(states)}'
                " states"
            )
        for value, user, status in zip(values, users, states, strict=True):
            yield status, user, value, name.removesuffix(RESPONSES)
    listed = record.get("suggestions")
    if isinstance(listed, list):
        record = {
            **record,
            "suggestions": {need(made, "question_name", str): made for made in listed},
        }
    for question, suggestion in need(record, "suggestions", dict, {}).items():
        value = need(suggestion, "value", object)
        yield SUGGESTED, suggestion.get("agent") or SOME_AGENT, value, question
    for name in record:
        if name.endswith(SUGGESTION) and record[name] is not None:
            agent = record.get(f"{name}.agent") or SOME_AGENT
            yield SUGGESTED, agent, record[name], name.removesuffix(SUGGESTION)


def _label(value: Any, options: ExportOptions) -> Any:
    """Return a label, a rating or several labels. Ranks and spans concern parts of a task, and are
    left out.
    """
    if value == []:
        return options.nothing("responses without an answer")
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        return base.join_labels(value)
    if value is None or isinstance(value, list):
        options.left_out[
            "responses without an answer" if value is None else "rankings and spans"
        ] += 1
        return None
    return value


INCLUDE = ("suggestions", "drafts", "discarded")
EXPORT = Export("argilla", "Argilla", REMEDY, fits, read, INCLUDE, takes_task=True)
