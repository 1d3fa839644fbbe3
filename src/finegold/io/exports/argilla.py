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


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    records: Iterator[Any] = base.read_records(seen)
    if seen.format == "parquet":
        names = [name for name in seen.columns if RESPONSES in name or ".sugg" in name]
        records = base.read_rows(seen, ["id", *([options.task] if options.task else []), *names])
    return base.in_batches(base.with_numbers(records, lambda record: _votes(record, options)))


def _votes(record: Any, options: ExportOptions) -> Iterable[Vote]:
    is_on_server = isinstance(record, dict) and record.get("id") is None and "_server_id" in record
    # flattened, the fields stand beside the id
    task = base.need_id(record, "_server_id" if is_on_server else "id", options, "fields")
    votes = []
    for status, annotator, value, question in _answers(record):
        what = NO_VOTES.get(str(status or ""))
        if what is not None and what.split()[0] not in options.include:
            options.left_out[what] += 1
        elif (label := _label(value, options)) is not None:
            votes.append(Vote(task, annotator, label, question))
    return votes or [Vote(task)]


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
    listed = record.get("suggestions")
    if isinstance(listed, list):
        record = {
            **record,
            "suggestions": {need(made, "question_name", str): made for made in listed},
        }
    for question, made in need(record, "suggestions", dict, {}).items():
        value = need(made, "value", object)
        yield SUGGESTED, made.get("agent") or SOME_AGENT, value, question
    # flattened
    for name, value in record.items():
        if value is not None and name.endswith(RESPONSES):
            values, users = need(record, name, list), need(record, f"{name}.users", list)
            states = need(record, f"{name}.status", list, [""] * len(values))
            if not len(values) == len(users) == len(states):
                problem = f'"{name}" has {len(values)} answers by {len(users)} users with {len(states)} states'
                raise DamagedExport(problem)
            for status, user, said in zip(states, users, values, strict=True):
                yield status, user, said, name.removesuffix(RESPONSES)
        elif value is not None and name.endswith(SUGGESTION):
            agent = record.get(f"{name}.agent") or SOME_AGENT
            yield SUGGESTED, agent, value, name.removesuffix(SUGGESTION)


def _label(value: Any, options: ExportOptions) -> Any:
    """Return a label, a rating or several labels. Ranks and spans concern parts of a task, and are
    left out.
    """
    if value == []:
        return options.nothing("responses without an answer")
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        is_text = all(isinstance(part, dict) and "start" in part for part in value)
        options.left_out[base.SPANS if is_text else "rankings"] += 1
        return None
    if value is None:
        options.left_out["responses without an answer"] += 1
    return base.join_labels(value) if isinstance(value, list) else value


INCLUDE = ("suggestions", "drafts", "discarded")
EXPORT = Export("argilla", "Argilla", REMEDY, None, read, INCLUDE, takes_task=True)
