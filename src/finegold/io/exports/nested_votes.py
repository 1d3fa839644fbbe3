"""The votes inside one task of nested JSON: a list of labels, of objects, or an object annotator -> label."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from finegold.io.exports.export import Wrong, joined
from finegold.io.readers.columns import ANNOTATOR, LABEL, bare_name, candidates
from finegold.votes.encoding import text_of

__all__ = ["are_votes", "is_record", "pairs_of", "vote_fields", "votes_in"]

Pair = tuple[Any, Any]  # an annotator, or None where only the position tells, and a label

_FIELDS = "annotations annotatorlabels labels votes judgments judgements ratings answers responses verdicts"
FIELDS = frozenset(_FIELDS.split())
ONE_EACH = FIELDS - {"labels", "answers", "responses"}  # fields whose lists have one label per annotator
ANNOTATORS = frozenset(word + "s" for word in ANNOTATOR.words)  # the field beside a list of labels
PEOPLE = re.compile(r"(ann|" + "|".join(sorted(ANNOTATOR.words, key=len, reverse=True)) + r")[ _.-]?\w*", re.IGNORECASE)
MANY = 3  # votes of an annotator who should have some label in common with others


def is_record(value: Any) -> bool:
    """Return whether an object has a field for votes, which may be empty."""
    return isinstance(value, dict) and any(map(_is_field, value))


def vote_fields(record: dict[str, Any]) -> list[str]:
    """Return the fields of a record that hold votes."""
    return [name for name in record if _is_field(name) and _may_be_votes(record[name], record)]


def votes_in(record: dict[str, Any], field: str) -> Any:
    """Return the votes of a field, paired with the annotators if another field of the record lists them."""
    value, names = record[field], _annotators_of(record)
    if isinstance(value, str):
        value = _split(value)
    if not isinstance(value, list) or names is None or any(isinstance(one, dict) for one in value):
        return value
    if len(names) != len(value):
        raise Wrong(f"found {len(value):,} labels but {len(names):,} annotators")
    return list(zip(names, value, strict=True))


def pairs_of(votes: Any) -> Iterator[Pair]:
    """Yield every vote as an annotator and a label."""
    for one in votes.items() if isinstance(votes, dict) else votes:
        annotator, label = one if isinstance(one, tuple) else _of_object(one) if isinstance(one, dict) else (None, one)
        label = joined(label) if isinstance(label, list) else label
        yield annotator, None if label != label else label  # NaN is no label


def are_votes(values: Sequence[Any], field: str = "") -> bool:
    """Return whether the values of some tasks, in a field or by key, are plainly votes, not other lists and objects."""
    if not values or len({type(value) for value in values}) > 1:
        return False
    try:
        pairs = [list(pairs_of(value)) for value in values]
    except Wrong:
        return False
    labels = [label for task in pairs for _, label in task if label is not None]
    if not labels or not all(map(_is_label, labels)):
        return False
    if isinstance(values[0], dict):
        return len(set(map(text_of, labels))) < len(labels) and _have_annotators_as_keys(values)
    if bare_name(field) in ONE_EACH and _repeats([pair for task in pairs for pair in task]):
        return True
    return all(annotator is not None for task in pairs for annotator, _ in task) or any(map(_repeats, pairs))


@lru_cache(2**16)  # the same annotators or fields occur in task after task
def _is_field(name: str) -> bool:
    return bare_name(name) in FIELDS


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())


def _repeats(pairs: list[Pair]) -> bool:
    """Return whether a label occurs twice: in a list of votes, but never in a set of labels that apply."""
    labels = [text_of(label) for _, label in pairs if label is not None]
    return len(set(labels)) < len(labels)


def _have_annotators_as_keys(tasks: Sequence[dict[str, Any]]) -> bool:
    """Tell annotators from fields of a record, which have values of their own, and from classes with counts."""
    said: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        for annotator, label in task.items():
            said[annotator].append(text_of(label))
    if all(isinstance(label, int | float | None) for task in tasks for label in task.values()):
        is_dense = len({frozenset(task) for task in tasks}) == 1
        if not all(PEOPLE.fullmatch(key) or (key.isdecimal() and not is_dense) for key in said):
            return False
    return not any(len(labels) >= MANY and _is_alone(key, said) for key, labels in said.items())


def _is_alone(key: str, said: dict[str, list[str]]) -> bool:
    own = set(said[key])
    return len(said) > 1 and not any(own & set(labels) for other, labels in said.items() if other != key)


def _may_be_votes(value: Any, record: dict[str, Any]) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and _annotators_of(record) is not None
    return isinstance(value, list | dict) and bool(value)


def _annotators_of(record: dict[str, Any]) -> list[Any] | None:
    """Return the annotators in a field beside the labels, such as "ann,bob" or a list."""
    for name, value in record.items():
        if bare_name(name) in ANNOTATORS and isinstance(value, str | list):
            return _split(value) if isinstance(value, str) else value
    return None


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _of_object(vote: dict[str, Any]) -> Pair:
    labels, annotators = candidates(vote, LABEL), candidates(vote, ANNOTATOR)
    if len(labels) != 1 or len(annotators) > 1:
        found = "no label" if not labels else "several fields for one vote"
        raise Wrong(f"found {found} in an object with the fields {', '.join(vote) or '(none)'}")
    return vote[annotators[0]] if annotators else None, vote[labels[0]]
