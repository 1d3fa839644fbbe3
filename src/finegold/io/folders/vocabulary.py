"""What all parts share: annotators, classes, and the names that split the tasks into ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.folders.first_pass import FirstPass
from finegold.io.options import ReadOptions
from finegold.io.truth import Truth, find_unvoted_gold
from finegold.votes.encoding import Codes, Names
from finegold.votes.frames import to_list
from finegold.votes.hygiene import Finding
from finegold.votes.labels import ClassCodes, Spellings, encode_classes, unify
from finegold.votes.names import encode_series

__all__ = ["Vocabulary", "code_of", "in_kind", "vocabulary"]


@dataclass(frozen=True)
class Vocabulary:
    annotators: pl.Series  # sorted, those who cast votes
    labels: pl.Series  # that occur
    n_labels: NDArray[np.int64]  # how often each occurs
    class_of: Codes  # of each label
    classes: Names
    truths: Codes  # classes of the gold truths
    task_kind: pl.DataType
    splitters: list[Any]  # range r holds the names from splitter r - 1 on and before splitter r
    findings: list[Finding]


def vocabulary(
    passes: Sequence[FirstPass], truth: Truth | None, options: ReadOptions, is_text: bool, n_ranges: int
) -> Vocabulary:
    annotators = _union([one.annotators for one in passes], [one.voted for one in passes])
    labels = encode_series(nw.from_native(_union([one.labels for one in passes]), series_only=True))
    n_labels = _n_labels(passes, labels.names.to_native())
    encoded, findings = _encode_classes(
        Spellings(labels, to_list(truth.truth) if truth else [], n_labels), options, is_text, passes
    )
    tasks = _in_one_kind([one.tasks for one in passes])
    weights = np.concatenate([np.full(len(s.tasks), s.rows / max(len(s.tasks), 1)) for s in passes])
    return Vocabulary(
        annotators=annotators,
        labels=labels.names.to_native(),
        n_labels=n_labels,
        class_of=encoded.labels,
        classes=encoded.names,
        truths=encoded.truths,
        task_kind=tasks.dtype,
        splitters=_splitters(tasks, weights, n_ranges),
        findings=findings,
    )


def code_of(names: pl.Series, known: pl.Series) -> Codes:
    """Return the code of each name among the known ones, and 0 for annotators without votes."""
    wanted = in_kind(names, known.dtype).alias("name").to_frame()
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = wanted.join(table, on="name", how="left", maintain_order="left")
    codes: Codes = joined.get_column("code").fill_null(0).to_numpy()
    return codes


def in_kind(names: pl.Series, kind: pl.DataType) -> pl.Series:
    """Convert names: a part may hold whole numbers only, where other parts hold text."""
    return names if names.dtype == kind else names.cast(kind)


def _union(parts: list[pl.Series], chosen: list[Codes] | None = None) -> pl.Series:
    """Return the distinct names, sorted as on one machine: integers by value, text by its bytes."""
    if chosen is not None:
        whole = _in_one_kind(parts).dtype  # the kind of a column does not depend on who voted
        parts = [part.gather(codes).cast(whole) for part, codes in zip(parts, chosen, strict=True)]
    return _in_one_kind(parts).unique().sort()


def _in_one_kind(parts: list[pl.Series]) -> pl.Series:
    filled = [part for part in parts if len(part)] or parts[:1]
    if len({part.dtype for part in filled}) > 1 and any(part.dtype == pl.String for part in filled):
        filled = [part.cast(pl.String) for part in filled]
    frames = [part.alias("name").to_frame() for part in filled]
    return pl.concat(frames, how="vertical_relaxed").get_column("name")


def _encode_classes(
    found: Spellings, options: ReadOptions, is_text: bool, passes: Sequence[FirstPass]
) -> tuple[ClassCodes, list[Finding]]:
    labels = found.labels
    if not len(labels.names):
        raise InputError("there are no votes: every label is missing")

    def where(row: int) -> str:
        name = labels.names.to_native()[row]
        return next(one.name for one in passes if (one.labels == name).any())

    merged, findings = unify(found, options.classes, options.normalise, options.alias)
    if found.truths and options.classes is None:
        findings += find_unvoted_gold(merged.truths, merged.labels.names)
    return encode_classes(merged.labels, merged.truths, options.classes, is_text, where), findings


def _n_labels(passes: Sequence[FirstPass], labels: pl.Series) -> NDArray[np.int64]:
    counts = np.zeros(len(labels), np.int64)
    for one in passes:
        np.add.at(counts, code_of(one.labels, labels), one.n_labels)
    return counts


def _splitters(tasks: pl.Series, weights: NDArray[np.float64], n_ranges: int) -> list[Any]:
    """Return names that split the rows into about equal ranges."""
    order = tasks.arg_sort().to_numpy()
    before = np.cumsum(weights[order])
    places = np.searchsorted(before, before[-1] * np.arange(1, n_ranges) / n_ranges)
    return tasks.gather(order[places]).unique().sort().to_list()
