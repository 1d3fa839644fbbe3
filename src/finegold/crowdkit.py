"""crowd-kit's classification, pairwise comparisons and agreement: change the import, keep the rest.

`from crowdkit.aggregation import DawidSkene` becomes `from finegold.crowdkit import DawidSkene`:
the same names, arguments and attributes, and pandas frames with the columns task, worker and label.
Each class is its published equations in NumPy. docs/guides/crowdkit.md says where results differ
from crowd-kit's, and by how much. `finegold.aggregate` has better methods for the same votes.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import entr, softmax

from finegold.errors import InputError
from finegold.fitting import solve
from finegold.methods import glad, mace
from finegold.votes.annotations import Annotations

Floats = NDArray[np.float64]
TINY = np.finfo(float).tiny
# probabilities are not below it, as in crowd-kit
MIN_PROBABILITY = 1e-10
COLUMNS = ("task", "worker", "label")


class ColumnError(InputError, KeyError):
    """A column is missing; crowd-kit raises a KeyError."""

    __str__ = InputError.__str__


class CodedVotes(NamedTuple):
    """Votes as integers, and pandas indexes of the names."""

    task: Any
    worker: Any
    label: Any
    tasks: Any
    workers: Any
    labels: Any

    def scores(self, weights: Any) -> Floats:
        """[T, K] Return the sum of the weights of the votes for each class of each task."""
        scores = np.zeros(len(self.tasks) * len(self.labels))
        # pandas adds groups with compensated summation: equal sums are equal in any order
        sums = pd.Series(weights).groupby(self.task * len(self.labels) + self.label).sum()
        scores[sums.index] = sums
        return scores.reshape(len(self.tasks), len(self.labels))


def _check(data: Any, columns: tuple[str, ...] = COLUMNS) -> None:
    for column in columns:
        if column not in data:
            raise ColumnError(f'there is no column "{column}"; rename the one that holds it')
        if data[column].isna().any():
            row = data.index[data[column].isna()][0]
            raise InputError(f"row {row!r} has no {column}; drop or fill such rows")
    if not len(data):
        raise InputError("the data frame is empty; give it at least one row")


def _encode(data: Any, sort: bool = False) -> CodedVotes:
    _check(data)
    coded = [pd.factorize(data[column], sort=sort) for column in COLUMNS]
    names = [pd.Index(coded[n][1], name=column) for n, column in enumerate(COLUMNS)]
    return CodedVotes(*(codes for codes, _ in coded), *names)


def _shares(scores: Floats) -> Floats:
    """Divide rows by their sums."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


# ---- Votes and weighted votes


class BaseClassificationAggregator:
    """What all aggregators have: `fit` takes the votes, a frame with task, worker and label."""

    labels_: Any
    probas_: Any

    def fit(self, data: Any) -> Self:
        """Fit to votes and return this object."""
        raise NotImplementedError

    def predict(self, data: Any) -> Any:
        """Return the label of every task; weighted votes use the skills that `fit` found."""
        return self.labels_

    def _keep(self, votes: CodedVotes, posterior: Floats) -> Self:
        self.probas_ = pd.DataFrame(posterior, votes.tasks, votes.labels)
        best = votes.labels.take(posterior.argmax(axis=1))
        self.labels_ = pd.Series(best, votes.tasks, name="agg_label")
        return self

    def predict_proba(self, data: Any) -> Any:
        """Return the probability of every label of every task, as a frame."""
        self.predict(data)
        return self.probas_

    def fit_predict(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Fit to votes and return the label of every task."""
        return self.fit(data, *args, **kwargs).predict(data)

    def fit_predict_proba(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Fit to votes and return the probability of every label of every task."""
        return self.fit(data, *args, **kwargs).predict_proba(data)


@dataclass(eq=False)
class MajorityVote(BaseClassificationAggregator):
    """Majority vote, weighted if `fit` is given the skills of the workers."""

    default_skill: float | None = None
    # "error", "ignore" (such votes do not count) or "value" (default_skill)
    on_missing_skill: str = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Fit to votes, weighted by the skill of each worker if `skills` is given."""
        _check(data)
        weights = pd.Series(1.0, data.index)
        if skills is not None:
            weights = data["worker"].map(skills)
            lost = weights.isna()
            if self.on_missing_skill == "value":
                weights = weights.fillna(self.default_skill)
            elif lost.any() and self.on_missing_skill == "error":
                worker = data["worker"][lost].iloc[0]
                raise InputError(f"worker {worker!r} has no skill; add it or see on_missing_skill")
            elif not data["task"].isin(data["task"][~lost]).all():
                raise InputError("nobody who voted on a task has a skill; add one")
            data, weights = data[weights.notna()], weights[weights.notna()]
        votes = _encode(data, sort=skills is not None)
        probas = _shares(votes.scores(weights.to_numpy(dtype=np.float64)))
        self._keep(votes, probas)
        self.skills_ = get_accuracy(data, self.labels_, by="worker").rename("skill")
        return self


class _Skilled(BaseClassificationAggregator):
    """Weighted votes: `fit` finds `skills_` of the workers, and `predict` votes with them."""

    skills_: Any

    def predict(self, data: Any) -> Any:
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_ = vote.labels_, vote.probas_
        return self.labels_


@dataclass(eq=False)
class Wawa(_Skilled):
    """A vote weighted by each worker's agreement with the majority."""

    def fit(self, data: Any) -> Self:
        self.skills_ = MajorityVote().fit(data).skills_
        return self


@dataclass(eq=False)
class GoldMajorityVote(_Skilled):
    """A vote weighted by the accuracy of each worker on tasks whose truth is known."""

    def fit(self, data: Any, true_labels: Any) -> Self:  # type: ignore[override]
        self.skills_ = get_accuracy(data, true_labels, by="worker").rename("skill")
        return self


@dataclass(eq=False)
class ZeroBasedSkill(_Skilled):
    """A vote weighted by skills that move, step by step, towards the agreement with the vote."""

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: Any) -> Self:
        votes = _encode(data, sort=True)
        skills = np.full(len(votes.workers), 1 / len(votes.labels) + self.eps)
        for step in range(1, self.n_iter + 1):
            best = np.argmax(_shares(votes.scores(skills[votes.worker])), axis=1)
            agreement = pd.Series(votes.label == best[votes.task]).groupby(votes.worker).mean()
            rate = self.lr_init * self.lr_reduce_factor ** (step // self.lr_steps_to_reduce)
            skills = skills + rate * (agreement.to_numpy() - skills)
        self.skills_ = pd.Series(skills, votes.workers, name="skill")
        return self


@dataclass(eq=False)
class BinaryRelevance(BaseClassificationAggregator):
    """Several labels per task, lists in the column label: each label is aggregated on its own."""

    base_aggregator: Any = field(default_factory=MajorityVote)

    def fit(self, data: Any) -> Self:
        self.labels_ = pd.Series(dtype=float, name="agg_label")
        if not len(data):
            return self
        chosen: dict[Any, list[Any]] = {task: [] for task in data["task"]}
        for label in sorted({label for labels in data["label"] for label in labels}):
            votes = data.assign(label=[label in labels for labels in data["label"]])
            decided = copy.copy(self.base_aggregator).fit_predict(votes)
            for task in decided.index[decided.astype(bool)]:
                chosen[task].append(label)
        index = pd.Index(chosen, name="task")
        self.labels_ = pd.Series(list(chosen.values()), index, name="agg_label")
        return self


# ---- Models of workers


@dataclass(eq=False)
class DawidSkene(BaseClassificationAggregator):
    """Dawid-Skene: every worker has a confusion matrix, found by expectation maximisation.

    `loss_history_` is the evidence lower bound per vote.
    """

    n_iter: int = 100
    tol: float = 1e-5

    def fit(self, data: Any, true_labels: Any = None) -> Self:
        """Fit to votes, with known truths by task."""
        votes = _encode(data)
        truths = pd.Series(dtype=object) if true_labels is None else true_labels
        truths = truths[truths.index.isin(votes.tasks)]
        labels = votes.labels.append(pd.Index(truths)).unique().rename("label")
        votes = votes._replace(labels=labels)
        known = votes.tasks.get_indexer(truths.index), votes.labels.get_indexer(truths)
        n_labels, n_votes = len(votes.labels), len(votes.task)
        cell, shape = votes.worker * n_labels + votes.label, (len(votes.workers), n_labels)
        # [W L, T] how often a worker has given a label to a task
        rows = shape[0] * n_labels, len(votes.tasks)
        given = csr_array((np.ones(n_votes), (cell, votes.task)), shape=rows)
        # errors are [W, L, K], the posterior is [T, K]
        posterior, bounds = _shares(votes.scores(np.ones(n_votes))), [-np.inf]
        errors, prior = np.ones((*shape, n_labels)), np.ones(n_labels)
        for step in range(self.n_iter + 1):
            if step:
                scores = given.T @ np.log(errors).reshape(-1, n_labels) + np.log(prior)
                posterior = softmax(scores, axis=1)
            posterior[known[0]] = 0.0
            posterior[known] = 1.0
            counts = (given @ posterior).reshape(errors.shape)
            prior = np.maximum(posterior.mean(axis=0), MIN_PROBABILITY)
            errors = self._errors(counts)
            if step:
                # the frequencies count once per vote, as in crowd-kit
                joint = np.sum(counts * (np.log(errors) + np.log(prior)))
                bounds.append(float(joint + entr(posterior).sum()) / n_votes)
                if bounds[-1] - bounds[-2] < self.tol:
                    break
        self.loss_history_ = bounds[1:]
        self._keep(votes, posterior)
        self.priors_ = pd.Series(prior, votes.labels, name="prior")
        worker, label = np.divmod(pd.unique(cell), n_labels)
        index = pd.MultiIndex.from_arrays([votes.workers.take(worker), votes.labels.take(label)])
        self.errors_ = pd.DataFrame(errors[worker, label], index, votes.labels.rename(None))
        skills = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
        self.skills_ = pd.Series(skills, votes.workers, name="skill")
        return self

    def _errors(self, counts: Floats) -> Floats:
        """Return the confusion matrices; labels that a worker never gives have the minimum."""
        gives = counts.sum(axis=2, keepdims=True) > 0
        errors = np.where(gives, np.maximum(counts, MIN_PROBABILITY), 0.0)
        return np.asarray(np.maximum(errors / errors.sum(axis=1, keepdims=True), TINY))


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """Dawid-Skene with one number per worker: the share of right votes; all errors are alike."""

    def _errors(self, counts: Floats) -> Floats:
        n_labels = counts.shape[1]
        skill = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
        right, wrong = skill[:, None, None], (1 - skill[:, None, None]) / max(n_labels - 1, 1)
        errors: Floats = np.where(np.eye(n_labels) > 0, right, wrong)
        return np.clip(errors, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


@dataclass(eq=False)
class GLAD(BaseClassificationAggregator):
    """Workers have abilities and tasks difficulties: `finegold.GLAD`, with its priors N(1, 1)."""

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True

    def fit(self, data: Any) -> Self:
        votes = _encode(data)
        method = glad.GLAD(max_iterations=self.n_iter, tolerance=max(self.tol, TINY))
        found = _fit(method, votes)
        learned = found.learned.statistics
        self.alphas_ = pd.Series(learned["ability"], votes.workers, name="alpha")
        self.betas_ = pd.Series(-np.log(learned["difficulty"]), votes.tasks, name="beta")
        return self._keep(votes, found.posterior)


def _fit(method: Any, votes: CodedVotes) -> Any:
    """Return what a method of Finegold makes of the votes, in their order."""
    codes = (np.asarray(each, np.int32) for each in votes[:3])
    annotations = Annotations.from_codes(*codes, *(np.arange(len(each)) for each in votes[3:]))
    return solve.fit(method, annotations)


def _reindex(values: Any, names: Any, default: float) -> Floats:
    """Return the value of every name."""
    values = pd.Series(default, names) if values is None else values.reindex(names)
    if values.isna().any():
        raise InputError(f"there is no value for {names[values.isna()][0]!r}; add it")
    return np.asarray(values, dtype=np.float64)


@dataclass(eq=False)
class MACE(BaseClassificationAggregator):
    """A worker knows the truth, or votes by a fixed distribution: `finegold.MACE`."""

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    # pseudo-counts of guesses and of knowledge of each worker
    alpha: float = 0.5
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        if self.method != "vb":
            raise InputError(f'MACE is fitted by method="vb" only, not {self.method!r}')
        votes = _encode(data)
        method = mace.MACE(
            n_restarts=self.n_restarts,
            max_iterations=self.n_iter,
            seed=self.random_state,
            a=self.alpha,
        )
        found = _fit(method, votes)
        competence = found.learned.statistics["competence"]
        self.spamming_ = np.column_stack([1 - competence, competence])
        self.thetas_ = found.learned.statistics["guesses"]
        return self._keep(votes, found.posterior)


@dataclass(eq=False)
class MMSR(_Skilled):
    """Skills by robust completion of the rank-one matrix of agreements, then a weighted vote.

    With C_ij = K / (K - 1) agreement_ij - 1 / (K - 1) of workers i and j, |C_ij| ~ u_i u_j, where
    the largest and smallest ratios of a row are trimmed (Ma and Olshevsky 2020).
    """

    n_iter: int = 10000
    tol: float = 1e-10
    random_state: int | None = 0

    def fit(self, data: Any) -> Self:
        votes = _encode(data)
        n_labels, n_tasks = len(votes.labels), len(votes.tasks)
        if n_labels < 2:
            raise InputError("MMSR needs at least two classes; choose another method")
        table = np.full((len(votes.workers), n_tasks), -1)
        # the last vote counts
        table[votes.worker, votes.task] = votes.label
        chosen = [(table == label).astype(np.float64) for label in range(n_labels)]
        voted = np.sum(chosen, axis=0)
        common, same = voted @ voted.T, np.sum([each @ each.T for each in chosen], axis=0)
        np.fill_diagonal(common, 0.0)
        share = np.divide(same, common, out=np.zeros_like(same), where=common > 0)
        agreement = np.where(common > 0, (n_labels * share - 1) / (n_labels - 1), 0.0)
        sign = np.where(agreement.sum(axis=1) >= 0, 1.0, -1.0)
        size = self._complete(np.abs(agreement), common > 0, n_tasks) * sign
        margin = 1 / np.sqrt(n_tasks)
        skill = np.clip(size, margin - 1 / (n_labels - 1), 1 - margin)
        p = skill * (n_labels - 1) / n_labels + 1 / n_labels
        self.skills_ = pd.Series(np.log(p * (n_labels - 1) / (1 - p)), votes.workers, name="skill")
        return self

    def _complete(self, size: Floats, seen: NDArray[np.bool_], n_tasks: int) -> Floats:
        """[W] Return u with size ~ u u'."""
        trim = max(int(seen.sum(axis=0).min() // 2) - 1, 0)
        u = np.random.RandomState(self.random_state).uniform(size=len(size))
        v, self.loss_history_ = u.copy(), []
        for _ in range(self.n_iter):
            before = np.outer(u, v)
            for other, own in ((u, v), (v, u)):
                for row in range(len(own)):
                    usable = seen[row] & (other > 0)
                    ratio = np.sort(size[row, usable] / other[usable])
                    low, high = np.sum(ratio < own[row]), np.sum(ratio > own[row])
                    kept = ratio[min(trim, low) : len(ratio) - min(trim, high)]
                    if len(kept):
                        own[row] = kept.mean() if kept.any() else 1 / np.sqrt(n_tasks)
            self.loss_history_.append(float(np.linalg.norm(np.outer(u, v) - before)))
            if self.loss_history_[-1] < self.tol:
                break
        return np.asarray(u * np.sqrt(np.linalg.norm(v) / np.linalg.norm(u)))


@dataclass(eq=False)
class KOS(BaseClassificationAggregator):
    """Message passing between tasks and workers, for two classes (Karger, Oh and Shah 2014)."""

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        votes = _encode(data)
        if len(votes.labels) != 2:
            raise InputError(f"KOS is for two classes, but there are {len(votes.labels)}")
        sign = 1.0 - 2.0 * votes.label
        # each vote times the message from its worker to its task
        message = sign * np.random.RandomState(self.random_state).normal(1, 1, len(sign))
        for _ in range(self.n_iter):
            for group in (votes.task, votes.worker):
                # the sum over the other votes on the task, or of the worker
                message = sign * (np.bincount(group, message)[group] - message)
            # only their ratios count
            message /= max(np.abs(message).max(), TINY)
        total = np.bincount(votes.task, message)
        best = votes.labels.take((total < 0).astype(int))
        self.labels_ = pd.Series(best, votes.tasks, name="agg_label").sort_index()
        return self


@dataclass(eq=False)
class BradleyTerry:
    """Bradley-Terry: item i beats item j with probability p_i / (p_i + p_j)."""

    n_iter: int
    tol: float = 1e-5

    def fit(self, data: Any) -> Self:
        """Fit to comparisons, with the columns left, right and label, which is the item that won."""
        _check(data, ("left", "right", "label"))
        left_won, right_won = data["label"] == data["left"], data["label"] == data["right"]
        if not (left_won | right_won).all():
            row = data.index[~(left_won | right_won)][0]
            raise InputError(f"row {row!r} has a label that is neither left nor right; repair it")
        codes, items = pd.factorize(pd.concat([data["left"], data["right"]]), sort=True)
        left, right = np.split(codes, 2)
        winner, loser = np.where(left_won, left, right), np.where(left_won, right, left)
        n, self.loss_history_ = len(items), []
        p, wins = np.full(n, 1 / n), np.bincount(winner, minlength=n)
        # the MM algorithm
        for _ in range(self.n_iter):
            met = 1 / np.maximum(p[winner] + p[loser], TINY)
            p = wins / np.maximum(np.bincount(winner, met, n) + np.bincount(loser, met, n), TINY)
            p /= p.sum()
            won = np.maximum(p[winner], TINY) / np.maximum(p[winner] + p[loser], TINY)
            self.loss_history_.append(float(np.log(won).mean()))
            if len(self.loss_history_) > 1 and 0 <= np.diff(self.loss_history_[-2:]) < self.tol:
                break
        self.scores_ = pd.Series(p, pd.Index(items, tupleize_cols=False), name="agg_score")
        return self

    def fit_predict(self, data: Any) -> Any:
        """Fit to comparisons and return the score of every item."""
        return self.fit(data).scores_


# ---- Accuracy and agreement


def get_accuracy(data: Any, true_labels: Any, by: str | None = None) -> Any:
    """Return the share of votes that equal the truth, in all or by a column or "true_label".

    Votes on tasks whose truth is not known do not count. A task may have several truths.
    """
    _check(data)
    truths = set(zip(true_labels.index, true_labels, strict=True))
    data = data[data["task"].isin(true_labels.index)]
    weight = data["weight"] if "weight" in data else pd.Series(1.0, index=data.index)
    right = weight * [pair in truths for pair in zip(data["task"], data["label"], strict=True)]
    if by is None:
        return right.sum() / weight.sum()
    groups = data["task"].map(true_labels) if by == "true_label" else data[by]
    return (right.groupby(groups).sum() / weight.groupby(groups).sum()).rename_axis(by)


def accuracy_on_aggregates(
    answers: Any, aggregator: Any = None, aggregates: Any = None, by: str | None = None
) -> Any:
    """Return the share of votes that equal the aggregated label, in all or by a column."""
    if aggregates is None:
        aggregates = (aggregator or MajorityVote()).fit_predict(answers)
    return get_accuracy(answers, aggregates, by=by)


def consistency(
    answers: Any, workers_skills: Any = None, aggregator: Any = None, by_task: bool = False
) -> Any:
    """Return the posterior probability of the aggregated labels, where skills are accuracies."""
    aggregator = aggregator or MajorityVote()
    labels, votes = aggregator.fit_predict(answers), _encode(answers)
    right, wrong = _chances(answers, workers_skills, aggregator)
    right, wrong = np.log(np.maximum([right, wrong], TINY))
    posterior = softmax(votes.scores(right - wrong), axis=1)
    best = votes.labels.get_indexer(labels.reindex(votes.tasks))
    found = pd.Series(posterior[np.arange(len(best)), best], votes.tasks).sort_index()
    return found if by_task else found.mean()


def uncertainty(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> Any:
    """Return the entropy of the labels by "task" or "worker", in nats.

    As much of a vote as the skill of the worker counts for its label, the rest for the others.
    """
    votes = _encode(answers)
    right, wrong = _chances(answers, workers_skills, aggregator and aggregator.fit(answers))
    if compute_by == "worker":
        votes = votes._replace(task=votes.worker, tasks=votes.workers)
    others = np.bincount(votes.task, wrong, len(votes.tasks))
    entropy = entr(_shares(votes.scores(right - wrong) + others[:, None])).sum(axis=1)
    found = pd.Series(entropy, votes.tasks).sort_index()
    return found.mean() if aggregate else found


def _chances(answers: Any, skills: Any, aggregator: Any) -> tuple[Floats, Floats]:
    """Return how likely each vote is if it is right, and if the truth is a certain other label."""
    right, n_labels = np.ones(len(answers)), answers["label"].nunique()
    if skills is not None or aggregator is not None:
        skills = aggregator.skills_ if skills is None else skills
        right = _reindex(skills, pd.Index(answers["worker"]), 1.0)
    return right, (1 - right) / max(n_labels - 1, 1)


def alpha_krippendorff(answers: Any, distance: Callable[[Any, Any], float] | None = None) -> float:
    """Return Krippendorff's alpha: 1 for full agreement, 0 for chance; NaN if it has no meaning."""
    votes = _encode(answers)
    counts = votes.scores(np.ones(len(answers)))
    # a single vote agrees with no other
    counts = counts[counts.sum(axis=1) > 1]
    apart = 1.0 - np.eye(len(votes.labels))
    if distance is not None:
        apart = np.array([[distance(a, b) for b in votes.labels] for a in votes.labels], float)
    observed = (np.sum((counts @ apart) * counts, axis=1) / (counts.sum(axis=1) - 1)).sum()
    total = counts.sum(axis=0)
    expected = total @ apart @ total / (total.sum() - 1)
    if not len(counts):
        return float("nan")
    return 1.0 if expected == 0 else float(1 - observed / expected)


def entropy_threshold(
    answers: Any, workers_skills: Any = None, percentile: int = 10, min_answers: int = 2
) -> Any:
    """Leave out the votes of workers who nearly always give the same label.

    Those are out whose entropy is at or below the percentile, of those with enough answers.
    """
    often = answers[answers.groupby("worker")["label"].transform("size") >= min_answers]
    if not len(often):
        return answers
    entropy = uncertainty(often, workers_skills, compute_by="worker", aggregate=False)
    low = entropy[entropy <= np.percentile(entropy, percentile)].index
    kept = answers[~answers["worker"].isin(low)]
    if len(kept) <= len(answers) // 2:
        warnings.warn(
            "Removed >= 1/2 of answers with entropy_threshold. This might lead to poor annotation "
            "quality. Try decreasing percentile or min_answers.",
            stacklevel=2,
        )
    return kept
