"""`finegold.judges`: read logs of LLM judges, find what each judge is worth, and rank the systems that they judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from finegold.api.job import Job
from finegold.api.result import Result
from finegold.errors import InputError
from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.judges.answers import MODEL_ERROR, Answers, Torn, merge
from finegold.insight.judges.panels import JudgeComparison, Members, Panel, compare_panels, frontier, log_odds, sample
from finegold.insight.judges.ranking import Ranking, Weights, rank_systems
from finegold.insight.judges.scores import MIN_GOLD, JudgeScore, credits, item_posterior, scores
from finegold.insight.notebook import judges_html
from finegold.io.judge_logs import JudgeLog, Kind, read_judge_log, with_gold
from finegold.methods.registry import DEFAULT_METHOD
from finegold.votes.encoding import MISSING
from finegold.votes.frames import make_frame, to_list

if TYPE_CHECKING:
    from finegold.report.views.judges import Judges

__all__ = ["JudgeLog", "JudgeReport", "assess", "rank", "read", "view_of"]


Floats = NDArray[np.float64]
SHARES = (
    "accuracy",
    "position_bias",
    "swap_consistency",
    "repeat_consistency",
    "tie_rate",
    "failure_rate",
    "agreement",
)


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """What the judges of a log are worth: the result of `finegold.judges.assess`.

    Attributes
    ----------
    log : JudgeLog
        The verdicts.
    result : Result
        The labels of the items, by all judges and the gold.
    scores : list of JudgeScore
        One entry per judge: `accuracy`, `position_bias`, `swap_consistency`, `failure_rate`, ...
    correlated : CorrelatedAnnotators
        Groups of judges that err alike; `effective` is the number of independent judges that all are worth.
    torn : {"tie", "half"}
        What counts where a judge contradicts itself.
    """

    log: JudgeLog
    result: Result
    scores: list[JudgeScore]
    correlated: CorrelatedAnnotators
    torn: Torn
    _answers: Answers = field(repr=False)
    _posterior: Floats = field(repr=False)

    @property
    def effective(self) -> float:
        """The number of independent judges that all judges are worth."""
        return self.correlated.effective

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the figures."""
        n_gold = int((self.log.gold != MISSING).sum())
        notes = list(self.log.notes)
        if n_gold < MIN_GOLD:
            notes.append(
                f"accuracies are what the posterior expects, which was off by {100 * MODEL_ERROR:.0f} points on real "
                f"panels; known truths of {MIN_GOLD} or more random items (gold) make them unbiased"
            )
        return notes + self.correlated.warnings

    def table(self) -> Any:
        """Return a data frame with one row per judge, the most accurate first.

        Returns
        -------
        data frame
            All figures, with the ends of their 95 % intervals.
        """
        rows = [_row(score) for score in sorted(self.scores, key=lambda score: -score.accuracy.value)]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, like=np.empty(0))

    def labels(self) -> Any:
        """Return the label of every item that has one, by all judges and the gold.

        Returns
        -------
        data frame
            The item, its label (for pairs of systems: both systems and the winner), the confidence, and the number of
            judges that answered.
        """
        log, result, items = self.log, self.result, self._answers.voted
        columns: dict[str, Any] = {"item": [log.item_names[i] for i in items]}
        label = [str(name) for name in to_list(result.label)]
        if log.system_names:
            sides = [[log.system_names[s] for s in side[items]] for side in (log.system_a, log.system_b)]
            better = {str(name): side for name, side in zip(log.class_names, sides, strict=False)}
            label = [better[name][row] if name in better else name for row, name in enumerate(label)]
            columns |= {"system_a": sides[0], "system_b": sides[1]}
        columns |= {"label": label, "confidence": result.confidence, "n_judges": result.votes_per_task}
        return make_frame(columns, like=np.empty(0))

    def compare(self, first: str | Sequence[str], second: str | Sequence[str]) -> JudgeComparison:
        """Compare two judges or panels on the items that both answered.

        Parameters
        ----------
        first, second : str or sequence of str
            A judge, or the members of a panel.

        Returns
        -------
        JudgeComparison
            The difference of accuracies with its interval, and a p-value.

        Raises
        ------
        InputError
            If there is no such judge, or no item in common.
        """
        return compare_panels(self._members, _as_list(first), _as_list(second))

    def panels(self, prices: Mapping[str, float] | None = None) -> list[Panel]:
        """Return the best panels for the money: those that no cheaper panel matches in expected accuracy.

        Parameters
        ----------
        prices : mapping, optional
            The price of one item for each judge. The default is what the log says, otherwise 1 for every judge.

        Returns
        -------
        list of Panel
            The cheapest first, with cost, expected accuracy, and the accuracy on gold items.

        Raises
        ------
        InputError
            If a judge has no price.
        """
        return frontier(self._members._replace(price=self._prices(prices)))

    def rank(self, *, weights: Weights = "learned", seed: int = 0) -> Ranking:
        """Rank the systems that the judges compared.

        Parameters
        ----------
        weights : {"learned", "equal"}, default "learned"
            Whether judges whose verdicts depend more on the systems count more, and judges that err alike less.
        seed : int, default 0
            The seed of the bootstrap.

        Returns
        -------
        Ranking
            Strengths, ranks and win rates, with intervals.

        Raises
        ------
        InputError
            If the log names no systems, or systems that no chain of comparisons connects.
        """
        return rank_systems(self.log, self._by_judge(self.correlated.weights, 1.0), weights=weights, seed=seed)

    def report(self, path: str | Path) -> None:
        """Write one HTML file about the labels, with a section on the judges.

        Parameters
        ----------
        path : str or path
            The file.
        """
        from finegold.report import write_report

        write_report(self.result, path, title="Panel of LLM judges", judges=view_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values, for JSON.

        Returns
        -------
        dict
            The size of the log, the judges, the groups that err alike, and notes.
        """
        return {
            "kind": self.log.kind,
            "n_verdicts": self.log.n_verdicts,
            "n_items": self.log.n_items,
            "n_failed": self.log.n_failed,
            "n_gold": int((self.log.gold != MISSING).sum()),
            "torn": self.torn,
            "effective_judges": self.effective,
            "judges": [_plain(score) for score in self.scores],
            "notes": self.notes,
        }

    def _repr_html_(self) -> str:
        title = f"<b>{self.log.n_judges:,} judges</b>, worth {self.effective:.1f} independent ones: "
        title += f"{self.log.n_verdicts:,} verdicts on {self.log.n_items:,} items, {self.log.n_failed:,} failed"
        return judges_html(title, self.scores, self.notes)

    def __repr__(self) -> str:
        return f"JudgeReport({self.log!r}, worth {self.effective:.1f} independent judges)"

    @cached_property
    def _members(self) -> Members:
        share, truth, gold = sample(self._answers, self.log.n_judges, self._posterior)
        accuracy = np.array([score.accuracy.value for score in self.scores])
        return Members(
            names=self.log.judge_names,
            share=share,
            truth=truth,
            gold=gold,
            weight=log_odds(accuracy, share.shape[2]),
            group=self._by_judge(self.correlated.group, -1).astype(np.int64),
            excess=self.correlated.excess,
            price=self._prices(None),
        )

    def _prices(self, given: Mapping[str, float] | None) -> Floats:
        """Return the price of an item for each judge."""
        names = self.log.judge_names
        if given is not None:
            if missing := [name for name in names if name not in given]:
                raise InputError(f"there is no price for {', '.join(missing)}; give one for every judge")
            return np.array([float(given[name]) for name in names])
        costs = np.bincount(self.log.judge, np.nan_to_num(self.log.cost), minlength=len(names))
        n_items = np.array([max(score.n_items, 1) for score in self.scores])
        return costs / n_items if (costs > 0).all() else np.ones(len(names))

    def _by_judge(self, values: Any, other: float) -> Floats:
        """Return values of annotators for all judges; those without a vote have another value."""
        code_of = {name: code for code, name in enumerate(self.log.judge_names)}
        by_judge = np.full(len(code_of), float(other))
        by_judge[[code_of[str(name)] for name in to_list(self.correlated.names)]] = values
        return by_judge


def view_of(report: JudgeReport) -> Judges:
    """Return what the report and the studio show of the judges."""
    from finegold.report.views.judges import judges_view

    can_rank, ranking, notes = report.log.kind == "pairwise" and bool(report.log.system_names), None, report.notes
    try:
        ranking = report.rank() if can_rank else None
    except InputError as error:  # systems that were never compared with each other
        notes = [*notes, str(error)]
    return judges_view(report.scores, report.correlated, report.panels(), ranking, notes)


def _as_list(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _row(score: JudgeScore) -> dict[str, Any]:
    """Return the figures of a judge, with a column for each end of an interval."""
    row: dict[str, Any] = {}
    for name, value in vars(score).items():
        if name in SHARES:
            row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif name in ("partners", "failures"):
            row[name] = ", ".join(value if name == "partners" else [f"{n} {why}" for why, n in value.items()])
        else:
            row[name] = value
    return row


def _plain(score: JudgeScore) -> dict[str, Any]:
    return {name: value._asdict() if name in SHARES else value for name, value in vars(score).items()}


def read(
    log: Any,
    *,
    item: str | None = None,
    judge: str | None = None,
    verdict: str | None = None,
    order: str | None = None,
    system_a: str | None = None,
    system_b: str | None = None,
    repeat: str | None = None,
    cost: str | None = None,
    error: str | None = None,
    gold: Any = None,
    kind: Kind | None = None,
    verdicts: Literal["position", "answer"] = "position",
) -> JudgeLog:
    """Read a raw log of LLM judges: one row per call, with the verdict as the judge gave it.

    Columns are found by their usual names. Verdicts may be A/B/tie, first/second, 1/2, [[A]], the names of the two
    systems, win/lose, pass/fail, classes or scores, also at the end of a longer text. The swap of the answers is
    undone. Errors, refusals and text without a verdict are failed calls: they are counted, and do not count as votes.

    Parameters
    ----------
    log : path, paths or data frame
        CSV, JSONL, JSON, Parquet, a folder, or a data frame. Logs of MT-bench, JudgeBench, Arena-Hard, Chatbot Arena,
        AlpacaEval and Inspect are recognised.
    item, judge, verdict : str, optional
        The columns of the items, the judges and the verdicts, if their names are not recognised.
    order : str, optional
        The column that says which answer was shown first: AB or BA, original or swapped.
    system_a, system_b : str, optional
        The columns with the names of the two systems.
    repeat, cost, error : str, optional
        The columns with the number of the repeat, the price of the call, and its error or status.
    gold : str, path, data frame or mapping, optional
        Known truths: a column of the log, a table of items and truths, or item -> truth. A truth is a class or the
        name of the better system.
    kind : {"pairwise", "pointwise"}, optional
        Whether verdicts compare two answers or judge one, if this is not recognised.
    verdicts : {"position", "answer"}, default "position"
        What A and B mean in a log with a column of orders: the first and second answer shown, or the answers
        themselves.

    Returns
    -------
    JudgeLog
        The verdicts.

    Raises
    ------
    InputError
        If a column is missing, or most verdicts cannot be read.

    Examples
    --------
    >>> import finegold
    >>> calls = {"prompt": [1, 1], "model": ["gpt", "gpt"], "order": ["AB", "BA"], "verdict": ["[[A]]", "[[B]]"]}
    >>> log = finegold.judges.read(calls)
    >>> log
    JudgeLog(pairwise, 2 verdicts, 1 items, 1 judges, 0 failed)
    >>> [log.class_names[code] for code in log.answer]
    ['A', 'A']
    """
    columns = {"item": item, "judge": judge, "verdict": verdict, "order": order, "system_a": system_a}
    columns |= {"system_b": system_b, "repeat": repeat, "cost": cost, "error": error}
    is_column = isinstance(gold, str) and not Path(gold).exists()
    verdict_log = read_judge_log(log, kind=kind, verdicts=verdicts, gold=gold if is_column else None, **columns)
    return verdict_log if gold is None or is_column else with_gold(verdict_log, gold)


def assess(
    log: Any, *, gold: Any = None, torn: Torn = "tie", method: str = DEFAULT_METHOD, **reading: Any
) -> JudgeReport:
    """Find out what each judge of a log is worth.

    Verdicts of a judge on an item (both orders, repeats) are merged into one answer. Where a judge contradicts itself,
    the answer is torn: it counts as a tie, or as half an answer each. It is never left out, because that would raise
    the accuracy of a judge that follows the position.

    The accuracy is what the posterior of the method expects. With 20 or more gold truths it is corrected by them and
    unbiased, if the items with gold are a random sample of all items.

    Parameters
    ----------
    log : path, paths, data frame or JudgeLog
        What `finegold.judges.read` takes or returns.
    gold : str, path, data frame or mapping, optional
        Known truths: a column of the log, a table of items and truths, or item -> truth.
    torn : {"tie", "half"}, default "tie"
        What counts where a judge contradicts itself. Pointwise verdicts have no ties and always count half each.
    method : str, default "anchored"
        The method that labels the items.
    **reading : dict
        How to read the log: keywords of `finegold.judges.read`.

    Returns
    -------
    JudgeReport
        Figures of each judge, comparisons, panels, and the ranking of systems.

    Raises
    ------
    InputError
        If the log cannot be read, or has no verdicts.

    Examples
    --------
    >>> import finegold
    >>> said = ["pass", "pass", "fail", "ERROR: timeout"]
    >>> calls = {"item": [1, 1, 2, 2], "judge": ["gpt", "claude"] * 2, "verdict": said}
    >>> report = finegold.judges.assess(calls)
    >>> [(one.judge, one.failure_rate.value) for one in report.scores]
    [('claude', 0.5), ('gpt', 0.0)]
    """
    verdicts = read(log, gold=gold, **reading) if not isinstance(log, JudgeLog) else log
    if isinstance(log, JudgeLog) and gold is not None:
        verdicts = with_gold(verdicts, gold)
    answers = merge(verdicts, torn)
    result = Job(answers.votes, method=method).run()
    has_gold = (answers.votes.gold != MISSING).any()
    blind = _without_gold(answers, method) if has_gold else result
    correlated = correlated_annotators(blind)
    judged = scores(verdicts, answers, credits(answers, blind), _partners(correlated))
    return JudgeReport(verdicts, result, judged, correlated, torn, answers, item_posterior(answers, blind))


def rank(log: Any, *, weights: Weights = "learned", seed: int = 0, **reading: Any) -> Ranking:
    """Rank the systems that judges compared, by a Bradley-Terry model with ties.

    Every judge has a position effect, a tie rate and a discrimination: how much its verdicts depend on the systems.
    Judges with a higher discrimination count more, and judges that err alike count less. Intervals are from a
    bootstrap over items.

    Parameters
    ----------
    log : path, paths, data frame or JudgeLog
        A log of pairwise verdicts that names the two systems: what `finegold.judges.read` takes or returns.
    weights : {"learned", "equal"}, default "learned"
        Whether judges are weighted by what was learned about them.
    seed : int, default 0
        The seed of the bootstrap.
    **reading : dict
        How to read the log: keywords of `finegold.judges.read`.

    Returns
    -------
    Ranking
        Strengths, ranks and win rates, with intervals.

    Raises
    ------
    InputError
        If the log names no systems, or systems that no chain of comparisons connects.

    Examples
    --------
    >>> import finegold
    >>> rows = {"item": [1, 2, 3, 4], "judge": ["gpt"] * 4, "winner": ["x", "x", "x", "z"]}
    >>> rows |= {"model_a": ["x", "y", "x", "y"], "model_b": ["y", "x", "z", "z"]}
    >>> ranking = finegold.judges.rank(rows, weights="equal")
    >>> [one.system for one in ranking.standings]
    ['x', 'z', 'y']
    """
    verdicts = log if isinstance(log, JudgeLog) else read(log, **reading)
    if weights == "equal":
        return rank_systems(verdicts, np.ones(verdicts.n_judges), weights="equal", seed=seed)
    return assess(verdicts).rank(weights=weights, seed=seed)


def _without_gold(answers: Answers, method: str) -> Result:
    """Fit a posterior that has not seen the gold, which is to correct it."""
    votes = replace(answers.votes, gold=np.full_like(answers.votes.gold, MISSING))
    return Job(votes, method=method).run()


def _partners(correlated: CorrelatedAnnotators) -> dict[str, list[str]]:
    names = [str(name) for name in to_list(correlated.names)]
    partners: dict[str, list[str]] = {}
    for j, name in enumerate(names):
        if correlated.group[j] >= 0:
            mates = np.flatnonzero(correlated.group == correlated.group[j]).tolist()
            partners[name] = [names[mate] for mate in mates if mate != j]
    return partners
