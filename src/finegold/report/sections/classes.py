"""The frequencies of the classes, and which classes are confused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.report.sections.common import (
    ANNOTATORS_TABLE,
    Floats,
    Integers,
    Matrix,
    Shown,
    plain,
    texts,
)
from finegold.report.sections.subject import Subject
from finegold.results.data import ResultData, votes_of
from finegold.results.matrices import pooled_votes

# with more classes, cells are too small to see
MAX_IN_MATRIX = 60
MAX_ROWS = 100
MAX_MISTAKES = 8
# votes on tasks of a class, below which nothing is said about how it is confused
MIN_SUPPORT = 20
# with more annotators, bars are thinner than a pixel
MAX_MIXTURES = 300


@dataclass(frozen=True)
class ClassRow:
    label: str
    n_labels: int
    # share of the labels
    share: float
    # share of the tasks, by the posterior
    expected: float
    # share of the votes
    votes: float
    # mean confidence of the tasks with this label
    confidence: float | None
    # how often annotators vote for it when it is the truth
    recall: float | None
    # the class that they vote for most often instead
    taken_for: str | None
    taken_share: float


@dataclass(frozen=True)
class Mistake:
    truth: str
    vote: str
    # share of the votes on tasks with this truth
    share: float


@dataclass(frozen=True)
class Classes:
    rows: list[ClassRow]
    shown: Shown
    # classes of the matrix
    names: list[str]
    # confusion matrix of all annotators together
    matrix: Matrix
    matrix_shown: Shown
    mistakes: list[Mistake]


def shown_classes(result: ResultData) -> Integers:
    """Return all classes, or the most frequent ones if there are too many, in the order of the
    classes.
    """
    n = len(result.class_names)
    if n <= MAX_IN_MATRIX:
        return np.arange(n)
    return np.sort(np.argsort(-result.posterior.sum(axis=0), kind="stable")[:MAX_IN_MATRIX])


def classes(subject: Subject) -> Classes:
    result, votes = subject.result, votes_of(subject.result)
    chosen = shown_classes(result)
    names, (matrix, support) = texts(result.class_names, chosen), _pool(result, chosen)
    count = np.bincount(result.label_codes, minlength=len(result.class_names))
    order = np.argsort(-count, kind="stable")[:MAX_ROWS]
    expected, of_votes = result.posterior.mean(axis=0), votes.votes_per_class / votes.n_votes
    sure = np.bincount(result.label_codes, result.confidence, minlength=len(count))
    row_of = {code: row for row, code in enumerate(chosen.tolist())}
    rows = []
    for k, name in zip(order.tolist(), texts(result.class_names, order), strict=True):
        at = row_of.get(k)
        taken_for, taken_share = None, 0.0
        if at is not None and support[at, 0] >= MIN_SUPPORT:
            others = np.where(np.arange(len(names)) == at, 0.0, matrix[at])
            if others.max() > 0:
                taken_for, taken_share = names[int(others.argmax())], plain(others.max())
        rows.append(
            ClassRow(
                label=name,
                n_labels=int(count[k]),
                share=plain(count[k] / len(result.label_codes)),
                expected=plain(expected[k]),
                votes=plain(of_votes[k]),
                confidence=plain(sure[k] / count[k]) if count[k] else None,
                recall=None if at is None else plain(matrix[at, at]),
                taken_for=taken_for,
                taken_share=taken_share,
            )
        )
    words = "the order of the classes, the most frequent"
    return Classes(
        rows=rows,
        shown=Shown(len(order), len(count), "number of labels", "result.learned.class_prior"),
        names=names,
        matrix=plain(matrix),
        matrix_shown=Shown(len(chosen), len(count), words, "result.posterior"),
        mistakes=mistakes(np.where(support >= MIN_SUPPORT, matrix, 0.0), names),
    )


def mistakes(matrix: Floats, names: list[str], most: int = MAX_MISTAKES) -> list[Mistake]:
    """Return the largest shares outside the diagonal."""
    off = np.where(np.eye(len(matrix), dtype=bool), -1.0, matrix)
    order = np.argsort(-off, axis=None, kind="stable")[: min(most, off.size - len(off))]
    cells = [np.unravel_index(place, off.shape) for place in order]
    return [Mistake(names[k], names[v], plain(off[k, v])) for k, v in cells if off[k, v] > 0]


def _pool(result: ResultData, chosen: Integers) -> tuple[Floats, Floats]:
    """Return the confusion matrix of all annotators together, and the number of votes that each row
    is made of.
    """
    counted = pooled_votes(votes_of(result), result.posterior)[np.ix_(chosen, chosen)]
    totals = counted.sum(axis=1, keepdims=True)
    shares: Floats = counted / np.where(totals > 0, totals, 1.0)
    return shares, totals


@dataclass(frozen=True)
class Prototype:
    number: int
    # share of the votes that follow it
    share: float
    # accuracy of an annotator who follows only this prototype, weighted by the class frequencies
    accuracy: float
    matrix: Matrix
    mistakes: list[Mistake]


@dataclass(frozen=True)
class Mixture:
    annotator: str
    n_votes: int
    weights: list[float]


@dataclass(frozen=True)
class Prototypes:
    prototypes: list[Prototype]
    classes: list[str]
    classes_shown: Shown
    # sorted by the share of the first prototype, the largest first
    mixtures: list[Mixture]
    mixtures_shown: Shown


def prototypes(subject: Subject) -> Prototypes:
    result, known = subject.result, subject.result.learned
    assert known.prototypes is not None
    assert known.weights is not None
    chosen = shown_classes(result)
    names = texts(result.class_names, chosen)
    shares = result.votes_per_annotator @ known.weights / result.votes_per_annotator.sum()
    entries = [
        Prototype(
            number=s + 1,
            share=plain(shares[s]),
            accuracy=plain(known.class_prior @ np.diag(matrix)),
            matrix=plain(matrix[np.ix_(chosen, chosen)]),
            mistakes=mistakes(matrix[np.ix_(chosen, chosen)], names, most=2),
        )
        for s, matrix in enumerate(known.prototypes)
    ]
    order = np.argsort(-known.weights[:, 0], kind="stable")
    words, n = "share of prototype 1", len(order)
    # evenly spaced, so that the shares are distributed alike
    if n > MAX_MIXTURES:
        words = f"{words}, evenly sampled"
        order = order[np.linspace(0, n - 1, MAX_MIXTURES).round().astype(np.int64)]
    return Prototypes(
        prototypes=entries,
        classes=names,
        classes_shown=Shown(
            len(chosen), len(result.class_names), "number of tasks", "result.learned.prototypes"
        ),
        mixtures=[
            Mixture(name, int(result.votes_per_annotator[j]), plain(known.weights[j]))
            for name, j in zip(texts(result.annotator_names, order), order.tolist(), strict=True)
        ],
        mixtures_shown=Shown(len(order), n, words, ANNOTATORS_TABLE),
    )
