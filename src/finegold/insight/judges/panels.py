"""Panels of judges: the accuracy of their weighted vote, the best panel for the money, and paired comparisons.

The answer of a panel is the weighted vote of its members. Weights are the log-odds of the members' accuracies; members
of a group that errs alike are discounted (Kish's design effect). A panel is judged like a single judge: by the
posterior, corrected by gold where there is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtr

from finegold.errors import InputError
from finegold.insight.judges.answers import Answers, Share, difference
from finegold.insight.judges.scores import MIN_GOLD, Credit

__all__ = ["JudgeComparison", "Members", "Panel", "compare_panels", "every_panel", "frontier", "score_panels"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_ITEMS = 4000  # of a sample that panels are compared on; items with gold come first
ALL_PANELS_OF = 10  # with more judges, panels are extended from the best ones of each size
BEAM = 20  # panels of each size that are extended
LARGEST_PANEL = 9
MIN_GAIN = 0.005  # in accuracy, for which a dearer panel is listed
ACCURACY_MARGIN = 0.02  # accuracies are kept this far from 0 and 1


class Members(NamedTuple):
    """What is known about the judges that panels are made of."""

    names: list[str]
    share: Floats  # [J, T, K] answers; 0 where a judge has none
    truth: Floats  # [T, K] posterior
    gold: Integers  # [T]
    weight: Floats  # [J] log-odds of the accuracy
    group: Integers  # [J] judges that err alike, -1 for none
    excess: Floats  # [number of groups]
    price: Floats  # [J] of an item


@dataclass(frozen=True)
class Panel:
    """A panel: its members, what it costs per item, and its expected accuracy.

    Attributes
    ----------
    judges : tuple of str
        The members.
    cost : float
        The price of one item: the sum of the members' prices.
    accuracy : Share
        The expected accuracy of the weighted vote.
    gold_accuracy : float
        The accuracy on the items with a known truth; NaN if there are none.
    n_gold : int
        The number of these items.
    """

    judges: tuple[str, ...]
    cost: float
    accuracy: Share
    gold_accuracy: float
    n_gold: int


@dataclass(frozen=True)
class JudgeComparison:
    """Two judges or panels on the same items.

    Attributes
    ----------
    first, second : tuple of str
        The judges that are compared.
    n_items, n_gold : int
        Items that both answered, and those with a known truth.
    difference : Share
        The accuracy of the first minus that of the second.
    p : float
        The p-value of no difference.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    n_items: int
    n_gold: int
    difference: Share
    p: float

    def __str__(self) -> str:
        """Return the comparison in words."""
        value, low, high = self.difference
        by = f"{self.n_gold:,} gold truths" if self.n_gold else "the posterior; gold truths would narrow it"
        return (
            f"{' + '.join(self.first)} against {' + '.join(self.second)}: {value:+.3f} ({low:+.3f} to {high:+.3f}, "
            f"p = {self.p:.2g}) on {self.n_items:,} items, by {by}"
        )


def sample(answers: Answers, n_judges: int, truth: Floats, seed: int = 0) -> tuple[Floats, Floats, Integers]:
    """Return the answers [J, T, K], the posterior and the gold of a sample of the items."""
    items = _sampled(answers.gold, seed)
    place = np.full(len(answers.gold), -1)
    place[items] = np.arange(len(items))
    kept = place[answers.item] >= 0
    share = np.zeros((n_judges, len(items), answers.share.shape[1]))
    share[answers.judge[kept], place[answers.item[kept]]] = answers.share[kept]
    return share, truth[items], answers.gold[items].astype(np.int64)


def _sampled(gold: NDArray[np.int32], seed: int) -> Integers:
    if len(gold) <= MOST_ITEMS:
        return np.arange(len(gold))
    rank = np.random.default_rng(seed).random(len(gold)) - (gold >= 0)
    return np.sort(np.argsort(rank)[:MOST_ITEMS])


def log_odds(accuracy: Floats, n_classes: int) -> Floats:
    """Return the weight of a vote: 0 for a judge no better than chance."""
    chance = 1 / n_classes
    bounded = np.clip(np.nan_to_num(accuracy, nan=chance), ACCURACY_MARGIN, 1 - ACCURACY_MARGIN)
    return np.asarray(np.maximum(logit(bounded) - logit(chance), 1e-3))


def every_panel(members: Members) -> NDArray[np.bool_]:
    """Return the panels to consider, as rows of booleans: all of them, or extensions of the best ones of each size."""
    J = len(members.names)
    if J <= ALL_PANELS_OF:
        return (np.arange(1, 2**J)[:, None] >> np.arange(J) & 1).astype(bool)
    panels, single = [np.eye(J, dtype=bool)], np.eye(J, dtype=bool)
    for size in range(2, min(LARGEST_PANEL, J) + 1):
        longer = (panels[-1][:, None, :] | single[None]).reshape(-1, J)
        longer = np.unique(longer[longer.sum(axis=1) == size], axis=0)
        panels.append(longer[np.argsort(-_mean_credit(members, longer), kind="stable")[:BEAM]])
    return np.concatenate([*panels, np.ones((1, J), dtype=bool)])


def frontier(members: Members) -> list[Panel]:
    """Return the panels that are more accurate than every cheaper one, the cheapest first."""
    masks = every_panel(members)
    panels = score_panels(members, masks) if (members.gold >= 0).sum() >= MIN_GOLD else []
    accuracy = [panel.accuracy.value for panel in panels] or _mean_credit(members, masks).tolist()
    best, kept = -np.inf, []
    for row in np.lexsort((-np.array(accuracy), masks @ members.price)).tolist():
        if accuracy[row] > best + MIN_GAIN:
            best = accuracy[row]
            kept.append(row)
    return [panels[row] for row in kept] if panels else score_panels(members, masks[kept])


def score_panels(members: Members, masks: NDArray[np.bool_]) -> list[Panel]:
    """Return cost and accuracy of these panels."""
    found = []
    for mask in masks:
        credit = panel_credit(members, mask)
        answered = np.isfinite(credit.expected)
        accuracy, _ = credit.share(answered)
        known = credit.known[answered & np.isfinite(credit.known)]
        found.append(
            Panel(
                judges=tuple(name for name, is_in in zip(members.names, mask, strict=True) if is_in),
                cost=float(members.price[mask].sum()),
                accuracy=accuracy,
                gold_accuracy=float(known.mean()) if len(known) else np.nan,
                n_gold=len(known),
            )
        )
    return found


def compare_panels(members: Members, first: Sequence[str], second: Sequence[str]) -> JudgeComparison:
    """Compare two judges or panels on the items that both answered."""
    one, other = (panel_credit(members, _mask(members, names)) for names in (first, second))
    both = np.isfinite(one.expected) & np.isfinite(other.expected)
    if not both.any():
        raise InputError(f"{' + '.join(first)} and {' + '.join(second)} answered no item in common")
    known = (one.known - other.known)[both]
    n_gold = int(np.isfinite(known).sum())
    by_gold = n_gold >= MIN_GOLD
    found, error = difference((one.expected - other.expected)[both], known, by_gold=by_gold)
    p = 2 * float(ndtr(-abs(found.value) / error)) if error > 0 else 1.0
    return JudgeComparison(tuple(first), tuple(second), int(both.sum()), n_gold if by_gold else 0, found, p)


def _mask(members: Members, names: Sequence[str]) -> NDArray[np.bool_]:
    unknown = [name for name in names if name not in members.names]
    if unknown:
        raise InputError(f"there is no judge {unknown[0]!r}; the judges are {', '.join(members.names)}")
    return np.isin(members.names, list(names))


def panel_credit(members: Members, mask: NDArray[np.bool_]) -> Credit:
    """Return the credit of the panel's answer to each item of the sample; NaN where no member answered."""
    answer = _answers(members, mask[None])[0]
    has_answer = answer.sum(axis=1) > 0
    expected = np.where(has_answer, (answer * members.truth).sum(axis=1), np.nan)
    known = answer[np.arange(len(answer)), members.gold]
    return Credit(expected, np.where(has_answer & (members.gold >= 0), known, np.nan))


def _mean_credit(members: Members, masks: NDArray[np.bool_]) -> Floats:
    """Return the mean expected credit of each panel."""
    found = []
    for part in np.array_split(masks, max(len(masks) // 64, 1)):
        answer = _answers(members, part)
        n = (answer.sum(axis=2) > 0).sum(axis=1)
        found.append((answer * members.truth).sum(axis=(1, 2)) / np.maximum(n, 1))
    return np.concatenate(found)


def _answers(members: Members, masks: NDArray[np.bool_]) -> Floats:
    """[panels, T, K] Return the answers of panels; several classes share an answer if they tie."""
    J, T, K = members.share.shape
    scores = (_weights(members, masks) @ members.share.reshape(J, T * K)).reshape(-1, T, K)
    best = scores.max(axis=2, keepdims=True)
    is_top = (scores >= best - 1e-9) & (best > 0)
    return np.asarray(is_top / np.maximum(is_top.sum(axis=2, keepdims=True), 1))


def _weights(members: Members, masks: NDArray[np.bool_]) -> Floats:
    """[panels, J] Return the weights of votes, discounted for each further member of a group that errs alike."""
    weights = masks * members.weight
    for g, excess in enumerate(members.excess):
        inside = members.group == g
        others = np.maximum(masks[:, inside].sum(axis=1, keepdims=True) - 1, 0)
        weights[:, inside] /= 1 + np.clip(excess, 0, 1) * others
    return np.asarray(weights)
