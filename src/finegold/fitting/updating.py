"""Fold new votes into a result, at a cost in proportion to the new votes; or start from what an
earlier result learned.

The parameters of a method are functions of sums over tasks. The tasks with new votes are subtracted
from the sums, as the fit left them, and added again with their new votes. A few sweeps over these
tasks follow until they converge; all other tasks keep their posterior. The priors of PTBCC and HDS
are sums too, and are corrected in the same way. The effect of the new votes on other tasks, and
through them on the parameters, is ignored (see docs/guides/arrival.md).
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import one_blas_thread
from finegold.engines.local import LocalEngine
from finegold.errors import InputError, use
from finegold.fitting import solve
from finegold.fitting.solve import OnStep, check_takes_prior, time_without_compiling
from finegold.methods.base import Method, SufficientStatistics
from finegold.methods.lookup import method_class, method_of
from finegold.methods.ptbcc import PTBCC, Earlier
from finegold.methods.registry import REGISTRY
from finegold.results.archive import load
from finegold.results.data import BESIDE_SETTINGS, Learned, ResultData, Step, summarise, votes_of
from finegold.results.matrices import votes_by_truth
from finegold.results.metrics import temper
from finegold.results.sets import refuse_sets
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, Names, match, to_list
from finegold.votes.labels import listed
from finegold.votes.merging import Joined, Merged, Piece, stitch

Floats = NDArray[np.float64]

# more sweeps change hardly any label: bench/speed/update.py
MAX_SWEEPS = 5
# of a posterior in the last sweep
MAX_CHANGE = 0.02
# smaller sums are rounding errors of a subtraction and become 0
MIN_SUM = 1e-9


def update(
    result: ResultData, merged: Merged, *, threads: int | None = None, on_step: OnStep | None = None
) -> ResultData:
    """Return the result with the merged votes folded in."""
    votes, method, remedies = (
        merged.votes,
        method_of(result),
        [use(text="to fit all votes again", refit=True)],
    )
    if reason := method.why_not_updatable():
        raise InputError(reason, remedies=remedies)
    if len(votes.class_names) > len(result.class_names):
        classes = to_list(result.class_names)
        new = next(name for name in to_list(votes.class_names) if name not in classes)
        raise InputError(
            f"the model does not know the label {new!r}, only {listed(classes)}", remedies=remedies
        )
    if not merged.touched.size:
        return replace(
            result, annotations=votes, counts=votes.counts, stopped="no new votes to fold in"
        )
    with one_blas_thread(), time_without_compiling() as seconds:
        engine = LocalEngine(threads, single=method.single)
        known = _renumber(result.learned, method, merged.annotators)
        memory = method.sufficient_statistics(replace(result, learned=known))
        first, rest = _subtract_touched(method, engine, memory, result, merged)
        engine.scatter(
            _some_tasks(votes, merged.touched, np.arange(votes.n_annotators, dtype=np.int32), votes)
        )
        parameters = method.recompute_priors(
            memory.parameters, _add(first, engine.sum(method.start, 0))
        )
        steps: list[Step] = []
        while not _has_converged(steps):
            statistics = engine.sum(method.sweep, parameters)
            # rounding, or a fit that had not fully converged, may leave negative ones
            sums = _add(rest, statistics)
            sums = type(sums)(
                *(np.where(a < MIN_SUM, 0.0, a) if isinstance(a, np.ndarray) else a for a in sums)
            )
            parameters = method.expect(sums, parameters)
            steps.append(Step(0, len(steps) + 1, float(statistics.change), math.nan))
            if on_step is not None:
                on_step(steps[-1])
        posterior = np.empty((votes.n_tasks, votes.n_classes), result.posterior.dtype)
        posterior[merged.tasks.old] = result.posterior
        posterior[merged.touched] = temper(engine.gather(), result.temperature)
        settings, added = (
            {**result.settings, **method.settings},
            merged.added + result.votes_folded_in,
        )
        updated = summarise(
            result.method, settings, votes, posterior, steps, method.learned(parameters)
        )
        changed = int((updated.label_codes[merged.tasks.old] != result.label_codes).sum())
        stopped = (
            f"folded in {merged.added:,} votes by {len(steps)} sweeps over {len(merged.touched):,}"
            f" tasks (last change {steps[-1].change:.2g}); {changed:,} earlier labels changed"
        )
        note = f"{added:,} votes were folded in since the last fit; a refit fits all of them again."
        notes = [*([note] if added else []), *method.cautions(votes.n_tasks)]
        carried = {name: getattr(result, name) for name in ("converged", *BESIDE_SETTINGS.values())}
        return replace(
            updated,
            stopped=stopped,
            notes=notes,
            votes_folded_in=added,
            seconds=seconds(),
            **carried,
        )


def _has_converged(steps: list[Step]) -> bool:
    return len(steps) == MAX_SWEEPS or (bool(steps) and steps[-1].change < MAX_CHANGE)


def _subtract_touched(
    method: Method,
    engine: LocalEngine,
    memory: SufficientStatistics,
    result: ResultData,
    merged: Merged,
) -> tuple[Any, Any]:
    """Subtract the tasks with new votes, as they were before the update, from the sums of the fit."""
    is_touched = np.zeros(merged.votes.n_tasks, np.bool_)
    is_touched[merged.touched] = True
    old = np.flatnonzero(is_touched[merged.tasks.old])
    if not old.size:
        return memory.first, memory.statistics
    engine.scatter(_some_tasks(votes_of(result), old, merged.annotators.old, merged.votes))
    first, steps = engine.sum(method.start, 0), list[Step]()
    if result.temperature == 1.0:
        engine.posterior[:] = result.posterior[old]
        statistics = engine.sum(method.sweep, memory.parameters)
    else:
        # it was tempered: compute it again from parameters and votes. PTBCC needs several sweeps,
        # other methods one
        while not _has_converged(steps):
            statistics = engine.sum(method.sweep, memory.parameters)
            steps.append(Step(0, len(steps) + 1, float(statistics.change), math.nan))
    return _add(memory.first, first, -1), _add(memory.statistics, statistics, -1)


def _some_tasks(
    votes: Annotations, tasks: NDArray[np.int64], annotators: Codes, names: Annotations
) -> Annotations:
    some = stitch([Piece(votes, tasks, np.arange(len(tasks)), annotators)], len(tasks))
    return replace(
        some, gold=votes.gold[tasks], task_names=Names(tasks), annotator_names=names.annotator_names
    )


def _add(total: Any, part: Any, sign: int = 1) -> Any:
    """Add sums field by field. Fields that are not sums over tasks (the change, parts of bounds)
    stay.
    """
    fields = zip(total, part, strict=True)
    return type(total)(*(a + sign * b if isinstance(a, np.ndarray) else a for a, b in fields))


def _renumber(known: Learned, method: Method, annotators: Joined) -> Learned:
    """Return what was learned about annotators in the new order, with zeros for new annotators."""
    names, codes = method.remembers or (), np.full(len(annotators.names), MISSING)
    codes[annotators.old] = np.arange(len(annotators.old))
    statistics = {
        name: _of_annotators(a, codes) if name in names else a
        for name, a in known.statistics.items()
    }
    own = {
        name: _of_annotators(getattr(known, name), codes)
        for name in names
        if name not in known.statistics
    }
    return replace(known, statistics=statistics, **own)


def fit_with_prior(
    method: Method, votes: Annotations, prior: ResultData | str | Path, **keywords: Any
) -> ResultData:
    """Fit a method with an earlier result, or the file of one, as prior knowledge about annotators."""
    check_takes_prior(method)
    earlier = prior if isinstance(prior, ResultData) else load(prior)
    refuse_sets(earlier, "matrices that could be a prior")
    votes_of(earlier, "the prior")
    # codes in the earlier result
    annotators = match(to_list(votes.annotator_names), earlier.annotator_names)
    classes = match(to_list(votes.class_names), earlier.class_names)
    if (annotators == MISSING).all():
        raise InputError(
            "the prior knows none of these annotators; are their names written as they were then?"
        )
    if (classes == MISSING).all():
        known_classes = listed(to_list(earlier.class_names))
        raise InputError(
            f"the prior knows none of these classes, only {known_classes}; it belongs to another"
            " question"
        )
    if isinstance(method, PTBCC):
        if earlier.method != "ptbcc":
            raise InputError(
                f"a prior of ptbcc must be a model of ptbcc, but this one is of {earlier.method}"
            )
        eta, mu = earlier.learned.statistics["eta"], earlier.learned.statistics["mu"]
        if eta.shape[1] != len(method.first_prototypes(len(classes))):
            raise InputError(
                f"the prior has {eta.shape[1]} prototypes; set n_prototypes={eta.shape[1]}"
            )
        informed: Method = method.with_prior(
            Earlier(_of_annotators(eta, annotators), _of_classes(mu, classes))
        )
    else:
        # Methods that take such a prior store the expected votes of annotators by truth, with those
        # of the earlier run's own prior; for others, and for removed methods, they are counted.
        takes_prior = earlier.method in REGISTRY and method_class(earlier.method).takes_prior
        if takes_prior and earlier.method != PTBCC.name:
            by_truth = (
                method_of(earlier).sufficient_statistics(earlier).statistics.n.transpose(0, 2, 1)
            )
        else:
            by_truth = votes_by_truth(earlier)
        counts = _of_classes(_of_annotators(by_truth, annotators), classes)
        informed = method.with_prior(counts.transpose(0, 2, 1).copy())
    result = solve.fit(informed, votes, **keywords)
    known = int((annotators != MISSING).sum())
    note = (
        f"{known:,} of {votes.n_annotators:,} annotators are known from an earlier run"
        f" ({earlier.method})."
    )
    return replace(result, notes=[note, *result.notes], known_annotators=known)


def _of_annotators(values: Floats, codes: Codes) -> Floats:
    """[W, ...] Return the values in the new order, with zeros for new annotators."""
    reordered, known = np.zeros((len(codes), *values.shape[1:])), codes != MISSING
    reordered[known] = values[codes[known]]
    return reordered


def _of_classes(values: Floats, codes: Codes) -> Floats:
    """[..., K, K] Return the values in the new order, with zeros for new classes."""
    reordered, known = (
        np.zeros((*values.shape[:-2], len(codes), len(codes))),
        np.flatnonzero(codes != MISSING),
    )
    old = codes[known]
    reordered[..., known[:, None], known] = values[..., old[:, None], old]
    return reordered
