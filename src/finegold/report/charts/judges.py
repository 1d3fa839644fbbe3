"""Charts of LLM judges: position bias, pairs that err alike, accuracy against cost, and the ranking of systems."""

from __future__ import annotations

from typing import Any

from finegold.report.charts.style import (
    BLUE,
    INK,
    ORANGE,
    ROW_NAMES,
    SHARE,
    SHARES,
    Drawn,
    Spec,
    marks,
    name,
    number,
    spec_of,
    wide,
)
from finegold.report.views.common import percent

ROW_HEIGHT = 26  # pixels per judge or system


def judge_charts(judges: dict[str, Any]) -> dict[str, Drawn]:
    """Return the charts that can be drawn of what `JudgeReport.view` returns."""
    charts = {}
    placed = [one for one in judges["judges"] if one["position_bias"] is not None]
    if placed:
        most = max(placed, key=lambda one: abs(one["position_bias"]))
        side = "first" if most["position_bias"] > 0 else "second"
        words = (
            f"{most['judge']} follows the position most: {percent(abs(most['position_bias']))} for the {side} answer."
        )
        note = "Right of 0: the first answer; left: the second. Over both orders, preferences for an answer cancel."
        ends = [dict(zip(("low", "high"), one["intervals"]["position_bias"], strict=True)) for one in placed]
        rows = [
            {"judge": one["judge"], "value": one["position_bias"]} | end for one, end in zip(placed, ends, strict=True)
        ]
        axis = {"title": "verdicts that follow the position", "format": SHARE, "tickCount": 5}
        charts["judge-position"] = Drawn("Position bias", words, _intervals(rows, "judge", axis, ORANGE), note=note)
    if judges["pairs"]:
        alike = max(judges["pairs"], key=lambda pair: pair["excess"])
        words = (
            f"Map of pairs of judges; {alike['one']} and {alike['other']} agree most beyond their accuracy "
            f"({alike['excess']:.2f})."
        )
        note = "Agreement beyond what the accuracies explain; a stronger colour means more."
        charts["judge-pairs"] = Drawn("Judges that err alike", words, _pairs(judges), note=note)
    if len(judges["panels"]) > 1:
        first, last = judges["panels"][0], judges["panels"][-1]
        words = (
            f"Accuracy by cost: from {percent(first['accuracy']['value'])} for {first['cost']:.3g} per item to "
            f"{percent(last['accuracy']['value'])} for {last['cost']:.3g}."
        )
        note = "Every panel shown is more accurate than all cheaper ones."
        charts["judge-panels"] = Drawn("Accuracy against cost", words, _panels(judges), note=note)
    if ranking := judges["ranking"]:
        words = f"{len(ranking)} systems by strength with intervals; {ranking[0]['system']} is first."
        note = "Bradley-Terry strengths with 95 % intervals; 0 is the average system."
        rows = [
            {"system": one["system"], "value": one["strength"], "low": one["low"], "high": one["high"]}
            for one in ranking
        ]
        axis = {"title": "strength, in log-odds", "tickCount": 5}
        charts["judge-ranking"] = Drawn(
            "Strength of the systems", words, _intervals(rows, "system", axis, BLUE), note=note
        )
    return charts


def _intervals(rows: list[dict[str, Any]], named: str, axis: Spec, colour: str) -> Spec:
    """Return dots with intervals, one row each, and a line at zero."""
    shared: Spec = {
        "y": name(named, sort=None, title=None, axis=ROW_NAMES),
        "tooltip": [name(named), *(number(end, format=".3f") for end in ("value", "low", "high"))],
    }
    line, dot = {"color": colour, "opacity": 0.6, "strokeWidth": 3}, {"color": colour, "filled": True, "opacity": 1}
    chart = wide(
        max(ROW_HEIGHT * len(rows), 60),
        marks("rule", {"color": INK, "opacity": 0.4, "strokeDash": [4, 4]}, data="zero", x=number("x")),
        marks("rule", line, x=number("low", axis=axis), x2={"field": "high"}, **shared),
        marks("point", {**dot, "size": 60}, x=number("value"), **shared),
    )
    return spec_of(chart, rows=rows, zero=[{"x": 0}])


def _pairs(judges: dict[str, Any]) -> Spec:
    """Return a map of pairs of judges: a stronger colour means more excess agreement."""
    names = [one["judge"] for one in judges["judges"]]
    excess = {(pair["one"], pair["other"]): pair["excess"] for pair in judges["pairs"]}
    rows = [{"one": a, "other": b, "excess": excess.get((a, b), 0.0)} for a in names for b in names]
    cells = marks(
        "rect",
        {"color": BLUE, "stroke": INK, "strokeOpacity": 0.12},
        x=name("one", title=None, sort=None, axis={"labelAngle": -40, **ROW_NAMES}),
        y=name("other", title=None, sort=None, axis=ROW_NAMES),
        fillOpacity=number("excess", scale={"domain": [0, 0.5], "range": [0.02, 1], "clamp": True}, legend=None),
        tooltip=[name("one"), name("other"), number("excess", format=".2f")],
    )
    return spec_of(wide(max(ROW_HEIGHT * len(names), 80), cells), rows=rows)


def _panels(judges: dict[str, Any]) -> Spec:
    rows = [one["accuracy"] | {"cost": one["cost"], "judges": ", ".join(one["judges"])} for one in judges["panels"]]
    accuracy = number("low", title="accuracy", axis=SHARES, scale={"zero": False})
    shared: Spec = {
        "x": number("cost", title="cost per item", axis={"tickCount": 5, "format": "~g"}, scale={"zero": True}),
        "tooltip": [
            name("judges"),
            number("cost", format=".3~g"),
            number("value", title="accuracy", format=".1%"),
        ],
    }
    chart = wide(
        260,
        marks("line", {"color": BLUE, "interpolate": "step-after", "opacity": 0.5}, y=number("value"), **shared),
        marks("rule", {"color": BLUE, "opacity": 0.55, "strokeWidth": 3}, y=accuracy, y2={"field": "high"}, **shared),
        marks("point", {"color": BLUE, "filled": True, "opacity": 1, "size": 60}, y=number("value"), **shared),
    )
    return spec_of(chart, rows=rows)
