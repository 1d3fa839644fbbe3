"""Make the charts of a view. Altair writes Vega-Lite; a page draws it, or vl-convert renders SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from finegold.errors import InputError
from finegold.report.charts import pictures
from finegold.report.charts import style as words
from finegold.report.charts.judges import judge_charts
from finegold.report.charts.pictures import matrix_spec
from finegold.report.charts.style import Drawn, Spec
from finegold.report.views import View
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import plain, texts
from finegold.results import matrices as predictions
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING
from finegold.votes.names import match

__all__ = ["DRAWN", "Drawn", "Kind", "draw", "draw_annotator", "drawn"]


@dataclass(frozen=True)
class Kind:
    title: str
    words: Callable[[View], str]
    spec: Callable[[View], Spec]
    absent: Callable[[View], str | None] = lambda view: None  # why the chart is absent, or None


def _no_prototypes(view: View) -> str | None:
    return None if view.prototypes else f"{view.record.method} does not learn prototypes."


def _no_bound(view: View) -> str | None:
    has = sum(step.bound is not None for step in view.record.steps) > 1
    return None if has else f"{view.record.method} has no bound that increases with every iteration."


def _no_change(view: View) -> str | None:
    has = sum(bool(step.change) for step in view.record.steps) > 1
    return None if has else f"{view.record.method} is not iterative."


def _confusion(view: View) -> Spec:
    return matrix_spec(view.classes.matrix or [], view.classes.names)


# The same keys as in finegold.report.charts.style, except "annotator", which needs a name.
DRAWN = {
    "confidence": Kind("Confidence of the labels", words.confidence, pictures.confidence),
    "ranking": Kind("Accuracy of annotators", words.ranking, pictures.ranking),
    "annotators": Kind("Accuracy and number of votes", words.annotators, pictures.dots),
    "prototypes": Kind("The prototypes", words.mixtures, pictures.prototypes, _no_prototypes),
    "mixtures": Kind("How much annotators follow each prototype", words.mixtures, pictures.mixtures, _no_prototypes),
    "balance": Kind("Share of each class", words.balance, pictures.balance),
    "confusion": Kind(
        "Confusion matrix of all annotators", words.confusion, _confusion, lambda view: view.classes.absent
    ),
    "calibration": Kind(
        "Calibration of the probabilities",
        words.calibration,
        pictures.calibration,
        lambda view: view.trust.calibration_absent,
    ),
    "change": Kind("Convergence", words.change, pictures.change, _no_change),
    "bound": Kind("Bound", words.bound, pictures.bound, _no_bound),
}


def draw(view: View, kind: str) -> Drawn:
    """Draw one chart of the view."""
    how = DRAWN[kind]
    if (absent := how.absent(view)) is not None:
        return Drawn(how.title, "", None, absent)
    return Drawn(how.title, how.words(view), how.spec(view))


def draw_annotator(result: ResultData, name: Any) -> Drawn:
    """Draw the confusion matrix of one annotator. The text "17" also matches the number 17."""
    code, title = match([name], result.annotator_names), f"How {name} votes"
    if code[0] == MISSING:
        raise InputError(f"there is no annotator {name!r}")
    if not result.learned.has_matrices:
        return Drawn(title, "", None, f"{result.method} learns no confusion matrices of annotators.")
    classes = shown_classes(result)
    matrix = plain(predictions.matrices(result, code, classes)[0])
    return Drawn(title, "", matrix_spec(matrix, texts(result.class_names, classes), title))


def drawn(view: View) -> dict[str, Drawn]:
    """Draw all charts of the report: those of DRAWN, each prototype, the matrix of an annotator, those of judges."""
    charts = {kind: draw(view, kind) for kind in DRAWN if kind != "prototypes"}
    if view.prototypes is not None:
        for one in view.prototypes.prototypes:
            spec = matrix_spec(one.matrix, view.prototypes.classes)
            charts[f"prototype-{one.number}"] = Drawn(f"Prototype {one.number}", words.prototype(one), spec)
    if (found := view.annotators.confusions) is not None:
        spec = matrix_spec(found.matrices[0], found.classes)
        charts["annotator"] = Drawn("How one annotator votes", "", spec)
    if view.judges is not None:
        charts |= judge_charts(view.judges)
    return charts
