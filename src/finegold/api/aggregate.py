"""`finegold.aggregate`: compute labels from votes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from finegold.api.job import IN_PYTHON, OnStep, Run, classes_of, has_predictions, names_given, run, run_any
from finegold.api.result import Result
from finegold.engines.base import Engine
from finegold.errors import InputError
from finegold.fitting import updating
from finegold.fitting.combining import combine, without_predictions
from finegold.io.predictions import read_predictions
from finegold.io.read import read
from finegold.io.truth import with_gold
from finegold.methods.lookup import Method, method_of
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.data import ResultData, votes_of
from finegold.votes.annotations import Annotations, Repeated
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.merging import Joined, Merged, align, merge, outputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from finegold.api.settings import Settings
    from finegold.engines.base import Engine
    from finegold.results.data import Step
    from finegold.votes.annotations import Repeated

__all__ = ["aggregate", "check_no_fit", "update"]


def aggregate(
    votes: Any,
    method: str | Method = DEFAULT_METHOD,
    *,
    gold: Any = None,
    predictions: Any = None,
    prior: Result | str | Path | None = None,
    threads: int | None = None,
    engine: str | Engine = "local",
    on_step: Callable[[Step], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    task: str | None = None,
    annotator: str | list[str] | None = None,
    label: str | None = None,
    wide: bool = False,
    classes: list[Any] | None = None,
    repeated: Repeated = "first",
    missing: list[Any] | None = None,
    keep_missing: bool = False,
    normalise: bool = False,
    alias: Any = None,
    encoding: str | None = None,
    separator: str | None = None,
    header: bool | int = True,
    query: str | None = None,
    table: str | None = None,
    params: Mapping[str, Any] | None = None,
    format: str | None = None,
    question: str | None = None,
    include: str | Sequence[str] = (),
    multi: bool | None = None,
    ordered: list[Any] | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Compute the most probable label of every task and its probability.

    Parameters
    ----------
    votes : path, paths, data frame, address of a database, or Annotations
        The votes. A path may be a pattern or a folder; a data frame may be of any library.
    method : str or Method, default "anchored"
        A name from `finegold methods`, or a method with its settings, such as `finegold.PTBCC(n_prototypes=3)`.
    gold : path, data frame, mapping, str or bool, optional
        Known truths of some tasks. They become the labels of these tasks, and the method learns from them.
    predictions : path, data frame, tuple, mapping or list, optional
        Class probabilities that one or more models predict for some or all tasks. What each model is worth is learned
        from the votes. A table has a column of tasks and a column for each class; a tuple is (tasks, array) or (tasks,
        array, classes), as from `predict_proba`; a mapping gives each model a name. Tasks with predictions but no votes
        are labelled too.
    prior : Result or path, optional
        An earlier result, or the file of one. What it learned about annotators is the prior for those who vote again.
    threads : int, optional
        The number of threads. The default is the environment variable FINEGOLD_THREADS, otherwise one per core.
    engine : str or Engine, default "local"
        Where the fit runs: "local" (the threads of this machine), "dask" (a cluster), "gpu", or an engine object
        such as `DaskEngine("tcp://scheduler:8786")` of finegold.engines.dask.
    on_step : callable, optional
        Called with a `Step` after each sweep. If it is not given, notebooks and terminals show one line of
        progress.
    checkpoint : path, optional
        A file for unfinished work, written on Ctrl-C and every minute.
    resume : bool, default False
        Continue from the checkpoint, if it exists. The result is the same, to the bit.
    overwrite : bool, default False
        Discard the unfinished work of an earlier run in the checkpoint.
    task : str, optional
        The column of the tasks, if its name is not recognised.
    annotator : str or list of str, optional
        The column of the annotators. With `wide=True`, the columns of the annotators.
    label : str, optional
        The column of the votes.
    wide : bool, default False
        The table has a row per task and a column per annotator.
    classes : list, optional
        All classes, in the order wanted. Any other label is then an error.
    repeated : {"first", "last", "majority", "all", "error"}, default "first"
        Which votes count if an annotator voted on a task more than once.
    missing : list, optional
        Labels that mean "no vote", besides null, NaN and blank, instead of NA, None and the like (see `finegold.read`).
    keep_missing : bool, default False
        Keep words such as NA and None as classes.
    normalise : bool, default False
        Merge labels that differ only in case, spaces, Unicode form, a dot at the end or number format.
    alias : mapping, path or data frame, optional
        The class that each spelling of a label means.
    encoding : str, optional
        The encoding of text files that are not UTF-8, such as "latin-1".
    separator : str, optional
        The character between the columns of a text file, if it is not found.
    header : bool or int, default True
        The line with the names of the columns, from 1; False if there is none (see `finegold.read`).
    query : str, optional
        The query to read from a database.
    table : str, optional
        The table to read from a database.
    params : mapping, optional
        Values that are bound to :name in the query.
    format : str, optional
        The tool that wrote an export, if it is not recognised.
    question : str, optional
        The question to read, if an export has several.
    include : str or sequence of str, optional
        What the reader of an export leaves out by default.
    multi : bool, optional
        Whether a vote is a set of labels, such as a list or "a;b". Every option is then a question of yes or no, and
        the result is a `MultiResult`. By default the votes decide, and a warning says so if they are sets.
    ordered : list, optional
        All classes, from the lowest to the highest, instead of `classes`: `Result.scores` follows this order.
    **settings : dict
        Settings of a method that is given by name.

    Returns
    -------
    Result or MultiResult
        Labels, probabilities, and how good each annotator is. A `MultiResult` if the votes are sets of labels.

    Raises
    ------
    InputError
        If the votes cannot be read, or an option does not fit them.

    Examples
    --------
    >>> import finegold
    >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
    >>> finegold.aggregate(votes, "ds", max_iterations=10).label.tolist()
    ['x', 'y']
    """
    given: dict[str, Any] = dict(settings)
    reading = {
        "task": task,
        "annotator": annotator,
        "label": label,
        "wide": wide,
        "classes": classes_of(classes, ordered),
        "repeated": repeated,
        "missing": missing,
        "keep_missing": keep_missing,
        "normalise": normalise,
        "alias": alias,
        "encoding": encoding,
        "separator": separator,
        "header": header,
        "query": query,
        "table": table,
        "params": params,
        "format": format,
        "question": question,
        "include": include,
        "multi": multi,
    }
    found = run_any(
        Run(
            votes,
            reading,
            method,
            given,
            gold=gold,
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
    )
    return cast(Result, found)  # the declared type; a MultiResult if the votes are sets


def update(
    result: Result,
    votes: Any = None,
    *,
    gold: Any = None,
    refit: bool = False,
    threads: int | None = None,
    on_step: OnStep | None = None,
    prior: Any = None,
    predictions: Any = None,
    engine: str | Engine = "local",
    scheduler: str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    repeated: Repeated = "first",
    **reading: Any,
) -> Result:
    """Read the votes and add them to the result; `Result.update` documents the parameters."""
    if votes is None and gold is None and not refit and not has_predictions(predictions):
        raise InputError("there is nothing to update: give votes, known truths (gold), predictions or refit")
    fitting: dict[str, Any] = {"prior": prior, "scheduler": scheduler, "checkpoint": checkpoint}
    fitting |= {"resume": resume, "overwrite": overwrite}
    if not refit:
        _check_temperature(result)
        check_no_fit({**fitting, "engine": engine})
    merged = _merge(votes_of(result), votes, gold, repeated, reading)
    if refit:
        fitting |= {"threads": threads, "on_step": on_step, "engine": engine}
        fitting["predictions"] = predictions if has_predictions(predictions) else _kept_predictions(result)
        return _refit(result, Run(merged.votes, method=method_of(result), **fitting))
    updated = updating.update(without_predictions(result), merged, threads=threads, on_step=on_step)
    return Result.of(_combined_again(updated, result, predictions))


def _check_temperature(result: Result) -> None:
    if result.combined and result.temperature != 1.0:
        raise InputError(
            "the model was calibrated after votes and predictions had been combined; add --refit (refit=True)"
        )


def _kept_predictions(result: Result) -> dict[str, Any] | None:
    """Return the predictions of a result in the form that users give."""
    if result.combined is None:
        return None
    classes = to_list(result.class_names)
    outputs = outputs_of(result.combined.predictions, votes_of(result))
    return {output.name: (output.tasks, output.probabilities, classes) for output in outputs}


def _combined_again(updated: ResultData, before: Result, predictions: Any) -> ResultData:
    """Combine the votes with new predictions, or with those that the result had before."""
    if has_predictions(predictions):
        return combine(updated, read_predictions(predictions, votes_of(updated)))
    if before.combined is None:
        return updated
    return combine(updated, align(outputs_of(before.combined.predictions, votes_of(before)), votes_of(updated)))


def check_no_fit(options: dict[str, Any]) -> None:
    """Raise an error if any of these options, which need a full fit, is given."""
    if given := names_given({name: value for name, value in options.items() if value != "local"}):
        raise InputError(f"--{given[0]} works only with a full fit; add --refit (refit=True)")


def _refit(result: Result, wanted: Run) -> Result:
    if result.known_annotators is not None and wanted.prior is None:
        raise InputError("the model was fitted with a prior; give the same one again (--prior, prior=)")
    return run(wanted)


def _merge(old: Annotations, votes: Any, gold: Any, repeated: Repeated, reading: dict[str, Any]) -> Merged:
    gold_in_votes = gold if gold is True or (isinstance(gold, str) and not Path(gold).exists()) else None
    if votes is None:
        merged = _unchanged(old)
    else:
        merged = merge(old, read(votes, gold=gold_in_votes, repeated=repeated, **reading), repeated)
    return merged if gold is None or gold_in_votes is not None else _with_gold(merged, gold)


def _unchanged(old: Annotations) -> Merged:
    tasks, annotators = (np.arange(n, dtype=np.int32) for n in (old.n_tasks, old.n_annotators))
    joined = Joined(old.task_names, tasks, tasks[:0]), Joined(old.annotator_names, annotators, annotators[:0])
    return Merged(old, *joined, touched=np.empty(0, np.int64), added=0)


def _with_gold(merged: Merged, gold: Any) -> Merged:
    """Add new truths, or replace known ones, and mark their tasks as touched."""
    given = with_gold(merged.votes, gold).gold
    changed = np.flatnonzero((given != MISSING) & (given != merged.votes.gold))
    votes = replace(merged.votes, gold=np.where(given != MISSING, given, merged.votes.gold))
    return merged._replace(votes=votes, touched=np.union1d(merged.touched, changed))
