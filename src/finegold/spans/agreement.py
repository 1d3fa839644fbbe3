"""Agreement on marked spans: F1 of pairs of annotators, and Krippendorff's alpha on characters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise

import polars as pl

from finegold.spans.consensus import matches_by_overlap, matches_exactly
from finegold.spans.marks import Marks


@dataclass(frozen=True)
class SpanAgreement:
    """How far annotators mark the same spans.

    Attributes:
        pairs: A frame with a row for each pair of annotators who read the same documents: how many,
            and their F1 with exact and with overlapping spans. F1 is twice the spans that both
            have, divided by the spans of both.
        classes: The same over all pairs, for each class.
        exact: F1 over all pairs, exact.
        overlapping: F1 over all pairs, with spans that share a character.
        alpha: Krippendorff's alpha on characters, whose value is the set of classes marked there;
            None without texts or marks.
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
    people = marks.readings["annotator"].unique(maintain_order=True)
    read = {who: set(rows["document"]) for (who,), rows in marks.readings.group_by("annotator")}
    spans = {who: marks.spans.filter(pl.col("annotator") == who) for who in people}
    counted = []
    for one, other in combinations(people, 2):
        both = read[one] & read[other]
        are_read = pl.col("document").is_in(list(both))
        mine, theirs = (spans[who].filter(are_read) for who in (one, other))
        # the mean over both directions is F1
        for own, others in ((mine, theirs), (theirs, mine)) if both else ():
            found = own.select(
                "label",
                exact=matches_exactly(own, others).cast(pl.Float64),
                overlapping=matches_by_overlap(own, others).cast(pl.Float64),
                first=pl.lit(one),
                second=pl.lit(other),
                documents=len(both),
            )
            counted.append(found)
    if not counted:
        return SpanAgreement(pl.DataFrame(), pl.DataFrame(), None, None, None)
    every = pl.concat(counted)
    f1 = (pl.col("exact").mean(), pl.col("overlapping").mean(), pl.len().alias("spans"))
    pairs = every.group_by("first", "second", "documents", maintain_order=True).agg(*f1)
    classes = every.group_by("label").agg(*f1).sort("label")
    exact, overlapping, _ = every.select(*f1).row(0)
    return SpanAgreement(pairs, classes, exact, overlapping, _alpha(marks))


def _alpha(marks: Marks) -> float | None:
    """Nominal alpha on characters: 1 - observed / expected disagreement. A document is cut where any
    span begins or ends, and all characters between two cuts have the same marks.
    """
    values = Counter[str]()
    disagreeing = total = 0.0
    by_document = marks.spans.rows_by_key("document")
    for document, people in marks.readings.group_by("document").agg("annotator").iter_rows():
        n, rows = len(people), by_document.get(document, [])
        if n < 2:
            continue
        length = len(marks.texts.get(document, "")) or max((row[2] for row in rows), default=0)
        cuts = sorted({0, length, *(place for row in rows for place in row[1:3])})
        for start, end in pairwise(cuts):
            marked: dict[str, set[str]] = {who: set() for who in people}
            for who, first, last, label in rows:
                if first <= start and end <= last:
                    marked[who].add(label)
            counts = Counter("+".join(sorted(labels)) for labels in marked.values())
            total += (end - start) * n
            unlike = n * n - sum(count**2 for count in counts.values())
            disagreeing += (end - start) * unlike / (n - 1)
            values.update({value: (end - start) * count for value, count in counts.items()})
    if total <= 1:
        return None
    expected = (total**2 - sum(count**2 for count in values.values())) / (total - 1)
    return None if expected == 0 else 1 - disagreeing / expected
