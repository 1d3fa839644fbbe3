"""Summarise how far the labels of a result can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from finegold.fitting.solve import small_data_caution
from finegold.insight.agreement import Agreement, agreement
from finegold.insight.calibration import Calibration, calibration
from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.majority import CLOSE, margins, n_flips, tie_warnings
from finegold.insight.spam import spam
from finegold.insight.votes import single_labels, true_answers
from finegold.io.truth import match_truth
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, listed, to_list

# with fewer votes per task, methods can hardly learn how good annotators are
MIN_VOTES_PER_TASK = 3
# below, annotators agree little more than by chance
MIN_ALPHA = 0.2
# from this temperature on, a warning recommends calibration
OVERCONFIDENT_TEMPERATURE = 1.5
# number of spammers named in a warning
MAX_NAMED = 5


@dataclass(frozen=True, eq=False)
class Trust:
    """How far labels can be trusted: the result of `Result.trust`.

    Attributes:
        method: The name of the method.
        n_tasks, n_flips, n_tied, n_contested: All tasks; those whose label has fewer votes than
            another class; those in which several classes are equally probable; those whose label
            leads the next class by less than 0.2.
        n_spammers: Annotators whose votes do not depend on the truth.
        agreement: How far annotators agree.
        correlated: Annotators whose errors are correlated.
        calibration: How well confidences match accuracies; None without known truths.
        warnings: What to know before using the labels.
    """

    method: str
    n_tasks: int
    n_flips: int
    n_tied: int
    n_contested: int
    n_spammers: int
    agreement: Agreement
    correlated: CorrelatedAnnotators
    calibration: Calibration | None
    warnings: list[str]

    def rows(self) -> dict[str, str]:
        """Return the figures as text, by what they are."""
        panel, tested, alpha = self.correlated, self.calibration, self.agreement.alpha
        rows = {
            "agreement beyond chance (alpha)": f"{alpha:.3f}" if isfinite(alpha) else "undefined",
            "labels against the majority vote": f"{self.n_flips:,}",
            "labels barely more probable than the next class": f"{self.n_contested:,}",
            "ties": f"{self.n_tied:,}",
            "annotators whose votes do not depend on the truth": f"{self.n_spammers:,}",
            "effective number of independent annotators": (
                f"{panel.effective:,.1f} of {len(panel.weights):,}"
            ),
        }
        if tested is not None:
            rows |= {
                f"accuracy on {tested.n:,} truths": f"{tested.accuracy:.1%}",
                "mean confidence": f"{tested.confidence:.1%}",
                "calibration error (ECE)": f"{tested.ece:.4f}",
                "best temperature": f"{tested.temperature:.2f}",
                "calibration error at this temperature": f"{tested.ece_after:.4f}",
            }
        return rows

    def _repr_html_(self) -> str:
        from finegold.votes.notebook import Figure, rows_html

        n_tasks, n_annotators = f"{self.n_tasks:,}", f"{self.agreement.n_annotators:,}"
        title = f"<b>Trust</b> in {escape(self.method)}: {n_tasks} tasks, {n_annotators} annotators"
        rows = [{"_": words, "__": Figure(figure)} for words, figure in self.rows().items()]
        return rows_html(title, rows, self.warnings)

    def figures(self) -> dict[str, Any]:
        """Return everything as plain values, for example for JSON.

        Returns:
            The figures and the warnings.
        """
        tested = self.calibration
        return {
            **{name: value for name, value in vars(self).items() if isinstance(value, int | str)},
            "effective_annotators": self.correlated.effective,
            "agreement": self.agreement.figures(),
            "calibration": None if tested is None else tested.figures(),
            "warnings": self.warnings,
        }


def caution(result: ResultData) -> str:
    """Return a warning if the default method had few tasks; empty otherwise."""
    return small_data_caution(len(result.label_codes)) if result.method == DEFAULT_METHOD else ""


def trust(result: ResultData, truth: Any = None) -> Trust:
    """Return how far labels can be trusted; known truths, if given, test probabilities."""
    if result.label_sets is not None:
        truth = None if truth is None else true_answers(result.annotations, truth)
        result = single_labels(result)
    votes = result.annotations
    truth = None if truth is None else match_truth(result, truth)
    agreed, suspects = agreement(votes), np.flatnonzero(spam(result).kind != "")
    found = [correlated_annotators(result)]
    # truths may show more correlation than votes
    if truth is not None:
        found.append(correlated_annotators(result, truth))
    correlated = min(found, key=lambda each: each.effective / len(each.weights))
    c = None if truth is None else calibration(result, truth)
    warnings, votes_per_task = [], votes.n_votes / votes.n_tasks
    if votes_per_task < MIN_VOTES_PER_TASK and result.method != "mv":
        warnings.append(
            f"tasks have {votes_per_task:.1f} votes on average: with fewer than three, a method"
            " learns annotators from little more than its own guesses; ask for more votes, or give"
            " gold truths"
        )
    if agreed.alpha < MIN_ALPHA:
        warnings.append(
            f"annotators agree little more than by chance (alpha {agreed.alpha:.2f}): look at the"
            " instructions and the hardest classes before you trust any method"
        )
    warnings += [*tie_warnings(result), *correlated.warnings]
    if suspects.size:
        names = listed(to_list(result.annotator_names[suspects]), MAX_NAMED)
        who = "annotator" if len(suspects) == 1 else "annotators"
        warnings.append(f"the votes of {who} {names} do not depend on the truth, or contradict it")
    if c is not None and c.temperature >= OVERCONFIDENT_TEMPERATURE and c.ece_after < c.ece:
        warnings.append(
            f"labels are less often right ({c.accuracy:.1%}) than they are sure"
            f" ({c.confidence:.1%}): a temperature of {c.temperature:.2g} brings the calibration"
            f" error from {c.ece:.3f} to {c.ece_after:.3f}"
        )
    return Trust(
        method=result.method,
        n_tasks=votes.n_tasks,
        n_flips=n_flips(result),
        n_tied=int(result.tied.sum()),
        n_contested=int(((margins(result)[1] < CLOSE) & (result.gold == MISSING)).sum()),
        n_spammers=len(suspects),
        agreement=agreed,
        correlated=correlated,
        calibration=c,
        warnings=warnings,
    )
