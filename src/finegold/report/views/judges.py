"""What the report shows of LLM judges: a table, position bias, pairs that err alike, the best panels, the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finegold.insight.correlation import CorrelatedAnnotators
from finegold.insight.judges.answers import Share
from finegold.insight.judges.panels import Panel
from finegold.insight.judges.ranking import Ranking
from finegold.report.views.common import texts
from finegold.votes.encoding import to_list

MAX_PAIRED = 40  # with more judges, the map of pairs is left out


@dataclass(frozen=True)
class Figure:
    """A share with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Judge:
    """What `JudgeReport.judges` says about a judge, field by field."""

    judge: str
    n_verdicts: int
    n_items: int
    n_gold: int
    accuracy: Figure | None
    strict_accuracy: float | None
    pair_accuracy: float | None
    kappa: float | None
    weighted_kappa: float | None
    error: float | None
    bias: float | None
    undecided: float | None
    position_bias: float | None
    position_p: float | None
    swap_consistency: float | None
    repeat_consistency: float | None
    ties: float | None
    failed: float | None
    agreement: float | None
    failures: dict[str, int]
    cost: float | None
    partners: list[str]
    intervals: dict[str, tuple[float, float]]
    ranks: tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two judges, and the share of the possible agreement beyond what their accuracies explain."""

    one: str
    other: str
    excess: float


@dataclass(frozen=True)
class Choice:
    """A panel that is more accurate than every cheaper one."""

    judges: list[str]
    cost: float
    accuracy: Figure


@dataclass(frozen=True)
class Place:
    """A system in the ranking."""

    system: str
    rank: int
    ranks: str
    strength: Figure
    win_rate: Figure
    people: Figure | None


@dataclass(frozen=True)
class Judges:
    rows: list[Judge]  # the best first
    n_verdicts: int
    n_failed: int
    effective: float
    n_gold: int
    by_gold: bool
    pairs: list[Pair]
    panels: list[Choice]
    ranking: list[Place]
    notes: list[str]


def judges_view(
    found: dict[str, Any], correlated: CorrelatedAnnotators | None, panels: Sequence[Panel], ranking: Ranking | None
) -> Judges:
    """Return plain values of the judges, as `JudgeReport.to_dict` has them, with panels and a ranking."""
    rows = [
        one
        | {
            "accuracy": None if one["accuracy"] is None else Figure(**one["accuracy"]),
            "intervals": {name: (low, high) for name, (low, high) in one["intervals"].items()},
            "ranks": tuple(one["ranks"]),
        }
        for one in found["judges"]
    ]
    return Judges(
        rows=[Judge(**one) for one in rows],
        n_verdicts=found["n_verdicts"],
        n_failed=found["n_failed"],
        effective=found["effective_judges"],
        n_gold=found["n_gold"],
        by_gold=any(one["accuracy"] for one in rows),
        pairs=[] if correlated is None else _pairs(correlated),
        panels=[Choice(list(one.judges), one.cost, _figure(one.accuracy)) for one in panels],
        ranking=[] if ranking is None else _places(ranking),
        notes=found["notes"],
    )


def _pairs(correlated: CorrelatedAnnotators) -> list[Pair]:
    if len(to_list(correlated.names)) > MAX_PAIRED:
        return []
    found, names = correlated.evidence, texts(correlated.names)
    rows = zip(found.one.tolist(), found.other.tolist(), found.excess.tolist(), strict=True)
    return [
        Pair(names[left], names[right], round(min(max(excess, 0.0), 1.0), 4))
        for one, other, excess in rows
        for left, right in ((one, other), (other, one))
    ]


def _places(ranking: Ranking) -> list[Place]:
    return [
        Place(
            system=one.system,
            rank=one.rank,
            ranks=str(one.rank_low) if one.rank_low == one.rank_high else f"{one.rank_low} to {one.rank_high}",
            strength=_figure(one.strength),
            win_rate=_figure(one.win_rate),
            people=None if one.people.value != one.people.value else _figure(one.people),
        )
        for one in ranking.standings
    ]


def _figure(share: Share) -> Figure:
    return Figure(share.value, share.low, share.high)
