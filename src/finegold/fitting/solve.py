"""Fit a method: sweep until convergence, report progress, build the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from finegold.engines.base import Engine, one_blas_thread
from finegold.engines.local import LocalEngine
from finegold.errors import InputError, leave_out, use
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, method_class, method_names
from finegold.results.data import ResultData, Step, summarise
from finegold.system.memory import available_memory, in_words
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING

OnStep = Callable[[Step], None]

# below, accuracies differ from confidences clearly more than on whole data sets
FEW_TASKS = 100
NO_NUMBERS = "ended in probabilities that are not numbers (NaN); choose other settings"


def fit(
    method: Method,
    annotations: Annotations,
    *,
    threads: int | None = None,
    engine: Engine | None = None,
    on_step: OnStep | None = None,
) -> ResultData:
    """Fit the method to these annotations."""
    # `on_step` is called after each sweep; it can raise an exception to stop the fit.
    votes, n_posterior = annotations, annotations.n_tasks * annotations.n_classes
    check_gold(method, (votes.gold != MISSING).any())
    check_memory(method, votes, votes.hygiene.label, n_posterior)
    began = perf_counter()
    engine = engine or LocalEngine(threads)
    engine.accept(method)
    engine.scatter(votes, divisible=method.divisible)
    with one_blas_thread():
        best: Descent | None = None
        # the one with the highest objective wins
        for restart in range(method.n_restarts):
            descent = descend(method, engine, restart, on_step)
            if best is None or descent.steps[-1].objective > best.steps[-1].objective:
                best, posterior = descent, engine.gather()
                # the next one overwrites it
                posterior = posterior.copy() if method.n_restarts > 1 else posterior
                per_task = {name: engine.gather(name) for name in method.learned_per_task}
        assert best is not None
        if not np.isfinite(posterior.sum()):
            raise InputError(f"{method!r} {NO_NUMBERS}")
        learned = method.learned(best.parameters)
    learned.statistics.update(per_task)
    result = summarise(method.name, method.settings, votes, posterior, best.steps, learned)
    caution = small_data_caution(votes.n_tasks) if method.name == DEFAULT_METHOD else ""
    notes = [caution] if caution else []
    seconds = perf_counter() - began
    return replace(
        result, converged=best.converged, stopped=best.stopped, seconds=seconds, notes=notes
    )


class Descent(NamedTuple):
    """The outcome of one run of the loop. The posteriors are still in the blocks."""

    method: Method
    parameters: Any
    steps: list[Step]
    converged: bool

    @property
    def stopped(self) -> str:
        last = self.steps[-1]
        if self.method.fixed_passes:
            return f"{last.iteration} pass{'es' if last.iteration > 1 else ''}"
        if self.converged:
            return f"converged after {last.iteration} iterations (last change {last.largest_change:.2g})"
        return (
            f"stopped at max_iterations = {self.method.max_iterations} (last change"
            f" {last.largest_change:.2g})"
        )


def descend(
    method: Method, engine: Engine, restart: int = 0, on_step: OnStep | None = None
) -> Descent:
    """Run the loop on the votes in the engine. The parameters it returns belong to the posteriors
    in the blocks.
    """
    steps: list[Step] = []
    parameters = method.begin(engine.sum(method.start, restart))
    done = False
    while not done and len(steps) < method.max_iterations:
        statistics = engine.sum(method.sweep, parameters)
        objective = method.objective(parameters, statistics)
        parameters = method.expect(statistics, parameters)
        steps.append(Step(restart, len(steps) + 1, float(statistics.change), objective))
        done = method.converged(steps)
        if on_step is not None:
            on_step(steps[-1])
    return Descent(method, parameters, steps, done)


def check_gold(method: Method, given: Any) -> None:
    if given and not method.takes_gold:
        remedies = [leave_out("gold"), use(text="choose another method")]
        raise InputError(f"{method.name} cannot use gold truths", remedies=remedies)


def check_takes_prior(method: Method) -> None:
    if not method.takes_prior:
        able = [name for name in method_names() if method_class(name).takes_prior]
        raise InputError(f"{method.name} cannot take a prior, only {', '.join(able)} can")


def check_memory(method: Method, votes: Any, label: str, n_posterior: int) -> None:
    """Raise an error before allocating anything if the fit needs more memory than there is."""
    # votes: an object with the sizes of Annotations. label: the column of the labels, if it is
    # known. n_posterior: how many numbers of the posterior are on this machine.
    needed, available = 8 * (method.n_parameters(votes) + n_posterior), available_memory()
    if needed > available:
        taken = f'the column "{label}", which was taken for the labels,'
        raise InputError(
            f"{method.name} needs at least {in_words(needed)} of memory for {votes.n_classes:,}"
            f" classes, {votes.n_annotators:,} annotators and {votes.n_tasks:,} tasks, but"
            f" {in_words(available)} are available; check that"
            f" {taken if label else 'the label column'} holds classes, merge rare ones, choose"
            " another method, or set FINEGOLD_MAX_MEMORY=N, in bytes, in the environment"
        )


def small_data_caution(n_tasks: int) -> str:
    """Return a warning if there are few tasks; empty if there are enough."""
    if n_tasks >= FEW_TASKS:
        return ""
    tasks = "1 task" if n_tasks == 1 else f"{n_tasks} tasks"
    return (
        f"Only {tasks}: confidences are rough. To know how accurate the labels are, check some"
        " (finegold sample)."
    )
