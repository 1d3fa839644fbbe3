"""The prototypes, and how much annotators follow each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.report.views.classes import Mistake, mistakes, shown_classes
from finegold.report.views.common import ANNOTATORS_TABLE, Matrix, Shown, plain, texts
from finegold.results.data import ResultData

__all__ = ["Mixture", "Prototype", "Prototypes", "prototypes"]

MAX_MIXTURES = 300  # with more, bars are thinner than a pixel


@dataclass(frozen=True)
class Prototype:
    number: int
    share: float  # share of the votes that follow it
    accuracy: float  # accuracy of an annotator who follows only this prototype, weighted by the class frequencies
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
    mixtures: list[Mixture]  # sorted by the share of the first prototype, the largest first
    mixtures_shown: Shown


def prototypes(result: ResultData) -> Prototypes | None:
    """None for methods that have none."""
    known = result.learned
    if known.prototypes is None or known.weights is None:
        return None
    chosen = shown_classes(result)
    names = texts(result.class_names, chosen)
    shares = result.votes_per_annotator @ known.weights / result.votes_per_annotator.sum()
    found = [
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
    thinned = _evenly(order)
    return Prototypes(
        prototypes=found,
        classes=names,
        classes_shown=Shown(len(chosen), len(result.class_names), "number of tasks", "result.learned.prototypes"),
        mixtures=[
            Mixture(name, int(result.votes_per_annotator[j]), plain(known.weights[j]))
            for name, j in zip(texts(result.annotator_names, thinned), thinned.tolist(), strict=True)
        ],
        mixtures_shown=Shown(len(thinned), len(order), _order_of(len(thinned), len(order)), ANNOTATORS_TABLE),
    )


def _order_of(shown: int, total: int) -> str:
    return "share of prototype 1" if shown == total else "share of prototype 1, evenly sampled"


def _evenly(order: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return all annotators, or an evenly spaced sample, so that the shares are distributed alike."""
    if len(order) <= MAX_MIXTURES:
        return order
    return order[np.linspace(0, len(order) - 1, MAX_MIXTURES).round().astype(np.int64)]
