"""`Marks`: who marked which characters of which documents, as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from finegold.errors import InputError

SCHEMA = {
    "document": pl.String,
    "annotator": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "label": pl.String,
}


@dataclass(frozen=True)
class Reading:
    """One annotator's reading of one document: the spans, each with start, end and label."""

    document: str
    annotator: str
    spans: list[tuple[int, int, str]]
    text: str | None = None
    # what the tool needs to take spans back, by its own names
    form: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Marks:
    """The spans that annotators marked.

    Attributes:
        spans: A frame with the columns document, annotator, start, end (exclusive, in characters) and label.
        readings: A frame with the columns document and annotator: who read what, also where nothing was marked.
        texts: The documents' texts, where the file has them.
        source: The file, for messages.
        left_out: What was not read, and how often.
        forms: What the tool needs to take spans of a document back, such as the names of a question in Label Studio.
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


def collect(readings: Iterable[Reading], source: str, left_out: Counter[str]) -> Marks:
    """Make `Marks` of readings. A span that somebody marked twice counts once."""
    spans: dict[str, list[object]] = {name: [] for name in SCHEMA}
    read: dict[tuple[str, str], None] = {}
    texts: dict[str, str] = {}
    forms: dict[str, dict[str, Any]] = {}
    for reading in readings:
        read[reading.document, reading.annotator] = None
        forms.setdefault(reading.document, {}).update(reading.form)
        if reading.text is not None:
            known = texts.setdefault(reading.document, reading.text)
            if known != reading.text:
                raise InputError(
                    f"{source}: document {reading.document} has two texts, so that places in one are not those"
                    " in the other; give the documents ids, or read the files apart"
                )
        for start, end, label in reading.spans:
            if not 0 <= start < end:
                left_out["spans without characters"] += 1
                continue
            row = (reading.document, reading.annotator, start, end, label)
            for name, value in zip(SCHEMA, row, strict=True):
                spans[name].append(value)
    if not read:
        raise InputError(f"{source} holds no marked texts")
    found = pl.DataFrame(spans, schema=SCHEMA).unique(maintain_order=True)
    if repeated := len(spans["start"]) - found.height:
        left_out["spans that somebody marked twice"] += repeated
    documents, annotators = zip(*read, strict=True)
    pairs = pl.DataFrame({"document": documents, "annotator": annotators})
    return Marks(found, pairs, texts, source, dict(left_out), forms)
