"""Panels of LLM judges, from raw logs to decisions.

read(log)      a raw log: columns found, verdicts understood, swaps undone, failed calls counted
assess(log)    what each judge is worth, comparisons, the best panel for the money
rank(log)      the systems that the judges compared, with intervals
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from finegold.api.fit import fit_votes
from finegold.api.options import FitOptions
from finegold.api.result import Result
from finegold.errors import InputError, Placeholder, use
from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.judges.answers import UNDECIDED, Answers, merge, whole
from finegold.insight.judges.panels import (
    LEAST_WEIGHT,
    Cascade,
    JudgeComparison,
    Members,
    Panel,
    cascade,
    choose,
    compare_panels,
    frontier,
    log_odds,
    plain,
)
from finegold.insight.judges.ranking import Ranking, Weights, rank_systems
from finegold.insight.judges.scores import (
    FIGURES,
    MIN_GOLD,
    JudgeScore,
    best_first,
    places,
    score_judges,
)
from finegold.insight.notebook import judges_html
from finegold.io.judge_logs import TIED, JudgeLog, only_judges, read_judge_log, with_gold
from finegold.results.data import summarise
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import make_frame

__all__ = ["JudgeLog", "JudgeReport", "assess", "rank", "read"]

Floats = NDArray[np.float64]
# with more judges, the map of pairs that err alike is left out
MOST_PAIRED = 40
CHECK = (
    "{} truths are known, so no accuracy is shown; judges stand in the order of their agreement"
    " with the others, which is not accuracy: check 50 random items, and pass their truths as gold"
)


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """What the judges of a log are worth: the result of `finegold.judges.assess`.

    Attributes:
        log: The verdicts.
        result: The labels of the items, by all judges and the gold.
        scores: One entry per judge: `accuracy`, `undecided`, `position_bias`, `failed`, ... The
            best is first.
        correlated: Groups of judges that err alike; None if no answer is decided.
    """

    log: JudgeLog
    result: Result
    scores: list[JudgeScore]
    correlated: CorrelatedAnnotators | None
    _answers: Answers = field(repr=False)

    @property
    def effective(self) -> float:
        """The number of independent judges that all judges are worth: from 1 to their number."""
        return (
            1.0
            if self.correlated is None
            else min(max(self.correlated.effective, 1.0), float(self.log.n_judges))
        )

    @property
    def n_gold(self) -> int:
        """The number of items with a known truth."""
        return int((self.log.gold != MISSING).sum())

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the figures."""
        check = [CHECK.format(self.n_gold or "no")] if self.n_gold < MIN_GOLD else []
        return [*self.log.notes, *check, *(self.correlated.warnings if self.correlated else [])]

    def table(self) -> Any:
        """Return a data frame with one row per judge, the best first.

        Returns:
            data frame: All figures, with the ends of their 95 % intervals.
        """
        rows: list[dict[str, Any]] = []
        for score, figures in zip(self.scores, self.judges(), strict=True):
            ends = figures.pop("intervals")
            figures |= {
                "accuracy": None if figures["accuracy"] is None else figures["accuracy"]["value"],
                "failures": ", ".join(f"{n} {why}" for why, n in score.failures.items()),
                "partners": ", ".join(score.partners),
                "ranks": "-".join(str(place) for place in dict.fromkeys(figures["ranks"])),
            }
            rows.append({})
            for name, value in figures.items():
                rows[-1][name] = value
                if name in FIGURES:
                    rows[-1][f"{name}_low"], rows[-1][f"{name}_high"] = ends.get(name, (None, None))
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def judges(self) -> list[dict[str, Any]]:
        """Return the figures of every judge as plain values: what JSON, tables, the report and the
        studio show.

        Returns:
            The best judge first. None where nothing is known; `ranks` has the first and the last
            place that the intervals of accuracies allow, or without gold those of agreement and
            consistency.
        """
        ranks = places(self.scores)
        return [one.plain() | {"ranks": list(ranks[one.judge])} for one in self.scores]

    def labels(self, panel: Sequence[str] | None = None) -> Any:
        """Return the label of every item that has one, by all judges and the gold.

        Args:
            panel: The judges whose calls count, if not all.

        Returns:
            data frame: The item, its label (for pairs of systems: both systems and the winner), the
                confidence, and the number of judges that answered.
        """
        if panel is not None:
            self._refuse_unknown(panel)
            return assess(only_judges(self.log, panel)).labels()
        log, result, items = self.log, self.result, self._answers.labelled
        n_judges = np.bincount(
            self._answers.item[self._answers.points.any(axis=1)], minlength=log.n_items
        )[items]
        columns: dict[str, Any] = {"item": [log.item_names[i] for i in items]}
        label = [str(name) for name in to_list(result.label)]
        if log.system_names:
            sides = [
                [log.system_names[s] for s in side[items]] for side in (log.system_a, log.system_b)
            ]
            better = {str(name): side for name, side in zip(log.class_names, sides, strict=False)}
            label = [
                better[name][row] if name in better else name for row, name in enumerate(label)
            ]
            columns |= {"system_a": sides[0], "system_b": sides[1]}
        columns |= {"label": label, "confidence": result.confidence, "n_judges": n_judges}
        return make_frame(columns)

    def compare(self, first: str | Sequence[str], second: str | Sequence[str]) -> JudgeComparison:
        """Compare two judges or panels on the items that both answered.

        Args:
            first: A judge, or the members of a panel.
            second: Another judge or panel.

        Returns:
            The difference of accuracies with its interval, and a p-value.

        Raises:
            InputError: If there is no such judge, no item in common, or fewer than 10 known truths.
        """
        one, other = (
            [names] if isinstance(names, str) else list(names) for names in (first, second)
        )
        self._refuse_unknown([*one, *other])
        return compare_panels(self._members, one, other)

    def panels(self, prices: Mapping[str, float] | None = None) -> list[Panel]:
        """Return the best panels for the money: those that no cheaper panel matches on the known
        truths.

        Args:
            prices: The price of one item for each judge. The default is what the log says,
                otherwise 1 for every judge.

        Returns:
            The cheapest first, with cost and accuracy.

        Raises:
            InputError: If there are fewer than 10 known truths, or a price is given for a judge
                that is not in the log.
        """
        return frontier(self._members._replace(price=self._prices(prices)))

    def cascade(self, prices: Mapping[str, float] | None = None) -> Cascade | None:
        """Return the best cascade: two cheap judges, and the dearest one where they disagree.

        Args:
            prices: As for `panels`.

        Returns:
            What it costs and what it keeps; None with fewer than three judges, or if none is dearer
            than the others.
        """
        return cascade(self._members._replace(price=self._prices(prices)))

    def best_panel(self, prices: Mapping[str, float] | None = None) -> Panel:
        """Return the cheapest panel that is about as accurate as the best one: within one standard
        error.

        Args:
            prices: As for `panels`.

        Returns:
            Its members, its cost and its accuracy.
        """
        return choose(self.panels(prices))

    def rank(
        self, *, weights: Weights = "learned", seed: int = 0, control_length: bool = False
    ) -> Ranking:
        """Rank the systems that the judges compared.

        Args:
            weights ({"learned", "equal"}): Whether judges whose verdicts depend more on the systems
                count more, and judges that err alike less.
            seed: The seed of the bootstrap.
            control_length: Whether strengths leave aside what the lengths of the answers explain.

        Returns:
            Strengths, ranks and win rates, with intervals.

        Raises:
            InputError: If the log names no systems, or systems that no chain of comparisons
                connects.
        """
        known = (
            np.ones(self.log.n_judges)
            if self.correlated is None
            else self._by_judge(self.correlated.weights, 1.0)
        )
        return rank_systems(
            self.log,
            known,
            weights,
            seed=seed,
            control_length=control_length,
            answers=self._answers,
        )

    def report(self, path: str | Path) -> None:
        """Write one HTML file about the labels, with a section on the judges.

        Args:
            path: The file.
        """
        from finegold.report import write_report

        write_report(self.result, path, title="Panel of LLM judges", judges=self.view())

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values, for JSON.

        Returns:
            The size of the log, the judges, the groups that err alike, and notes.
        """
        return {
            "kind": self.log.kind,
            "n_verdicts": self.log.n_verdicts,
            "n_items": self.log.n_items,
            "n_failed": self.log.n_failed,
            "n_gold": self.n_gold,
            "effective_judges": self.effective,
            "judges": self.judges(),
            "unread": [{"verdict": text, "count": n} for text, n in self.log.unread.items()],
            "notes": self.notes,
        }

    def view(self) -> dict[str, Any]:
        """Return what the report and the studio show of the judges.

        Returns:
            What `to_dict` returns, with the best panels, pairs of judges that err alike, and the
            ranking of systems.
        """
        ranking, notes, pairs = [], self.notes, []
        try:
            if self.log.kind == "pairwise" and self.log.system_names:
                ranking = [one.plain() for one in self.rank().standings]
        except InputError as error:
            # systems that were never compared with each other
            notes.append(str(error))
        if (
            self.correlated is not None
            and len(names := to_list(self.correlated.names)) <= MOST_PAIRED
        ):
            alike = self.correlated.evidence.pairs
            for one, other, excess in zip(
                alike.one.tolist(), alike.other.tolist(), alike.excess.tolist(), strict=True
            ):
                pair = {"excess": round(min(max(excess, 0.0), 1.0), 4)}
                left, right = str(names[one]), str(names[other])
                pairs += [
                    pair | {"one": left, "other": right},
                    pair | {"one": right, "other": left},
                ]
        return self.to_dict() | {
            "by_gold": any(one.accuracy.value == one.accuracy.value for one in self.scores),
            "pairs": pairs,
            "panels": [plain(panel) for panel in self.panels()] if self.n_gold >= MIN_GOLD else [],
            "ranking": ranking,
            "notes": notes,
        }

    def _repr_html_(self) -> str:
        title = (
            f"<b>{self.log.n_judges:,} judges</b>, worth {self.effective:.1f} independent ones: "
        )
        title += (
            f"{self.log.n_verdicts:,} verdicts on {self.log.n_items:,} items, {self.log.n_failed:,}"
            " failed"
        )
        return judges_html(title, self.judges(), self.notes)

    def __repr__(self) -> str:
        return f"JudgeReport({self.log!r}, worth {self.effective:.1f} independent judges)"

    @cached_property
    def _members(self) -> Members:
        if self.n_gold < MIN_GOLD:
            raise InputError(
                f"panels, comparisons and cascades need {MIN_GOLD} known truths or more, and the"
                f" log has {self.n_gold}",
                remedies=[use(gold=Placeholder("FILE"), text="with the truths of 50 random items")],
            )
        answers, log = self._answers, self.log
        known = np.flatnonzero(log.gold != MISSING)
        place = np.full(log.n_items, -1)
        place[known] = np.arange(len(known))
        kept = (place[answers.item] >= 0) & (answers.answer != MISSING)
        share = np.zeros((log.n_judges, len(known), len(answers.names)))
        is_split = (answers.answer == UNDECIDED)[:, None] & (len(answers.names) == TIED)
        points = np.where(is_split, 1.0, answers.points)[kept]
        share[answers.judge[kept], place[answers.item[kept]]] = points / points.sum(
            axis=1, keepdims=True
        )
        group = (
            np.full(log.n_judges, -1.0)
            if self.correlated is None
            else self._by_judge(self.correlated.group, -1)
        )
        return Members(
            names=log.judge_names,
            share=share,
            gold=log.gold[known].astype(np.int64),
            weight=np.maximum(_weights(log, answers), LEAST_WEIGHT),
            group=group.astype(np.int64),
            excess=np.empty(0) if self.correlated is None else self.correlated.excess,
            price=self._prices(None),
            is_pairwise=log.kind == "pairwise",
        )

    def _prices(self, given: Mapping[str, float] | None) -> Floats:
        """Return the price of an item for each judge: as given, otherwise that of the log,
        otherwise 1.
        """
        names = self.log.judge_names
        self._refuse_unknown(given or {})
        costs = np.bincount(self.log.judge, np.nan_to_num(self.log.cost), minlength=len(names))
        n_items = {one.judge: max(one.n_items, 1) for one in self.scores}
        by_log = (
            costs / [n_items[name] for name in names] if (costs > 0).all() else np.ones(len(names))
        )
        return np.array(
            [
                float((given or {}).get(name, price))
                for name, price in zip(names, by_log, strict=True)
            ]
        )

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        if unknown := [name for name in names if name not in self.log.judge_names]:
            raise InputError(
                f"there is no judge {unknown[0]!r}; the judges are"
                f" {', '.join(self.log.judge_names)}"
            )

    def _by_judge(self, values: Any, other: float) -> Floats:
        """Return values of annotators for all judges; those without a vote have another value."""
        assert self.correlated is not None
        code_of = {name: code for code, name in enumerate(self.log.judge_names)}
        by_judge = np.full(len(code_of), float(other))
        by_judge[[code_of[str(name)] for name in to_list(self.correlated.names)]] = values
        return by_judge


def read(log: Any, *, gold: Any = None, **reading: Any) -> JudgeLog:
    """Read a raw log of LLM judges: one row per call, with the verdict as the judge gave it.

    Columns are found by their usual names. Verdicts may be A/B/tie, first/second, 1/2, [[A]], the
    names of the two systems, win/lose, pass/fail, classes or scores, also at the end of a longer
    text. The swap of the answers is undone. Errors, refusals and text without a verdict are failed
    calls: they are counted, and do not count as votes.

    Args:
        log (path, paths, data frame or JudgeLog): CSV, JSONL, JSON, Parquet, a folder, or a data
            frame. Logs of MT-bench, JudgeBench, Arena-Hard, Chatbot Arena, AlpacaEval and Inspect
            are recognised.
        gold (str, path, data frame or mapping): Known truths: a column of the log, a table of items
            and truths, or item -> truth. A truth is a class or the name of the better system.
        **reading: The following keywords.
        item: The column with the items.
        judge: The column with the judges.
        verdict: The column with the verdicts.
        order: The column with the order of the answers: AB or BA.
        system_a: The column with the first system.
        system_b: The column with the second system.
        repeat: The column with the number of the repeat.
        cost: The column with the price of the call.
        error: The column with the error or the status of the call.
        kind: Whether verdicts compare two answers or judge one.
        verdicts: What A and B mean in a log with orders: positions, or the answers.
        verdict_pattern: A regular expression that finds the verdict in a text: its first group. The
            last match counts.
        verdict_map: What verdicts mean: A, B or tie, or the name of a class. Several are separated
            by commas.

    Returns:
        The verdicts.

    Raises:
        InputError: If a column is missing, or most verdicts cannot be read.

    Examples:
        >>> import finegold
        >>> calls = {"prompt": [1, 1], "model": ["gpt", "gpt"], "order": ["AB", "BA"], "verdict": ["[[A]]", "[[B]]"]}
        >>> log = finegold.judges.read(calls)
        >>> log
        JudgeLog(pairwise, 2 verdicts, 1 items, 1 judges, 0 failed)
        >>> [log.class_names[code] for code in log.answer]
        ['A', 'A']
    """
    is_column = isinstance(gold, str) and not isinstance(log, JudgeLog) and not Path(gold).exists()
    judged = read_judge_log(log, gold=gold if is_column else None, **reading)
    return judged if gold is None or is_column else with_gold(judged, gold)


def assess(log: Any, *, gold: Any = None, method: str | None = None, **reading: Any) -> JudgeReport:
    """Find out what each judge of a log is worth.

    Calls of a judge on an item (both orders, repeats) are merged into one answer. Where they
    contradict each other, the answer is undecided and counts half in the accuracy, which is chance.
    Accuracies are measured on the items with known truths; without them no accuracy is shown,
    because agreement is not accuracy.

    Labels come from all calls, so that the effect of the order cancels: by a majority vote without
    gold, otherwise by votes that are weighted by what the known truths say about each judge.

    Args:
        log (path, paths, data frame or JudgeLog): What `finegold.judges.read` takes or returns.
        gold (str, path, data frame or mapping): Known truths: a column of the log, a table of items
            and truths, or item -> truth.
        method: A method that labels the items instead.
        **reading: How to read the log: keywords of `finegold.judges.read`.

    Returns:
        Figures of each judge, comparisons, panels, and the ranking of systems.

    Raises:
        InputError: If the log cannot be read, or has no verdicts.

    Examples:
        >>> import finegold
        >>> said = ["pass", "pass", "fail", "ERROR: timeout"]
        >>> calls = {"item": [1, 1, 2, 2], "judge": ["gpt", "claude"] * 2, "verdict": said}
        >>> report = finegold.judges.assess(calls)
        >>> [(one.judge, one.failed.value) for one in report.scores]
        [('claude', 0.5), ('gpt', 0.0)]
    """
    judged = read(log, gold=gold, **reading)
    answers = merge(judged)
    decided = whole(judged, answers)
    correlated = (
        None
        if decided is None
        else correlated_annotators(fit_votes(decided, FitOptions(method="ptbcc")))
    )
    result = fit_votes(answers.calls, FitOptions(method=method or "mv"))
    # label the items by all calls, weighted by what the known truths say about each judge
    if method is None:
        points = np.zeros((judged.n_items, len(answers.names)))
        if (judged.gold != MISSING).sum() < MIN_GOLD:
            np.add.at(points, answers.item, answers.points)
            posterior = points[answers.labelled] / points[answers.labelled].sum(
                axis=1, keepdims=True
            )
        else:
            np.add.at(
                points,
                answers.item,
                _weights(judged, answers)[answers.judge][:, None] * answers.points,
            )
            worth = 1.0 if correlated is None else correlated.effective / judged.n_judges
            posterior = softmax(points[answers.labelled] * min(worth, 1.0), axis=1)
        truth = judged.gold[answers.labelled]
        posterior[truth >= 0] = np.eye(len(answers.names))[truth[truth >= 0]]
        voted = (
            result.method,
            result.settings,
            answers.calls,
            posterior,
            result.steps,
            result.learned,
        )
        result = Result.of(summarise(*voted))
    partners = {}
    if correlated is not None:
        names = np.array([str(name) for name in to_list(correlated.names)])
        for j in np.flatnonzero(correlated.group >= 0):
            mates = (correlated.group == correlated.group[j]) & (np.arange(len(names)) != j)
            partners[str(names[j])] = names[mates].tolist()
    return JudgeReport(
        judged, result, best_first(score_judges(judged, answers, partners)), correlated, answers
    )


def _weights(log: JudgeLog, answers: Answers) -> Floats:
    """Return the weight of each judge's vote: the log-odds of its accuracy on the known truths."""
    known = np.isfinite(answers.credit)
    right = np.bincount(answers.judge[known], answers.credit[known], minlength=log.n_judges).astype(
        float
    )
    n = np.bincount(answers.judge[known], minlength=log.n_judges)
    return log_odds(right, n.astype(float), len(answers.names))


def rank(
    log: Any,
    *,
    weights: Weights = "learned",
    seed: int = 0,
    control_length: bool = False,
    **reading: Any,
) -> Ranking:
    """Rank the systems that judges compared, by a Bradley-Terry model with ties.

    Every judge has a position effect, a tie rate and a discrimination: how much its verdicts depend
    on the systems. Judges with a higher discrimination count more, and judges that err alike count
    less. Intervals are from a bootstrap over items.

    Args:
        log (path, paths, data frame or JudgeLog): A log of pairwise verdicts that names the two
            systems: what `finegold.judges.read` takes or returns.
        weights ({"learned", "equal"}): Whether judges are weighted by what was learned about them.
        seed: The seed of the bootstrap.
        control_length: Whether strengths leave aside what the lengths of the answers explain, if
            the log has the answers.
        **reading: How to read the log: keywords of `finegold.judges.read`.

    Returns:
        Strengths, ranks and win rates, with intervals.

    Raises:
        InputError: If the log names no systems, or systems that no chain of comparisons connects.

    Examples:
        >>> import finegold
        >>> rows = {"item": [1, 2, 3, 4], "judge": ["gpt"] * 4, "winner": ["x", "x", "x", "z"]}
        >>> rows |= {"model_a": ["x", "y", "x", "y"], "model_b": ["y", "x", "z", "z"]}
        >>> ranking = finegold.judges.rank(rows, weights="equal")
        >>> [one.system for one in ranking.standings]
        ['x', 'z', 'y']
    """
    judged = read(log, **reading)
    if weights == "equal":
        return rank_systems(
            judged, np.ones(judged.n_judges), weights, seed=seed, control_length=control_length
        )
    return assess(judged).rank(weights=weights, seed=seed, control_length=control_length)
