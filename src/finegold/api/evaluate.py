"""`finegold.evaluate`: compare labels with known truths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.api.result import Result
from finegold.api.run import IN_PYTHON, OnStep, Run, classes_of, fitter, label_sets, read_votes
from finegold.errors import InputError
from finegold.io.readers import match_truth
from finegold.io.readers.truth_sets import match_sets
from finegold.methods.lookup import Method, make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results import metrics
from finegold.results.multi_metrics import set_figures
from finegold.results.ordered import mean_absolute_error, quadratic_kappa, scale_of
from finegold.votes.key import Key

if TYPE_CHECKING:
    from finegold.engines.base import Engine

__all__ = ["evaluate", "evaluate_run", "methods_of"]

Methods = str | Method | Iterable[str | Method]
ORDERED = {"mean_absolute_error": mean_absolute_error, "quadratic_kappa": quadratic_kappa}


def evaluate(
    votes: Any,
    truth: Any,
    methods: Methods = DEFAULT_METHOD,
    *,
    truth_task: str | None = None,
    truth_label: str | None = None,
    predictions: Any = None,
    prior: Result | str | Path | None = None,
    engine: str | Engine = "local",
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_step: OnStep | None = None,
    ordered: list[Any] | None = None,
    **reading: Any,
) -> list[dict[str, Any]]:
    """Fit one or more methods to the votes and compare their labels with known truths.

    The methods do not learn from the truths. If nobody voted for the truth of a task, every method is wrong on it.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, or Annotations
        The votes, as in `finegold.aggregate`.
    truth : path, data frame or mapping
        Known truths of some tasks.
    methods : str, Method, or several of them, default "anchored"
        Names from `finegold methods`, or methods with their settings.
    truth_task, truth_label : str, optional
        The columns of the tasks and of the truths in `truth`, if their names do not tell.
    predictions : path, data frame, tuple, mapping or list, optional
        Class probabilities of models, as in `finegold.aggregate`.
    prior : Result or path, optional
        An earlier result. What it knows about annotators who vote again is used.
    engine : str or Engine, default "local"
        Where the fit runs: "local" (threads), "gpu", "dask", or an engine object.
    threads : int, optional
        Threads to use. The default is the environment variable FINEGOLD_THREADS, else one per core.
    checkpoint : path, optional
        As in `finegold.aggregate`. If there are several methods, each has its own file, with its name at the end.
    resume : bool, default False
        Continue from the checkpoint, if it exists.
    overwrite : bool, default False
        Discard the unfinished work of an earlier run in the checkpoint.
    on_step : callable, optional
        Called with a `Step` after each sweep.
    ordered : list, optional
        All classes, from the lowest to the highest. `mean_absolute_error` and `quadratic_kappa` are then added.
    **reading : dict
        How to read the votes: keywords of `finegold.read`.

    Returns
    -------
    list of dict
        One dict per method: `method`, `accuracy`, `macro_f1`, `log_loss`, `calibration_error`, `iterations`,
        `converged`, `seconds`, `n_tasks`, `n_truths` and `n_truths_unused` (of tasks without votes). If votes are
        sets of labels (see `multi` of `finegold.aggregate`), the metrics are `exact_match`, `micro_f1` and `macro_f1`.

    Raises
    ------
    InputError
        If no truth belongs to a task with votes.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
    >>> [(row["method"], row["accuracy"]) for row in finegold.evaluate(votes, {1: "x", 2: "x"}, ["mv", "ds"])]
    [('mv', 0.5), ('ds', 0.5)]
    """
    if ordered is not None:
        reading["classes"] = classes_of(reading.get("classes"), ordered)
    wanted = Run(
        votes,
        reading,
        predictions=predictions,
        prior=prior,
        engine=engine,
        threads=threads,
        checkpoint=checkpoint,
        resume=resume,
        overwrite=overwrite,
        on_step=on_step,
        progress=IN_PYTHON,
    )
    columns = {"truth_task": truth_task, "truth_label": truth_label}
    return evaluate_run(wanted, truth, methods_of(methods), ordered=ordered is not None, **columns)


def evaluate_run(
    wanted: Run,
    truth: Any,
    methods: Sequence[Method],
    *,
    truth_task: str | None = None,
    truth_label: str | None = None,
    ordered: bool = False,
) -> list[dict[str, Any]]:
    """Evaluate methods on the votes of a run. The method of the run is ignored."""
    with fitter(wanted, methods) as fit:
        votes = read_votes(wanted, find_sets=True)
        if votes.multi:
            truths = match_sets(votes, truth, task=truth_task, label=truth_label)
            return [set_figures(label_sets(wanted, method, votes, fit), *truths) for method in methods]
        key = match_truth(votes, truth, task=truth_task, label=truth_label)
        return [_figures(fit(method, votes), key, ordered) for method in methods]


def methods_of(methods: Methods) -> list[Method]:
    """Return methods that are given by name or as objects."""
    given = [methods] if isinstance(methods, str | Method) else list(methods)
    if not given:
        raise InputError("no method is given; name at least one, such as ds")
    return [make_method(method, {}) for method in given]


def _figures(result: Result, key: Key, ordered: bool) -> dict[str, Any]:
    posterior = result.posterior
    of_order = (result.label_codes, key.codes, scale_of(result.class_names)) if ordered else None
    return {
        "method": result.method,
        "accuracy": metrics.accuracy(posterior, key.codes),
        "macro_f1": metrics.macro_f1(posterior, key.codes),
        "log_loss": metrics.log_loss(posterior, key.codes),
        "calibration_error": metrics.calibration_error(posterior, key.codes),
        **({name: measure(*of_order) for name, measure in ORDERED.items()} if of_order else {}),
        "iterations": result.iterations,
        "converged": result.converged,
        "seconds": result.seconds,
        "n_tasks": len(posterior),
        "n_truths": key.n_known,
        "n_truths_unused": key.n_unmatched,
    }
