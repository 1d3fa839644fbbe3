"""The charts of a view, one function each."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Literal

import altair as alt

from finegold.report.charts.style import BLUE, GREY, INK, ORANGE, PROTOTYPE_COLOURS, SHARE, Spec, data, spec_of
from finegold.report.views import View
from finegold.report.views.common import Matrix

MAX_CLASSES_WITH_NUMBERS = 12  # with more, numbers do not fit into the cells
MANY_CLASSES = 25  # with more, a heat map takes the full width and small letters
MAX_SHARE_WITH_DARK_TEXT = 0.8  # above, white text is easier to read


def cells(matrix: Matrix, classes: list[str]) -> list[dict[str, Any]]:
    return [
        {"truth": truth, "vote": vote, "share": round(share, 3)}
        for truth, row in zip(classes, matrix, strict=True)
        for vote, share in zip(classes, row, strict=True)
    ]


def matrix_spec(matrix: Matrix, classes: list[str], title: str | None = None) -> Spec:
    return spec_of(heat_map(classes, title), cells=cells(matrix, classes))


def heat_map(classes: list[str], title: str | None = None, *, name: str = "cells") -> Any:
    """Return a heat map: truth in rows, vote in columns. A page can replace the data set called `name`."""
    n = len(classes)
    base = alt.Chart(data(name)).encode(
        x=alt.X("vote:N", sort=None, title="vote", axis=_axis(n, orient="top", labelAngle=_angle(classes))),
        y=alt.Y("truth:N", sort=None, title="truth", axis=_axis(n)),
        tooltip=_tooltip(),
    )
    cell = base.mark_rect(color=BLUE, stroke=INK, strokeOpacity=0.12 if n <= MANY_CLASSES else 0.05).encode(
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 1]), legend=None)
    )
    layers = [cell, *_numbers(base)] if n <= MAX_CLASSES_WITH_NUMBERS else [cell]
    chart = alt.layer(*layers).properties(width="container", height=_height(n))
    return chart if title is None else chart.properties(title=title)


def _axis(n: int, **more: Any) -> alt.Axis:
    """Return an axis that leaves out names which would overlap; the tooltip shows them."""
    size = 9 if n > MANY_CLASSES else 11 if n > MAX_CLASSES_WITH_NUMBERS else 12
    overlap: Literal["greedy", False] = "greedy" if n > MAX_CLASSES_WITH_NUMBERS else False
    return alt.Axis(labelFontSize=size, labelOverlap=overlap, ticks=False, domain=False, labelPadding=5, **more)


def _numbers(base: alt.Chart) -> list[alt.Chart]:
    number = alt.Text("share:Q", format=".2f")
    light = base.transform_filter(alt.datum.share <= MAX_SHARE_WITH_DARK_TEXT).mark_text(color=INK).encode(text=number)
    dark = (
        base.transform_filter(alt.datum.share > MAX_SHARE_WITH_DARK_TEXT)
        .mark_text(color="white", fontWeight=600)
        .encode(text=number)
    )
    return [light, dark]


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("truth:N", title="truth"),
        alt.Tooltip("vote:N", title="vote"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
    ]


def _angle(classes: list[str]) -> int:
    """Return the angle of the names: horizontal if they fit."""
    return (
        0
        if len(classes) * max(map(len, classes), default=0) <= 40
        else -90
        if len(classes) > MAX_CLASSES_WITH_NUMBERS
        else -45
    )


def _height(n: int) -> int:
    return max(n * (44 if n <= 6 else 30 if n <= MAX_CLASSES_WITH_NUMBERS else 13), 90)


ROW_HEIGHT = 15  # pixels per annotator
DEFAULT_HEIGHT = 220
PROTOTYPE_WIDTH = 360  # when there are several
MANY_BARS = 80  # with more, there are no gaps between them


def confidence(view: View) -> Spec:
    """Number of tasks by the confidence of their label."""
    x = alt.X(
        "low:Q",
        bin=alt.BinParams(binned=True, step=0.05),
        title="probability of the label",
        axis=alt.Axis(format=SHARE, values=[0, 0.25, 0.5, 0.75, 1]),
        scale=_zero_to_one(),
    )
    tooltip = [
        alt.Tooltip("low:Q", title="from", format=SHARE),
        alt.Tooltip("high:Q", title="to", format=SHARE),
        alt.Tooltip("n:Q", title="tasks", format=","),
    ]
    chart = alt.Chart(data(), width="container", height=DEFAULT_HEIGHT).mark_bar(color=BLUE, binSpacing=1)
    chart = chart.encode(x=x, x2="high:Q", y=alt.Y("n:Q", title="tasks", axis=_few(tickMinStep=1)), tooltip=tooltip)
    return spec_of(chart, rows=[asdict(bin_) for bin_ in view.quality.histogram])


def ranking(view: View) -> Spec:
    """Accuracy of the annotators, the best on top, with its interval where truths are known."""
    found = view.annotators
    names = alt.Y("annotator:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    base = alt.Chart(data()).encode(y=names, tooltip=_annotator())
    title = f"expected accuracy{', 95 % interval' if found.n_known else ''}"
    line = base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=4, strokeCap="round").encode(
        x=alt.X("low:Q", title=title, scale=_zero_to_one(), axis=_shares()), x2="high:Q"
    )
    dot = base.mark_point(color=BLUE, filled=True, size=55, opacity=1).encode(x="accuracy:Q")
    chance = alt.Chart(data("chance")).mark_rule(color=ORANGE, strokeDash=[4, 4], strokeWidth=1.5).encode(x="x:Q")
    chart = alt.layer(chance, line, dot).properties(width="container", height=max(ROW_HEIGHT * len(found.ranking), 30))
    return spec_of(chart, rows=[asdict(one) for one in found.ranking], chance=[{"x": found.chance}])


def dots(view: View) -> Spec:
    """Accuracy against the number of votes."""
    log = alt.Scale(type="log", nice=False, padding=12)
    chart = alt.Chart(data(), width="container", height=DEFAULT_HEIGHT + 40)
    chart = chart.mark_point(color=BLUE, filled=True, size=45, opacity=0.65).encode(
        x=alt.X("n_votes:Q", title="votes (log scale)", scale=log, axis=_few(format="~s", grid=False)),
        y=alt.Y("accuracy:Q", title="expected accuracy", scale=_zero_to_one(), axis=_shares()),
        tooltip=_annotator(),
    )
    return spec_of(chart, rows=[asdict(one) for one in view.annotators.dots])


def mixtures(view: View) -> Spec:
    """How much each annotator follows each prototype, one bar per annotator (Figures 3 and 4 of the paper)."""
    assert view.prototypes is not None
    names = [f"prototype {one.number}" for one in view.prototypes.prototypes]
    colours = alt.Scale(domain=names, range=[PROTOTYPE_COLOURS[s % len(PROTOTYPE_COLOURS)] for s in range(len(names))])
    width = alt.RelativeBandSize(1 if len(view.prototypes.mixtures) > MANY_BARS else 0.88)
    no_names, side_by_side = alt.Axis(labels=False, ticks=False), alt.Scale(padding=0)
    chart = alt.Chart(data(), width="container", height=DEFAULT_HEIGHT).mark_bar(width=width)
    chart = chart.encode(
        x=alt.X("place:O", title="annotators, by their share of prototype 1", axis=no_names, scale=side_by_side),
        y=alt.Y("share:Q", title="share", axis=_shares(), scale=_zero_to_one()),
        color=alt.Color("prototype:N", sort=names, scale=colours, title=None),
        order=alt.Order("number:Q"),
        tooltip=[
            alt.Tooltip("annotator:N"),
            alt.Tooltip("votes:Q", format=","),
            alt.Tooltip("prototype:N"),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    return spec_of(chart, rows=_mixed(view))


def _mixed(view: View) -> list[dict[str, Any]]:
    assert view.prototypes is not None
    return [
        {"place": place, "annotator": one.annotator, "votes": one.n_votes, "number": s, "share": share}
        | {"prototype": f"prototype {s}"}
        for place, one in enumerate(view.prototypes.mixtures, start=1)
        for s, share in enumerate(one.weights, start=1)
    ]


def prototypes(view: View) -> Spec:
    """The confusion matrices of all prototypes side by side."""
    assert view.prototypes is not None
    found, classes = view.prototypes.prototypes, view.prototypes.classes
    names = {one.number: f"cells_{one.number}" for one in found}
    maps = [
        heat_map(classes, f"Prototype {n}", name=name).properties(width=PROTOTYPE_WIDTH) for n, name in names.items()
    ]
    return spec_of(alt.hconcat(*maps), **{names[one.number]: cells(one.matrix, classes) for one in found})


def balance(view: View) -> Spec:
    """The share of each class among labels and among votes."""
    shown = view.classes.rows
    kinds = alt.Scale(domain=["labels", "votes"], range=[BLUE, GREY])
    names = alt.Axis(ticks=False, domain=False)
    chart = alt.Chart(data(), width="container", height=max((24 if len(shown) <= 20 else 15) * len(shown), 40))
    chart = chart.mark_bar().encode(
        y=alt.Y("label:N", sort=None, title=None, axis=names, scale=alt.Scale(paddingInner=0.25)),
        yOffset=alt.YOffset("of:N", sort=["labels", "votes"]),
        x=alt.X("share:Q", title="share", axis=_shares()),
        color=alt.Color("of:N", scale=kinds, title=None),
        tooltip=[
            alt.Tooltip("label:N", title="class"),
            alt.Tooltip("of:N", title="share of"),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    labels = [{"label": one.label, "of": "labels", "share": one.share} for one in shown]
    votes = [{"label": one.label, "of": "votes", "share": one.votes} for one in shown if one.votes is not None]
    return spec_of(chart, rows=[*labels, *votes])


def calibration(view: View) -> Spec:
    """The share of right labels by their probability. Calibrated probabilities lie on the diagonal."""
    assert view.trust.calibration is not None
    base = alt.Chart(data()).encode(
        x=alt.X("confidence:Q", title="probability of the label", scale=_zero_to_one(), axis=_shares()),
        tooltip=[
            alt.Tooltip("n:Q", title="tasks", format=","),
            alt.Tooltip("confidence:Q", title="mean probability", format=".1%"),
            alt.Tooltip("accuracy:Q", title="right", format=".1%"),
        ],
    )
    right = alt.Y("accuracy_low:Q", title="share that is right", scale=_zero_to_one(), axis=_shares())
    line = base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=3).encode(y=right, y2="accuracy_high:Q")
    size = alt.Size("n:Q", scale=alt.Scale(range=[30, 260]), legend=None)
    dot = base.mark_point(color=BLUE, filled=True, opacity=1).encode(y="accuracy:Q", size=size)
    diagonal = alt.Chart(data("diagonal")).mark_line(color=INK, opacity=0.4, strokeDash=[4, 4], strokeWidth=1)
    chart = alt.layer(diagonal.encode(x="x:Q", y="y:Q"), line, dot).properties(width="container", height=300)
    ends = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
    return spec_of(chart, rows=[asdict(one) for one in view.trust.calibration.bins], diagonal=ends)


def change(view: View) -> Spec:
    """The largest change of a probability in each iteration."""
    rows = [{"iteration": one.iteration, "value": one.change} for one in view.record.steps if one.change]
    axis = alt.Axis(values=_powers([row["value"] for row in rows if row["value"]]), format="~g")
    return _curve(rows, alt.Y("value:Q", title="biggest change", scale=alt.Scale(type="log"), axis=axis))


def bound(view: View) -> Spec:
    """The bound that the method maximises, by iteration."""
    rows = [{"iteration": one.iteration, "value": one.bound} for one in view.record.steps if one.bound is not None]
    return _curve(rows, alt.Y("value:Q", title="bound", scale=alt.Scale(zero=False), axis=_few()))


def _powers(values: list[float]) -> list[float]:
    """Return the powers of ten in the range, as ticks of a log scale."""
    return [10.0**k for k in range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)]


def _curve(rows: list[dict[str, Any]], y: alt.Y) -> Spec:
    points = alt.OverlayMarkDef(color=BLUE, size=18) if len(rows) <= MANY_BARS else False
    chart = alt.Chart(data(), width="container", height=DEFAULT_HEIGHT).mark_line(color=BLUE, point=points)
    chart = chart.encode(
        x=alt.X("iteration:Q", title="iteration", axis=_few(tickMinStep=1), scale=alt.Scale(nice=False)),
        y=y,
        tooltip=[alt.Tooltip("iteration:Q"), alt.Tooltip("value:Q", title="value", format=".4~g")],
    )
    return spec_of(chart, rows=rows)


def _annotator() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("annotator:N"),
        alt.Tooltip("accuracy:Q", title="expected accuracy", format=".1%"),
        alt.Tooltip("low:Q", title="at least", format=".1%"),
        alt.Tooltip("high:Q", title="at most", format=".1%"),
        alt.Tooltip("n_votes:Q", title="votes", format=","),
    ]


def _few(**more: Any) -> alt.Axis:
    return alt.Axis(tickCount=5, **more)


def _shares() -> alt.Axis:
    return _few(format=SHARE)


def _zero_to_one() -> alt.Scale:
    return alt.Scale(domain=[0, 1], nice=False)
