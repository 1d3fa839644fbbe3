"""`finegold.judges`: read logs of LLM judges, find what each judge is worth, and rank the systems that they judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from finegold.api.judge_report import JudgeReport
from finegold.api.result import Result
from finegold.api.run import Run, run
from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.judges.answers import Answers, Torn, merge
from finegold.insight.judges.ranking import Ranking, Weights, rank_systems
from finegold.insight.judges.scores import credits, item_posterior, scores
from finegold.io.readers.judge_logs import JudgeLog, read_judge_log
from finegold.io.readers.judge_logs.log import Kind, with_gold
from finegold.methods.registry import DEFAULT_METHOD
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list

__all__ = ["JudgeLog", "JudgeReport", "assess", "rank", "read"]


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
    undone. Errors, refusals and text without a verdict are failed calls: they are counted, and are no votes.

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
    found = read_judge_log(log, kind=kind, verdicts=verdicts, gold=gold if is_column else None, **columns)
    return found if gold is None or is_column else with_gold(found, gold)


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
    result = run(Run(answers.votes, method=method))
    has_gold = (answers.votes.gold != MISSING).any()
    blind = _without_gold(answers, method) if has_gold else result
    correlated = correlated_annotators(blind)
    found = scores(verdicts, answers, credits(answers, blind), _partners(correlated))
    return JudgeReport(verdicts, result, found, correlated, torn, answers, item_posterior(answers, blind))


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
    return run(Run(votes, method=method))


def _partners(correlated: CorrelatedAnnotators) -> dict[str, list[str]]:
    names = [str(name) for name in to_list(correlated.names)]
    found: dict[str, list[str]] = {}
    for j, name in enumerate(names):
        if correlated.group[j] >= 0:
            mates = np.flatnonzero(correlated.group == correlated.group[j]).tolist()
            found[name] = [names[mate] for mate in mates if mate != j]
    return found
