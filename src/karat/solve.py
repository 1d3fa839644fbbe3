"""The only loop: sweep, test convergence, report progress, finish."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.annotations import Annotations
from karat.encoding import MISSING
from karat.engines import Engine
from karat.engines.local import LocalEngine
from karat.errors import InputError
from karat.methods.base import Method, Step
from karat.result import Result, summarise

__all__ = ["fit"]

Watch = Callable[[Step], None]


class Run(NamedTuple):
    """One descent from one start."""

    parameters: Any
    posterior: NDArray[np.float64]
    per_task: dict[str, NDArray[Any]]
    steps: list[Step]
    converged: bool


def fit(
    method: Method,
    annotations: Annotations,
    *,
    threads: int | None = None,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run the method to its end on these annotations. `watch` is called after each sweep; it may raise to stop."""
    if not method.takes_gold and (annotations.gold != MISSING).any():
        raise InputError(f"{method.name} cannot use gold truths; leave them out or choose another method")
    began = time.perf_counter()
    engine = engine or LocalEngine(threads)
    engine.scatter(annotations, divisible=method.divisible)
    best = _best_of(method, engine, watch)
    knowledge = method.knowledge(best.parameters)
    knowledge.more.update(best.per_task)
    result = summarise(method.name, method.settings, annotations, best.posterior, best.steps, knowledge)
    return replace(
        result,
        converged=best.converged,
        stopped=_reason(method, best),
        seconds=time.perf_counter() - began,
    )


def _best_of(method: Method, engine: Engine, watch: Watch | None) -> Run:
    """The restart with the highest bound."""
    best = _descend(method, engine, 0, watch)
    for restart in range(1, method.n_restarts):
        best = best._replace(posterior=best.posterior.copy())  # the next run works in the same memory
        run = _descend(method, engine, restart, watch)
        if run.steps[-1].bound > best.steps[-1].bound:
            best = run
    return best


def _descend(method: Method, engine: Engine, restart: int, watch: Watch | None) -> Run:
    """Ends with parameters that belong to the posterior returned."""
    parameters = method.begin(engine.sum(method.start, restart))
    steps: list[Step] = []
    done = False
    while not done and len(steps) < method.max_iterations:
        statistics = engine.sum(method.sweep, parameters)
        bound = method.bound(parameters, statistics)
        steps.append(Step(restart, len(steps) + 1, float(statistics.change), bound))
        parameters = method.advance(engine, statistics, parameters)
        done = method.converged(steps)
        if watch is not None:
            watch(steps[-1])
    per_task = {name: engine.gather(name) for name in method.task_knowledge()}
    return Run(parameters, engine.gather(), per_task, steps, done)


def _reason(method: Method, run: Run) -> str:
    last = run.steps[-1]
    if run.converged:
        return f"converged after {last.iteration} iterations (last change {last.change:.2g})"
    return f"stopped at max_iterations = {method.max_iterations} (last change {last.change:.2g})"
