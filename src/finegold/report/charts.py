"""The charts of a view, one function each: its title, its words for people who do not see it, and
its Vega-Lite.

A page draws Vega-Lite itself; vl-convert renders SVG, PNG and PDF. Text is drawn in `currentColor`,
so one chart fits any page and print. Field names never come from the data, because Vega evaluates
field names and expressions.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from finegold.errors import InputError
from finegold.report.views import View
from finegold.report.views.annotators import Ranked
from finegold.report.views.classes import shown_classes
from finegold.report.views.common import Matrix, percent, plain, texts
from finegold.results import matrices as predictions
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, match

Spec = dict[str, Any]

# These colours have a contrast of at least 3 to 1 against both white and black.
BLUE, ORANGE, GREY = "#3f74d1", "#d07a1f", "#868c95"
PROTOTYPE_COLOURS = [BLUE, ORANGE, "#2a9a80", "#a866c4", "#c2557a", "#7d8a2e", "#4a9bc4", "#9a6b4b"]
INK = "currentColor"
SHARE = ".0%"
FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial,"
    " sans-serif"
)
TEXT = {"labelColor": INK, "titleColor": INK}
SIZES = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500}
LINES = {"tickColor": INK, "domainColor": INK, "gridColor": INK}
FAINT = {"domainOpacity": 0.35, "tickOpacity": 0.35, "gridOpacity": 0.12, "labelOpacity": 0.85}

CONFIG: Spec = {
    "background": None,
    # the page describes each chart as a whole
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        **TEXT,
        **LINES,
        **FAINT,
        **SIZES,
        "titlePadding": 10,
        "labelLimit": 130,
        "labelFlush": False,
    },
    "legend": {**TEXT, **SIZES, "labelLimit": 160, "orient": "top"},
    "header": TEXT,
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 12},
    "text": {"color": INK, "fontSize": 12},
}

ZERO_TO_ONE: Spec = {"domain": [0, 1], "nice": False}
# an axis
SHARES: Spec = {"tickCount": 5, "format": SHARE}
ROW_NAMES: Spec = {"ticks": False, "domain": False}


@dataclass(frozen=True)
class Drawn:
    """A chart, ready for a page."""

    title: str
    # alternative text, which says what the chart shows
    alt: str
    # a Vega-Lite specification, or None if the chart is absent
    spec: Spec | None
    absent: str | None = None
    # how to read the chart
    note: str = ""


def number(field: str, **more: Any) -> Spec:
    """Return a channel that shows a number."""
    return {"field": field, "type": "quantitative", **more}


def name(field: str, type: str = "nominal", **more: Any) -> Spec:
    """Return a channel that shows a name, in the order of the data."""
    return {"field": field, "type": type, **more}


def marks(
    kind: str, style: Spec, *, data: str = "rows", transform: str = "", **channels: Any
) -> Spec:
    """Return marks of one kind, one for each row of a data set; `transform` is a filter."""
    filters = {"transform": [{"filter": transform}]} if transform else {}
    return {
        "data": {"name": data},
        **filters,
        "mark": {"type": kind, **style},
        "encoding": channels,
    }


def spec_of(chart: Spec, **datasets: list[dict[str, Any]]) -> Spec:
    """Return a complete specification, without network addresses."""
    fit = (
        {"autosize": {"type": "fit-x", "contains": "padding"}}
        if chart.get("width") == "container"
        else {}
    )
    return {**chart, **fit, "datasets": datasets, "config": CONFIG}


def wide(height: int, *layers: Spec) -> Spec:
    """Return marks, or layers of them, as a chart that fills its page."""
    chart = layers[0] if len(layers) == 1 else {"layer": list(layers)}
    return {**chart, "width": "container", "height": height}


# with more, numbers do not fit into the cells
MAX_CLASSES_WITH_NUMBERS = 12
# with more, a heat map takes the full width and small letters
MANY_CLASSES = 25
# on darker cells, white text is easier to read
DARK_TEXT = "datum.share <= 0.8"
# pixels per annotator
ROW_HEIGHT = 15
DEFAULT_HEIGHT = 220
# when there are several
PROTOTYPE_WIDTH = 360
# with more, there are no gaps between them
MANY_BARS = 80
ABOUT_ANNOTATOR = [
    name("annotator"),
    number("accuracy", title="expected accuracy", format=".1%"),
    number("low", title="at least", format=".1%"),
    number("high", title="at most", format=".1%"),
    number("n_votes", title="votes", format=","),
]


def confidence(view: View) -> Drawn:
    bands = ", ".join(f"{band.n:,} {band.word} ({band.range})" for band in view.quality.bands)
    axis, bins = (
        {"format": SHARE, "values": [0, 0.25, 0.5, 0.75, 1]},
        {"binned": True, "step": 0.05},
    )
    shown = (("low", "from", SHARE), ("high", "to", SHARE), ("n", "tasks", ","))
    bars = marks(
        "bar",
        {"color": BLUE, "binSpacing": 1},
        x=number("low", bin=bins, title="probability of the label", axis=axis, scale=ZERO_TO_ONE),
        x2={"field": "high"},
        y=number("n", title="tasks", axis={"tickCount": 5, "tickMinStep": 1}),
        tooltip=[number(field, title=words, format=how) for field, words, how in shown],
    )
    return Drawn(
        "Confidence of the labels",
        f"Bar chart of the number of tasks by the probability of their label: {bands}.",
        spec_of(wide(DEFAULT_HEIGHT, bars), rows=[asdict(each) for each in view.quality.histogram]),
    )


def ranking(view: View) -> Drawn:
    """Accuracy of the annotators, the best on top, with its interval where truths are known."""
    about, rows = view.annotators, view.annotators.ranking

    def in_words(row: Ranked) -> str:
        known = (
            ""
            if row.low is None or row.high is None
            else f", between {percent(row.low)} and {percent(row.high)}"
        )
        return f"{row.annotator} ({percent(row.accuracy)}{known})"

    words = (
        f"Annotators by expected accuracy, from {in_words(rows[0])} down to {in_words(rows[-1])}."
    )
    shared: Spec = {
        "y": name("annotator", sort=None, title=None, axis=ROW_NAMES),
        "tooltip": ABOUT_ANNOTATOR,
    }
    title = f"expected accuracy{', 95 % interval' if about.n_known else ''}"
    line = {"color": BLUE, "opacity": 0.45, "strokeWidth": 4, "strokeCap": "round"}
    low = number("low", title=title, scale=ZERO_TO_ONE, axis=SHARES)
    chart = wide(
        max(ROW_HEIGHT * len(rows), 30),
        marks(
            "rule",
            {"color": ORANGE, "strokeDash": [4, 4], "strokeWidth": 1.5},
            data="chance",
            x=number("x"),
        ),
        marks("rule", line, x=low, x2={"field": "high"}, **shared),
        marks(
            "point",
            {"color": BLUE, "filled": True, "size": 55, "opacity": 1},
            x=number("accuracy"),
            **shared,
        ),
    )
    return Drawn(
        "Accuracy of annotators",
        words if len(rows) > 1 else f"One annotator: {in_words(rows[0])}.",
        spec_of(chart, rows=[asdict(row) for row in rows], chance=[{"x": about.chance}]),
    )


def annotators(view: View) -> Drawn:
    """Accuracy against the number of votes."""
    rows = view.annotators.dots
    votes = [row.n_votes for row in rows]
    log = {"type": "log", "nice": False, "padding": 12}
    dots = marks(
        "point",
        {"color": BLUE, "filled": True, "size": 45, "opacity": 0.65},
        x=number(
            "n_votes",
            title="votes (log scale)",
            scale=log,
            axis={"tickCount": 5, "format": "~s", "grid": False},
        ),
        y=number("accuracy", title="expected accuracy", scale=ZERO_TO_ONE, axis=SHARES),
        tooltip=ABOUT_ANNOTATOR,
    )
    return Drawn(
        "Accuracy and number of votes",
        f"{len(votes):,} dots, one per annotator: {min(votes):,} to {max(votes):,} votes, by"
        " expected accuracy.",
        spec_of(wide(DEFAULT_HEIGHT + 40, dots), rows=[asdict(row) for row in rows]),
    )


def _shares_of_prototypes(view: View) -> str:
    assert view.prototypes is not None
    shares = ", ".join(
        f"prototype {each.number} has {percent(each.share)}" for each in view.prototypes.prototypes
    )
    return (
        "One bar per annotator, divided by how much they follow each prototype. Of all votes,"
        f" {shares}."
    )


def mixtures(view: View) -> Drawn:
    """How much each annotator follows each prototype, one bar per annotator (Figures 3 and 4 of the
    paper).
    """
    title = "How much annotators follow each prototype"
    if view.prototypes is None:
        return Drawn(title, "", None, f"{view.record.method} does not learn prototypes.")
    names = [f"prototype {each.number}" for each in view.prototypes.prototypes]
    colours = [PROTOTYPE_COLOURS[s % len(PROTOTYPE_COLOURS)] for s in range(len(names))]
    by_share = "annotators, by their share of prototype 1"
    bars = marks(
        "bar",
        {"width": {"band": 1 if len(view.prototypes.mixtures) > MANY_BARS else 0.88}},
        x=name(
            "place",
            title=by_share,
            axis={"labels": False, "ticks": False},
            scale={"padding": 0},
            type="ordinal",
        ),
        y=number("share", title="share", axis=SHARES, scale=ZERO_TO_ONE),
        color=name("prototype", sort=names, scale={"domain": names, "range": colours}, title=None),
        order=number("number"),
        tooltip=[
            name("annotator"),
            number("votes", format=","),
            name("prototype"),
            number("share", format=".1%"),
        ],
    )
    rows = [
        {
            "place": place,
            "annotator": each.annotator,
            "votes": each.n_votes,
            "number": s,
            "share": share,
        }
        | {"prototype": f"prototype {s}"}
        for place, each in enumerate(view.prototypes.mixtures, start=1)
        for s, share in enumerate(each.weights, start=1)
    ]
    return Drawn(title, _shares_of_prototypes(view), spec_of(wide(DEFAULT_HEIGHT, bars), rows=rows))


def prototypes(view: View) -> Drawn:
    """The confusion matrices of all prototypes side by side."""
    if view.prototypes is None:
        return Drawn("The prototypes", "", None, f"{view.record.method} does not learn prototypes.")
    classes = view.prototypes.classes
    maps, cells = [], {}
    for each in view.prototypes.prototypes:
        data = f"cells_{each.number}"
        maps.append(
            {**heat_map(classes, f"Prototype {each.number}", data=data), "width": PROTOTYPE_WIDTH}
        )
        cells[data] = _cells(each.matrix, classes)
    return Drawn("The prototypes", _shares_of_prototypes(view), spec_of({"hconcat": maps}, **cells))


def balance(view: View) -> Drawn:
    """The share of each class among labels and among votes."""
    rows = view.classes.rows
    listed = ", ".join(f"{row.label} {percent(row.share)}" for row in rows[:5])
    bars = marks(
        "bar",
        {},
        y=name("label", sort=None, title=None, axis=ROW_NAMES, scale={"paddingInner": 0.25}),
        yOffset=name("of", sort=["labels", "votes"]),
        x=number("share", title="share", axis=SHARES),
        color=name("of", scale={"domain": ["labels", "votes"], "range": [BLUE, GREY]}, title=None),
        tooltip=[
            name("label", title="class"),
            name("of", title="share of"),
            number("share", format=".1%"),
        ],
    )
    labels = [{"label": row.label, "of": "labels", "share": row.share} for row in rows]
    votes = [
        {"label": row.label, "of": "votes", "share": row.votes}
        for row in rows
        if row.votes is not None
    ]
    height = max((24 if len(rows) <= 20 else 15) * len(rows), 40)
    return Drawn(
        "Share of each class",
        f"Bar chart of the share of each class among labels and votes. Most frequent: {listed}.",
        spec_of(wide(height, bars), rows=[*labels, *votes]),
    )


def confusion(view: View) -> Drawn:
    title, about = "Confusion matrix of all annotators", view.classes
    if about.matrix is None:
        return Drawn(title, "", None, about.absent)
    listed = ", ".join(
        f"{each.truth} for {each.vote} ({percent(each.share)})" for each in about.mistakes[:5]
    )
    words = (
        "Heat map of the votes of all annotators by the truth. Most often confused:"
        f" {listed or 'nothing'}."
    )
    return Drawn(title, words, matrix_spec(about.matrix, about.names))


def calibration(view: View) -> Drawn:
    """The share of right labels by their probability. Calibrated probabilities lie on the diagonal."""
    title, about = "Calibration of the probabilities", view.trust.calibration
    if about is None:
        return Drawn(title, "", None, view.trust.calibration_absent)
    shown = (
        ("n", "tasks", ","),
        ("confidence", "mean probability", ".1%"),
        ("accuracy", "right", ".1%"),
    )
    shared: Spec = {
        "x": number("confidence", title="probability of the label", scale=ZERO_TO_ONE, axis=SHARES),
        "tooltip": [number(field, title=words, format=how) for field, words, how in shown],
    }
    right = number("accuracy_low", title="share that is right", scale=ZERO_TO_ONE, axis=SHARES)
    line = {"color": BLUE, "opacity": 0.45, "strokeWidth": 3}
    size = number("n", scale={"range": [30, 260]}, legend=None)
    diagonal = {"color": INK, "opacity": 0.4, "strokeDash": [4, 4], "strokeWidth": 1}
    chart = wide(
        300,
        marks("line", diagonal, data="diagonal", x=number("x"), y=number("y")),
        marks("rule", line, y=right, y2={"field": "accuracy_high"}, **shared),
        marks(
            "point",
            {"color": BLUE, "filled": True, "opacity": 1},
            y=number("accuracy"),
            size=size,
            **shared,
        ),
    )
    listed = "; ".join(
        f"probability {percent(each.confidence)}: {percent(each.accuracy)} of {each.n:,} right"
        for each in about.bins
    )
    return Drawn(
        title,
        f"Dots: share of right labels by their probability. {listed}.",
        spec_of(
            chart,
            rows=[asdict(each) for each in about.bins],
            diagonal=[{"x": 0, "y": 0}, {"x": 1, "y": 1}],
        ),
    )


def change(view: View) -> Drawn:
    """The largest change of a probability in each iteration."""
    steps = [(step.iteration, step.change) for step in view.record.steps if step.change]
    if len(steps) < 2:
        return Drawn("Convergence", "", None, f"{view.record.method} is not iterative.")
    values = [value for _, value in steps]
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    axis = {"values": [10.0**k for k in powers], "format": "~g"}
    words = (
        f"Line: the largest change of a probability falls from {values[0]:.2g} to {values[-1]:.2g}."
    )
    return Drawn(
        "Convergence",
        words,
        _curve(steps, title="biggest change", scale={"type": "log"}, axis=axis),
    )


def bound(view: View) -> Drawn:
    """The bound that the method maximises, by iteration."""
    steps = [(step.iteration, step.bound) for step in view.record.steps if step.bound is not None]
    if len(steps) < 2:
        return Drawn(
            "Bound",
            "",
            None,
            f"{view.record.method} has no bound that increases with every iteration.",
        )
    words = f"Line: the bound rises from {steps[0][1]:,.4g} to {steps[-1][1]:,.4g}."
    return Drawn(
        "Bound", words, _curve(steps, title="bound", scale={"zero": False}, axis={"tickCount": 5})
    )


def _curve(steps: list[tuple[int, float]], **of_value: Any) -> Spec:
    line = marks(
        "line",
        {"color": BLUE, "point": {"color": BLUE, "size": 18} if len(steps) <= MANY_BARS else False},
        x=number(
            "iteration",
            title="iteration",
            axis={"tickCount": 5, "tickMinStep": 1},
            scale={"nice": False},
        ),
        y=number("value", **of_value),
        tooltip=[number("iteration"), number("value", title="value", format=".4~g")],
    )
    return spec_of(
        wide(DEFAULT_HEIGHT, line), rows=[{"iteration": n, "value": value} for n, value in steps]
    )


# The same keys as in finegold.report.KINDS, except "annotator", which needs a name.
CHARTS = (
    confidence,
    ranking,
    annotators,
    prototypes,
    mixtures,
    balance,
    confusion,
    calibration,
    change,
    bound,
)
DRAWN = {draw.__name__: draw for draw in CHARTS}


def draw_annotator(result: ResultData, who: Any) -> Drawn:
    """Draw the confusion matrix of one annotator. The text "17" also matches the number 17."""
    code, title = match([who], result.annotator_names), f"How {who} votes"
    if code[0] == MISSING:
        raise InputError(f"there is no annotator {who!r}")
    if not result.learned.has_matrices:
        return Drawn(
            title, "", None, f"{result.method} learns no confusion matrices of annotators."
        )
    classes = shown_classes(result)
    matrix = plain(predictions.matrices(result, code, classes)[0])
    return Drawn(title, "", matrix_spec(matrix, texts(result.class_names, classes), title))


def draw_charts(view: View) -> dict[str, Drawn]:
    """Draw all charts of the report: those of DRAWN, each prototype, the matrix of an annotator,
    those of judges.
    """
    charts = {kind: draw(view) for kind, draw in DRAWN.items() if kind != "prototypes"}
    if view.prototypes is not None:
        for each in view.prototypes.prototypes:
            listed = ", ".join(
                f"{m.truth} confused with {m.vote} in {percent(m.share)}" for m in each.mistakes
            )
            mistakes = f"; its most frequent mistakes: {listed}" if listed else ""
            words = (
                f"Heat map of prototype {each.number}, right in {percent(each.accuracy)}{mistakes}."
            )
            spec = matrix_spec(each.matrix, view.prototypes.classes)
            charts[f"prototype-{each.number}"] = Drawn(f"Prototype {each.number}", words, spec)
    if (confusions := view.annotators.confusions) is not None:
        spec = matrix_spec(confusions.matrices[0], confusions.classes)
        charts["annotator"] = Drawn("How one annotator votes", "", spec)
    if view.judges is not None:
        charts |= judge_charts(view.judges)
    return charts


def matrix_spec(matrix: Matrix, classes: list[str], title: str | None = None) -> Spec:
    return spec_of(heat_map(classes, title), cells=_cells(matrix, classes))


def _cells(matrix: Matrix, classes: list[str]) -> list[dict[str, Any]]:
    return [
        {"truth": truth, "vote": vote, "share": round(share, 3)}
        for truth, row in zip(classes, matrix, strict=True)
        for vote, share in zip(classes, row, strict=True)
    ]


def heat_map(classes: list[str], title: str | None = None, *, data: str = "cells") -> Spec:
    """Return a heat map: truth in rows, vote in columns. A page can replace the data set."""
    # Names that would overlap are left out, where the tooltip shows them; they are horizontal if
    # they fit.
    n = len(classes)
    few = n <= MAX_CLASSES_WITH_NUMBERS
    angle = 0 if n * max(map(len, classes), default=0) <= 40 else -45 if few else -90
    axis = {
        "labelFontSize": 12 if few else 11 if n <= MANY_CLASSES else 9,
        "labelOverlap": False if few else "greedy",
        "ticks": False,
        "domain": False,
        "labelPadding": 5,
    }
    shared: Spec = {
        "x": name(
            "vote", sort=None, title="vote", axis={**axis, "orient": "top", "labelAngle": angle}
        ),
        "y": name("truth", sort=None, title="truth", axis=axis),
        "tooltip": [
            name("truth", title="truth"),
            name("vote", title="vote"),
            number("share", format=".1%"),
        ],
    }
    fill = number("share", scale={"domain": [0, 1], "range": [0.02, 1]}, legend=None)
    style = {"color": BLUE, "stroke": INK, "strokeOpacity": 0.12 if n <= MANY_CLASSES else 0.05}
    layers = [marks("rect", style, data=data, fillOpacity=fill, **shared)]
    if few:
        text = number("share", format=".2f")
        white = {"color": "white", "fontWeight": 600}
        layers.append(
            marks("text", {"color": INK}, data=data, transform=DARK_TEXT, text=text, **shared)
        )
        layers.append(
            marks("text", white, data=data, transform=f"!({DARK_TEXT})", text=text, **shared)
        )
    height = max(n * (44 if n <= 6 else 30 if few else 13), 90)
    return {**wide(height, *layers), **({} if title is None else {"title": title})}


# pixels per judge or system
JUDGE_HEIGHT = 26


def judge_charts(judges: dict[str, Any]) -> dict[str, Drawn]:
    """Return the charts that can be drawn of what `JudgeReport.view` returns."""
    charts = {}
    if placed := [one for one in judges["judges"] if one["position_bias"] is not None]:
        most = max(placed, key=lambda one: abs(one["position_bias"]))
        side, share = (
            "first" if most["position_bias"] > 0 else "second",
            percent(abs(most["position_bias"])),
        )
        values = [
            (one["judge"], one["position_bias"], *one["intervals"]["position_bias"])
            for one in placed
        ]
        axis = {"title": "verdicts that follow the position", "format": SHARE, "tickCount": 5}
        charts["judge-position"] = Drawn(
            "Position bias",
            f"{most['judge']} follows the position most: {share} for the {side} answer.",
            _intervals(values, "judge", axis, ORANGE),
            note=(
                "Right of 0: the first answer; left: the second. Over both orders, preferences for"
                " an answer cancel."
            ),
        )
    # a map of pairs of judges
    pairs = judges["pairs"]
    if pairs:
        alike = max(pairs, key=lambda pair: pair["excess"])
        pair = f"{alike['one']} and {alike['other']}"
        names = [one["judge"] for one in judges["judges"]]
        excess = {(one["one"], one["other"]): one["excess"] for one in pairs}
        cells = marks(
            "rect",
            {"color": BLUE, "stroke": INK, "strokeOpacity": 0.12},
            x=name("one", title=None, sort=None, axis={"labelAngle": -40, **ROW_NAMES}),
            y=name("other", title=None, sort=None, axis=ROW_NAMES),
            fillOpacity=number(
                "excess", scale={"domain": [0, 0.5], "range": [0.02, 1], "clamp": True}, legend=None
            ),
            tooltip=[name("one"), name("other"), number("excess", format=".2f")],
        )
        rows = [
            {"one": a, "other": b, "excess": excess.get((a, b), 0.0)} for a in names for b in names
        ]
        charts["judge-pairs"] = Drawn(
            "Judges that err alike",
            f"Map of pairs of judges; {pair} agree most beyond their accuracy"
            f" ({alike['excess']:.2f}).",
            spec_of(wide(max(JUDGE_HEIGHT * len(names), 80), cells), rows=rows),
            note="Agreement beyond what the accuracies explain; a stronger colour means more.",
        )
    if len(judges["panels"]) > 1:
        first, last = judges["panels"][0], judges["panels"][-1]
        shared: Spec = {
            "x": number(
                "cost",
                title="cost per item",
                axis={"tickCount": 5, "format": "~g"},
                scale={"zero": True},
            ),
            "tooltip": [
                name("judges"),
                number("cost", format=".3~g"),
                number("value", title="accuracy", format=".1%"),
            ],
        }
        low = number("low", title="accuracy", axis=SHARES, scale={"zero": False})
        dot = {"color": BLUE, "filled": True, "opacity": 1, "size": 60}
        chart = wide(
            260,
            marks(
                "line",
                {"color": BLUE, "interpolate": "step-after", "opacity": 0.5},
                y=number("value"),
                **shared,
            ),
            marks(
                "rule",
                {"color": BLUE, "opacity": 0.55, "strokeWidth": 3},
                y=low,
                y2={"field": "high"},
                **shared,
            ),
            marks("point", dot, y=number("value"), **shared),
        )
        rows = [
            one["accuracy"] | {"cost": one["cost"], "judges": ", ".join(one["judges"])}
            for one in judges["panels"]
        ]
        charts["judge-panels"] = Drawn(
            "Accuracy against cost",
            f"Accuracy by cost: from {percent(first['accuracy']['value'])} for {first['cost']:.3g}"
            f" per item to {percent(last['accuracy']['value'])} for {last['cost']:.3g}.",
            spec_of(chart, rows=rows),
            note="Every panel shown is more accurate than all cheaper ones.",
        )
    if ranking := judges["ranking"]:
        values = [(one["system"], one["strength"], one["low"], one["high"]) for one in ranking]
        charts["judge-ranking"] = Drawn(
            "Strength of the systems",
            f"{len(ranking)} systems by strength with intervals; {ranking[0]['system']} is first.",
            _intervals(values, "system", {"title": "strength, in log-odds", "tickCount": 5}, BLUE),
            note="Bradley-Terry strengths with 95 % intervals; 0 is the average system.",
        )
    return charts


def _intervals(values: list[tuple[Any, ...]], named: str, axis: Spec, colour: str) -> Spec:
    """Return dots with intervals, one row for each name, value, low and high end, and a line at
    zero.
    """
    rows = [dict(zip((named, "value", "low", "high"), value, strict=True)) for value in values]
    shared: Spec = {
        "y": name(named, sort=None, title=None, axis=ROW_NAMES),
        "tooltip": [name(named), *(number(end, format=".3f") for end in ("value", "low", "high"))],
    }
    line, dot = (
        {"color": colour, "opacity": 0.6, "strokeWidth": 3},
        {"color": colour, "filled": True, "opacity": 1},
    )
    chart = wide(
        max(JUDGE_HEIGHT * len(rows), 60),
        marks(
            "rule", {"color": INK, "opacity": 0.4, "strokeDash": [4, 4]}, data="zero", x=number("x")
        ),
        marks("rule", line, x=number("low", axis=axis), x2={"field": "high"}, **shared),
        marks("point", {**dot, "size": 60}, x=number("value"), **shared),
    )
    return spec_of(chart, rows=rows, zero=[{"x": 0}])
