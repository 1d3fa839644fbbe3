"""HTML of judges and rankings for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from finegold.insight.judges.shares import Share
from finegold.votes.notebook import cell_html, meter_html, page_html, table_html

if TYPE_CHECKING:
    from finegold.insight.judges.ranking import Ranking
    from finegold.insight.judges.scores import JudgeScore

__all__ = ["judges_html", "ranking_html"]

ROWS_SHOWN = 20
HEADS = ("judge", "", "accuracy", "position bias", "same after swap", "ties", "failed", "cost per verdict")


def judges_html(title: str, scores: Sequence[JudgeScore], notes: Sequence[str]) -> str:
    """Return a table of judges, the most accurate first."""
    best_first = sorted(scores, key=lambda one: -one.accuracy.value)
    rows = [
        [
            escape(one.judge),
            meter_html(one.accuracy.value),
            cell_html(with_interval(one.accuracy)),
            cell_html(with_interval(one.position_bias)),
            cell_html(percent(one.swap_consistency.value)),
            cell_html(percent(one.tie_rate.value)),
            cell_html(percent(one.failure_rate.value)),
            cell_html(f"{one.cost:.2g}" if one.cost == one.cost else "–"),
        ]
        for one in best_first[:ROWS_SHOWN]
    ]
    return page_html(title, table_html(HEADS, rows, len(scores)), *(escape(note) for note in notes))


def ranking_html(ranking: Ranking) -> str:
    """Return a table of systems, the best first."""
    rows = [
        [
            cell_html(str(one.rank)),
            escape(one.system),
            cell_html(f"{one.rank_low}" if one.rank_low == one.rank_high else f"{one.rank_low}-{one.rank_high}"),
            cell_html(f"{one.strength.value:+.2f} ({one.strength.low:+.2f} to {one.strength.high:+.2f})"),
            meter_html(one.win_rate),
            cell_html(percent(one.win_rate)),
        ]
        for one in ranking.standings[:ROWS_SHOWN]
    ]
    heads = ("rank", "system", "possible ranks", "strength", "", "wins against the average")
    table = table_html(heads, rows, len(ranking.standings))
    return page_html(f"<b>Ranking</b> of {len(ranking.standings):,} systems", table, *map(escape, ranking.notes))


def with_interval(share: Share) -> str:
    if share.value != share.value:  # NaN
        return "–"
    return f"{share.value:z.2f} [{share.low:z.2f}, {share.high:z.2f}]"


def percent(share: float) -> str:
    return "–" if share != share else f"{share:.1%}"
