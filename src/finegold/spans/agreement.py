"""Agreement on marked spans: F1 of pairs of annotators, and Krippendorff's alpha on characters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import polars as pl

from finegold.spans.consensus import matches_by_overlap, matches_exactly
from finegold.spans.marks import Marks


@dataclass(frozen=True)
class SpanAgreement:
    """How far annotators mark the same spans.

    Attributes:
        pairs: A frame with a row for each pair of annotators who read the same documents: how many, and their F1 with
            exact and with overlapping spans. F1 is twice the spans that both have, divided by the spans of both.
        classes: The same over all pairs, for each class.
        exact: F1 over all pairs, exact.
        overlapping: F1 over all pairs, with spans that share a character.
        alpha: Krippendorff's alpha on characters, whose value is the set of classes marked there; None without texts
            or marks.
    """

    pairs: pl.DataFrame
    classes: pl.DataFrame
    exact: float | None
    overlapping: float | None
    alpha: float | None


def agreement(marks: Marks) -> SpanAgreement:
    """Measure how far annotators mark the same spans.

    Args:
        marks: What `finegold.spans.read` returned.

    Returns:
        F1 of each pair, of each class and over all, exact and overlapping, and alpha on characters.
    """
    people = marks.readings["annotator"].unique(maintain_order=True).to_list()
    read = {who: set(rows["document"]) for (who,), rows in marks.readings.group_by("annotator")}
    spans = {who: marks.spans.filter(pl.col("annotator") == who) for who in people}
    counted = []
    for one, other in combinations(people, 2):
        if not (both := read[one] & read[other]):
            continue
        mine, theirs = (
            spans[who].filter(pl.col("document").is_in(list(both))) for who in (one, other)
        )
        found = pl.concat([_found(mine, theirs), _found(theirs, mine)])
        counted.append(
            found.with_columns(first=pl.lit(one), second=pl.lit(other), documents=len(both))
        )
    if not counted:
        return SpanAgreement(pl.DataFrame(), pl.DataFrame(), None, None, None)
    everything = pl.concat(counted)
    f1 = (pl.col("exact").mean(), pl.col("overlapping").mean(), pl.len().alias("spans"))
    pairs = everything.group_by("first", "second", "documents", maintain_order=True).agg(*f1)
    classes = everything.group_by("label").agg(*f1).sort("label")
    means = everything.select(*f1)
    return SpanAgreement(pairs, classes, means["exact"][0], means["overlapping"][0], _alpha(marks))


def _found(spans: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Return for each span its class and whether the others have it. The mean over both directions is F1."""
    return pl.DataFrame(
        {
            "label": spans["label"],
            "exact": matches_exactly(spans, others).cast(pl.Float64),
            "overlapping": matches_by_overlap(spans, others).cast(pl.Float64),
        }
    )


def _alpha(marks: Marks) -> float | None:
    """Nominal alpha on characters: 1 - observed / expected disagreement. A document is cut where any span begins or ends,
    and all characters between two cuts have the same marks.
    """
    values: dict[str, float] = {}
    disagreeing = total = 0.0
    readers = marks.readings.group_by("document", maintain_order=True).agg("annotator")
    by_document = {name: rows for (name,), rows in marks.spans.group_by("document")}
    for document, people in readers.rows():
        if len(people) < 2:
            continue
        rows = by_document.get(document, marks.spans.clear())
        length = len(marks.texts.get(document, "")) or (rows["end"].max() or 0)
        cuts = sorted({0, length, *rows["start"], *rows["end"]})
        for start, end in pairwise(cuts):
            here = rows.filter((pl.col("start") <= start) & (pl.col("end") >= end))
            marked: dict[str, set[str]] = {who: set() for who in people}
            for who, label in here.select("annotator", "label").rows():
                marked[who].add(label)
            counts: dict[str, int] = {}
            for labels in marked.values():
                value = "+".join(sorted(labels))
                counts[value] = counts.get(value, 0) + 1
            size, n = end - start, len(people)
            total += size * n
            disagreeing += size * (n * n - sum(count**2 for count in counts.values())) / (n - 1)
            for value, count in counts.items():
                values[value] = values.get(value, 0.0) + size * count
    if total <= 1:
        return None
    expected = (total**2 - sum(count**2 for count in values.values())) / (total - 1)
    return None if expected == 0 else 1 - disagreeing / expected
