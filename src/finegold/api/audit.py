"""`finegold.audit`: find labels in use that are probably wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.api.result import Result
from finegold.api.run import IN_PYTHON, Run, refuse_for_model, run, saved
from finegold.insight.audit import audit_table
from finegold.io.readers import match_truth
from finegold.methods.lookup import Method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.tables import with_predicted_tasks

if TYPE_CHECKING:
    from finegold.engines.base import Engine

__all__ = ["audit", "audit_result"]


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
