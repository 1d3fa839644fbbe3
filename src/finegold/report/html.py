"""Render sections as HTML, all of them as one self-contained page, and their figures as SVG files.

Autoescape is on. Sections have neither scripts nor inline styles: figures are SVG that is drawn by
templates (`page/charts.html`), whose colours come from `page/sections.css`. The content security
policy of the page forbids all network requests, and all scripts except the one with a known hash.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

import finegold
from finegold.insight.agreement import COEFFICIENTS
from finegold.insight.majority import VOTED
from finegold.report.sections import SECTIONS, Subject
from finegold.report.sections.common import View, clip, percent
from finegold.report.sections.tasks import REASONS

# larger odds are shown as this
MAX_ODDS = 1000
# with more classes, a heat map takes the full width
MANY_CLASSES = 25
FIGURE = re.compile(r'<svg class="plot[^"]*" data-figure="([^"]+)".*?</svg>', re.DOTALL)
VARIABLE = re.compile(r"(--[\w-]+):\s*light-dark\(([^,]+),[^)]*\)")


def render_section(name: str, subject: Subject) -> str:
    """Return one of SECTIONS as HTML: one <section> element with the id `name`."""
    return render_view(name, SECTIONS[name].make(subject))


def render_view(name: str, view: View) -> str:
    """Return what the template of this name shows."""
    return _environment().get_template(f"{name}.html").render(view=view, name=name)


def render_page(title: str, about: str, sections: dict[str, tuple[str, View]]) -> str:
    """Return sections, by the names of their templates, as one page: their titles and values."""
    script = _read("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = _environment().get_template("report.html")
    return template.render(
        title=title,
        about=about,
        sections={name: Markup(render_view(name, view)) for name, (_, view) in sections.items()},
        titles={name: words for name, (words, _) in sections.items()},
        css=Markup(stylesheet() + _read("report.css")),
        script=Markup(script),
        digest=digest,
        version=finegold.__version__,
        made=written_date(datetime.now(UTC)),
    )


def render_figures(page: str) -> dict[str, str]:
    """Return each figure of a page, by its name, as an SVG file in light colours."""
    css = stylesheet()
    colours = dict(VARIABLE.findall(css))
    rules = css[css.index("/* figures */") : css.index("/* end of figures */")]
    style = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]].strip(), rules)
    return {
        found[1]: re.sub(r"(<svg[^>]*>)", rf"\1<style>{style}</style>", found[0], count=1)
        for found in FIGURE.finditer(page)
    }


def stylesheet() -> str:
    """Return the styles of the sections: colours, tables, figures."""
    return _read("sections.css")


def written_date(moment: datetime) -> str:
    """Return text such as "7 March 2026, 09:05 UTC", on Windows too."""
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
    made.globals |= {"Scale": Scale, "round_up": round_up, "MANY": MANY_CLASSES}
    made.globals |= {"REASONS": REASONS, "VOTED": VOTED, "COEFFICIENTS": COEFFICIENTS}
    made.filters |= {
        "clip": clip,
        "percent": percent,
        "short": short,
        "number": lambda value: f"{value:,.0f}",
        "count": lambda n, one, many=None: f"{n:,} {one if n == 1 else many or one + 's'}",
        "few": lambda x: f"{x:,.0f}" if x >= 10 or x == round(x) else f"{x:.1f}",
        "odds": _odds,
        # with its sign
        "points": lambda share: f"{100 * share:+.1f} %",
    }
    return made


@cache
def _read(name: str) -> str:
    return (files("finegold.report") / "page" / name).read_text(encoding="utf-8")


def _odds(weight: float) -> str:
    """Format a weight as odds, e.g. ×3.2: how many times more likely the vote makes the class."""
    times = math.exp(min(abs(weight), 20.0))
    if times > MAX_ODDS:
        return f"over ×{MAX_ODDS:,}"
    return f"×{times:,.1f}" if times < 10 else f"×{times:,.0f}"


class Scale:
    """Maps values to positions between `start` and `end`, on a line or by powers of ten."""

    def __init__(
        self, low: float, high: float, start: float, end: float, log: bool = False
    ) -> None:
        self.log = log
        first, last = self._place(low), self._place(high)
        self.low, self.high = (first, last) if last > first else (first - 0.5, first + 0.5)
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (self._place(value) - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)

    def _place(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, most: int = 5) -> list[float]:
        """Return at most about so many round values inside the scale."""
        if not self.log:
            return [round(value, 12) for value in _steps(self.low, self.high, most)]
        # powers of ten, or 1, 2 and 5 times these where there are fewer than two
        first, last = math.floor(self.low), math.ceil(self.high)
        every = max(-(-(last - first) // most), 1)
        for factors in ((1,), (1, 2, 5)):
            values = [n * 10.0**p for p in range(first, last + 1, every) for n in factors]
            inside = [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
            if len(inside) > 1:
                break
        return inside or [10.0**self.low]


def _steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def round_up(value: float, most: int = 4) -> float:
    """Return the smallest end of an axis from 0 whose ticks reach the value."""
    if value <= 0:
        return 1.0
    step = [*_steps(0, value, most), value][1]
    return step * math.ceil(value / step - 1e-9)


def short(value: float) -> str:
    """Format the number of a tick: 0.25, 20, 1,500, 30k."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.10g}k"
    return f"{value:,.10g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.0e}"
