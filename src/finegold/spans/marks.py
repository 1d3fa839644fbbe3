"""`Marks`: who marked which characters of which documents, as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from finegold.errors import InputError
from finegold.io.exports.base import Spans, Vote
from finegold.votes.labels import NOTHING

SCHEMA = {
    "document": pl.String,
    "annotator": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "label": pl.String,
}


@dataclass(frozen=True)
class Marks:
    """The spans that annotators marked.

    Attributes:
        spans: A frame with the columns document, annotator, start, end (exclusive, in characters)
            and label.
        readings: A frame with the columns document and annotator: who read what, also where nothing
            was marked.
        texts: The documents' texts, where the file has them.
        source: The file, for messages.
        left_out: What was not read, and how often.
        forms: What the tool needs to take spans of a document back, such as the names of a question
            in Label Studio.
    """

    spans: pl.DataFrame
    readings: pl.DataFrame
    texts: dict[str, str] = field(default_factory=dict)
    source: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    forms: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = {
            "span": self.spans.height,
            "annotator": self.readings["annotator"].n_unique(),
            "document": self.readings["document"].n_unique(),
        }
        spans, people, documents = (f"{n:,} {name}{'s' * (n != 1)}" for name, n in counts.items())
        return f"Marks({spans} by {people} in {documents})"


def collect(votes: Iterable[Vote], source: str, left_out: Counter[str]) -> Marks:
    """Make `Marks` of answers. A span that somebody marked twice counts once."""
    rows: list[tuple[str, str, int, int, str]] = []
    read: dict[tuple[str, str], None] = {}
    texts: dict[str, str] = {}
    forms: dict[str, dict[str, Any]] = {}
    for vote in votes:
        if vote.annotator is None:
            continue
        document, annotator = str(vote.task), str(vote.annotator)
        # also where nothing was marked
        read[document, annotator] = None
        if vote.text is not None and texts.setdefault(document, vote.text) != vote.text:
            raise InputError(
                f"{source}: document {document} has two texts, so that places in one are not those"
                " in the other; give the documents ids, or read the files apart"
            )
        if isinstance(vote.label, Spans):
            rows += [(document, annotator, *mark) for mark in vote.label.marks]
            forms.setdefault(document, {}).update(vote.label.form or {})
        elif vote.label not in (None, NOTHING):
            left_out["answers that are not marks"] += 1
    if not read:
        raise InputError(f"{source} holds no marked texts")
    every = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    sound = every.filter((pl.col("start") >= 0) & (pl.col("start") < pl.col("end")))
    found = sound.unique(maintain_order=True)
    left_out["spans without characters"] += every.height - sound.height
    left_out["spans that somebody marked twice"] += sound.height - found.height
    pairs = pl.DataFrame(list(read), schema=["document", "annotator"], orient="row")
    return Marks(found, pairs, texts, source, dict(+left_out), forms)
