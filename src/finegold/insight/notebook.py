"""HTML tables of what insight finds, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from finegold.votes.notebook import Figure, Meter, rows_html

if TYPE_CHECKING:
    from finegold.insight.judges.ranking import Ranking

ROWS_SHOWN = 20


def judges_html(title: str, judges: Sequence[dict[str, Any]], notes: Sequence[str]) -> str:
    """Return a table of judges, the best first."""
    rows = [
        {
            "judge": row["judge"],
            "_": Meter(row["accuracy"]["value"]) if row["accuracy"] else "",
            "accuracy": _with_interval(row, "accuracy"),
            "undecided": _percent(row["undecided"]),
            "position bias": _with_interval(row, "position_bias"),
            "same after swap": _percent(row["swap_consistency"]),
            "failed": _percent(row["failed"]),
            "cost per verdict": Figure("–" if row["cost"] is None else f"{row['cost']:.2g}"),
        }
        for row in judges[:ROWS_SHOWN]
    ]
    return rows_html(title, rows, notes, len(judges))


def _with_interval(judge: dict[str, Any], name: str) -> Figure:
    if judge[name] is None:
        return Figure("–")
    value = judge[name]["value"] if name == "accuracy" else judge[name]
    low, high = judge["intervals"][name]
    return Figure(f"{value:z.2f} [{low:z.2f}, {high:z.2f}]")


def ranking_html(ranking: Ranking) -> str:
    """Return a table of systems, the best first."""
    rows = [
        {
            "rank": row.rank,
            "system": row.system,
            "possible ranks": Figure("-".join(map(str, sorted({row.rank_low, row.rank_high})))),
            "strength": Figure(f"{at.value:+.2f} ({at.low:+.2f} to {at.high:+.2f})"),
            "_": Meter(row.expected_win_rate.value),
            "wins against the average": _percent(row.expected_win_rate.value),
        }
        for row, at in ((each, each.strength) for each in ranking.standings[:ROWS_SHOWN])
    ]
    title = f"<b>Ranking</b> of {len(ranking.standings):,} systems"
    return rows_html(title, rows, ranking.notes, len(ranking.standings))


def _percent(share: float | None) -> Figure:
    return Figure("–" if share is None or share != share else f"{share:.1%}")
