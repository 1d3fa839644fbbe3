"""Fit votes that are sets of labels: every option is a question of yes or no on each task that an
annotator saw.

Annotator j chooses option o with the probability s_jo where it is right (sensitivity) and f_jo
where it is wrong. Both are made of what j does over all options and what everybody does with o:
logit s_jo = logit s_j + logit s_o - logit s. s_j and s_o are shares with a prior worth
`PRIOR_ANSWERS` answers of everybody's average. Expectation maximisation starts from the shares of
votes. Options that nobody chose for a task count too: their posterior depends on who saw it. Known
sets stay as they are.

Any other method is fitted to the answers about each option alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from finegold.errors import InputError, use
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.results.data import ResultData, Step
from finegold.results.sets import Answers, question_votes, summarise_sets
from finegold.system.memory import available_memory, in_words
from finegold.votes.annotations import Annotations

Floats = NDArray[np.float64]

# of everybody's average, in the shares of an annotator and of an option
PRIOR_ANSWERS = 20.0
# of the average prevalence, in that of an option
PRIOR_TASKS = 2.0
TOLERANCE, MAX_ITERATIONS = 1e-4, 300
# of tasks x options and of annotators x options that are in memory at once
ARRAYS = 4, 12
# no probability of a choice is closer to 0 or 1
LEAST = 1e-4


class OptionModel(NamedTuple):
    """How common each option is, and how often each annotator chooses it where it is right and
    where it is wrong.
    """

    # [O]
    prevalence: Floats
    # [W, O]
    sensitivity: Floats
    # [W, O]
    false_choice: Floats


def fit_sets(
    method: Method,
    votes: Annotations,
    fit: Callable[[Annotations], ResultData],
    on_step: Callable[[Step], None] | None = None,
) -> ResultData:
    """Return the set of options of each task that are more likely right than wrong."""
    # The default method is the model of options, and "mv" a vote on each option. Any other method
    # is fitted by `fit` to the answers about each option.
    began, answers = time.perf_counter(), Answers(votes)
    n_tasks, n_options = answers.n_tasks, answers.n_options
    needed = 8 * n_options * (ARRAYS[0] * n_tasks + ARRAYS[1] * votes.n_annotators)
    if needed > available_memory():
        advice = "merge rare options, or set FINEGOLD_MAX_MEMORY=N, in bytes, in the environment"
        raise InputError(
            f"{n_tasks:,} tasks, {votes.n_annotators:,} annotators and {n_options:,} options need"
            f" {in_words(needed)} of memory, which is more than there is",
            remedies=[use(text=advice)],
        )
    name, settings, statistics, converged = method.name, dict[str, Any](), None, True
    steps = [Step(0, 0, 0.0, float("nan"))]
    if name == "mv":
        posterior, stopped = answers.shares(), "not iterative"
    elif name == DEFAULT_METHOD:
        model, steps = _descend(answers, on_step)
        name, statistics, converged = "multi", model._asdict(), steps[-1].largest_change < TOLERANCE
        posterior = _posterior(answers, model)
        sweeps = f"{len(steps)} sweep{'' if len(steps) == 1 else 's'}"
        stopped = f"{'converged' if converged else 'not converged'} after {sweeps}"
    else:
        settings, posterior = method.settings, np.empty((n_tasks, n_options))
        iterations, unfinished = 0, 0
        for option in range(n_options):
            fitted = fit(question_votes(votes, answers, slice(option, option + 1)))
            posterior[:, option] = fitted.posterior[:, 1]
            iterations = max(iterations, fitted.iterations)
            unfinished += not fitted.converged
        steps, converged = [steps[0]._replace(iteration=iterations)], not unfinished
        ended = f"of {n_options:,} fits did not converge"
        stopped = f"{unfinished:,} {ended}" if unfinished else f"{n_options:,} fits converged"
    result = summarise_sets(name, settings, votes, answers, posterior, steps, statistics)
    return replace(
        result, converged=converged, stopped=stopped, seconds=time.perf_counter() - began
    )


def _descend(
    answers: Answers, on_step: Callable[[Step], None] | None
) -> tuple[OptionModel, list[Step]]:
    """Return the model to which expectation maximisation converges, and its steps."""
    model, steps = _learned(answers, answers.shares()), list[Step]()
    while len(steps) < MAX_ITERATIONS and (not steps or steps[-1].largest_change >= TOLERANCE):
        before, model = model, _learned(answers, _posterior(answers, model))
        moves = (np.abs(old - new) for old, new in zip(before, model, strict=True))
        change = max(float(move.max(initial=0)) for move in moves)
        steps.append(Step(0, len(steps) + 1, change, float("nan")))
        if on_step is not None:
            on_step(steps[-1])
    return model, steps


def _posterior(answers: Answers, model: OptionModel) -> Floats:
    """[T, O] Return the probability that each option is right."""
    no = np.log1p(-model.sensitivity) - np.log1p(-model.false_choice)
    yes = np.log(model.sensitivity) - np.log(model.false_choice)
    evidence = answers.by_task @ no
    evidence += answers.on_tasks(yes - no)
    return answers.with_gold(expit(logit(model.prevalence) + evidence))


def _learned(answers: Answers, posterior: Floats) -> OptionModel:
    """Return the parameters that fit this posterior."""
    right, asked = answers.chosen(posterior), answers.by_task.T @ posterior
    total = posterior.sum(axis=0)
    mean = total.sum() / max(answers.n_options, 1)
    prevalence = (total + PRIOR_TASKS * mean / answers.n_tasks) / (answers.n_tasks + PRIOR_TASKS)
    return OptionModel(
        np.clip(prevalence, LEAST / 10, 1 - LEAST / 10),
        _shares(right, asked),
        _shares(answers.chosen() - right, answers.per_annotator[:, None] - asked),
    )


def _shares(chosen: Floats, asked: Floats) -> Floats:
    """[W, O] Return the probability of a choice from the counts of choices and answers."""
    mean = np.clip((chosen.sum() + 1) / (asked.sum() + 2), LEAST, 1 - LEAST)
    by_annotator, by_option = (
        (chosen.sum(axis) + PRIOR_ANSWERS * mean) / (asked.sum(axis) + PRIOR_ANSWERS)
        for axis in (1, 0)
    )
    logits = [logit(np.clip(share, LEAST, 1 - LEAST)) for share in (by_annotator, by_option)]
    shares = expit(logits[0][:, None] + logits[1] - logit(mean))
    return np.asarray(np.clip(shares, LEAST, 1 - LEAST))
