"""HTML tables for notebooks, in the colours of the page, dark or light."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import Any

# characters shown of a name
MAX_NAME_LENGTH = 60
STYLE = (
    "<style>.finegold{font-size:.9em;line-height:1.4}.finegold"
    " table{border-collapse:collapse;margin:.5em 0;color:inherit;font-size:inherit}.finegold"
    " th,.finegold td{padding:.1em .7em;text-align:left;border-bottom:1px solid"
    " rgba(128,128,128,.25)}.finegold td.n,.finegold"
    " th.n{text-align:right;font-variant-numeric:tabular-nums}.finegold small{opacity:.7}.finegold"
    " meter{width:6em;vertical-align:middle}</style>"
)


class Meter(float):
    """A share that is drawn as a bar."""


class Figure(str):
    """A number as text, to be aligned on the right."""

    __slots__ = ()


def rows_html(
    title: str, rows: Sequence[dict[str, Any]], notes: Sequence[str] = (), of: int | None = None
) -> str:
    """Return a table of rows with the same keys; `title` is HTML, and `of` the number of all rows.
    The head of a column whose key begins with _ is empty.
    """
    heads = ["" if head.startswith("_") else head for head in (rows[0] if rows else {})]
    lines = ["".join(map(_cell, row.values())) for row in rows]
    if of is not None and of > len(rows):
        lines.append(f'<td colspan="{len(heads)}"><small>{of - len(rows):,} more</small></td>')
    head = "".join(f"<th>{head}</th>" for head in heads)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    below = "".join(f"<div><small>{escape(note)}</small></div>" for note in notes)
    return f'<div class="finegold">{STYLE}<div>{title}</div>{table}{below}</div>'


def _cell(value: Any) -> str:
    if isinstance(value, Meter):
        return f'<td><meter min="0" max="1" value="{value:.3f}"></meter></td>'
    if isinstance(value, float):
        value = Figure(f"{value:.3f}" if isfinite(value) else "undefined")
    if isinstance(value, int):
        value = Figure(f"{value:,}")
    if isinstance(value, Figure):
        return f'<td class="n">{escape(value)}</td>'
    text = str(value)
    text = text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"
    return f"<td>{escape(text)}</td>"
