"""Annotations and results as notebooks show them: small tables that take the colours of the page, dark or light."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from karat.annotations import Annotations
from karat.frames import to_list
from karat.result import Result
from karat.trust import n_flips

__all__ = ["annotations_html", "result_html"]

TASKS, CLASSES, ANNOTATORS = 5, 8, 3  # shown at most
LONGEST = 60  # characters of a name

STYLE = (
    "<style>.karat{font-size:.9em;line-height:1.4}"
    ".karat table{border-collapse:collapse;margin:.5em 0;color:inherit;font-size:inherit}"
    ".karat th,.karat td{padding:.1em .7em;text-align:left;border-bottom:1px solid rgba(128,128,128,.25)}"
    ".karat td.n,.karat th.n{text-align:right;font-variant-numeric:tabular-nums}.karat small{opacity:.7}"
    ".karat meter{width:6em;vertical-align:middle}</style>"
)


def annotations_html(votes: Annotations) -> str:
    per_task, shares = votes.votes_per_task, _class_shares(votes)
    most = np.argsort(-shares, kind="stable")[:CLASSES]
    rows = [[_name(votes.class_names, k), _meter(shares[k]), _cell(f"{shares[k]:.1%}")] for k in most.tolist()]
    return _page(
        f"<b>Annotations</b>: {votes.n_votes:,} votes, {votes.n_tasks:,} tasks, {votes.n_annotators:,} annotators",
        f"{_span(int(per_task.min()), int(per_task.max()))} votes a task, {per_task.mean():.1f} on average",
        _table(["class", "", "share of votes"], rows, votes.n_classes),
        *_left_out(votes),
    )


def result_html(result: Result) -> str:
    rows = [
        [
            _name(result.task_names, i),
            _name(result.class_names, int(result.label_codes[i])),
            _meter(result.confidence[i]),
            _cell(f"{result.confidence[i]:.3f}" + (" (tied)" if result.tied[i] else "")),
            _cell(f"{result.votes_per_task[i]:,}"),
        ]
        for i in range(min(TASKS, len(result.label_codes)))
    ]
    return _page(
        f"<b>{escape(result.method)}</b>: {len(result.label_codes):,} tasks, {len(result.accuracy):,} annotators, "
        f"{len(result.class_names):,} classes",
        escape(result.stopped),
        _table(["task", "label", "", "confidence", "votes"], rows, len(result.label_codes)),
        *_flips(result),
        _annotators(result),
        *(escape(note) for note in result.notes),
    )


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _flips(result: Result) -> Iterable[str]:
    """The majority vote stands beside every method."""
    if result.annotations is None:
        return []
    return [f"{n_flips(result):,} labels against the majority vote, {int(result.tied.sum()):,} ties"]


def _class_shares(votes: Annotations) -> Any:
    counts = np.bincount(votes.cell_class, np.diff(votes.cell_ptr), minlength=votes.n_classes)
    return counts / counts.sum()


def _left_out(votes: Annotations) -> Iterable[str]:
    counts = votes.counts
    parts = [
        (counts.missing, "rows without a label"),
        (counts.repeated, "repeated votes"),
        (len(votes.unlabelled), "tasks without any vote"),
        (len(votes.never_voted), "annotators without any vote"),
        *((number, escape(what)) for what, number in counts.left_out.items()),
    ]
    said = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return [f"left out: {said}"] if said else []


def _annotators(result: Result) -> str:
    order = np.argsort(-result.accuracy, kind="stable").tolist()
    shown = max(min(ANNOTATORS, len(order) // 2), 1)
    best, worst = (
        ", ".join(f"{_name(result.annotator_names, j)} ({result.accuracy[j]:.2f})" for j in some)
        for some in (order[:shown], order[::-1][:shown])
    )
    return f"best annotators: {best}; worst: {worst}"


def _page(title: str, *parts: str) -> str:
    body = "".join(part if part.startswith("<table") else f"<div><small>{part}</small></div>" for part in parts)
    return f'<div class="karat">{STYLE}<div>{title}</div>{body}</div>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], of: int) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(cell if cell[:3] == '<td' else f'<td>{cell}</td>' for cell in r)}</tr>" for r in rows)
    more = f'<tr><td colspan="{len(heads)}"><small>{of - len(rows):,} more</small></td></tr>' if of > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"


def _cell(figure: str) -> str:
    return f'<td class="n">{figure}</td>'


def _meter(share: float) -> str:
    return f'<meter min="0" max="1" value="{share:.3f}"></meter>'


def _name(names: Any, code: int) -> str:
    text = str(to_list(names[code : code + 1])[0])
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
