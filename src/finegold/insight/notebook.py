"""HTML tables of what insight finds, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from finegold.votes.notebook import MAX_NAME_LENGTH, cell_html, meter_html, page_html, table_html

if TYPE_CHECKING:
    from finegold.insight.judges.ranking import Ranking


class Meter(float):
    """A share that is drawn as a bar."""


def rows_html(
    title: str, rows: Sequence[dict[str, Any]], notes: Sequence[str] = (), of: int | None = None
) -> str:
    """Return a table of rows with the same keys; `title` is HTML, and `of` the number of all rows."""
    heads = ["" if head.startswith("_") else head for head in (rows[0] if rows else {})]
    cells = [[_cell(value) for value in row.values()] for row in rows]
    table = table_html(heads, cells, len(rows) if of is None else of)
    return page_html(title, table, *map(escape, notes))


def _cell(value: Any) -> str:
    if isinstance(value, Meter):
        return meter_html(value)
    if isinstance(value, float):
        return cell_html(f"{value:.3f}" if isfinite(value) else "undefined")
    if isinstance(value, int):
        return cell_html(f"{value:,}")
    text = str(value)
    return escape(text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…")


ROWS_SHOWN = 20
HEADS = (
    "judge",
    "",
    "accuracy",
    "undecided",
    "position bias",
    "same after swap",
    "failed",
    "cost per verdict",
)


def judges_html(title: str, judges: Sequence[dict[str, Any]], notes: Sequence[str]) -> str:
    """Return a table of judges, the best first."""
    rows = [
        [
            escape(row["judge"]),
            meter_html(row["accuracy"]["value"]) if row["accuracy"] else "",
            *map(
                cell_html,
                (
                    figure_of(row, "accuracy"),
                    percent(row["undecided"]),
                    figure_of(row, "position_bias"),
                ),
            ),
            *(cell_html(percent(row[name])) for name in ("swap_consistency", "failed")),
            cell_html("–" if row["cost"] is None else f"{row['cost']:.2g}"),
        ]
        for row in judges[:ROWS_SHOWN]
    ]
    return page_html(title, table_html(HEADS, rows, len(judges)), *(escape(note) for note in notes))


def figure_of(judge: dict[str, Any], name: str) -> str:
    """Return a figure of a judge with its interval."""
    if judge[name] is None:
        return "–"
    value = judge[name]["value"] if name == "accuracy" else judge[name]
    low, high = judge["intervals"][name]
    return f"{value:z.2f} [{low:z.2f}, {high:z.2f}]"


def ranking_html(ranking: Ranking) -> str:
    """Return a table of systems, the best first."""
    rows = [
        [
            cell_html(str(row.rank)),
            escape(row.system),
            cell_html(
                f"{row.rank_low}"
                if row.rank_low == row.rank_high
                else f"{row.rank_low}-{row.rank_high}"
            ),
            cell_html(
                f"{row.strength.value:+.2f} ({row.strength.low:+.2f} to {row.strength.high:+.2f})"
            ),
            meter_html(row.expected_win_rate.value),
            cell_html(percent(row.expected_win_rate.value)),
        ]
        for row in ranking.standings[:ROWS_SHOWN]
    ]
    heads = ("rank", "system", "possible ranks", "strength", "", "wins against the average")
    table = table_html(heads, rows, len(ranking.standings))
    return page_html(
        f"<b>Ranking</b> of {len(ranking.standings):,} systems", table, *map(escape, ranking.notes)
    )


def percent(share: float | None) -> str:
    return "–" if share is None or share != share else f"{share:.1%}"
