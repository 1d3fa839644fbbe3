"""Panels of judges, measured on items with known truths: the best for the money, comparisons, and a
panel that decides about new items.

The answer of a panel is the weighted vote of its members, and of scores their weighted mean. Votes
weigh the log-odds of the members' accuracies, scores the inverse of their squared error; members of
a group that errs alike are discounted (Kish's design effect).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit, logit, softmax
from scipy.stats import binomtest

from finegold.errors import InputError, Remedy
from finegold.insight.judges.answers import Share, mean_of
from finegold.insight.votes import Flags, Floats
from finegold.io.judge_logs import HALF, TIED, UNDECIDED, Answers, JudgeLog
from finegold.io.verdicts import fold
from finegold.votes.encoding import MISSING

# judges that are added to a panel one after the other
LARGEST_PANEL = 7
# of the truths: panels are chosen on four and measured on the other one
FOLDS = 5
# of a member
LEAST_WEIGHT = 1e-3
# in accuracy, for which a dearer panel is listed
MIN_GAIN = 0.005
# answers by chance that are added to those of each judge
PRIOR_ANSWERS = 4.0
# below this probability a panel asks a person
ASK_BELOW = 0.8


@dataclass(frozen=True)
class Panel:
    """A panel: its members, what it costs per item, and its accuracy on the gold.

    Attributes:
        judges: The members.
        cost: The price of one item: the sum of the members' prices.
        accuracy: The accuracy of the weighted vote on the items with a known truth, by
            cross-validation of the choice; of scores, 1 minus the mean distance from the truth over
            the range of scores. An item that no member answered counts as much as chance.
        n_gold: The number of these items that it answered.
    """

    judges: tuple[str, ...]
    cost: float
    accuracy: Share
    n_gold: int


@dataclass(frozen=True)
class JudgeComparison:
    """Two judges or panels on the same items.

    Attributes:
        first, second: The judges that are compared.
        n_gold: The number of items with a known truth that both answered.
        first_only, second_only: The number of items on which one was nearer to the truth than the
            other.
        difference: The accuracy of the first minus that of the second, as `Panel` has it.
        p: The p-value of McNemar's exact test.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    n_gold: int
    first_only: int
    second_only: int
    difference: Share
    p: float

    def __str__(self) -> str:
        """Return the comparison in words."""
        value, low, high = self.difference
        return (
            f"{' + '.join(self.first)} against {' + '.join(self.second)}: {value:+.3f} ({low:+.3f}"
            f" to {high:+.3f}) on {self.n_gold:,} known truths; better on {self.first_only}, worse"
            f" on {self.second_only}, p = {self.p:.2g} (McNemar)"
        )


class Members(NamedTuple):
    """What is known about the judges that panels are made of."""

    names: list[str]
    # [J, T, K] answers to the items with known truths; 0 where a judge has none. Of scores: the
    # score and 1
    share: Floats
    # [T] classes, or scores
    gold: Any
    # [J]
    weight: Floats
    # [J, J] how much judges err alike
    alike: Floats
    # what an item without an answer counts
    chance: float
    # the range of scores; 0 for classes
    span: float

    def credit(self, panels: Flags) -> Floats:
        """[panels, T] Return the accuracy of panels, given as rows of booleans, on each item; NaN
        without an answer.
        """
        points = np.tensordot(discounted(self.weight, panels, self.alike), self.share, axes=1)
        if self.span:
            with np.errstate(invalid="ignore"):
                apart = points[..., 0] / points[..., 1] - self.gold
            return np.asarray(1 - np.abs(apart) / self.span)
        is_top = points >= points.max(axis=2, keepdims=True) - 1e-9
        n_top = is_top.sum(axis=2)
        # classes with as many points share the credit; between two sides it is chance
        credit = is_top[:, np.arange(len(self.gold)), self.gold] / n_top
        credit[(n_top > 1) & (self.chance == HALF)] = HALF
        return np.where(points.any(axis=2), credit, np.nan)

    def credit_or_chance(self, panels: Flags) -> Floats:
        """[panels, T] Return the same, with chance where no member of a panel answered."""
        credit = self.credit(panels)
        return np.where(np.isnan(credit), self.chance, credit)


def discounted(weight: Floats, panels: Flags, alike: Floats) -> Floats:
    """[panels, J] Return the weights of members, discounted for the others that err alike."""
    return np.asarray(panels * weight / (1 + panels @ alike))


def members_of(log: JudgeLog, answers: Answers, alike: Floats) -> Members:
    """Return what is known about the judges of a log, on the items with known truths."""
    known = np.flatnonzero(log.gold != MISSING)
    place = np.full(log.n_items, -1)
    place[known] = np.arange(len(known))
    kept = (place[answers.item] >= 0) & (answers.answer != MISSING)
    gold: Any = log.gold[known].astype(np.int64)
    span, chance = 0.0, HALF
    if log.is_ordered:
        gold, span = log.scores[gold], max(float(np.ptp(log.scores)), 1e-9)
        points = np.stack([answers.score[kept], np.ones(int(kept.sum()))], axis=1)
    else:
        chance = HALF if log.kind == "pairwise" else 1 / len(answers.names)
        is_split = (answers.answer == UNDECIDED)[:, None] & (len(answers.names) == TIED)
        points = np.where(is_split, 1.0, answers.points)[kept]
        points = points / points.sum(axis=1, keepdims=True)
    share = np.zeros((log.n_judges, len(known), points.shape[1]))
    share[answers.judge[kept], place[answers.item[kept]]] = points
    weight = np.maximum(weights_of(log, answers), LEAST_WEIGHT)
    return Members(log.judge_names, share, gold, weight, alike, chance, span)


def weights_of(log: JudgeLog, answers: Answers, items: Flags | None = None) -> Floats:
    """Return the weight of each judge, by the known truths of some items: the log-odds of its
    accuracy, or the inverse of its squared error.
    """
    known = np.isfinite(answers.credit) & (answers.answer != MISSING)
    known &= True if items is None else items[answers.item]
    judge, J = answers.judge[known], log.n_judges
    n = np.bincount(judge, minlength=J) + PRIOR_ANSWERS
    if log.is_ordered:
        error = answers.score[known] - log.scores[log.gold[answers.item[known]]]
        prior = max(float(np.ptp(log.scores)), 1e-9) ** 2 / 12
        return n / (np.bincount(judge, error**2, minlength=J) + PRIOR_ANSWERS * prior)
    # 0 for a judge no better than chance
    chance = 1 / max(len(answers.names), 2)
    right = np.bincount(judge, answers.credit[known], minlength=J) + PRIOR_ANSWERS * chance
    return np.asarray(logit(right / n) - logit(chance))


def best_panels(members: Members, price: Floats) -> list[Panel]:
    """Return the panels that are more accurate on the gold than every cheaper one, the cheapest
    first: among judges alone, the best of them with the judge that helps most, and so on, and all.

    Their accuracy is that of the choice: for each fold, the truths of the other folds choose the
    best panel that costs no more, which is measured on the fold. Where folds choose differently,
    the interval is wider by their differences.
    """
    single = np.eye(len(price), dtype=bool)
    sizes, longer = [single], single
    for _ in range(min(LARGEST_PANEL, len(price)) - 1):
        best = longer[members.credit_or_chance(longer).mean(axis=1).argmax()]
        longer = best | single[~best]
        sizes.append(longer)
    panels = np.concatenate([*sizes, np.ones((1, len(price)), dtype=bool)])
    credit, cost = members.credit_or_chance(panels), panels @ price
    accuracy, T = credit.mean(axis=1), credit.shape[1]
    folds = np.random.default_rng(0).permutation(T) % FOLDS
    elsewhere = np.stack([credit[:, folds != number].mean(axis=1) for number in range(FOLDS)])
    best_yet, found = -np.inf, []
    for row in np.lexsort((-accuracy, cost)).tolist():
        if accuracy[row] <= best_yet + MIN_GAIN:
            continue
        rivals = np.flatnonzero(cost <= cost[row])
        chosen = rivals[elsewhere[:, rivals].argmax(axis=1)]
        value, low, high = mean_of(credit[chosen[folds], np.arange(T)])
        apart = 2 * float(accuracy[chosen].std())
        low, high = value - np.hypot(value - low, apart), value + np.hypot(high - value, apart)
        if value > best_yet + MIN_GAIN:
            best_yet = value
            judges = tuple(np.array(members.names)[panels[row]].tolist())
            n_gold = int(np.isfinite(members.credit(panels[[row]])).sum())
            share = Share(value, max(float(low), 0.0), min(float(high), 1.0))
            found.append(Panel(judges, float(cost[row]), share, n_gold))
    return found


def compare_panels(
    members: Members, first: Sequence[str], second: Sequence[str]
) -> JudgeComparison:
    """Compare two judges or panels on the items with known truths that both answered."""
    sides = np.array([np.isin(members.names, list(names)) for names in (first, second)])
    one, other = members.credit(sides)
    apart = (one - other)[np.isfinite(one - other)]
    if not len(apart):
        names = f"{' + '.join(first)} and {' + '.join(second)}"
        raise InputError(f"{names} answered no item with a known truth in common")
    better, worse = int((apart > 1e-12).sum()), int((apart < -1e-12).sum())
    p = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    difference = mean_of(apart, -1.0, 1.0)
    return JudgeComparison(tuple(first), tuple(second), len(apart), better, worse, difference, p)


# A panel that decides.


class Decision(NamedTuple):
    """What a panel says of one item.

    Attributes:
        label: The class; None if no member answered.
        probability: How probable the class is.
        ask: Whether a person should be asked.
    """

    label: Any
    probability: float | None
    ask: bool


@dataclass(frozen=True)
class JudgePanel:
    """Judges that decide together: the result of `finegold.judges.fit`.

    Attributes:
        judges: The members.
        classes: The classes.
        weights: The weight of each member.
        calibration: What makes a probability of the weighted vote: offset and slope, in log-odds.
        ask_below: Below this probability a person should be asked.
        n_gold: The number of known truths that it was fitted to.
    """

    judges: tuple[str, ...]
    classes: tuple[str, ...]
    weights: tuple[float, ...]
    calibration: tuple[float, float] = (0.0, 1.0)
    ask_below: float = ASK_BELOW
    n_gold: int = 0

    def decide(self, verdicts: Mapping[str, Any]) -> Decision:
        """Return what the panel says of one item, given what its members say.

        Args:
            verdicts: Judge -> verdict. Members may be missing, and what is no class is a call that
                failed.

        Returns:
            The label, its probability, and whether to ask a person.

        Raises:
            InputError: If a judge is not a member.
        """
        weights, code_of = self._lookup
        if not verdicts.keys() <= weights.keys():
            odd = next(name for name in verdicts if name not in weights)
            raise InputError(f"there is no judge {odd!r} in the panel: {', '.join(self.judges)}")
        points = [0.0] * len(self.classes)
        for name, verdict in verdicts.items():
            # text is made simple only if the class is written otherwise: this is faster
            code = code_of[verdict] if verdict in code_of else code_of.get(fold(verdict))
            if code is not None and verdict is not None:
                points[code] += weights[name]
        if not any(points):
            return Decision(None, None, True)
        top = max(points)
        share = 1 / sum(math.exp(point - top) for point in points)
        share = min(max(share, 1e-9), 1 - 1e-9)
        offset, slope = self.calibration
        p = 1 / (1 + math.exp(-(offset + slope * math.log(share / (1 - share)))))
        label = self.classes[points.index(top)]
        return Decision(label, p, points.count(top) > 1 or p < self.ask_below)

    @cached_property
    def _lookup(self) -> tuple[dict[str, float], dict[str, int]]:
        codes = {fold(name): code for code, name in enumerate(self.classes)}
        codes |= {name: code for code, name in enumerate(self.classes)}
        return dict(zip(self.judges, self.weights, strict=True)), codes

    def save(self, path: str | Path) -> None:
        """Write the panel to a JSON file, which `finegold.judges.load` reads.

        Args:
            path: The file.
        """
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load_panel(path: str | Path) -> JudgePanel:
    """Read a panel that `JudgePanel.save` wrote.

    Args:
        path: The file.

    Returns:
        The panel.

    Raises:
        InputError: If the file does not hold a panel.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        own: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
        return JudgePanel(**own)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} does not hold a panel of judges ({error})") from None


def fit_panel(
    log: JudgeLog, answers: Answers, judges: Iterable[str], alike: Floats, ask_below: float
) -> JudgePanel:
    """Fit the weights of a panel and its probabilities to the known truths."""
    if log.is_ordered:
        problem = "a panel decides between classes, and these are scores"
        raise InputError(problem, remedies=[Remedy(text="take the weighted means that labels has")])
    is_in = np.isin(log.judge_names, list(judges))

    def weights(items: Flags | None = None) -> Floats:
        raw = np.maximum(weights_of(log, answers, items), LEAST_WEIGHT)
        return np.asarray(discounted(raw, is_in[None], alike)[0])

    names = tuple(np.array(log.judge_names)[is_in].tolist())
    known = np.flatnonzero(log.gold != MISSING)
    own, n_gold = tuple(weights()[is_in].tolist()), len(known)
    folds = np.random.default_rng(0).permutation(n_gold) % FOLDS
    p = np.zeros((n_gold, len(answers.names)))
    for number in range(FOLDS):
        taught = np.isin(np.arange(log.n_items), known[folds != number])
        points = np.zeros((log.n_items, len(answers.names)))
        np.add.at(points, answers.item, weights(taught)[answers.judge][:, None] * answers.points)
        p[folds == number] = softmax(points[known[folds == number]], axis=1)
    sign = np.where(p.argmax(axis=1) == log.gold[known], 1.0, -1.0)
    x = logit(np.clip(p.max(axis=1), 1e-6, 1 - 1e-6))

    def loss(ab: Floats) -> float:
        near = (ab[0] ** 2 + (ab[1] - 1) ** 2) / 2
        return float(near - log_expit(sign * (ab[0] + ab[1] * x)).sum())

    offset, slope = minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead").x.tolist()
    classes = tuple(str(name) for name in answers.names)
    return JudgePanel(names, classes, own, (offset, max(slope, 0.0)), ask_below, n_gold)
