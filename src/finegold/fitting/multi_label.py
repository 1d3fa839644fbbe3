"""Fit votes that are sets of labels: every option is a question of yes or no on each task that an annotator saw.

Annotator j chooses option o with the probability s_jo where it is right (sensitivity) and f_jo where it is wrong. Both
are made of what j does over all options and what everybody does with o: logit s_jo = logit s_j + logit s_o - logit s.
s_j and s_o are shares with a prior worth `PRIOR_ANSWERS` answers of everybody's average. Expectation maximisation
starts from the shares of votes. Options that nobody chose for a task count too: their posterior depends on who saw it.
Known sets stay as they are.

Any other method is fitted to the answers about each option alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, leave_out, use
from finegold.results.data import ResultData
from finegold.results.multi import Answers, MultiResult, OptionModel
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

__all__ = ["fit_each_option", "fit_sets", "vote_on_sets"]

Floats = NDArray[np.float64]

PRIOR_ANSWERS = 20.0  # of everybody's average, in the shares of an annotator and of an option
PRIOR_TASKS = 2.0  # of the average prevalence, in that of an option
TOLERANCE, MAX_ITERATIONS = 1e-4, 300
MOST_PAIRS = 2**25  # annotators x options; a few arrays of this size are in memory
MOST_PROBABILITIES = 2**27  # tasks x options, which are kept if a method is fitted to each option
LEAST = 1e-4  # no probability of a choice is closer to 0 or 1


def vote_on_sets(votes: Annotations) -> MultiResult:
    """Return the sets of options that more than half of the annotators of a task chose."""
    return MultiResult("mv", votes, None, stopped="not iterative")


def fit_sets(votes: Annotations) -> MultiResult:
    """Fit the model of options, and return the sets of options that are more probably right than wrong."""
    if votes.n_annotators * votes.n_classes > MOST_PAIRS:
        raise InputError(
            f"{votes.n_annotators:,} annotators and {votes.n_classes - 1:,} options are too many for sets of labels; "
            "check the columns of annotators and labels",
            remedies=[use("if they are right", method="mv")],
        )
    began = time.perf_counter()
    answers = Answers(votes)
    model = _learned(answers, answers.shares)
    converged, iteration = False, 0
    while not converged and iteration < MAX_ITERATIONS:
        iteration += 1
        before, model = model, _learned(answers, lambda block: answers.posterior(block, model))  # noqa: B023
        converged = _change(before, model) < TOLERANCE
    stopped = f"converged after {iteration} sweeps" if converged else f"not converged after {iteration} sweeps"
    return MultiResult("multi", votes, model, iteration, converged, stopped, time.perf_counter() - began)


def fit_each_option(method: str, votes: Annotations, fit: Callable[[Annotations], ResultData]) -> MultiResult:
    """Fit a method to the answers, yes or no, about each option. Options share nothing."""
    n_options = votes.n_classes - 1
    if votes.n_tasks * n_options > MOST_PROBABILITIES:
        raise InputError(
            f"{votes.n_tasks:,} tasks and {n_options:,} options are too many for a fit of each option",
            remedies=[leave_out("method"), use(method="mv")],
        )
    began, answers = time.perf_counter(), Answers(votes)
    posterior, iterations, unfinished = np.empty((votes.n_tasks, n_options)), 0, 0
    for option in range(n_options):
        result = fit(_yes_or_no(votes, answers, option))
        posterior[:, option] = result.posterior[:, 1]
        iterations, unfinished = max(iterations, result.iterations), unfinished + (not result.converged)
    stopped = (
        f"{unfinished:,} of {n_options:,} fits did not converge" if unfinished else f"{n_options:,} fits converged"
    )
    seconds = time.perf_counter() - began
    return MultiResult(method, votes, None, iterations, not unfinished, stopped, seconds, posterior)


def _yes_or_no(votes: Annotations, answers: Answers, option: int) -> Annotations:
    """Return the answers about one option as votes: 1 where it was chosen, otherwise 0."""
    task, annotator = answers.by_task.nonzero()
    chosen = answers.option == option
    pairs = np.int64(answers.n_annotators) * answers.task[chosen] + answers.annotator[chosen]
    label = np.isin(np.int64(answers.n_annotators) * task + annotator, pairs).astype(np.int32)
    known = np.flatnonzero(votes.gold != MISSING).astype(np.int32)
    gold = (known, answers.gold_sets[votes.gold[known], option].astype(np.int32))
    names = (votes.task_names, votes.annotator_names, np.array([0, 1]))
    return Annotations.from_codes(task.astype(np.int32), annotator.astype(np.int32), label, *names, gold=gold)


def _learned(answers: Answers, posterior_of: Callable[[slice], Floats]) -> OptionModel:
    """Return the parameters that fit these posteriors."""
    shape = (answers.n_annotators, answers.n_options)
    right, asked, total = np.zeros(shape), np.zeros(shape), np.zeros(answers.n_options)
    for block in answers.blocks():
        posterior = posterior_of(block)
        more = answers.by_annotator(block, posterior)
        right += more[0]
        asked += more[1]
        total += posterior.sum(axis=0)
    prevalence = (total + PRIOR_TASKS * total.mean() / answers.n_tasks) / (answers.n_tasks + PRIOR_TASKS)
    return OptionModel(
        np.clip(prevalence, LEAST / 10, 1 - LEAST / 10),
        _shares(right, asked),
        _shares(answers.chosen() - right, answers.per_annotator[:, None] - asked),
    )


def _shares(chosen: Floats, asked: Floats) -> Floats:
    """[W, O] Return the probability of a choice from the counts of choices and answers."""
    from scipy.special import expit, logit

    mean = np.clip((chosen.sum() + 1) / (asked.sum() + 2), LEAST, 1 - LEAST)
    by_annotator, by_option = (
        np.clip((chosen.sum(axis) + PRIOR_ANSWERS * mean) / (asked.sum(axis) + PRIOR_ANSWERS), LEAST, 1 - LEAST)
        for axis in (1, 0)
    )
    shares: Floats = expit(logit(by_annotator)[:, None] + logit(by_option) - logit(mean))
    return shares.clip(LEAST, 1 - LEAST)


def _change(before: OptionModel, now: OptionModel) -> float:
    pairs = zip(vars(before).values(), vars(now).values(), strict=True)
    return max(float(np.abs(old - new).max(initial=0)) for old, new in pairs)
