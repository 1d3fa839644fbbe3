"""Equations as SVG, drawn by Matplotlib when the site is built: to see them needs no script, no font and no network.

A ```math block holds one equation, or several between \\begin{aligned} and \\end{aligned}: rows end in \\\\, & stands
where they are aligned, and what follows && is said in words beside the equation.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.textpath import TextPath

__all__ = ["block"]

SIZE = 100  # units to the em
FONT = FontProperties(math_fontfamily="stix")
COMMANDS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def block(source: str, *_: Any, **__: Any) -> str:
    """A fenced block of equations as HTML."""
    inner = re.sub(r"\\(begin|end)\{aligned\}", "", source)
    rows = [row.strip() for row in inner.split(r"\\") if row.strip()]
    return f'<div class="equations">{"".join(map(_row, rows))}</div>'


def _row(row: str) -> str:
    equation, _, words = row.partition("&&")
    left, _, right = equation.partition("&")
    said = re.sub(r"\\text\{(.*)\}", r"\1", words.strip())
    cells = [_svg(left.strip()), _svg(right.strip()), escape(said)]
    return "".join(f"<div>{cell}</div>" for cell in cells)


@cache
def _svg(tex: str) -> str:
    """As high as its text, on the line of the text around it."""
    if not tex:
        return ""
    source = f"${tex}$"
    width, height, depth, *_ = MathTextParser("path").parse(source, dpi=72, prop=_font())
    size = f"width:{width / SIZE:.3f}em;height:{(height + depth) / SIZE:.3f}em;vertical-align:{-depth / SIZE:.3f}em"
    return (
        f'<svg role="img" aria-label="{escape(tex)}" style="{size}" fill="currentColor" '
        f'viewBox="0 {-height:.0f} {width:.0f} {height + depth:.0f}"><path d="{_drawn(source)}"/></svg>'
    )


def _drawn(source: str) -> str:
    """SVG counts downwards, so every y changes its sign."""
    path = TextPath((0, 0), source, size=SIZE, prop=_font())
    parts = []
    for points, command in path.iter_segments(simplify=False):
        numbers = " ".join(f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2))
        parts.append("Z" if command == Path.CLOSEPOLY else COMMANDS[command] + numbers)
    return "".join(parts)


def _font() -> FontProperties:
    font = FONT.copy()
    font.set_size(SIZE)
    return font
