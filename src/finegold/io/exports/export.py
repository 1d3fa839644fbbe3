"""The interface of a reader of exports: an `Export`, one per file of this folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import polars as pl

from finegold.io.exports.peek import Peek
from finegold.votes.names import text_of
from finegold.votes.sets import NOTHING

__all__ = ["ALL", "WRONG_KINDS", "Export", "ExportOptions", "Vote", "Wrong", "in_batches", "joined", "need", "numbered"]

ALL = "all"  # the question that means every one of them
MOST_VOTES = 2**16  # in a batch
SEVERAL = "|"  # between the labels of an answer that has several: their set is a class of its own

# What Python raises where a reader takes a value for a list, an object or a text, and it is something else.
WRONG_KINDS = (TypeError, AttributeError, LookupError, ValueError, RecursionError)

Kind = TypeVar("Kind")
Made = TypeVar("Made")


class Vote(NamedTuple):
    """A vote. Without a label it says only that the task was asked."""

    task: Any
    annotator: Any = None
    label: Any = None
    question: str | None = None  # where an export holds several; None belongs to all of them
    gold: Any = None  # the known truth, if the export marks one


@dataclass(frozen=True)
class ExportOptions:
    """The options for reading an export."""

    task: str | None = None  # the field that names the tasks, in the place of the tool's own ids
    question: str | None = None
    gold: bool = False  # whether gold marks are wanted
    include: frozenset[str] = frozenset()  # of what the tool's reader leaves out by itself
    left_out: Counter[str] = field(default_factory=Counter)  # the reader counts here, under a plural: "drafts"
    has_many_files: bool = False
    multi: bool | None = False  # whether answers are sets of labels; None if the labels decide
    empty: Counter[str] = field(default_factory=Counter)  # answers without a label, which are empty sets if `multi`

    def nothing(self, what: str) -> str | None:
        """Return the label of an answer in which nothing was chosen, and count it under this name."""
        (self.left_out if self.multi is False else self.empty)[what] += 1
        return None if self.multi is False else NOTHING


@dataclass(frozen=True)
class Export:
    """How the export of one tool is recognised and read.

    `read` yields batches with the columns task, annotator, label and, if the tool has them, question and gold (see
    Vote). All of them may be text, as in a CSV. `ExportOptions.left_out` counts whatever is left out.
    """

    name: str  # for --format
    title: str  # for messages
    remedy: str  # where to click for a good export: the end of every complaint about a damaged one
    fits: Callable[[Peek], bool]
    read: Callable[[Peek, ExportOptions], Iterator[pl.DataFrame]]
    include: tuple[str, ...] = ()  # what --include can bring in: "predictions", "rejected", ...
    takes_task: bool = False  # whether --task can choose a field
    has_gold: bool = False
    shorten: Callable[[Sequence[str]], Sequence[str]] | None = None  # the names of all annotators, in their order


class Wrong(Exception):
    """An export is not as its tool writes it. The caller adds the file, the tool and the remedy."""

    def __init__(self, found: str, record: int | None = None, remedy: str = "") -> None:
        super().__init__(found)
        self.found, self.record, self.remedy = found, record, remedy


def numbered(records: Iterable[Any], made_of: Callable[[Any], Iterable[Made]]) -> Iterator[Made]:
    """Yield what is made of every record, such as votes, and add the number of the record to errors."""
    for number, record in enumerate(records, start=1):
        try:
            yield from made_of(record)
        except Wrong as error:
            raise Wrong(error.found, error.record or number, error.remedy) from None
        except WRONG_KINDS as error:
            raise Wrong(f"a value is of a kind that is not expected there ({error})", number) from error


def in_batches(votes: Iterable[Vote]) -> Iterator[pl.DataFrame]:
    """Yield votes as tables of text. Python strings take much memory, so they are kept for one batch only."""
    rest = iter(votes)
    while rows := list(islice(rest, MOST_VOTES)):
        columns = zip(*rows, strict=True)
        yield pl.DataFrame({name: _text(values) for name, values in zip(Vote._fields, columns, strict=True)})


def joined(labels: list[Any]) -> Any:
    """Return a single label as it is, several as one text in sorted order, and None if there is none."""
    if len(labels) > 1:
        return SEVERAL.join(sorted(map(_written, labels)))
    if labels and isinstance(labels[0], list | dict):
        raise _no_name(labels[0])
    return labels[0] if labels else None


def need(record: Any, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Return a field of a record, which must have this type. It may be absent or null only with a default."""
    if not isinstance(record, dict):
        raise Wrong(f"expected a JSON object, found {_shown(record)}")
    value = record.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or name not in record:
        there = f"{_shown(value)} for" if name in record else "no"
        raise Wrong(f'found {there} "{name}", expected {_KINDS.get(kind, kind.__name__)}')
    return value


_KINDS = {list: "a list", dict: "an object", str: "a text", bool: "true or false"}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _text(values: tuple[Any, ...]) -> pl.Series:
    written = [value if value is None or value.__class__ is str else _written(value) for value in values]
    try:
        return pl.Series(written, dtype=pl.String)
    except UnicodeEncodeError:  # half of a pair of surrogates: JSON can say it, but it is no text
        raise Wrong("a name or a label is no valid Unicode text") from None


def _written(value: Any) -> str:
    if isinstance(value, list | dict):
        raise _no_name(value)
    return text_of(value)


def _no_name(value: Any) -> Wrong:
    return Wrong(f"expected a name, a number or a label, found {_shown(value)}")
