"""New votes folded into a result, at a cost that follows the new votes.

A method's parameters are made from sums over tasks. So the tasks that have new votes are taken out of the sums, as the
fit left them, and put in again as they are now, a few times over, until they settle; all other tasks keep their
posterior. The priors of PTBCC and HDS are sums, too, and corrected alike. What is left out is how the new votes change
the other tasks, and through them the parameters: docs/arrival.md says how much that is.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.engines.blas import one_blas_thread
from karat.engines.local import LocalEngine
from karat.errors import InputError
from karat.fitting.solve import OnStep, start
from karat.methods.base import Step, SufficientStatistics
from karat.methods.lookup import Method, method_of
from karat.results.accuracy import Intervals, spread
from karat.results.data import BESIDE_SETTINGS, Learned, ResultData, summarise
from karat.results.metrics import temper
from karat.votes.annotations import Annotations
from karat.votes.encoding import Codes
from karat.votes.frames import to_list
from karat.votes.labels import listed
from karat.votes.merging import Joined, Merged, Piece, stitch

__all__ = ["update", "votes_of"]

MOST_SWEEPS = 5  # more move hardly any label: bench/update.py
NEAR_ENOUGH = 0.02  # no posterior moves by more
ENOUGH_VOTES, MORE_VOTES = 5, 1.5  # between so many votes and so many times as many, intervals keep their shape
LEAST_SUM = 1e-9  # what is left of a sum after as much was taken out of it as was in it


def update(
    result: ResultData,
    merged: Merged,
    *,
    threads: int | None = None,
    on_step: OnStep | None = None,
) -> ResultData:
    """A result that also knows the votes that were merged with its own."""
    began = time.perf_counter()
    _check(result, merged.votes)
    if not merged.touched.size:
        return replace(result, annotations=merged.votes, counts=merged.votes.counts, stopped="nothing new to fold in")
    with one_blas_thread():
        updated = _fold_in(result, merged, threads, on_step)
    return replace(updated, seconds=time.perf_counter() - began)


def votes_of(result: ResultData) -> Annotations:
    if result.annotations is None:
        raise InputError("this model was saved without its votes; fit again with this Karat and save it")
    return result.annotations


def _check(result: ResultData, votes: Annotations) -> None:
    remedy = "add --refit (refit=True) to fit all votes again"
    if reason := method_of(result).why_not_updatable():
        raise InputError(f"{reason}; {remedy}")
    if result.annotator_weights is not None:
        raise InputError(
            f"the model was fitted with weights of annotators, which {result.method} has no more; {remedy}"
        )
    if len(votes.class_names) > len(result.class_names):
        known = to_list(result.class_names)
        new = next(name for name in to_list(votes.class_names) if name not in known)
        raise InputError(f"the model does not know the label {new!r}, only {listed(known)}; {remedy}")


class Again(NamedTuple):
    """The tasks that are looked at again, as they were (None: all are new) and as they are; annotators as they are."""

    before: Annotations | None
    posterior: NDArray[Any] | None  # as it was; None: it was tempered since, and has to be found again
    now: Annotations


class Folded(NamedTuple):
    """The method with the new votes, and the posterior of the tasks that were looked at again."""

    learned: Learned
    settings: dict[str, Any]
    posterior: NDArray[Any]
    steps: list[Step]


def _fold_in(result: ResultData, merged: Merged, threads: int | None, on_step: OnStep | None) -> ResultData:
    again = _look_again(result, merged)
    folded = _swept(result, merged, again, threads, on_step)
    posterior = np.empty((merged.votes.n_tasks, merged.votes.n_classes), result.posterior.dtype)
    posterior[merged.tasks.old] = result.posterior
    posterior[merged.touched] = temper(folded.posterior, result.temperature)
    return _described(result, merged, again.now.annotator, posterior, folded)


def _look_again(result: ResultData, merged: Merged) -> Again:
    votes, is_touched = merged.votes, np.zeros(merged.votes.n_tasks, np.bool_)
    is_touched[merged.touched] = True
    old = np.flatnonzero(is_touched[merged.tasks.old])
    now = _some_tasks(votes, merged.touched, np.arange(votes.n_annotators, dtype=np.int32), votes)
    if not old.size:
        return Again(None, None, now)
    before = _some_tasks(votes_of(result), old, merged.annotators.old, votes)
    return Again(before, result.posterior[old] if result.temperature == 1.0 else None, now)


def _swept(result: ResultData, merged: Merged, again: Again, threads: int | None, on_step: OnStep | None) -> Folded:
    method = method_of(result)
    engine = LocalEngine(threads, single=method.single)
    known = _renumbered(result.learned, method, merged.annotators)
    memory = method.sufficient_statistics(replace(result, learned=known))
    first, rest = _taken_out(method, engine, memory, again)
    first = _add(first, _start(method, engine, again.now))
    parameters = method.recompute_priors(memory.parameters, first)
    steps: list[Step] = []
    while not _settled(steps):
        statistics = engine.sum(method.sweep, parameters)
        parameters = method.expect(_not_negative(_add(rest, statistics)), parameters)
        steps.append(Step(0, len(steps) + 1, float(statistics.change), math.nan))
        if on_step is not None:
            on_step(steps[-1])
    return Folded(method.learned(parameters), {**result.settings, **method.settings}, engine.gather(), steps)


def _settled(steps: list[Step]) -> bool:
    return len(steps) == MOST_SWEEPS or (bool(steps) and steps[-1].change < NEAR_ENOUGH)


def _taken_out(method: Method, engine: LocalEngine, memory: SufficientStatistics, again: Again) -> tuple[Any, Any]:
    """The sums of the fit without the tasks that are looked at again, as they were then."""
    if again.before is None:
        return memory.first, memory.statistics
    first = _start(method, engine, again.before)
    if again.posterior is None:
        statistics = _found_again(method, engine, memory)
    else:
        engine.posterior[:] = again.posterior
        statistics = engine.sum(method.sweep, memory.parameters)
    return _add(memory.first, first, -1), _add(memory.statistics, statistics, -1)


def _start(method: Method, engine: LocalEngine, votes: Annotations) -> Any:
    engine.scatter(votes)
    return start(method, engine)


def _found_again(method: Method, engine: LocalEngine, memory: SufficientStatistics) -> Any:
    """Parameters and votes say what the posterior was: at once, but for PTBCC, whose sweeps go on from the last."""
    steps: list[Step] = []
    while not _settled(steps):
        statistics = engine.sum(method.sweep, memory.parameters)
        steps.append(Step(0, len(steps) + 1, float(statistics.change), math.nan))
    return statistics


def _some_tasks(votes: Annotations, tasks: NDArray[np.int64], annotators: Codes, names: Annotations) -> Annotations:
    piece = Piece(votes, tasks, np.arange(len(tasks)), annotators)
    return replace(
        stitch([piece], len(tasks)),
        gold=votes.gold[tasks],
        task_names=tasks,
        annotator_names=names.annotator_names,
    )


def _add(total: Any, part: Any, sign: int = 1) -> Any:
    """Field by field. What is no sum over tasks (the change, parts of bounds) stays."""
    fields = zip(total, part, strict=True)
    return type(total)(*(a + sign * b if isinstance(a, np.ndarray) else a for a, b in fields))


def _not_negative(sums: Any) -> Any:
    """What rounding, or a fit that had not quite converged, left of sums out of which all was taken."""
    return type(sums)(*(np.where(a < LEAST_SUM, 0.0, a) if isinstance(a, np.ndarray) else a for a in sums))


def _renumbered(known: Learned, method: Method, annotators: Joined) -> Learned:
    """What is known of annotators, a row each in the new order; nothing yet of new ones."""
    assert method.remembers is not None
    rows = {
        name: known.statistics[name] if name in known.statistics else getattr(known, name) for name in method.remembers
    }
    spread = {name: _spread(values, annotators) for name, values in rows.items()}
    more = {**known.statistics, **{name: values for name, values in spread.items() if name in known.statistics}}
    own = {name: values for name, values in spread.items() if name not in known.statistics}
    return replace(known, statistics=more, **own)


def _spread(values: NDArray[Any], annotators: Joined) -> NDArray[Any]:
    spread = np.zeros((len(annotators.names), *values.shape[1:]))
    spread[annotators.old] = values
    return spread


def _described(
    result: ResultData, merged: Merged, annotators: Codes, posterior: NDArray[Any], folded: Folded
) -> ResultData:
    """`annotators` are those who voted on the tasks that were looked at again."""
    steps, added = folded.steps, merged.added + result.votes_folded_in
    kept = _kept_intervals(result, merged, annotators)
    made = summarise(result.method, folded.settings, merged.votes, posterior, steps, folded.learned, kept)
    changed = int((made.label_codes[merged.tasks.old] != result.label_codes).sum())
    stopped = (
        f"folded in {merged.added:,} votes by {len(steps)} sweeps over {len(merged.touched):,} tasks "
        f"(last change {steps[-1].change:.2g}); {changed:,} earlier labels changed"
    )
    note = f"{added:,} votes were folded in since the last fit; --refit (refit=True) fits all of them again."
    notes = [*([note] if added else []), *method_of(result).cautions(merged.votes.n_tasks)]
    carried = {name: getattr(result, name) for name in ("converged", *BESIDE_SETTINGS.values())}
    return replace(made, stopped=stopped, notes=notes, votes_folded_in=added, **carried)


def _kept_intervals(result: ResultData, merged: Merged, annotators: Codes) -> Intervals:
    """Those of annotators none of whose tasks has changed, or who have cast hardly more votes than before."""
    votes = np.bincount(annotators, minlength=merged.votes.n_annotators)
    before = _spread(result.votes_per_annotator, merged.annotators)
    known = (votes == 0) | ((before >= ENOUGH_VOTES) & (before + votes <= MORE_VOTES * before))
    deviation = spread(result.accuracy, result.votes_per_annotator)
    ends = (result.accuracy - result.accuracy_low) / deviation, (result.accuracy_high - result.accuracy) / deviation
    return Intervals(known, *(_spread(values, merged.annotators) for values in ends))
