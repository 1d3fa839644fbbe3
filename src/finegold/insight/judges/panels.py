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
from scipy.special import expit, logit
from scipy.stats import binomtest

from finegold.errors import InputError
from finegold.insight.judges.answers import HALF, Answers, Share, mean_of
from finegold.insight.votes import Flags, Floats, Integers
from finegold.io.judge_logs import TIED, UNDECIDED, JudgeLog
from finegold.io.verdicts import fold, number_of
from finegold.votes.encoding import MISSING

# with more judges, panels are extended from the best ones of each size
ALL_PANELS_OF = 10
# panels of each size that are extended
BEAM = 8
LARGEST_PANEL = 7
# of the truths: panels are chosen on four and measured on the other one
FOLDS = 5
# of a member
LEAST_WEIGHT = 1e-3
# in accuracy, for which a dearer panel is listed
MIN_GAIN = 0.005
# answers by chance that are added to those of each judge
PRIOR_ANSWERS = 4.0
# below this probability a panel asks a person, and above this share of the scale between its scores
ASK_BELOW, ASK_APART = 0.8, 0.25


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
    # [J] judges that err alike, -1 for none
    group: Integers
    # [number of groups]
    excess: Floats
    # [J] of an item
    price: Floats
    # what an answer by chance counts; None where several classes share it
    chance: float | None
    # the range of scores; 0 for classes
    span: float = 0.0

    def credit(self, panels: Flags) -> Floats:
        """[panels, T] Return the accuracy of panels, given as rows of booleans, on each item; NaN
        without an answer.
        """
        weights = discounted(panels * self.weight, panels, self.group, self.excess)
        J, T, K = self.share.shape
        return self.credit_of((weights @ self.share.reshape(J, T * K)).reshape(-1, T, K))

    def credit_of(self, points: Floats) -> Floats:
        """[panels, T] Return how accurate the classes with most points [panels, T, K] are; several
        share the credit.
        """
        if self.span:
            with np.errstate(invalid="ignore", divide="ignore"):
                apart = np.abs(points[..., 0] / points[..., 1] - self.gold)
            return np.asarray(1 - apart / self.span)
        is_top = (points >= points.max(axis=2, keepdims=True) - 1e-9) & (points > 0)
        right, n = is_top[:, np.arange(points.shape[1]), self.gold], is_top.sum(axis=2)
        shared = right / np.maximum(n, 1) if self.chance is None else self.chance
        return np.where(n > 1, shared, np.where(n == 1, right, np.nan))

    def credit_or_chance(self, panels: Flags) -> Floats:
        """[panels, T] Return the same, with chance where no member of a panel answered."""
        parts = np.array_split(panels, len(panels) // 64 + 1)
        credit = np.concatenate([self.credit(part) for part in parts])
        chance = 1 / self.share.shape[2] if self.chance is None else self.chance
        return np.where(np.isnan(credit), chance, credit)


def discounted(weights: Floats, panels: Any, group: Integers, excess: Floats) -> Floats:
    """Return weights [panels, J] with a discount for each further member of a group that errs
    alike.
    """
    weights = np.array(weights, float)
    for g, value in enumerate(excess):
        inside = group == g
        others = np.maximum(panels[:, inside].sum(axis=1, keepdims=True) - 1, 0)
        weights[:, inside] /= 1 + np.clip(value, 0, 1) * others
    return weights


def members_of(
    log: JudgeLog, answers: Answers, group: Integers, excess: Floats, price: Floats
) -> Members:
    """Return what is known about the judges of a log, on the items with known truths."""
    known = np.flatnonzero(log.gold != MISSING)
    place = np.full(log.n_items, -1)
    place[known] = np.arange(len(known))
    kept = (place[answers.item] >= 0) & (answers.answer != MISSING)
    gold: Any = log.gold[known].astype(np.int64)
    span, chance = 0.0, HALF if log.kind == "pairwise" else None
    if log.is_ordered:
        gold, span, chance = log.scores[gold], max(float(np.ptp(log.scores)), 1e-9), HALF
        points = np.stack([answers.score[kept], np.ones(int(kept.sum()))], axis=1)
    else:
        is_split = (answers.answer == UNDECIDED)[:, None] & (len(answers.names) == TIED)
        points = np.where(is_split, 1.0, answers.points)[kept]
        points = points / points.sum(axis=1, keepdims=True)
    share = np.zeros((log.n_judges, len(known), points.shape[1]))
    share[answers.judge[kept], place[answers.item[kept]]] = points
    weight = np.maximum(weights_of(log, answers), LEAST_WEIGHT)
    return Members(log.judge_names, share, gold, weight, group, excess, price, chance, span)


def weights_of(log: JudgeLog, answers: Answers, items: Flags | None = None) -> Floats:
    """Return the weight of each judge, by the known truths of some items: the log-odds of its
    accuracy, or the inverse of its squared error.
    """
    known = np.isfinite(answers.credit) & (answers.answer != MISSING)
    known &= True if items is None else items[answers.item]
    judge, J = answers.judge[known], log.n_judges
    n = np.bincount(judge, minlength=J).astype(float)
    if log.is_ordered:
        error = answers.score[known] - log.scores[log.gold[answers.item[known]]]
        prior = max(float(np.ptp(log.scores)), 1e-9) ** 2 / 12
        return (n + PRIOR_ANSWERS) / (
            np.bincount(judge, error**2, minlength=J) + PRIOR_ANSWERS * prior
        )
    return log_odds(np.bincount(judge, answers.credit[known], minlength=J), n, len(answers.names))


def log_odds(right: Any, n: Floats, n_classes: int) -> Floats:
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
    folds, trials = np.random.default_rng(0).permutation(len(members.gold)) % FOLDS, []
    for fold_ in range(FOLDS):
        rivals = _candidates(members, folds != fold_)
        trials.append((rivals @ members.price, members.credit_or_chance(rivals)))
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
        credit = members.credit_or_chance(longer)[:, is_known].mean(axis=1)
        sizes.append(longer[np.argsort(-credit, kind="stable")[:BEAM]])
    return np.concatenate([*sizes, np.ones((1, J), dtype=bool)])


def _cross_validated(trials: Sequence[Floats], folds: Integers) -> Share:
    """Return the accuracy of the best of some rivals, which is less than it has on the truths that
    choose it.
    """
    # For each fold there are the credits [rivals, T] that the truths of the other folds lead to.
    # These choose the best rival, which is measured on the fold. Where folds choose differently,
    # the interval is wider by their differences.
    chosen = [
        credit[credit[:, folds != number].mean(axis=1).argmax()]
        for number, credit in enumerate(trials)
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
    apart = (one - other)[np.isfinite(one - other)]
    if not len(apart):
        names = f"{' + '.join(first)} and {' + '.join(second)}"
        raise InputError(f"{names} answered no item with a known truth in common")
    better, worse = int((apart > 1e-12).sum()), int((apart < -1e-12).sum())
    p = binomtest(better, better + worse).pvalue if better + worse else 1.0
    difference = mean_of(apart, -1.0, 1.0)
    return JudgeComparison(
        tuple(first), tuple(second), len(apart), better, worse, difference, float(p)
    )


# A panel that decides.


class Decision(NamedTuple):
    """What a panel says of one item.

    Attributes:
        label: The class, or the mean score; None if no member answered.
        probability: How probable the class is; None for scores.
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
        classes: The classes, or the ends of the scale.
        weights: The weight of each member.
        calibration: What makes a probability of the weighted vote: offset and slope, in log-odds.
        biases: How much higher than people each member scores; empty for classes.
        ask_below: Below this probability a person should be asked.
        n_gold: The number of known truths that it was fitted to.
    """

    judges: tuple[str, ...]
    classes: tuple[str, ...]
    weights: tuple[float, ...]
    calibration: tuple[float, float] = (0.0, 1.0)
    biases: tuple[float, ...] = ()
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
        if self.biases:
            return self._mean(verdicts, weights)
        points = [0.0] * len(self.classes)
        said = False
        for name, verdict in verdicts.items():
            code = code_of.get(verdict)
            if code is None:
                code = code_of.get(fold(verdict)) if verdict is not None else None
            if code is not None:
                points[code] += weights[name][0]
                said = True
        if not said:
            return Decision(None, None, True)
        top = max(points)
        best = points.index(top)
        share = 1 / sum(math.exp(point - top) for point in points)
        share = min(max(share, 1e-9), 1 - 1e-9)
        offset, slope = self.calibration
        p = 1 / (1 + math.exp(-(offset + slope * math.log(share / (1 - share)))))
        is_tied = points.count(top) > 1
        return Decision(self.classes[best], p, is_tied or p < self.ask_below)

    def _mean(self, verdicts: Mapping[str, Any], weights: Mapping[str, Any]) -> Decision:
        low, high = float(self.classes[0]), float(self.classes[-1])
        known = [
            (weights[name][0], min(max(score - weights[name][1], low), high))
            for name, said in verdicts.items()
            if said is not None and (score := number_of(fold(said))) is not None
        ]
        if not known:
            return Decision(None, None, True)
        mean = sum(w * score for w, score in known) / sum(w for w, _ in known)
        scores = [score for _, score in known]
        return Decision(mean, None, max(scores) - min(scores) > ASK_APART * (high - low))

    @cached_property
    def _lookup(self) -> tuple[dict[str, tuple[float, float]], dict[Any, int]]:
        biases = self.biases or (0.0,) * len(self.judges)
        weights = dict(zip(self.judges, zip(self.weights, biases, strict=True), strict=True))
        codes: dict[Any, int] = {fold(name): code for code, name in enumerate(self.classes)}
        return weights, codes | {name: code for code, name in enumerate(self.classes)}

    def save(self, path: str | Path) -> None:
        """Write the panel to a JSON file, which `finegold.judges.load` reads.

        Args:
            path: The file.
        """
        Path(path).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def load_panel(path: str | Path) -> JudgePanel:
    """Read a panel that `JudgePanel.save` wrote."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        tuples: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in found.items()
        }
        return JudgePanel(**tuples)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} does not hold a panel of judges ({error})") from None


def fit_panel(
    log: JudgeLog,
    answers: Answers,
    judges: Iterable[str],
    group: Integers,
    excess: Floats,
    ask_below: float,
) -> JudgePanel:
    """Fit the weights of a panel and its probabilities to the known truths."""
    is_in = np.isin(log.judge_names, list(judges))

    def weights(items: Flags | None = None) -> Floats:
        raw = np.maximum(weights_of(log, answers, items), LEAST_WEIGHT)
        return np.asarray(discounted((raw * is_in)[None], is_in[None], group, excess)[0])

    names = tuple(name for name, each in zip(log.judge_names, is_in, strict=True) if each)
    known = np.flatnonzero(log.gold != MISSING)
    own = tuple(weights()[is_in].tolist())
    if log.is_ordered:
        said = np.isfinite(answers.credit) & np.isfinite(answers.score)
        error = answers.score[said] - log.scores[log.gold[answers.item[said]]]
        n = np.bincount(answers.judge[said], minlength=log.n_judges)
        bias = np.bincount(answers.judge[said], error, minlength=log.n_judges) / (n + PRIOR_ANSWERS)
        ends = (str(log.class_names[0]), str(log.class_names[-1]))
        biases = tuple(bias[is_in].tolist())
        return JudgePanel(names, ends, own, biases=biases, ask_below=ask_below, n_gold=len(known))
    folds = np.random.default_rng(0).permutation(len(known)) % FOLDS
    confidence, right = np.zeros(len(known)), np.zeros(len(known))
    for number in range(FOLDS):
        inside = np.zeros(log.n_items, bool)
        inside[known[folds != number]] = True
        points = np.zeros((log.n_items, len(answers.names)))
        np.add.at(points, answers.item, weights(inside)[answers.judge][:, None] * answers.points)
        mine = known[folds == number]
        p = np.exp(points[mine] - points[mine].max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        confidence[folds == number] = p.max(axis=1)
        right[folds == number] = p.argmax(axis=1) == log.gold[mine]
    x = logit(np.clip(confidence, 1e-6, 1 - 1e-6))

    def loss(ab: Floats) -> float:
        p = np.clip(expit(ab[0] + ab[1] * x), 1e-12, 1 - 1e-12)
        fit = right * np.log(p) + (1 - right) * np.log(1 - p)
        return float((ab[0] ** 2 + (ab[1] - 1) ** 2) / 2 - fit.sum())

    offset, slope = minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead").x.tolist()
    classes = tuple(str(name) for name in answers.names)
    return JudgePanel(names, classes, own, (offset, max(slope, 0.0)), (), ask_below, len(known))
