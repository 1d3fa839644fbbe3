"""Argilla: records as `dataset.records.to_json` writes them, or flattened, as JSON, JSON Lines or
Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import Export, ExportOptions, Vote, need
from finegold.io.source import Source

REMEDY = "export it again: dataset.records.to_json(FILE) in Python"
SERVER_ID = "_server_id"
RESPONSES, SUGGESTION = ".responses", ".suggestion"
# by status
NO_VOTES = {"draft": "drafts", "discarded": "discarded responses", "pending": "pending responses"}


def _records(seen: Source, options: ExportOptions) -> Iterator[Any]:
    if seen.format != "parquet":
        return base.read_records(seen)
    names = [name for name in seen.columns if RESPONSES in name or ".sugg" in name]
    return base.read_rows(seen, ["id", *([options.task] if options.task else []), *names])


def _votes(record: Any, options: ExportOptions) -> Iterable[Vote]:
    # flattened, the fields stand beside the id
    is_of_server = isinstance(record, dict) and record.get("id") is None and SERVER_ID in record
    task = base.need_id(record, SERVER_ID if is_of_server else "id", options, "fields")
    answers = []
    for status, user, value, question in responses_of(record):
        what = NO_VOTES.get(str(status or ""), "")
        if not options.leaves_out(bool(what), what, what.partition(" ")[0]):
            answers.append((user, value, question))
    suggestions = list(_suggestions(record))
    if "suggestions" in options.include:
        answers += suggestions
    elif suggestions:
        options.left_out["suggestions of models"] += len(suggestions)
    fields = need(record, "fields", dict, record)
    texts = [value for value in fields.values() if isinstance(value, str)]
    text = fields.get("text", texts[0] if fields is not record and len(texts) == 1 else None)
    labels = [(who, _label(value, options), question) for who, value, question in answers]
    votes = [Vote(task, *each, text=text) for each in labels if each[1] is not None]
    return votes or [Vote(task)]


def responses_of(record: dict[str, Any]) -> Iterator[tuple[Any, Any, Any, str]]:
    """Yield the status of each response, if known, who gave it, the answer and the question."""
    if isinstance(record.get("responses"), list):
        # the server and Argilla 1 write the answers of a user to all questions together
        for response in record["responses"]:
            for question, answer in need(response, "values", dict, {}).items():
                said = need(answer, "value", object)
                yield response.get("status"), response.get("user_id"), said, question
        return
    for question, responses in need(record, "responses", dict, {}).items():
        for response in responses or ():
            user = need(response, "user_id", str)
            yield response.get("status"), user, need(response, "value", object), question
    # flattened
    for name in (each for each in record if each.endswith(RESPONSES) and record[each] is not None):
        values, users = need(record, name, list), need(record, f"{name}.users", list)
        states = need(record, f"{name}.status", list, [""] * len(values))
        for status, user, said in zip(states, users, values, strict=True):
            yield status, user, said, name.removesuffix(RESPONSES)


def _suggestions(record: dict[str, Any]) -> Iterator[tuple[Any, Any, str]]:
    """Yield the model, the answer and the question of each suggestion."""
    made = record.get("suggestions")
    if isinstance(made, list):
        made = {need(each, "question_name", str): each for each in made}
    for question, each in (made or {}).items():
        yield need(each, "agent", str, "suggestion"), need(each, "value", object), question
    for name, value in record.items():
        if value is not None and name.endswith(SUGGESTION):
            agent = record.get(f"{name}.agent") or "suggestion"
            yield agent, value, name.removesuffix(SUGGESTION)


def _label(value: Any, options: ExportOptions) -> Any:
    """Return a label, a rating, several labels or spans. Ranks are left out."""
    if value == []:
        return options.nothing("responses without an answer")
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        if all(isinstance(part, dict) and "start" in part for part in value):
            return base.spans_in(value)
        options.left_out["rankings"] += 1
        return None
    options.left_out.update({"responses without an answer": 1} if value is None else {})
    return base.join_labels(value)


INCLUDE = ("suggestions", "drafts", "discarded")
READ = base.by_record(_votes, _records)
EXPORT = Export("argilla", "Argilla", REMEDY, None, READ, INCLUDE, takes_task=True)
