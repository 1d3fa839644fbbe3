"""The sections of a report on marked texts: the least certain documents, agreement, annotators."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from finegold.report.sections.common import Shown, View
from finegold.spans.agreement import agreement
from finegold.spans.consensus import SpanResult, is_span

MAX_DOCUMENTS = 40
MAX_CHARACTERS = 600
# shown before the least certain span of a long text
CHARACTERS_BEFORE = 150
COLOURS = 5
REST = "the table of candidates (finegold spans --candidates FILE)"


def documents(result: SpanResult, threshold: float | None) -> View:
    """Return the documents whose spans are least certain, and agreement."""
    marks, agreed = result.marks, agreement(result.marks)
    classes = marks.spans["label"].value_counts(sort=True)["label"].to_list()
    doubt = 1 - pl.max_horizontal("probability", "nothing")
    candidates = result.candidates.with_columns(is_span=is_span(threshold), doubt=doubt)
    least_certain = pl.col("start").get(pl.col("doubt").arg_max())
    order = (
        candidates.group_by("document", maintain_order=True)
        .agg(pl.col("doubt").sum(), at=least_certain)
        .sort("doubt", descending=True, maintain_order=True)
    )
    rows = candidates.rows_by_key("document", named=True)
    marked = marks.spans.sort("start", "end").with_columns(is_span=pl.lit(True))
    said = marked.rows_by_key(["document", "annotator"], named=True)
    readers = dict(marks.readings.group_by("document").agg("annotator").iter_rows())
    shown = []
    for name, wrong, at in order.head(MAX_DOCUMENTS).iter_rows():
        text = marks.texts.get(name)
        first = max(at - CHARACTERS_BEFORE, 0) if text and len(text) > MAX_CHARACTERS else 0
        last = min(first + MAX_CHARACTERS, len(text or ""))
        # those who marked the same stand together
        alike: dict[str, tuple[list[View], list[str]]] = {}
        for who in readers[name]:
            spans = said.get((name, who), [])
            alike.setdefault(str(spans), (spans, []))[1].append(who)
        every = [(rows[name], ["consensus"]), *alike.values()]
        pieces = [(who, list(_pieces(text, first, last, each, classes))) for each, who in every]
        document = {"name": name, "wrong": wrong, "n": len(rows[name]), "readings": pieces}
        shown.append(document | {"first": first, "last": last, "length": len(text or "")})
    words = "how many are expected to be wrong, the most first"
    return {
        "documents": shown,
        "shown": Shown(len(shown), order.height, words, REST),
        "n_spans": int(candidates["is_span"].sum()),
        "n_candidates": candidates.height,
        "agreed": agreed,
        "classes": agreed.classes.to_dicts(),
    }


def _pieces(
    text: str | None, first: int, last: int, spans: list[View], classes: list[str]
) -> Iterator[View]:
    """Cut the text where spans begin and end. Without a text, a piece is the place of a span."""
    places = {place for each in spans for place in (each["start"], each["end"])}
    cuts = sorted({first, last, *(place for place in places if first < place < last)})
    pieces = [(text[start:end], start, end) for start, end in pairwise(cuts)] if text else []
    if text is None:
        ends = [(each["start"], each["end"]) for each in spans]
        pieces = [(f" {start} to {end} ", start, end) for start, end in ends]
    for words, start, end in pieces:
        on = [each for each in spans if each["start"] <= start and end <= each["end"]]
        yield {
            "text": words,
            "is_span": bool(on) and on[-1]["is_span"],
            "colour": classes.index(on[-1]["label"]) % COLOURS if on else None,
            # a label stands where its span ends
            "ends": [each for each in on if each["end"] == end or end == last],
        }
