"""`finegold.next_votes`: find the tasks for which further votes are worth most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.api.job import IN_PYTHON, OnStep, Run, refuse_for_model, run, saved
from finegold.api.result import Result
from finegold.insight.next_votes import Plan
from finegold.methods.lookup import Method
from finegold.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from finegold.engines.base import Engine

__all__ = ["next_votes"]


def next_votes(
    votes: Any,
    budget: int | None = None,
    *,
    annotators: Sequence[Any] | None = None,
    safe: float = 0.95,
    method: str | Method | None = None,
    gold: Any = None,
    predictions: Any = None,
    prior: Result | str | Path | None = None,
    engine: str | Engine = "local",
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_step: OnStep | None = None,
    **reading: Any,
) -> Plan:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, Annotations, or Result
        The votes, as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
    budget : int, optional
        The largest number of votes to plan, one per task. By default there is no limit.
    annotators : sequence, optional
        The annotators who may vote next. The default is all, in proportion to their votes so far.
    safe : float, default 0.95
        A label with this probability needs no further vote.
    method : str or Method, optional
        The method that is fitted to votes. The default is that of `finegold.aggregate`.
    gold : path, data frame, mapping, str or bool, optional
        Known truths of some tasks.
    predictions : path, data frame, tuple, mapping or list, optional
        Class probabilities of models, as in `finegold.aggregate`. Tasks with predictions but no votes are ranked too.
    prior : Result or path, optional
        An earlier result. What it knows about annotators who vote again is used.
    engine : str or Engine, default "local"
        Where the fit runs: "local" (threads), "gpu", "dask", or an engine object.
    threads : int, optional
        Threads to use. The default is the environment variable FINEGOLD_THREADS, else one per core.
    checkpoint : path, optional
        A file for unfinished work.
    resume : bool, default False
        Continue from the checkpoint, if it exists.
    overwrite : bool, default False
        Discard the unfinished work of an earlier run in the checkpoint.
    on_step : callable, optional
        Called with a `Step` after each sweep.
    **reading : dict
        How to read votes: keywords of `finegold.read`.

    Returns
    -------
    Plan
        `tasks()` to collect votes for, `safe_tasks()`, and `annotators()` to retrain or drop.

    Raises
    ------
    InputError
        If options for votes are given with a result.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 3, 3], list("ababc"), list("xyxyy"))
    >>> finegold.next_votes(votes, budget=1, method="mv").tasks()["task"].to_list()
    [1]
    """
    fitting: dict[str, Any] = {"gold": gold, "predictions": predictions, "prior": prior, "checkpoint": checkpoint}
    fitting |= {"resume": resume, "overwrite": overwrite, "threads": threads, "on_step": on_step}
    result = saved(votes)
    if result is None:
        result = run(Run(votes, reading, method or DEFAULT_METHOD, engine=engine, progress=IN_PYTHON, **fitting))
    else:
        refuse_for_model({"method": method, **fitting, **reading})
    return result.next(budget, annotators=annotators, safe=safe)
