"""`finegold.compare`: compare methods on the same votes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.api.evaluate import Methods, methods_of
from finegold.api.result import Result
from finegold.api.run import IN_PYTHON, OnStep, Run, fitter, read_votes
from finegold.insight import comparison
from finegold.insight.comparison import Comparison
from finegold.io.readers import match_truth
from finegold.methods.lookup import Method, method_names

if TYPE_CHECKING:
    from finegold.engines.base import Engine

__all__ = ["compare", "compare_run"]


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
