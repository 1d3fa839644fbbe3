"""Panels of judges, measured on items with known truths: the best panel for the money, comparisons
and a cascade.

The answer of a panel is the weighted vote of its members. Weights are the log-odds of the members'
accuracies; members of a group that errs alike are discounted (Kish's design effect).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit, ndtr

from finegold.errors import InputError
from finegold.insight.judges.answers import HALF, Share, mean_of
from finegold.insight.votes import Flags, Floats, Integers

# with more judges, panels are extended from the best ones of each size
ALL_PANELS_OF = 10
# panels of each size that are extended
BEAM = 20
LARGEST_PANEL = 9
# of the truths: panels and cascades are chosen on four and measured on the other one
FOLDS = 5
# of a member
LEAST_WEIGHT = 1e-3
# in accuracy, for which a dearer panel is listed
MIN_GAIN = 0.005
# answers by chance that are added to those of each judge
PRIOR_ANSWERS = 4.0


@dataclass(frozen=True)
class Panel:
    """A panel: its members, what it costs per item, and its accuracy on the gold.

    Attributes:
        judges: The members.
        cost: The price of one item: the sum of the members' prices.
        accuracy: The accuracy of the weighted vote on the items with a known truth, by
            cross-validation of the choice. An item that no member answered counts as much as
            chance.
        n_gold: The number of these items that it answered.
    """

    judges: tuple[str, ...]
    cost: float
    accuracy: Share
    n_gold: int


@dataclass(frozen=True)
class Cascade:
    """Two cheap judges, and a dear one that is asked only where they disagree.

    Attributes:
        first: The cheap judges.
        then: The dear judge.
        asked: The share of items on which the dear judge is asked.
        cost, cost_alone: The price of one item, and that for the dear judge alone.
        accuracy, alone: The accuracy of the cascade on the items with a known truth, by
            cross-validation of the choice, and that of the dear judge alone. It has no interval: on
            a real panel of many judges, 95 % intervals held it in 80 % of the cases only.
    """

    first: tuple[str, ...]
    then: str
    asked: float
    cost: float
    accuracy: float
    alone: float
    cost_alone: float

    def __str__(self) -> str:
        """Return the cascade in words."""
        return (
            f"cascade: {' and '.join(self.first)} first, {self.then} where they disagree"
            f" ({self.asked:.0%} of the items): accuracy {self.accuracy:.2f} for {self.cost:.3g}"
            f" per item; {self.then} alone has {self.alone:.2f} for {self.cost_alone:.3g}"
        )


@dataclass(frozen=True)
class JudgeComparison:
    """Two judges or panels on the same items.

    Attributes:
        first, second: The judges that are compared.
        n_gold: The number of items with a known truth that both answered.
        difference: The accuracy of the first minus that of the second.
        p: The p-value of no difference.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    n_gold: int
    difference: Share
    p: float

    def __str__(self) -> str:
        """Return the comparison in words."""
        value, low, high = self.difference
        return (
            f"{' + '.join(self.first)} against {' + '.join(self.second)}: {value:+.3f} ({low:+.3f}"
            f" to {high:+.3f}, p = {self.p:.2g}) on {self.n_gold:,} gold truths"
        )


class Members(NamedTuple):
    """What is known about the judges that panels are made of."""

    names: list[str]
    # [J, T, K] answers to the items with known truths; 0 where a judge has none
    share: Floats
    # [T]
    gold: Integers
    # [J] log-odds of the accuracy
    weight: Floats
    # [J] judges that err alike, -1 for none
    group: Integers
    # [number of groups]
    excess: Floats
    # [J] of an item
    price: Floats
    is_pairwise: bool = True

    def credit(self, panels: Flags) -> Floats:
        """[panels, T] Return the accuracy of panels, given as rows of booleans, on each item; NaN
        without an answer.
        """
        weights = panels * self.weight
        # a discount for each further member of a group that errs alike
        for g, excess in enumerate(self.excess):
            inside = self.group == g
            others = np.maximum(panels[:, inside].sum(axis=1, keepdims=True) - 1, 0)
            weights[:, inside] /= 1 + np.clip(excess, 0, 1) * others
        J, T, K = self.share.shape
        return self.credit_of((weights @ self.share.reshape(J, T * K)).reshape(-1, T, K))

    def credit_of(self, points: Floats) -> Floats:
        """[panels, T] Return how accurate the classes with most points [panels, T, K] are; several
        share the credit.
        """
        is_top = (points >= points.max(axis=2, keepdims=True) - 1e-9) & (points > 0)
        right, n = is_top[:, np.arange(points.shape[1]), self.gold], is_top.sum(axis=2)
        shared = HALF if self.is_pairwise else right / np.maximum(n, 1)
        return np.where(n > 1, shared, np.where(n == 1, right, np.nan))

    def credit_or_chance(self, panels: Flags) -> Floats:
        """[panels, T] Return the same, with chance where no member of a panel answered."""
        credit = np.concatenate(
            [self.credit(part) for part in np.array_split(panels, len(panels) // 64 + 1)]
        )
        return np.where(
            np.isnan(credit), HALF if self.is_pairwise else 1 / self.share.shape[2], credit
        )


def plain(figures: Panel | Cascade | JudgeComparison) -> dict[str, Any]:
    """Return the figures as JSON has them."""
    return {
        name: value._asdict() if isinstance(value, Share) else value
        for name, value in vars(figures).items()
    }


def log_odds(right: Floats, n: Floats, n_classes: int) -> Floats:
    """Return the weight of a vote from the number of right answers: 0 for a judge no better than
    chance.
    """
    chance = 1 / max(n_classes, 2)
    return np.asarray(logit((right + PRIOR_ANSWERS * chance) / (n + PRIOR_ANSWERS)) - logit(chance))


def frontier(members: Members) -> list[Panel]:
    """Return the panels that are more accurate on the gold than every cheaper one, the cheapest
    first.
    """
    panels = _candidates(members, np.ones(len(members.gold), bool))
    accuracy, cost = members.credit_or_chance(panels).mean(axis=1), panels @ members.price
    folds, trials = _folds(len(members.gold)), []
    for fold in range(FOLDS):
        credit = members.credit_of(members.share)[:, folds != fold]
        weight = log_odds(
            np.nansum(credit, axis=1), np.isfinite(credit).sum(axis=1), members.share.shape[2]
        )
        taught = members._replace(weight=np.maximum(weight, LEAST_WEIGHT))
        rivals = _candidates(taught, folds != fold)
        trials.append((rivals @ members.price, taught.credit_or_chance(rivals)))
    best, kept = -np.inf, []
    for row in np.lexsort((-accuracy, cost)).tolist():
        if accuracy[row] > best + MIN_GAIN:
            share = _cross_validated(
                [credit[price <= cost[row]] for price, credit in trials], folds
            )
            if share.value > best + MIN_GAIN:
                best = share.value
                judges = tuple(
                    name for name, is_in in zip(members.names, panels[row], strict=True) if is_in
                )
                n_gold = int(np.isfinite(members.credit(panels[row][None])).sum())
                kept.append(Panel(judges, float(cost[row]), share, n_gold))
    return kept


def _candidates(members: Members, is_known: Flags) -> Flags:
    """Return all panels as rows of booleans or, with many judges, extensions of the best ones of
    each size.
    """
    J = len(members.names)
    if J <= ALL_PANELS_OF:
        return (np.arange(1, 2**J)[:, None] >> np.arange(J) & 1).astype(bool)
    sizes = [single := np.eye(J, dtype=bool)]
    for size in range(2, min(LARGEST_PANEL, J) + 1):
        longer = (sizes[-1][:, None, :] | single[None]).reshape(-1, J)
        longer = np.unique(longer[longer.sum(axis=1) == size], axis=0)
        order = np.argsort(
            -members.credit_or_chance(longer)[:, is_known].mean(axis=1), kind="stable"
        )
        sizes.append(longer[order[:BEAM]])
    return np.concatenate([*sizes, np.ones((1, J), dtype=bool)])


def _folds(n: int) -> Integers:
    return np.asarray(np.random.default_rng(0).permutation(n) % FOLDS)


def _cross_validated(trials: Sequence[Floats], folds: Integers) -> Share:
    """Return the accuracy of the best of some rivals, which is less than it has on the truths that
    choose it.
    """
    # For each fold there are the credits [rivals, T] that the truths of the other folds lead to.
    # These choose the best rival, which is measured on the fold. Where folds choose differently,
    # the interval is wider by their differences.
    chosen = [
        credit[credit[:, folds != fold].mean(axis=1).argmax()] for fold, credit in enumerate(trials)
    ]
    value, low, high = mean_of(np.array(chosen)[folds, np.arange(len(folds))])
    apart = 2 * float(np.std([credit.mean() for credit in chosen]))
    return Share(
        value,
        max(value - np.hypot(value - low, apart), 0.0),
        min(value + np.hypot(high - value, apart), 1.0),
    )


def choose(panels: Sequence[Panel]) -> Panel:
    """Return the cheapest panel whose accuracy is within one standard error of the best one's."""
    best = panels[-1].accuracy
    return next(
        panel for panel in panels if panel.accuracy.value >= best.value - (best.high - best.low) / 4
    )


def compare_panels(
    members: Members, first: Sequence[str], second: Sequence[str]
) -> JudgeComparison:
    """Compare two judges or panels on the items with known truths that both answered."""
    one, other = members.credit(
        np.array([np.isin(members.names, list(names)) for names in (first, second)])
    )
    known = (one - other)[np.isfinite(one - other)]
    if not len(known):
        raise InputError(
            f"{' + '.join(first)} and {' + '.join(second)} answered no item with a known truth in"
            " common"
        )
    difference = mean_of(known, -1.0, 1.0)
    more = np.concatenate([known, [-1.0, 1.0]])
    p = 2 * float(ndtr(-abs(difference.value) / (more.std() / np.sqrt(len(more)))))
    return JudgeComparison(tuple(first), tuple(second), len(known), difference, p)


def cascade(members: Members) -> Cascade | None:
    """Return the best pair of cheap judges that a dearer one decides between; None if no judge is
    dearer.
    """
    order = np.argsort(members.price, kind="stable").tolist()
    last = order[-1]
    if len(order) < 3 or members.price[order[-2]] >= members.price[last]:
        return None
    decided = members.credit_of(members.share[last][None])[0]
    pairs = list(combinations(order[:-1], 2))
    agree = np.array(
        [(members.share[one] * members.share[other]).sum(axis=1) > 1 - 1e-9 for one, other in pairs]
    )
    both = members.credit_of(
        np.array([members.share[one] + members.share[other] for one, other in pairs])
    )
    credit, asked = np.where(agree, both, decided), (~agree).mean(axis=1)
    credit = np.where(
        np.isnan(credit), HALF if members.is_pairwise else 1 / members.share.shape[2], credit
    )
    cost = (
        np.array([members.price[[one, other]].sum() for one, other in pairs])
        + asked * members.price[last]
    )
    best = int(np.lexsort((cost, -credit.mean(axis=1)))[0])
    return Cascade(
        first=(members.names[pairs[best][0]], members.names[pairs[best][1]]),
        then=members.names[last],
        asked=float(asked[best]),
        cost=float(cost[best]),
        accuracy=_cross_validated([credit] * FOLDS, _folds(len(members.gold))).value,
        alone=mean_of(decided).value,
        cost_alone=float(members.price[last]),
    )
