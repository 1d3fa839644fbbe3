"""Labels from votes (`finegold.aggregate`), with more votes (`Result.update`), and which to ask for
(`next_votes`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, overload

from finegold.api.fit import IN_PYTHON, OnStep, fit_votes, has_predictions, result_of, split
from finegold.api.options import FitOptions
from finegold.api.result import Result
from finegold.engines.base import Engine
from finegold.errors import InputError, Placeholder, use
from finegold.insight.calibration import keep_temperature
from finegold.insight.next_votes import Plan, plan
from finegold.io.options import Reading
from finegold.io.read import read
from finegold.io.truth import with_gold
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, make_method, method_of
from finegold.votes.annotations import Repeated
from finegold.votes.encoding import to_list
from finegold.votes.merging import add_gold, merge, outputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from finegold.api.options import Fitting
    from finegold.results.data import ResultData, Step


class PandasLike(Protocol):
    """A data frame of pandas, or of a library like it: their users get such frames back."""

    @property
    def iloc(self) -> Any: ...


Pandas = TypeVar("Pandas", bound=PandasLike)


@overload
def aggregate(
    votes: Pandas, method: str | Method | type[Method] = ..., **keywords: Unpack[Fitting]
) -> Result[Pandas]: ...
@overload
def aggregate(
    votes: Any, method: str | Method | type[Method] = ..., **keywords: Unpack[Fitting]
) -> Result: ...
def aggregate(
    votes: Any,
    method: str | Method | type[Method] = DEFAULT_METHOD,
    *,
    gold: Any = None,
    predictions: Any = None,
    prior: ResultData | str | Path | None = None,
    engine: str | Engine = "local",
    threads: int | None = None,
    on_step: Callable[[Step], None] | None = None,
    **reading: Unpack[Reading],
) -> Result[Any]:
    """Compute the most probable label of every task and its probability.

    Args:
        votes (path, paths, data frame, address of a database, or Annotations): The votes. A path
            may be a pattern or a folder; a data frame may be of any library.
        method: A name from `finegold methods`, or a method with its settings, such as
            `finegold.PTBCC(n_prototypes=3)`.
        gold (path, data frame, mapping, str or bool): Known truths of some tasks. They become the
            labels of these tasks, and the method learns from them.
        predictions (path, data frame, tuple, mapping or list): Class probabilities that one or more
            models predict for some or all tasks. What each model is worth is learned from the
            votes. A table has a column of tasks and a column for each class; a tuple is (tasks,
            array) or (tasks, array, classes), as from `predict_proba`; a mapping gives each model a
            name. Tasks with predictions but no votes are labelled too.
        prior: An earlier result, or the file of one. What it learned about annotators is the prior
            for those who vote again.
        engine: Where the fit runs: "local" (the threads of this machine), "dask" (a Dask cluster
            that is started), the address of one such as "tcp://10.0.0.1:8786", or an engine object.
        threads: The number of threads. The default is the environment variable FINEGOLD_THREADS,
            otherwise one per core.
        on_step: Called with a `Step` after each sweep. If it is not given, notebooks and terminals
            show one line of progress.
        **reading: How to read the votes, such as `task`, `layout`, `classes` or `multi`, as in
            `finegold.read`.

    Returns:
        Labels, probabilities, and how good each annotator is. If votes are sets of labels (`multi`;
        by default, the votes decide, and a warning says so), every option is a question of yes or
        no, and labels are sets.

    Raises:
        InputError: If the votes cannot be read, or an option does not fit them.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
        >>> finegold.aggregate(votes, finegold.DS(max_iterations=10)).label.tolist()
        ['x', 'y']
    """
    options, how = split(dict(reading), method)
    options = replace(
        options, gold=gold, predictions=predictions, prior=prior, engine=engine, threads=threads
    )
    return fit_votes(votes, options, how, IN_PYTHON, on_step)


def next_votes(
    votes: Any,
    budget: int | None = None,
    *,
    available: Sequence[Any] | None = None,
    safe: float = 0.95,
    method: str | Method | None = None,
    **keywords: Unpack[Fitting],
) -> Plan:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes,
            as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
        budget: The largest number of votes to plan, one per task. By default there is no limit.
        available: The annotators who may vote next. The default is all, in proportion to their
            votes so far.
        safe: A label with this probability needs no further vote.
        method: The method that is fitted to votes. The default is that of `finegold.aggregate`.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`.

    Returns:
        `tasks()` to collect votes for, `safe_tasks()`, and `annotators()` to retrain or drop.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 3, 3], list("ababc"), list("xyxyy"))
        >>> finegold.next_votes(votes, budget=1, method="mv").tasks()["task"].to_list()
        [1]
    """
    result = result_of(votes, method, keywords)
    return plan(result, budget, annotators=available, safe=safe)


def update(
    result: Result[Any],
    votes: Any = None,
    *,
    gold: Any = None,
    threads: int | None = None,
    on_step: OnStep | None = None,
    predictions: Any = None,
    repeated: Repeated = "first",
    **keywords: Any,
) -> Result[Any]:
    """Fit the votes of the result and these votes; `Result.update` documents the parameters."""
    if votes is None and gold is None and not has_predictions(predictions):
        raise InputError(
            "there is nothing to update: give votes, known truths (gold) or predictions"
        )
    where = {name: keywords.pop(name) for name in ("prior", "engine") if name in keywords}
    if result.known_annotators is not None and where.get("prior") is None:
        raise InputError(
            "the model was fitted with a prior; give the same one again",
            remedies=[use(prior=Placeholder("MODEL"))],
        )
    merged, is_multi = result.annotations, result.label_sets is not None
    # truths are marked in the votes, or come apart from them
    in_votes = gold is True or (isinstance(gold, str) and not Path(gold).exists())
    if votes is not None:
        how = {"multi": True} if is_multi else {"repeated": repeated}
        new = read(votes, gold=gold if in_votes else None, **keywords | how)
        merged = merge(merged, new, repeated)
    if gold is not None and not in_votes:
        merged = add_gold(merged, with_gold(merged, gold))
    # in the form that users give
    if not has_predictions(predictions) and result.combined is not None:
        models = outputs_of(result.combined.predictions, result.annotations)
        classes = to_list(result.class_names)
        predictions = {name: (*given, classes) for name, given in models.items()}
    name = DEFAULT_METHOD if result.method == "multi" else result.method
    method = make_method(name, dict(result.settings)) if is_multi else method_of(result)
    options = FitOptions(method=method, **where, threads=threads, predictions=predictions)
    updated = fit_votes(merged, options, on_step=on_step)
    if result.temperature != 1.0 and updated.temperature == 1.0:
        return keep_temperature(updated, result.temperature)
    return updated
