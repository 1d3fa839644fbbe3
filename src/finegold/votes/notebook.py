"""HTML for notebooks: small tables that use the colours of the page, dark or light."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from finegold.votes.annotations import Annotations

# largest number of classes shown
CLASSES_SHOWN = 8
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


def annotations_html(votes: Annotations) -> str:
    per_task, shares = votes.votes_per_task, votes.votes_per_class / votes.n_votes
    low, high = int(per_task.min()), int(per_task.max())
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    most = np.argsort(-shares, kind="stable")[:CLASSES_SHOWN]
    rows = [
        [name_html(votes.class_names, k), meter_html(shares[k]), cell_html(f"{shares[k]:.1%}")]
        for k in most.tolist()
    ]
    return page_html(
        f"<b>Annotations</b>: {votes.n_votes:,} votes, {votes.n_tasks:,} tasks,"
        f" {votes.n_annotators:,} annotators",
        f"{span} votes per task, {per_task.mean():.1f} on average",
        table_html(["class", "", "share of votes"], rows, votes.n_classes),
        *([f"left out: {escape(votes.left_out)}"] if votes.left_out else []),
    )


def page_html(title: str, *parts: str) -> str:
    body = "".join(
        part if part.startswith("<table") else f"<div><small>{part}</small></div>" for part in parts
    )
    return f'<div class="finegold">{STYLE}<div>{title}</div>{body}</div>'


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]], of: int) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(cell if cell[:3] == '<td' else f'<td>{cell}</td>' for cell in r)}</tr>"
        for r in rows
    )
    more = (
        f'<tr><td colspan="{len(heads)}"><small>{of - len(rows):,} more</small></td></tr>'
        if of > len(rows)
        else ""
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"


def cell_html(figure: str) -> str:
    return f'<td class="n">{figure}</td>'


def meter_html(share: float) -> str:
    return f'<meter min="0" max="1" value="{share:.3f}"></meter>'


def name_html(names: Any, code: int) -> str:
    text = str(names[code])
    return escape(text if len(text) <= MAX_NAME_LENGTH else text[: MAX_NAME_LENGTH - 1] + "…")
