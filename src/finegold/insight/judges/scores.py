"""What each judge is worth: accuracy, position bias, consistency, ties, failures, agreement and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.insight.judges.answers import (
    Answers,
    Share,
    expected_share,
    position_bias,
    prediction_powered,
    repeat_consistency,
    swap_consistency,
    wilson,
)
from finegold.io.judge_logs import JudgeLog
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING

__all__ = ["MIN_GOLD", "Credit", "JudgeScore", "credits", "scores"]

Floats = NDArray[np.float64]

MIN_GOLD = 20  # items with a known truth from which the accuracy is corrected by them


@dataclass(frozen=True)
class JudgeScore:
    """What one judge is worth. Shares have 95 % intervals; NaN means that the log cannot tell.

    Attributes
    ----------
    judge : str
        The name.
    n_verdicts, n_items : int
        The number of calls, and of items with an answer.
    accuracy : Share
        The expected share of right answers.
    n_gold : int
        Items with a known truth that the accuracy is based on; 0 if it is based on the posterior alone.
    position_bias : Share
        The share of verdicts that follow the position: positive for the first one, negative for the second.
    position_p : float
        The p-value of a sign test that the position has no effect.
    swap_consistency, repeat_consistency : Share
        How often two verdicts on an item agree, in different orders and in the same one.
    torn_rate : float
        The share of answers without a majority among the judge's verdicts on the item.
    tie_rate, failure_rate : Share
        The share of verdicts that are ties, and of calls that failed.
    agreement : Share
        The share of other judges' answers on the same items that are the same.
    failures : dict
        The number of failed calls by reason.
    cost : float
        The price of a verdict; failed calls are paid by those that succeeded.
    partners : list of str
        Judges that agree with this one more than their accuracies explain.
    """

    judge: str
    n_verdicts: int
    n_items: int
    accuracy: Share
    n_gold: int
    position_bias: Share
    position_p: float
    swap_consistency: Share
    repeat_consistency: Share
    torn_rate: float
    tie_rate: Share
    failure_rate: Share
    agreement: Share
    failures: dict[str, int]
    cost: float
    partners: list[str]


@dataclass(frozen=True, eq=False)
class Credit:
    """How far each answer is right: as expected by the posterior, and by the gold where there is some (else NaN)."""

    expected: Floats  # [P]
    known: Floats  # [P]

    def share(self, rows: Any) -> tuple[Share, int]:
        """Return the share of right answers among these, and the number of gold truths that it is based on."""
        expected, known = self.expected[rows], self.known[rows]
        n_gold = int(np.isfinite(known).sum())
        if n_gold < MIN_GOLD:
            return expected_share(expected), 0
        return prediction_powered(expected, known), n_gold


def credits(answers: Answers, result: ResultData) -> Credit:
    """Return the credit of each answer. The result must not know the gold, which corrects its posterior here."""
    truth = item_posterior(answers, result)
    expected = (answers.share * truth[answers.item]).sum(axis=1)
    gold = answers.gold[answers.item]
    known = np.where(gold == MISSING, np.nan, answers.share[np.arange(len(gold)), gold])
    return Credit(expected, known)


def item_posterior(answers: Answers, result: ResultData) -> Floats:
    """[T, K] Return the posterior of each item; items without votes have the class frequencies."""
    truth = np.tile(result.posterior.mean(axis=0), (len(answers.gold), 1))
    truth[answers.voted] = result.posterior
    return truth


def scores(log: JudgeLog, answers: Answers, credit: Credit, partners: dict[str, list[str]]) -> list[JudgeScore]:
    """Return what each judge is worth, in the order of the log's judges."""
    rows = np.searchsorted(answers.judge, np.arange(log.n_judges + 1))
    calls = np.bincount(log.judge, minlength=log.n_judges)
    used = log.answer != MISSING
    n_used = np.bincount(log.judge[used], minlength=log.n_judges)
    n_ties = np.bincount(log.judge[used & _is_tie(log)], minlength=log.n_judges)
    costs = np.bincount(log.judge, np.nan_to_num(log.cost), minlength=log.n_judges)
    priced = np.bincount(log.judge[np.isfinite(log.cost)], minlength=log.n_judges)
    bias, swaps, repeats = position_bias(log), swap_consistency(log), repeat_consistency(log)
    agreement, failures = _agreement(log, answers), log.failures()
    found = []
    for j, name in enumerate(log.judge_names):
        mine = slice(rows[j], rows[j + 1])
        accuracy, n_gold = credit.share(mine)
        several = answers.n[mine] > 1
        found.append(
            JudgeScore(
                judge=name,
                n_verdicts=int(calls[j]),
                n_items=int(rows[j + 1] - rows[j]),
                accuracy=accuracy,
                n_gold=n_gold,
                position_bias=bias[j][0],
                position_p=bias[j][1],
                swap_consistency=swaps[j],
                repeat_consistency=repeats[j],
                torn_rate=float(answers.is_torn[mine][several].mean()) if several.any() else np.nan,
                tie_rate=wilson(n_ties[j] / max(n_used[j], 1), n_used[j] if log.kind == "pairwise" else 0),
                failure_rate=wilson(1 - n_used[j] / calls[j], calls[j]),
                agreement=agreement[j],
                failures=failures[name],
                cost=float(costs[j] / n_used[j]) if priced[j] and n_used[j] else np.nan,
                partners=partners.get(name, []),
            )
        )
    return found


def _is_tie(log: JudgeLog) -> NDArray[np.bool_]:
    return np.asarray(log.answer == (len(log.class_names) - 1 if log.kind == "pairwise" else MISSING))


def _agreement(log: JudgeLog, answers: Answers) -> list[Share]:
    """Return the mean agreement of each judge's answers with those of the others on the same item."""
    total = np.zeros((log.n_items, answers.share.shape[1]))
    for k in range(total.shape[1]):
        total[:, k] = np.bincount(answers.item, answers.share[:, k], minlength=log.n_items)
    others = np.bincount(answers.item, minlength=log.n_items)[answers.item] - 1
    alike = (answers.share * (total[answers.item] - answers.share)).sum(axis=1) / np.maximum(others, 1)
    counted = others > 0
    n = np.bincount(answers.judge[counted], minlength=log.n_judges)
    sums = np.bincount(answers.judge[counted], alike[counted], minlength=log.n_judges)
    return [wilson(min(sums[j] / max(n[j], 1), 1.0), n[j]) for j in range(log.n_judges)]
