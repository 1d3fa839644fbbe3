"""Render a view as one self-contained HTML file with its styles, scripts and figures.

Autoescape is on. Scripts read their data from JSON elements, in which `tojson` escapes <, >, &, '
and all non-ASCII characters. The content security policy forbids all network requests, and all
scripts except the two with known hashes.
"""

from __future__ import annotations

import base64
import hashlib
import math
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

import finegold
from finegold.report.charts import MANY_CLASSES, draw_charts
from finegold.report.images import bundle
from finegold.report.views import View
from finegold.report.views.common import percent
from finegold.report.views.sets import SetsView
from finegold.report.views.tasks import REASONS

# larger odds are shown as this
MAX_ODDS = 1000


def html(view: View) -> str:
    charts = draw_charts(view)
    scripts, confusions = (
        {"bundle": bundle(), "script": _page("report.js")},
        view.annotators.confusions,
    )
    digests = [hashlib.sha256(code.encode()).digest() for code in scripts.values()]
    return (
        _environment()
        .get_template("report.html")
        .render(
            view=view,
            charts=charts,
            reasons=REASONS,
            many=MANY_CLASSES,
            specs={name: chart.spec for name, chart in charts.items() if chart.spec},
            confusions=(
                confusions and {"classes": confusions.classes, "matrices": confusions.matrices}
            )
            or {},
            hashes=Markup(
                " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
            ),
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
    return page.render(
        view=view, css=Markup(_page("report.css")), version=finegold.__version__, made=made
    )


def written_date(moment: datetime) -> str:
    """Return text such as "7 March 2026, 09:05 UTC". Windows has no directive for a day without a
    leading zero.
    """
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
        "number": lambda value: f"{value:,.0f}",
        "count": lambda n, one, many=None: f"{n:,} {one if n == 1 else many or one + 's'}",
        "few": lambda value: (
            f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"
        ),
        "odds": _odds,
        # with its sign
        "points": lambda share: f"{100 * share:+.1f} %",
    }
    return made


def _page(name: str) -> str:
    return (files("finegold.report") / "page" / name).read_text(encoding="utf-8")


def _odds(weight: float) -> str:
    """Format a weight as odds, e.g. ×3.2: how many times more likely the vote makes the class."""
    times = math.exp(min(abs(weight), 20.0))
    if times > MAX_ODDS:
        return f"over ×{MAX_ODDS:,}"
    return f"×{times:,.1f}" if times < 10 else f"×{times:,.0f}"
