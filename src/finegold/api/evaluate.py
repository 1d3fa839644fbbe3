"""`finegold.evaluate`: compare labels with known truths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.api.job import (
    IN_PYTHON,
    OnStep,
    Run,
    classes_of,
    fitter,
    label_sets,
    read_votes,
    refuse_for_model,
    run,
    saved,
)
from finegold.api.result import Result
from finegold.errors import InputError
from finegold.insight import comparison, measures
from finegold.insight.comparison import Comparison, audit_table
from finegold.insight.measures import Agreement, Level
from finegold.insight.votes import votes_of
from finegold.io.read import match_truth
from finegold.io.truth import match_sets
from finegold.methods.lookup import Method, make_method, method_names
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results import metrics
from finegold.results.multi_metrics import set_figures
from finegold.results.tables import mean_absolute_error, quadratic_kappa, scale_of, with_predicted_tasks
from finegold.votes.key import Key

if TYPE_CHECKING:
    from finegold.engines.base import Engine

__all__ = ["agreement", "audit", "audit_result", "compare", "compare_run", "evaluate", "evaluate_run", "methods_of"]


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


def compare(
    votes: Any,
    methods: Methods | None = None,
    *,
    truth: Any = None,
    predictions: Any = None,
    prior: Result | str | Path | None = None,
    engine: str | Engine = "local",
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_step: OnStep | None = None,
    **reading: Any,
) -> Comparison:
    """Fit several methods to the same votes and compare their labels with each other and with the majority vote.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, or Annotations
        The votes, as in `finegold.aggregate`.
    methods : str, Method, or several of them, optional
        Names from `finegold methods`, or methods with their settings. The default is all methods.
    truth : path, data frame or mapping, optional
        Known truths of some tasks, to judge the labels by. They do not teach the methods.
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
    **reading : dict
        How to read the votes: keywords of `finegold.read`.

    Returns
    -------
    Comparison
        `rows()` returns one dict per method, `labels()` a data frame with the label of each method. `agreement` is the
        share of tasks to which two methods give the same label, and `results` the results.

    Raises
    ------
    InputError
        If there is no such method, or if no truth belongs to a task with votes.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
    >>> found = finegold.compare(votes, ["mv", "ds"], truth={1: "x"})
    >>> [(row["method"], row["flips"], row["accuracy"]) for row in found.rows()]
    [('mv', 0, 1.0), ('ds', 0, 1.0)]
    """
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
    return compare_run(wanted, methods_of(method_names() if methods is None else methods), truth)


def compare_run(wanted: Run, methods: Sequence[Method], truth: Any = None) -> Comparison:
    """Compare methods on the votes of a run. The method of the run is ignored."""
    with fitter(wanted, methods) as fit:
        votes = read_votes(wanted)
        codes = None if truth is None else match_truth(votes, truth).codes
        return comparison.compare(votes, methods, truth=codes, run=fit)


def agreement(votes: Any, *, level: Level = "nominal", **reading: Any) -> Agreement:
    """Measure how far annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1.

    If an annotator voted on a task more than once, their most frequent vote counts. `self_agreement` is
    the share of such repeated votes that agree.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, Annotations, or Result
        The votes, as in `finegold.aggregate`; or a result, or the path of a saved one, whose votes are measured.
    level : {"nominal", "ordinal", "interval"}, default "nominal"
        What classes are to alpha: names, in order (give `classes` if it is not that of the alphabet), or numbers.
    **reading : dict
        How to read the votes: keywords of `finegold.read`. The default of `repeated` is "all" here.

    Returns
    -------
    Agreement
        The figures as attributes, `interval(name)` with 95 % confidence, and the data frames `classes()`,
        `annotators()` and `pairs()`.

    Raises
    ------
    InputError
        If the votes cannot be read, or if `level` is "interval" and classes are not numbers.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxxy"))
    >>> finegold.agreement(votes).observed
    0.5
    """
    result = saved(votes)
    if result is None:
        return measures.agreement(votes, level=level, **reading)
    refuse_for_model(reading)
    return measures.agreement(votes_of(result), level=level)


def audit(
    votes: Any,
    labels: Any,
    method: str | Method | None = None,
    *,
    predictions: Any = None,
    labels_task: str | None = None,
    labels_label: str | None = None,
    gold: Any = None,
    prior: Result | str | Path | None = None,
    engine: str | Engine = "local",
    threads: int | None = None,
    **reading: Any,
) -> Any:
    """Return how likely each label in use is wrong, judged by votes and predictions.

    The labels in use are not evidence themselves. A task with neither votes nor predictions cannot be judged; a warning
    counts such tasks.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, Annotations, or Result
        The votes, as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
    labels : path, data frame or mapping
        The labels in use: a table with a column of tasks and one of labels, or task -> label.
    method : str or Method, optional
        The method that is fitted to votes. The default is that of `finegold.aggregate`.
    predictions : path, data frame, tuple, mapping or list, optional
        Class probabilities of models, as in `finegold.aggregate`.
    labels_task, labels_label : str, optional
        The columns of the tasks and of the labels in `labels`, if their names do not tell.
    gold : path, data frame, mapping, str or bool, optional
        Known truths of some tasks.
    prior : Result or path, optional
        An earlier result. What it knows about annotators who vote again is used.
    engine : str or Engine, default "local"
        Where the fit runs: "local" (threads), "gpu", "dask", or an engine object.
    threads : int, optional
        Threads to use. The default is the environment variable FINEGOLD_THREADS, else one per core.
    **reading : dict
        How to read votes: keywords of `finegold.read`.

    Returns
    -------
    DataFrame
        One row per task, the worst first: `task`, `current` (the label in use), `p_wrong`, Finegold's `label` and its
        `confidence`, `votes_for` and `votes_against` the label in use, and, with predictions, `predicted` (the class
        that models predict, on average) and `p_current_predicted` (their mean probability of the label in use).

    Raises
    ------
    InputError
        If no label belongs to a task with votes or predictions, or if options for votes are given with a result.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
    >>> found = finegold.audit(votes, {1: "x", 2: "x"}, "mv")
    >>> found["task"].to_list(), found["p_wrong"].round(2).to_list(), found["votes_against"].to_list()
    ([2, 1], [1.0, 0.33], [2, 1])
    """
    fitting: dict[str, Any] = {"gold": gold, "predictions": predictions, "prior": prior, "threads": threads}
    if (result := saved(votes)) is not None:
        refuse_for_model({"method": method, **fitting, **reading})
    else:
        result = run(Run(votes, reading, method or DEFAULT_METHOD, engine=engine, progress=IN_PYTHON, **fitting))
    return audit_result(result, labels, labels_task=labels_task, labels_label=labels_label)


def audit_result(
    result: Result, labels: Any, *, labels_task: str | None = None, labels_label: str | None = None
) -> Any:
    """Return how likely each label in use is wrong, judged by a result."""
    everything = with_predicted_tasks(result)
    return audit_table(result, everything, match_truth(everything, labels, task=labels_task, label=labels_label))
