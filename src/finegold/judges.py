"""Panels of LLM judges, from raw logs to decisions.

read(log)      a raw log: columns found, verdicts understood, swaps undone, failed calls counted
assess(log)    what each judge is worth, against people, comparisons, panels, rates
rank(log)      the systems that the judges compared, with intervals
fit(log)       a panel that decides about new items; load(path) reads a saved one
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from finegold.api.fit import fit_votes
from finegold.api.options import FitOptions
from finegold.api.result import Result
from finegold.errors import InputError, Placeholder, use
from finegold.insight.correlation import CorrelatedAnnotators, correlated_annotators
from finegold.insight.judges import panels as of_panels
from finegold.insight.judges import people, rates
from finegold.insight.judges.answers import MIN_GOLD, Share, flat, plain, votes_of, whole
from finegold.insight.judges.panels import ASK_BELOW, Decision, JudgeComparison, JudgePanel, Panel
from finegold.insight.judges.panels import load_panel as load
from finegold.insight.judges.ranking import Ranking, rank_systems
from finegold.insight.judges.scores import JudgeScore, best_first, places, score_judges
from finegold.insight.notebook import frame_html
from finegold.insight.votes import Flags, Floats, Integers
from finegold.io import judge_logs
from finegold.io.judge_calls import MOST_CLASSES
from finegold.io.judge_logs import TIED, Answers, JudgeLog, merge_calls, only_judges
from finegold.results.data import summarise
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import make_frame, to_polars

__all__ = [
    "Decision",
    "JudgeLog",
    "JudgePanel",
    "JudgeReport",
    "assess",
    "fit",
    "load",
    "rank",
    "read",
    "read_each",
]

CHECK = (
    "{} truths are known, so no accuracy is shown; judges stand in the order of their agreement"
    " with the others, which is not accuracy: check 50 random items, and pass their truths as gold"
)
# disagreements in JSON and in the report
SHOWN = 200
# words for what passes
PASSES = ("pass", "passed", "yes", "true", "correct", "good", "safe", "accept", "acceptable", "ok")
BOUND = re.compile(r"(>=|>|<=|<)\s*(-?[\d.]+)")
COMPARE = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """What the judges of a log are worth: the result of `finegold.judges.assess`.

    Attributes:
        log: The verdicts.
        result: The labels of the items, by all judges and the gold; None for scores with more than
            20 values, whose means `labels` has.
        scores: One entry per judge: `accuracy`, `undecided`, `position_bias`, `failed`, ... The
            best is first.
        correlated: Groups of judges that err alike; None if no answer is decided.
    """

    log: JudgeLog
    result: Result | None
    scores: list[JudgeScore]
    correlated: CorrelatedAnnotators | None
    _answers: Answers = field(repr=False)
    # the items of the result
    _labelled: Integers = field(repr=False)

    @property
    def effective(self) -> float:
        """The number of independent judges that all judges are worth: from 1 to their number."""
        n, answers = self.log.n_judges, self._answers
        if len(answers.item) % n == 0 and len(answers.item) >= MIN_GOLD * n:
            # judges with the same answers to all items count as one
            said = answers.score if self.log.is_ordered else answers.answer
            rows = np.hstack([answers.item.reshape(n, -1), said.reshape(n, -1)])
            n = len(np.unique(rows, axis=0))
        return float(n if self.correlated is None else np.clip(self.correlated.effective, 1, n))

    @property
    def n_gold(self) -> int:
        """The number of items with a known truth."""
        return int((self.log.gold != MISSING).sum())

    @property
    def notes(self) -> list[str]:
        """What a reader should know about the figures."""
        notes = list(self.log.notes)
        if self.n_gold < MIN_GOLD:
            notes.append(CHECK.format(self.n_gold or "no"))
        is_unknown = all(np.isnan(one.position_bias.value) for one in self.scores)
        if self.log.kind == "pairwise" and is_unknown:
            notes.append("no judge saw an item in both orders, so its position bias is not known")
        if self.result is not None and not self.log.is_ordered:
            is_known = self.log.gold[self._labelled] >= 0
            if n := int((self.result.tied & ~is_known).sum()):
                notes.append(
                    f"{n:,} of {len(is_known):,} labels are ties; the column tied says which"
                )
        return notes + (self.correlated.warnings if self.correlated else [])

    def table(self) -> Any:
        """Return a data frame with one row per judge, the best first.

        Returns:
            data frame: All figures, with the ends of their 95 % intervals.
        """
        rows, ranks = [], places(self.scores)
        for one in self.scores:
            spans = "-".join(map(str, dict.fromkeys(ranks[one.judge])))
            failures = ", ".join(f"{n} {why}" for why, n in one.failures.items())
            rows.append({"judge": one.judge, "ranks": spans} | flat(one) | {"failures": failures})
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def labels(self, panel: Sequence[str] | None = None) -> Any:
        """Return the label of every item that has one, by all judges and the gold.

        Args:
            panel: The judges whose calls count, if not all.

        Returns:
            data frame: The item, its label (for pairs of systems: both systems and the winner), the
                confidence, whether classes tie for the label, and the number of judges that
                answered. Of scores: the item and the mean score.
        """
        if panel is not None:
            self._refuse_unknown(panel)
            return assess(only_judges(self.log, panel)).labels()
        log, answers, names = self.log, self._answers, self.log.system_names
        said = answers.points.any(axis=1) if not log.is_ordered else np.isfinite(answers.score)
        n_judges = np.bincount(answers.item[said], minlength=log.n_items)
        items = self._labelled
        columns: dict[str, Any] = {}
        if log.is_ordered:
            items = np.flatnonzero((n_judges > 0) | (log.gold >= 0))
            score = np.where(log.gold >= 0, log.scores[log.gold], self._mean_scores)
            columns = {"score": score[items]}
        elif self.result is not None:
            label = [str(name) for name in to_list(self.result.label)]
            if names:
                sides = [[names[s] for s in side[items]] for side in (log.system_a, log.system_b)]
                better = dict(zip(map(str, log.class_names), sides, strict=False))
                label = [
                    better[each][i] if each in better else each for i, each in enumerate(label)
                ]
                columns = {"system_a": sides[0], "system_b": sides[1]}
            columns |= {"label": label, "confidence": self.result.confidence}
            columns |= {"tied": self.result.tied}
        columns = {"item": [log.item_names[i] for i in items]} | columns
        return make_frame(columns | {"n_judges": n_judges[items]})

    def classes(self) -> dict[str, list[people.ClassScore]]:
        """Return how good each judge is at each class.

        Returns:
            dict: Judge -> for each class its sensitivity, specificity and precision.
        """
        return people.by_class(self.log, self._answers) if self.n_gold >= MIN_GOLD else {}

    def disagreements(self) -> Any:
        """Return the answers that differ from the known truth, with what the log says of the item.

        Returns:
            data frame: The item, the judge, its verdict, the truth, how many judges are wrong, and
                the texts. Items that most judges have wrong are first.
        """
        return make_frame(people.disagreements(self.log, self._answers).to_dict(as_series=False))

    def may_replace(self, epsilon: float | str = "expert") -> list[people.Replacement]:
        """Test whether a judge may replace the people who voted: the alternative annotator test.

        Args:
            epsilon (float or {"expert", "trained", "crowd"}): What a person costs more than a
                judge, as a share of the items: .2, .15 and .1.

        Returns:
            The winning rate and the advantage probability of each judge, the best first.

        Raises:
            InputError: If no items have the votes of two people or more.
        """
        return people.may_replace(self.log, self._answers, epsilon)

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
        sides = [[side] if isinstance(side, str) else list(side) for side in (first, second)]
        self._refuse_unknown([*sides[0], *sides[1]])
        return of_panels.compare_panels(self._members, *sides)

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
        return of_panels.best_panels(self._members, self._prices(prices))

    def rate(self, *, passes: str | None = None, by: str | None = None) -> list[rates.Rate]:
        """Return the share of items that would pass if people judged all of them, or their mean
        score.

        The verdicts on all items are corrected by the truths of those that were checked, which must
        be a random sample.

        Args:
            passes: The class that passes, such as "pass", or a bound of scores, such as ">=4"; in a
                log that compares systems, the system that wins. Scores have a mean without it.
            by: The column whose values are groups; intervals then hold for all groups together.

        Returns:
            The rate of all items, or of each group.

        Raises:
            InputError: If it is not clear what passes, or there is no such column.
        """
        verdicts, truth, used, ends = self._passes(passes)
        names, group = ([""], np.zeros(len(truth), np.int64)) if by is None else self._grouped(by)
        # intervals that hold for all groups together (Bonferroni)
        level = 1 - 0.05 / max(len(names), 1)
        rows = [used & (group == code) for code in range(len(names))]
        return [
            rates.rate_of(name, verdicts[:, mine], truth[mine], *ends, level)
            for name, mine in zip(names, rows, strict=True)
        ]

    def difference(self, first: str, second: str, *, by: str, passes: str | None = None) -> Share:
        """Return the rate of one group of items minus that of another, such as two versions of a
        system, paired by item.

        Args:
            first: A value of the column `by`.
            second: Another one.
            by: The column of the log that has both.
            passes: As for `rate`.

        Returns:
            The difference with its interval; NaN with fewer than 10 pairs of known truths.

        Raises:
            InputError: If there is no such column or group, or no pair.
        """
        verdicts, truth, used, ends = self._passes(passes)
        names, group = self._grouped(by)
        if unknown := [each for each in (first, second) if each not in names]:
            raise InputError(f'no item has "{unknown[0]}" as {by}; there are {", ".join(names)}')
        about, item = self.log.about, self.log.reading.roles.get("item")
        columns = item.columns if item else ()
        rest = [each for each in columns if each != by and each in about.columns]
        if not rest:
            raise InputError(f"nothing pairs items that differ in {by}: items have one column")
        _, pair = np.unique(about.select(rest).hash_rows().to_numpy(), return_inverse=True)
        one, other = (used & (group == names.index(each)) for each in (first, second))
        return rates.difference_of(verdicts, truth, one, other, pair, *ends)

    def _grouped(self, by: str) -> tuple[list[str], Integers]:
        if by not in self.log.about.columns:
            names = ", ".join(self.log.about.columns)
            problem = f'no column "{by}" says the same in all rows of an item'
            raise InputError(f"{problem}; there are {names}")
        groups = self.log.about[by].fill_null("?").to_list()
        code = {name: number for number, name in enumerate(dict.fromkeys(groups))}
        return list(code), np.array([code[name] for name in groups])

    def _rank(self, seed: int = 0) -> Ranking:
        weights = np.ones(self.log.n_judges)
        if self.correlated is not None:
            weights = self._by_judge(self.correlated.weights, 1.0)
        return rank_systems(self.log, weights, seed=seed)

    def report(self, path: str | Path) -> None:
        """Write one HTML file about the labels, with a section on the judges.

        Args:
            path: The file.

        Raises:
            InputError: If verdicts are scores with more than 20 values, which have no labels.
        """
        from finegold.report import write_report

        if self.result is None:
            problem = f"a report is of labels, and there are {len(self.log.class_names):,} scores"
            raise InputError(problem, remedies=[use(text="round them to at most 20 values")])
        write_report(self.result, path, title="Panel of LLM judges", judges=self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values, for JSON, the report and the studio.

        Returns:
            How the log was read, its size, the judges, their classes, panels, pairs that err alike,
            disagreements, the ranking of systems, and notes.
        """
        notes, ranking, replace = self.notes, [], []
        with suppress(InputError):
            replace = plain(self.may_replace())
        try:
            if self.log.kind == "pairwise" and self.log.system_names:
                ranking = [one.plain() for one in self._rank().standings]
        except InputError as error:
            # systems that were never compared with each other
            notes.append(str(error))
        log, ranks, names = self.log, places(self.scores), self.log.judge_names
        alike = [
            {"one": names[a], "other": names[b], "excess": float(self._alike[a, b])}
            for a, b in np.argwhere(self._alike > 0)
        ]
        return {
            "kind": log.kind,
            "criterion": log.criterion,
            "reading": log.reading.to_dict(),
            "n_verdicts": log.n_verdicts,
            "n_items": log.n_items,
            "n_failed": log.n_failed,
            "n_gold": self.n_gold,
            "effective_judges": self.effective,
            "ceiling": plain(people.ceiling(log)),
            "by_gold": any(one.accuracy.value == one.accuracy.value for one in self.scores),
            "judges": [one.plain() | {"ranks": list(ranks[one.judge])} for one in self.scores],
            "classes": plain(self.classes()),
            "disagreements": to_polars(self.disagreements()).head(SHOWN).to_dicts(),
            "replace": replace,
            "panels": plain(self.panels()) if self.n_gold >= MIN_GOLD else [],
            "pairs": alike,
            "ranking": ranking,
            "unread": [{"verdict": text, "count": n} for text, n in log.unread.items()],
            "notes": notes,
        }

    def _repr_html_(self) -> str:
        log, worth = self.log, f"worth {self.effective:.1f} independent ones"
        title = f"<b>{log.n_judges:,} judges</b>, {worth}: {log.n_verdicts:,} verdicts on"
        title += f" {log.n_items:,} items, {log.n_failed:,} failed"
        notes = [str(self.log.reading), *self.notes]
        columns = (
            *("judge", "accuracy", "accuracy_low", "accuracy_high", "undecided"),
            *("position_bias", "swap_consistency", "failed", "cost"),
        )
        return frame_html(title, self.table(), notes, columns)

    def __repr__(self) -> str:
        return f"JudgeReport({self.log!r}, worth {self.effective:.1f} independent judges)"

    @cached_property
    def _members(self) -> of_panels.Members:
        if self.n_gold < MIN_GOLD:
            problem = f"panels and comparisons need {MIN_GOLD} known truths or more"
            remedy = use(gold=Placeholder("FILE"), text="with the truths of 50 random items")
            raise InputError(f"{problem}, and the log has {self.n_gold}", remedies=[remedy])
        return of_panels.members_of(self.log, self._answers, self._alike)

    @property
    def _mean_scores(self) -> Floats:
        """The mean score of each item, by judges who count the more the smaller their error is."""
        answers, weight, n = self._answers, np.ones(self.log.n_judges), self.log.n_items
        if self.n_gold >= MIN_GOLD:
            weight = of_panels.weights_of(self.log, answers)
        w = weight[answers.judge] * np.isfinite(answers.score)
        sums = np.bincount(answers.item, w * np.nan_to_num(answers.score), minlength=n)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / np.bincount(answers.item, w, minlength=n))

    @cached_property
    def _alike(self) -> Floats:
        """[J, J] The excess agreement of judges that err alike; 0 for others."""
        n, found = self.log.n_judges, self.correlated
        if found is None:
            return np.zeros((n, n))
        group = self._by_judge(found.group, -1).astype(np.int64)
        is_same = (group[:, None] == group) & (group >= 0) & ~np.eye(n, dtype=bool)
        return np.where(is_same, np.clip([*found.excess, 0.0], 0, 1)[group], 0.0)

    def _passes(self, passes: str | None) -> tuple[Floats, Floats, Flags, tuple[float, float]]:
        """Return whether each judge lets each item pass, whether it does, and which items count."""
        log, answers, ends = self.log, self._answers, (0.0, 1.0)
        known, used = log.gold >= 0, np.ones(log.n_items, bool)
        bound = BOUND.fullmatch(passes.strip()) if passes else None
        if log.is_ordered and (passes is None or bound):
            said, truth = answers.score, np.where(known, log.scores[log.gold], np.nan)
            if bound:
                compare, limit = COMPARE[bound[1]], float(bound[2])
                said = np.where(np.isnan(said), np.nan, compare(said, limit))
                truth = np.where(known, compare(truth, limit), np.nan)
            else:
                values = truth[known] if known.any() else log.scores
                ends = (float(values.min()), float(values.max()))
        else:
            names = log.system_names or [str(name) for name in log.class_names]
            wanted = PASSES if passes is None else (passes.casefold(),)
            code = next((k for k, name in enumerate(names) if name.casefold() in wanted), None)
            if code is None or (passes is None and log.system_names):
                what = "system's rate is meant" if log.system_names else "class passes"
                remedy = use(passes=Placeholder("NAME"))
                raise InputError(f"say which {what}: one of {', '.join(names)}", remedies=[remedy])
            side = np.full(log.n_items, code)
            if log.system_names:
                used = (log.system_a == code) | (log.system_b == code)
                side = np.where(log.system_b == code, 1, 0)
            share = answers.points / np.maximum(answers.points.sum(axis=1, keepdims=True), 1e-9)
            said, truth = share[np.arange(len(share)), side[answers.item]], log.gold == side
            if log.kind == "pairwise":
                truth = np.where(log.gold == TIED, 0.5, truth)
                said = said + share[:, TIED:].sum(axis=1) / 2
            said, truth = np.where(share.any(axis=1), said, np.nan), np.where(known, truth, np.nan)
        verdicts = np.full((log.n_judges, log.n_items), np.nan)
        verdicts[answers.judge, answers.item] = said
        return verdicts, truth, used, ends

    def _prices(self, given: Mapping[str, float] | None) -> Floats:
        """Return the price of an item for each judge: as given, otherwise that of the log,
        otherwise 1.
        """
        names = self.log.judge_names
        self._refuse_unknown(given or {})
        costs = np.bincount(self.log.judge, np.nan_to_num(self.log.cost), minlength=len(names))
        priced = np.bincount(self.log.judge, np.isfinite(self.log.cost), minlength=len(names))
        n_items = np.bincount(self._answers.judge, minlength=len(names))
        # a free judge has a price, too
        is_known = (priced > 0).all() and costs.any()
        by_log = costs / np.maximum(n_items, 1) if is_known else np.ones(len(names))
        own = dict(zip(names, by_log, strict=True)) | dict(given or {})
        return np.array(list(own.values()), float)

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        if unknown := [name for name in names if name not in self.log.judge_names]:
            listed = ", ".join(self.log.judge_names)
            raise InputError(f"there is no judge {unknown[0]!r}; the judges are {listed}")

    def _by_judge(self, values: Any, other: float) -> Floats:
        """Return values of annotators for all judges; those without a vote have another value."""
        assert self.correlated is not None
        code_of = {name: code for code, name in enumerate(self.log.judge_names)}
        by_judge = np.full(len(code_of), float(other))
        by_judge[[code_of[str(name)] for name in to_list(self.correlated.names)]] = values
        return by_judge


def read(log: Any, *, gold: Any = None, **reading: Any) -> JudgeLog:
    """Read a raw log of LLM judges: one row per call, with the verdict as the judge gave it.

    Columns are found by their usual names and by what they hold; `JudgeLog.reading` says how each
    was read. Verdicts may be A/B/tie, first/second, 1/2, [[A]], the names of the two systems,
    win/lose, pass/fail, classes or scores, also at the end of a longer text. The swap of the
    answers is undone. Errors, refusals and text without a verdict are failed calls: they are
    counted, and do not count as votes.

    Args:
        log (path, paths, data frame, mapping or JudgeLog): CSV, JSONL, JSON, Parquet, a folder, a
            data frame, or judge -> item -> verdict. Logs of MT-bench, JudgeBench, Arena-Hard,
            Chatbot Arena, AlpacaEval, LLMBar, PandaLM, Inspect, promptfoo, DeepEval and OpenAI
            evals are recognised.
        gold (str, path, data frame or mapping): Known truths: a column of the log, a table of items
            and truths, or item -> truth. A truth is a class or the name of the better system.
            Several people may have voted on an item: what most of them say is the truth.
        **reading: The following keywords.
        item: The column with the items, or several: question,pair.
        judge: The column with the judges, or several: model,prompt.
        verdict: The column with the verdicts.
        order: The column with the order of the answers: AB or BA.
        system_a: The column with the first system.
        system_b: The column with the second system.
        criterion: The column with the criterion that a row judges.
        question: The criterion to read, if the log has several.
        people: Who of the judges is a person, or the columns with the votes of people: ann,bob or
            'human*'. Their majority is the truth.
        repeat: The column with the number of the repeat.
        cost: The column with the price of the call.
        error: The column with the error or the status of the call.
        kind: Whether verdicts compare two answers or judge one.
        verdicts: What A and B mean in a log with orders: positions, or the answers.
        verdict_pattern: A regular expression that finds the verdict in a text: its first group. The
            last match counts.
        verdict_map: What verdicts and truths mean: A, B or tie, or the name of a class. Several are
            separated by commas.

    Returns:
        The verdicts.

    Raises:
        InputError: If a column is missing, most verdicts cannot be read, rows cannot be told apart,
            or the log has several criteria and none is named.

    Examples:
        >>> import finegold
        >>> calls = {"prompt": [1, 1], "model": ["gpt", "gpt"], "order": ["AB", "BA"], "verdict": ["[[A]]", "[[B]]"]}
        >>> log = finegold.judges.read(calls)
        >>> log
        JudgeLog(pairwise, 2 verdicts, 1 items, 1 judges, 0 failed)
        >>> print(log.reading)
        item = prompt · judge = model (1) · verdict = verdict (A, B, tie) · order = order (both)
        >>> [log.class_names[code] for code in log.answer]
        ['A', 'A']
    """
    return judge_logs.read_judge_log(log, gold, **reading)


def read_each(log: Any, *, gold: Any = None, **reading: Any) -> dict[str, JudgeLog]:
    """Read a raw log of LLM judges for each of its criteria.

    Args:
        log (path, paths, data frame, mapping or JudgeLog): As in `read`.
        gold (str, path, data frame or mapping): As in `read`; a table may have a column of criteria
            or, beside the items, a column with the name of each criterion.
        **reading: As in `read`.

    Returns:
        The verdicts by criterion. A log without criteria has one, with the name "".
    """
    return judge_logs.read_judge_logs(log, gold, **reading)


def assess(log: Any, *, gold: Any = None, **reading: Any) -> JudgeReport:
    """Find out what each judge of a log is worth.

    Calls of a judge on an item (both orders, repeats) are merged into one answer. Where they
    contradict each other, the answer is undecided and counts half in the accuracy, which is chance;
    where all of them failed, it is not right. Accuracies are measured on the items with known
    truths; without them no accuracy is shown, because agreement is not accuracy. Judges who give
    scores stand in the order of their correlation with the scores of people.

    Labels come from all calls, so that the effect of the order cancels: by a majority vote without
    gold, otherwise by votes that are weighted by what the known truths say about each judge.

    Args:
        log (path, paths, data frame or JudgeLog): What `finegold.judges.read` takes or returns.
        gold (str, path, data frame or mapping): Known truths, as in `finegold.judges.read`.
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
    answers = merge_calls(judged)
    correlated, result = None, None
    voted = judged.item[(judged.answer >= 0) & (judged.answer < len(answers.names))]
    items = np.flatnonzero(np.bincount(voted, minlength=judged.n_items))
    if len(answers.names) <= MOST_CLASSES:
        if (decided := whole(judged, answers)) is not None:
            correlated = correlated_annotators(fit_votes(decided, FitOptions(method="ptbcc")))
        result = _labels(judged, answers, items, correlated)
    scores = best_first(score_judges(judged, answers))
    return JudgeReport(judged, result, scores, correlated, answers, items)


def _labels(
    log: JudgeLog, answers: Answers, items: Any, correlated: CorrelatedAnnotators | None
) -> Result:
    """Label the items by all calls, weighted by what the known truths say about each judge."""
    names, is_known = answers.names, log.gold != MISSING
    label = np.where(log.answer < len(names), log.answer, MISSING)
    votes = votes_of(log, log.item, log.judge, label, names, repeated="all")
    is_taught = is_known.sum() >= MIN_GOLD and not log.is_ordered
    weight = of_panels.weights_of(log, answers) if is_taught else np.ones(log.n_judges)
    points = np.zeros((log.n_items, len(names)))
    np.add.at(points, answers.item, weight[answers.judge][:, None] * answers.points)
    posterior = points[items]
    if is_taught:
        worth = 1.0 if correlated is None else correlated.effective / log.n_judges
        posterior = softmax(posterior * min(worth, 1.0), axis=1)
    else:
        posterior = posterior / posterior.sum(axis=1, keepdims=True)
    truth = log.gold[items]
    known = (truth >= 0) & (truth < len(names))
    posterior[known] = np.eye(len(names))[truth[known]]
    result = fit_votes(votes, FitOptions(method="mv"))
    summary = (result.method, result.settings, votes, posterior, result.steps, result.learned)
    return Result.from_data(summarise(*summary))


def rank(log: Any, *, gold: Any = None, seed: int = 0, **reading: Any) -> Ranking:
    """Rank the systems that judges compared, by a Bradley-Terry model with ties.

    Every judge has a position effect, if the log has pairs of systems in both orders, and a tie
    rate. Judges that err alike count less. Intervals are from a bootstrap over items.

    Args:
        log (path, paths, data frame or JudgeLog): A log of pairwise verdicts that names the two
            systems: what `finegold.judges.read` takes or returns.
        gold (str, path, data frame or mapping): Known truths, as in `finegold.judges.read`.
        seed: The seed of the bootstrap.
        **reading: How to read the log: keywords of `finegold.judges.read`.

    Returns:
        Strengths, ranks and win rates, with intervals.

    Raises:
        InputError: If the log names no systems, or systems that no chain of comparisons connects.

    Examples:
        >>> import finegold
        >>> rows = {"item": [1, 2, 3, 4], "judge": ["gpt"] * 4, "winner": ["x", "x", "x", "z"]}
        >>> rows |= {"model_a": ["x", "y", "x", "y"], "model_b": ["y", "x", "z", "z"]}
        >>> ranking = finegold.judges.rank(rows)
        >>> [one.system for one in ranking.standings]
        ['x', 'z', 'y']
    """
    return assess(log, gold=gold, **reading)._rank(seed)


def fit(
    log: Any,
    *,
    gold: Any = None,
    judges: Iterable[str] | None = None,
    ask_below: float = ASK_BELOW,
    **reading: Any,
) -> JudgePanel:
    """Fit a panel of judges to known truths, to decide about new items in microseconds.

    Args:
        log (path, paths, data frame or JudgeLog): What `finegold.judges.read` takes or returns.
        gold (str, path, data frame or mapping): Known truths, as in `finegold.judges.read`.
        judges: The members. The default is all judges.
        ask_below: Below this probability a person should be asked.
        **reading: How to read the log: keywords of `finegold.judges.read`.

    Returns:
        The panel.

    Raises:
        InputError: If there are fewer than 10 known truths.

    Examples:
        >>> import finegold
        >>> said = ["pass", "fail"] * 10
        >>> calls = {"item": list(range(20)), "judge": ["gpt"] * 20, "verdict": said, "human_label": said}
        >>> finegold.judges.fit(calls).decide({"gpt": "pass"}).label
        'pass'
    """
    report = assess(log, gold=gold, **reading)
    names = list(report.log.judge_names if judges is None else judges)
    report._refuse_unknown(names)
    alike = report._members.alike
    return of_panels.fit_panel(report.log, report._answers, names, alike, ask_below)
