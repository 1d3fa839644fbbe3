"""Consensus spans: candidates become tasks whose classes are those of the marks, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from finegold.api.aggregate import aggregate as aggregate_votes
from finegold.errors import InputError
from finegold.spans.marks import Marks
from finegold.votes.annotations import Annotations

# what an annotator votes for who read the document and marked nothing there
NOTHING = ""
# the columns of a candidate, in this order
COLUMNS = ("document", "start", "end", "label", "probability", "n_readers", "n_marked")


@dataclass(frozen=True)
class SpanResult:
    """Which candidates are spans, and how well each annotator finds them.

    Attributes:
        candidates: A frame with a row for each candidate: document, start, end, the most probable
            label, its probability, that nothing should be marked (`nothing`), how many read the
            document (`n_readers`), and how many of them marked the candidate (`n_marked`).
        marks: The marks that it was made of.
        method: The method that decided.
    """

    candidates: pl.DataFrame
    marks: Marks
    method: str

    def spans(self, threshold: float | None = None) -> pl.DataFrame:
        """Return the consensus, with the texts of the spans where they are known.

        Args:
            threshold: The least probability of a span. By default a candidate is a span if its
                label is more probable than that nothing should be marked.
        """
        found = self.candidates.filter(is_span(threshold)).select(COLUMNS)
        texts = self.marks.texts
        rows = found.select("document", "start", "end").rows()
        words = [texts[name][start:end] if name in texts else None for name, start, end in rows]
        return found.with_columns(pl.Series("text", words, dtype=pl.String)) if texts else found

    def annotators(self, threshold: float | None = None) -> pl.DataFrame:
        """Return recall and precision of each annotator against the consensus.

        Exact counts a span with the same characters and class, overlapping one that shares a
        character and the class.
        """
        chosen, rows = self.spans(threshold), []
        for (who,), read in self.marks.readings.group_by("annotator", maintain_order=True):
            own = self.marks.spans.filter(pl.col("annotator") == who)
            due = chosen.filter(pl.col("document").is_in(read["document"].implode()))
            row = {"annotator": who, "n_documents": read.height, "n_spans": own.height}
            for kind, match in (("exact", matches_exactly), ("overlapping", matches_by_overlap)):
                row |= {f"recall_{kind}": match(due, own).mean()}
                row |= {f"precision_{kind}": match(own, due).mean()}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def report(
        self, path: str | Path, threshold: float | None = None, title: str = "Marked texts"
    ) -> None:
        """Write one HTML file: the least certain documents with the consensus and what annotators
        marked, agreement, and the annotators.

        Args:
            path: The file.
            threshold: The least probability of a span, as in `spans`.
            title: The heading of the page.
        """
        from finegold.report import write_page
        from finegold.spans.page import documents

        about = f"{self.method} on {repr(self.marks).removeprefix('Marks(').removesuffix(')')}"
        people = self.annotators(threshold).sort("n_spans", descending=True).to_dicts()
        shown = {"spans": ("Documents", documents(self, threshold))}
        write_page(path, title, about, shown | {"markers": ("Annotators", {"rows": people})})

    def __repr__(self) -> str:
        found = f"{self.spans().height:,} spans of {self.candidates.height:,} candidates"
        return f"SpanResult({found}, by {self.method})"


def is_span(threshold: float | None) -> pl.Expr:
    """Return whether a candidate is a span: with this probability, or more likely than not."""
    likely = pl.col("probability")
    return likely > pl.col("nothing") if threshold is None else likely >= threshold


def aggregate(marks: Marks, method: Any = None, **options: Any) -> SpanResult:
    """Return the consensus of marked spans.

    Marks that overlap are one candidate. Everybody who read the document votes on it: for the class
    of their mark, or that nothing should be marked. Where some annotators marked spans of several
    classes at one place, marks of different classes are different candidates. The extent of a span
    is the one for which most of its annotators stand, by the sum of their accuracies.

    Args:
        marks: What `finegold.spans.read` returned.
        method: As in `finegold.aggregate`; the default is the same.
        **options: Further options of `finegold.aggregate`, such as `seed`.

    Returns:
        The candidates with probabilities, and how good the annotators are.

    Raises:
        InputError: If nobody marked anything.
    """
    if marks.spans.is_empty():
        raise InputError(f"{marks.source or 'the marks'}: nobody marked anything")
    members = _candidates(marks.spans)
    # a row for each candidate and reader of its document
    said = members.group_by("candidate", "annotator", maintain_order=True).first()
    asked = members.select("candidate", "document").unique().join(marks.readings, on="document")
    votes = asked.join(said.drop("document"), on=["candidate", "annotator"], how="left")
    votes = votes.sort("candidate", "annotator").with_columns(pl.col("label").fill_null(NOTHING))
    people = marks.readings["annotator"].unique(maintain_order=True)
    classes = pl.Series([NOTHING, *members["label"].unique().sort()])
    annotations = Annotations.from_codes(
        votes["candidate"].to_numpy(),
        _codes(votes["annotator"], people),
        _codes(votes["label"], classes),
        np.arange(members["candidate"].n_unique()),
        people.to_numpy(),
        classes.to_numpy(),
    )
    result = aggregate_votes(annotations, *([method] if method else []), **options)
    weights = pl.DataFrame(
        {"annotator": people, "weight": np.nan_to_num(result.annotator_accuracy, nan=0.5)}
    )
    posterior = np.asarray(result.posterior)
    labels = posterior[:, 1:].argmax(axis=1) + 1
    marked = (pl.col("label") != NOTHING).sum()
    found = (
        votes.group_by("candidate", maintain_order=True)
        .agg(n_readers=pl.len().cast(pl.Int64), n_marked=marked.cast(pl.Int64))
        .with_columns(
            pl.Series("label", classes.to_numpy()[labels], dtype=pl.String),
            pl.Series("probability", posterior[np.arange(len(posterior)), labels]),
            pl.Series("nothing", posterior[:, 0]),
        )
    )
    found = found.join(_extents(members, found, weights), on="candidate")
    order = pl.Series(
        _codes(found["document"], marks.readings["document"].unique(maintain_order=True))
    )
    candidates = found.with_columns(order=order).sort("order", "start", "end")
    return SpanResult(candidates.select(*COLUMNS, "nothing"), marks, result.method)


def _codes(values: pl.Series, names: pl.Series) -> Any:
    return values.replace_strict(names, range(len(names)), return_dtype=pl.Int32).to_numpy()


def _candidates(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans with the number of their candidate: those of a document that overlap, or overlap
    and share their class, if somebody marked two classes at one place.
    """
    before = pl.col("end", "label").shift(1).over("document", "annotator").name.suffix("_before")
    own = spans.sort("document", "annotator", "start", "end").with_columns(before)
    is_nested = (pl.col("start") < pl.col("end_before")) & (
        pl.col("label") != pl.col("label_before")
    )
    keys = ["document", "label"] if own.select(is_nested.any()).item() else ["document"]
    furthest = pl.col("end").cum_max().shift(1).over(keys)
    begins = (furthest.is_null() | (pl.col("start") >= furthest)).cast(pl.Int32)
    return spans.sort(*keys, "start", "end").with_columns(candidate=begins.cum_sum() - 1)


def _extents(members: pl.DataFrame, decided: pl.DataFrame, weights: pl.DataFrame) -> pl.DataFrame:
    """Return the extent of each candidate that most weight of its label stands for; of equals, the
    longest.
    """
    extents = (
        members.join(decided.select("candidate", "label"), on=["candidate", "label"])
        .join(weights, on="annotator")
        .group_by("candidate", "document", "start", "end")
        .agg(pl.col("weight").sum())
    )
    by = ["candidate", -pl.col("weight"), pl.col("start") - pl.col("end"), "start"]
    return extents.sort(by).unique("candidate", keep="first", maintain_order=True).drop("weight")


def matches_exactly(spans: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Return for each span whether the others have it with the same characters and class."""
    keys = ["document", "start", "end", "label"]
    rows = set(others.select(keys).iter_rows())
    return pl.Series([row in rows for row in spans.select(keys).iter_rows()], dtype=pl.Boolean)


def matches_by_overlap(spans: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Return for each span whether one of the others with its class shares a character with it."""
    numbered = spans.with_row_index("row").select("row", "document", "label", "start", "end")
    pairs = numbered.join(others, on=["document", "label"])
    before, after = pl.col("start_right") < pl.col("end"), pl.col("start") < pl.col("end_right")
    return numbered["row"].is_in(pairs.filter(before & after)["row"].implode())
