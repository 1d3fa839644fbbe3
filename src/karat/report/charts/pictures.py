"""View -> charts, a function each."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import altair as alt

from karat.report.charts.matrices import heat_map
from karat.report.charts.style import BLUE, GREY, INK, MIXED, ORANGE, SHARE, rows
from karat.report.views import View

__all__ = ["balance", "bound", "calibration", "change", "confidence", "dots", "mixtures", "prototypes", "ranking"]

ROW = 15  # pixels of an annotator
LOW = 220  # height of charts that need no more


def confidence(view: View) -> Any:
    """How many tasks are how sure."""
    data = rows([asdict(bin_) for bin_ in view.quality.histogram])
    return (
        alt.Chart(data, width="container", height=LOW)
        .mark_bar(color=BLUE, binSpacing=1)
        .encode(
            x=alt.X(
                "low:Q",
                bin=alt.BinParams(binned=True, step=0.05),
                title="probability of the label",
                axis=alt.Axis(format=SHARE, values=[0, 0.25, 0.5, 0.75, 1]),
                scale=alt.Scale(domain=[0, 1]),
            ),
            x2="high:Q",
            y=alt.Y("n:Q", title="tasks", axis=alt.Axis(tickMinStep=1)),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=SHARE),
                alt.Tooltip("high:Q", title="to", format=SHARE),
                alt.Tooltip("n:Q", title="tasks", format=","),
            ],
        )
    )


def ranking(view: View) -> Any:
    """Annotators with the interval of their accuracy, the best on top."""
    found = view.annotators
    base = alt.Chart(rows([asdict(one) for one in found.ranking])).encode(
        y=alt.Y("annotator:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False)), tooltip=_annotator()
    )
    line = base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=4, strokeCap="round").encode(
        x=alt.X("low:Q", title="expected accuracy, 95 % interval", scale=_zero_to_one(), axis=_shares()),
        x2="high:Q",
    )
    dot = base.mark_point(color=BLUE, filled=True, size=55, opacity=1).encode(x="accuracy:Q")
    chance = _rule([{"x": found.chance}], "x")
    return alt.layer(chance, line, dot).properties(width="container", height=alt.Step(ROW))


def dots(view: View) -> Any:
    """Accuracy against the number of votes."""
    base = alt.Chart(rows([asdict(one) for one in view.annotators.dots]), width="container", height=LOW + 40)
    return base.mark_point(color=BLUE, filled=True, size=45, opacity=0.55).encode(
        x=alt.X(
            "n_votes:Q",
            title="votes (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=12),
            axis=alt.Axis(format="~s", tickCount=5),
        ),
        y=alt.Y("accuracy:Q", title="expected accuracy", scale=_zero_to_one(), axis=_shares()),
        tooltip=_annotator(),
    )


def mixtures(view: View) -> Any:
    """A bar an annotator, as in Figures 3 and 4 of the paper: how much each follows each prototype."""
    assert view.prototypes is not None
    data = [
        {
            "place": place,
            "annotator": one.annotator,
            "votes": one.n_votes,
            "prototype": f"prototype {s}",
            "share": share,
        }
        for place, one in enumerate(view.prototypes.mixtures, start=1)
        for s, share in enumerate(one.weights, start=1)
    ]
    names = [f"prototype {one.number}" for one in view.prototypes.prototypes]
    return (
        alt.Chart(rows(data), width="container", height=LOW)
        .mark_bar(width=alt.RelativeBandSize(1 if len(data) > 160 else 0.88))
        .encode(
            x=alt.X(
                "place:O", title="annotators, by their share of prototype 1", axis=alt.Axis(labels=False, ticks=False)
            ),
            y=alt.Y("share:Q", title="share", axis=_shares(), scale=_zero_to_one()),
            color=alt.Color(
                "prototype:N", sort=names, scale=alt.Scale(domain=names, range=_palette(len(names))), title=None
            ),
            order=alt.Order("number:Q"),
            tooltip=[
                alt.Tooltip("annotator:N"),
                alt.Tooltip("votes:Q", format=","),
                alt.Tooltip("prototype:N"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )


def prototypes(view: View) -> Any:
    """All prototypes side by side."""
    assert view.prototypes is not None
    classes = view.prototypes.classes
    return alt.hconcat(
        *(
            heat_map(one.matrix, classes, f"Prototype {one.number}", name=f"cells_{one.number}").properties(width=360)
            for one in view.prototypes.prototypes
        )
    )


def balance(view: View) -> Any:
    """The share of each class among labels and among votes."""
    shown = view.classes.rows
    data = [{"label": one.label, "of": "labels", "share": one.share, "place": place} for place, one in enumerate(shown)]
    data += [
        {"label": one.label, "of": "votes", "share": one.votes, "place": place}
        for place, one in enumerate(shown)
        if one.votes is not None
    ]
    return (
        alt.Chart(rows(data), width="container", height=alt.Step(11 if len(shown) <= 20 else 6))
        .mark_bar()
        .encode(
            y=alt.Y(
                "label:N",
                sort=None,
                title=None,
                axis=alt.Axis(ticks=False, domain=False),
                scale=alt.Scale(paddingInner=0.25),
            ),
            yOffset=alt.YOffset("of:N", sort=["labels", "votes"]),
            x=alt.X("share:Q", title="share", axis=_shares()),
            color=alt.Color("of:N", scale=alt.Scale(domain=["labels", "votes"], range=[BLUE, GREY]), title=None),
            tooltip=[
                alt.Tooltip("label:N", title="class"),
                alt.Tooltip("of:N", title="share of"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )


def calibration(view: View) -> Any:
    """How often labels of some probability are right; on the diagonal, as often as they say."""
    assert view.trust.calibration is not None
    base = alt.Chart(rows([asdict(one) for one in view.trust.calibration.bins])).encode(
        x=alt.X("confidence:Q", title="probability of the label", scale=_zero_to_one(), axis=_shares()),
        tooltip=[
            alt.Tooltip("n:Q", title="tasks", format=","),
            alt.Tooltip("confidence:Q", title="mean probability", format=".1%"),
            alt.Tooltip("accuracy:Q", title="right", format=".1%"),
        ],
    )
    line = base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=3).encode(
        y=alt.Y(
            "accuracy_low:Q",
            title="share that is right",
            scale=_zero_to_one(),
            axis=alt.Axis(format=SHARE, tickCount=5),
        ),
        y2="accuracy_high:Q",
    )
    dot = base.mark_point(color=BLUE, filled=True, size=70, opacity=1).encode(y="accuracy:Q")
    diagonal = (
        alt.Chart(rows([{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(color=INK, opacity=0.4, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )
    return alt.layer(diagonal, line, dot).properties(width="container", height=300)


def change(view: View) -> Any:
    """The biggest change of a probability in each iteration."""
    data = [{"iteration": one.iteration, "value": one.change} for one in view.record.steps if one.change]
    return _curve(data, "biggest change", alt.Scale(type="log"), values=_powers(data))


def bound(view: View) -> Any:
    """What the method maximises."""
    data = [{"iteration": one.iteration, "value": one.bound} for one in view.record.steps if one.bound is not None]
    return _curve(data, "bound", alt.Scale(zero=False))


def _powers(data: list[dict[str, Any]]) -> list[float]:
    """Powers of ten, so that a log scale has few lines."""
    low, high = min(row["value"] for row in data), max(row["value"] for row in data)
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def _curve(data: list[dict[str, Any]], title: str, scale: alt.Scale, values: list[float] | None = None) -> Any:
    axis = alt.Axis(tickCount=5) if values is None else alt.Axis(values=values, format="~g")
    return (
        alt.Chart(rows(data), width="container", height=LOW)
        .mark_line(color=BLUE, point=alt.OverlayMarkDef(color=BLUE, size=18) if len(data) <= 60 else False)
        .encode(
            x=alt.X("iteration:Q", title="iteration", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=title, scale=scale, axis=axis),
            tooltip=[alt.Tooltip("iteration:Q"), alt.Tooltip("value:Q", title="value", format=".4~g")],
        )
    )


def _annotator() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("annotator:N"),
        alt.Tooltip("accuracy:Q", title="expected accuracy", format=".1%"),
        alt.Tooltip("low:Q", title="at least", format=".1%"),
        alt.Tooltip("high:Q", title="at most", format=".1%"),
        alt.Tooltip("n_votes:Q", title="votes", format=","),
    ]


def _rule(data: list[dict[str, float]], channel: str) -> Any:
    mark = alt.Chart(rows(data)).mark_rule(color=ORANGE, strokeDash=[4, 4], strokeWidth=1.5)
    return mark.encode(**{channel: f"{channel}:Q"})


def _shares() -> alt.Axis:
    return alt.Axis(format=SHARE, tickCount=5)


def _zero_to_one() -> alt.Scale:
    return alt.Scale(domain=[0, 1], nice=False)


def _palette(n: int) -> list[str]:
    return [MIXED[s % len(MIXED)] for s in range(n)]
