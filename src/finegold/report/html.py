"""Render a view as one self-contained HTML file with its styles, scripts and figures.

Autoescape is on. Scripts read their data from JSON elements, in which `tojson` escapes <, >, &, ' and all non-ASCII
characters. The content security policy forbids all network requests, and all scripts except the two with known hashes.
"""

from __future__ import annotations

import base64
import hashlib
import math
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

import finegold
from finegold.report.charts import drawn
from finegold.report.charts.pictures import MANY_CLASSES
from finegold.report.images import bundle
from finegold.report.views import View
from finegold.report.views.common import percent
from finegold.report.views.sets import SetsView
from finegold.report.views.tasks import REASONS

MAX_ODDS = 1000  # larger odds are shown as this


def html(view: View) -> str:
    charts = drawn(view)
    scripts = {"bundle": bundle(), "script": _page("report.js")}
    return (
        _environment()
        .get_template("report.html")
        .render(
            view=view,
            charts=charts,
            reasons=REASONS,
            many=MANY_CLASSES,
            specs={name: chart.spec for name, chart in charts.items() if chart.spec},
            confusions=_confusions(view),
            hashes=Markup(" ".join(f"'sha256-{_hash(code)}'" for code in scripts.values())),
            css=Markup(_page("report.css")),
            version=finegold.__version__,
            made=written_date(datetime.now(UTC)),
            **{name: Markup(code) for name, code in scripts.items()},
        )
    )


def sets_html(view: SetsView) -> str:
    """Render the page about sets of labels, which has no scripts."""
    made = written_date(datetime.now(UTC))
    page = _environment().get_template("sets.html")
    return page.render(view=view, css=Markup(_page("report.css")), version=finegold.__version__, made=made)


def written_date(moment: datetime) -> str:
    """Return text such as "7 March 2026, 09:05 UTC". Windows has no directive for a day without a leading zero."""
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("finegold.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": percent,
        "number": _number,
        "count": _count,
        "few": _few,
        "odds": _odds,
        "points": _points,
    }
    return made


def _page(name: str) -> str:
    return (files("finegold.report") / "page" / name).read_text(encoding="utf-8")


def _hash(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _confusions(view: View) -> dict[str, Any]:
    found = view.annotators.confusions
    return {} if found is None else {"classes": found.classes, "matrices": found.matrices}


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _points(share: float) -> str:
    """Format a share that may be negative, with its sign."""
    return f"{100 * share:+.1f} %"


def _few(value: float) -> str:
    """Format a number; small numbers get one more digit."""
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"


def _odds(weight: float) -> str:
    """Format a weight as odds, e.g. ×3.2: how many times more likely the vote makes the class."""
    times = math.exp(min(abs(weight), 20.0))
    if times > MAX_ODDS:
        return f"over ×{MAX_ODDS:,}"
    return f"×{times:,.1f}" if times < 10 else f"×{times:,.0f}"
