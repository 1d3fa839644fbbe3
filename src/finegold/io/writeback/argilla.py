"""Suggestions for Argilla: records as `dataset.records.from_json` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finegold.io.exports.base import Wrong, need
from finegold.io.writeback.labels import Labels, in_words_of

__all__ = ["suggested"]


def suggested(record: Any, labels: Mapping[str | None, Labels], task: str | None) -> dict[str, Any]:
    """Return the record with a suggestion for each question, which replaces an older one."""
    if not isinstance(record, dict) or not isinstance(record.get("responses"), dict):
        raise Wrong("found no record with its responses", remedy="suggestions need dataset.records.to_json(FILE)")
    responses = need(record, "responses", dict)
    name = record.get("id") if task is None else need(record, "fields", dict).get(task)
    suggestions = dict(record.get("suggestions") or {})
    for question, found in labels.items():
        label = found.get(name)
        if label is None:
            continue
        asked = _only(responses) if question is None else question
        like = [response["value"] for response in responses.get(asked, [])]
        value = in_words_of(like, label.label)
        suggestions[asked] = {"value": value, "score": label.confidence, "agent": found.method}
    return {**record, "suggestions": suggestions}


def _only(responses: dict[str, Any]) -> str:
    if len(responses) != 1:
        raise Wrong("the record answers several questions", remedy="name the one that the labels are for (--question)")
    return next(iter(responses))
