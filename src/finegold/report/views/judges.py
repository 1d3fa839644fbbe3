"""What the report shows of LLM judges: a table, position bias, pairs that err alike, the best panels, the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finegold.insight.correlation import CorrelatedAnnotators
from finegold.insight.judges.answers import Share
from finegold.insight.judges.panels import Panel
from finegold.insight.judges.ranking import Ranking
from finegold.insight.judges.scores import JudgeScore
from finegold.report.views.common import texts
from finegold.votes.frames import to_list

__all__ = ["Judges", "judges_view"]

MAX_PAIRED = 40  # with more judges, the map of pairs is left out


@dataclass(frozen=True)
class Figure:
    """A share with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Judge:
    judge: str
    accuracy: Figure
    position: Figure | None
    position_p: float | None
    same_after_swap: float | None
    same_in_repeats: float | None
    ties: float | None
    failed: float
    agreement: float | None
    cost: float | None
    errs_like: list[str]
    n_verdicts: int


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
    on_gold: float | None


@dataclass(frozen=True)
class Place:
    """A system in the ranking."""

    system: str
    rank: int
    ranks: str
    strength: Figure
    win_rate: float


@dataclass(frozen=True)
class Judges:
    rows: list[Judge]  # the most accurate first
    n_verdicts: int
    n_failed: int
    effective: float
    by_gold: bool
    pairs: list[Pair]
    panels: list[Choice]
    ranking: list[Place]
    notes: list[str]


def judges_view(
    scores: Sequence[JudgeScore],
    correlated: CorrelatedAnnotators,
    panels: Sequence[Panel],
    ranking: Ranking | None,
    notes: Sequence[str],
) -> Judges:
    """Return plain values of the judges."""
    best_first = sorted(scores, key=lambda one: -one.accuracy.value)
    return Judges(
        rows=[_judge(one) for one in best_first],
        n_verdicts=sum(one.n_verdicts for one in scores),
        n_failed=sum(sum(one.failures.values()) for one in scores),
        effective=correlated.effective,
        by_gold=any(one.n_gold for one in scores),
        pairs=_pairs(correlated),
        panels=[
            Choice(list(one.judges), one.cost, _figure(one.accuracy), _number(one.gold_accuracy)) for one in panels
        ],
        ranking=[] if ranking is None else _places(ranking),
        notes=list(notes),
    )


def _judge(one: JudgeScore) -> Judge:
    has_position = _number(one.position_bias.value) is not None
    return Judge(
        judge=one.judge,
        accuracy=_figure(one.accuracy),
        position=_figure(one.position_bias) if has_position else None,
        position_p=_number(one.position_p),
        same_after_swap=_number(one.swap_consistency.value),
        same_in_repeats=_number(one.repeat_consistency.value),
        ties=_number(one.tie_rate.value),
        failed=one.failure_rate.value,
        agreement=_number(one.agreement.value),
        cost=_number(one.cost),
        errs_like=one.partners,
        n_verdicts=one.n_verdicts,
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
            win_rate=one.win_rate,
        )
        for one in ranking.standings
    ]


def _figure(share: Share) -> Figure:
    return Figure(share.value, share.low, share.high)


def _number(value: float) -> Any:
    """Return None for NaN."""
    return None if value != value else value
