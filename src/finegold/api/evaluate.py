"""`finegold.evaluate`, `compare`, `agreement` and `audit`: labels, methods and annotators measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from finegold.api.fit import (
    IN_PYTHON,
    Methods,
    fit,
    fit_each,
    given_result,
    methods_of,
    refuse_for_model,
    result_of,
    split,
)
from finegold.api.options import Fitting
from finegold.api.result import Result
from finegold.errors import InputError
from finegold.insight import agreement as measures
from finegold.insight.agreement import Agreement, Level
from finegold.insight.comparison import Comparison, audit_table
from finegold.insight.votes import single_labels, true_answers
from finegold.io.columns import ANNOTATOR, candidates
from finegold.io.options import Reading
from finegold.io.read import read
from finegold.io.tables import open_table
from finegold.io.truth import TruthSets, match_sets, match_truth
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, make_method, method_names
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.results.sets import refuse_sets, set_figures
from finegold.results.tables import own_name, with_predicted_tasks
from finegold.votes.annotations import Annotations
from finegold.votes.frames import make_frame

OF_CLASSES = ("accuracy", "macro_f1", "log_loss", "calibration_error")
OF_ORDER = ("mean_absolute_error", "quadratic_kappa")
OF_SHARES = ("jensen_shannon", "manhattan", "wasserstein")
# of classes, of sets of labels, of ordered classes, and of shares of people
METRICS = (*OF_CLASSES, "exact_match", "micro_f1", *OF_ORDER, *OF_SHARES)


def evaluate(
    votes: Any,
    truth: Any,
    methods: Methods | None = None,
    *,
    shares: Any = None,
    truth_task: str | None = None,
    truth_label: str | None = None,
    **keywords: Unpack[Fitting],
) -> Any:
    """Compare the labels of one or more methods with known truths.

    The methods do not learn from the truths. If nobody voted for the truth of a task, every method
    is wrong on it.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, Result, or Results): The
            votes, as in `finegold.aggregate`; or one or more results or saved results, which need
            no fit.
        truth (path, data frame or mapping): Known truths of some tasks.
        methods (str, Method, or several of them): Names from `finegold methods`, or methods with
            their settings, that are fitted to votes. The default is that of `finegold.aggregate`.
        shares (path, data frame, tuple or mapping): For tasks without one truth: the share of
            people who would choose each class, with a column of tasks and a column for each class,
            like the predictions of `finegold.aggregate`. `jensen_shannon`, `manhattan` and, with
            `ordered`, `wasserstein` are then the mean distances of the probabilities from them.
        truth_task: The column of the tasks in `truth`, if its name does not tell.
        truth_label: The column of the truths in `truth`, if its name does not tell.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`. With `ordered`, there are `mean_absolute_error` and `quadratic_kappa`.

    Returns:
        DataFrame: One row per method: `method`, the metrics, `iterations`, `converged`, `seconds`,
            `n_tasks`, `n_truths` and `n_truths_unused` (of tasks without votes). The metrics are
            `accuracy`, `macro_f1`, `log_loss`, `calibration_error`, for sets of labels
            `exact_match`, `micro_f1` and `macro_f1`, and those named above. What does not apply is
            null.

    Raises:
        InputError: If no truth belongs to a task with votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
        >>> finegold.evaluate(votes, {1: "x", 2: "x"}, ["mv", "ds"]).select("method", "accuracy").rows()
        [('mv', 0.5), ('ds', 0.5)]
    """
    results = results_of(votes, methods, keywords)
    is_ordered = keywords.get("ordered") is not None
    how: dict[str, Any] = {"is_ordered": is_ordered, "shares": shares}
    rows = [figures_of(result, truth, truth_task, truth_label, **how) for result in results]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return make_frame(columns, like=results[0].task_names)


def results_of(
    votes: Any, methods: Methods | None, keywords: Any, otherwise: Methods = DEFAULT_METHOD
) -> list[Result]:
    """Return the results that were given, or those of fits of several methods."""
    is_many = isinstance(votes, list | tuple) and votes and isinstance(votes[0], ResultData)
    given = [given_result(each) for each in (votes if is_many else [votes])]
    if found := [result for result in given if result is not None]:
        others = {name: value for name, value in keywords.items() if name != "ordered"}
        refuse_for_model({"methods": methods, **others})
        return found
    if isinstance(votes, Annotations):
        # their classes have their order
        keywords = {name: value for name, value in keywords.items() if name != "ordered"}
    chosen = methods_of(otherwise if methods is None else methods)
    return fit_each(votes, chosen, *split(keywords), IN_PYTHON, keywords.get("on_step"))


def figures_of(
    result: ResultData,
    truth: Any,
    task: str | None = None,
    label: str | None = None,
    *,
    is_ordered: bool = False,
    shares: Any = None,
) -> dict[str, Any]:
    """Return how the labels of a result compare with known truths; what does not apply is None."""
    match: Any = match_truth if result.label_sets is None else match_sets
    known = match(result.annotations, truth, task=task, label=label)
    row: dict[str, Any] = {"method": result.method} | dict.fromkeys(METRICS)
    if isinstance(known, TruthSets):
        row |= set_figures(result, known.task, known.sets)
        n_known, n_unused = len(known.sets), known.n_unused
    else:
        row |= {name: getattr(metrics, name)(result.posterior, known.codes) for name in OF_CLASSES}
        if is_ordered:
            compared = (result.label_codes, known.codes, metrics.scale_of(result.class_names))
            row |= {name: getattr(metrics, name)(*compared) for name in OF_ORDER}
        n_known, n_unused = known.n_known, known.n_unmatched
    if shares is not None:
        row |= _distances(result, shares, is_ordered)
    row |= {name: getattr(result, name) for name in ("iterations", "converged", "seconds")}
    sizes = {"n_tasks": len(result.posterior), "n_truths": n_known, "n_truths_unused": n_unused}
    return row | sizes


def _distances(result: ResultData, shares: Any, is_ordered: bool) -> dict[str, float]:
    """Return the mean distances of the probabilities of labels from the shares of people."""
    from finegold.io.predictions import read_predictions

    refuse_sets(result, "distribution over classes")
    people = read_predictions(shares, result.annotations)
    tasks = np.flatnonzero(people.known[0][: len(result.posterior)])
    p, q = result.posterior[tasks].astype(np.float64), people.probabilities[0][tasks]
    scale = metrics.scale_of(result.class_names) if is_ordered else None
    return metrics.distances(p, q, scale)


def compare(
    votes: Any, methods: Methods | None = None, *, truth: Any = None, **keywords: Unpack[Fitting]
) -> Comparison:
    """Compare the labels of several methods with each other and with the majority vote.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Results): The votes,
            as in `finegold.aggregate`; or several results of the same votes, which need no fit.
        methods (str, Method, or several of them): Names from `finegold methods`, or methods with
            their settings. The default is all methods.
        truth (path, data frame or mapping): Known truths of some tasks, to judge the labels by.
            They do not teach the methods.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`.

    Returns:
        `table()` returns one row per method, `labels()` a data frame with the label of each method.
        `agreement` is the share of tasks to which two methods give the same label, and `results`
        the results.

    Raises:
        InputError: If there is no such method, or if no truth belongs to a task with votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
        >>> comparison = finegold.compare(votes, ["mv", "ds"], truth={1: "x"})
        >>> comparison.table().select("method", "flips", "accuracy").rows()
        [('mv', 0, 1.0), ('ds', 0, 1.0)]
    """
    return comparison_of(results_of(votes, methods, keywords, method_names()), truth)


def comparison_of(results: list[Result], truth: Any = None) -> Comparison:
    """Compare results of the same votes."""
    found = results[0].annotations
    if any(len(result.task_names) != found.n_tasks for result in results):
        raise InputError("these results are of different votes; give results of the same votes")
    majority = fit(make_method("mv", {}), found)
    if results[0].label_sets is None:
        codes = None if truth is None else match_truth(found, truth).codes
        return Comparison(list(results), majority, codes)
    # on each task and option: yes or no
    answers = [single_labels(result) for result in results]
    known = None if truth is None else true_answers(found, truth)
    return Comparison(answers, single_labels(majority), known)


def agreement(
    votes: Any,
    *,
    level: Level = "nominal",
    group: str | Mapping[Any, Any] | None = None,
    **reading: Unpack[Reading],
) -> Agreement:
    """Measure how much annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's
    AC1; and on a scale weighted kappas, AC2 and ICC(2,1).

    If an annotator voted on a task more than once, their most frequent vote counts.
    `self_agreement` is the share of such repeated votes that agree.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes,
            as in `finegold.aggregate`; or a result, or the path of a saved one, whose votes are
            measured.
        level ({"nominal", "ordinal", "interval"}): What classes are: names, in order (give
            `classes` if it is not that of the alphabet), or numbers. Kappas have linear weights for
            ordered classes and quadratic ones for numbers.
        group (str or mapping): The column of the votes that says to which group an annotator
            belongs, or annotator -> group; `groups()` compares them.
        **reading: How to read the votes: keywords of `finegold.read`. The default of `repeated` is
            "all" here.

    Returns:
        The figures as attributes, `interval(name)` with 95 % confidence, the data frames
        `classes()`, `annotators()`, `pairs()` and `groups()`, and `minus(other)` for the difference
        from other votes on the same tasks.

    Raises:
        InputError: If the votes cannot be read, or if `level` is "interval" and classes are not
            numbers.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xxxy"))
        >>> finegold.agreement(votes).observed
        0.5
    """
    result = given_result(votes)
    if result is None:
        if isinstance(group, str):
            group = groups_in(votes, group, reading.get("annotator"))
        reading.setdefault("repeated", "all")
        return measures.agreement(read(votes, **reading), level=level, group=group)
    refuse_for_model(reading)
    if isinstance(group, str):
        raise InputError("a saved model has no columns; give the groups as annotator -> group")
    return measures.agreement(single_labels(result).annotations, level=level, group=group)


def groups_in(
    votes: Any, column: str, annotator: str | Sequence[str] | None = None
) -> dict[Any, Any]:
    """Return the group of each annotator, which is a column of the votes' own table."""
    opened = open_table(votes)
    who = annotator or next(iter(candidates(opened.columns, ANNOTATOR)), None)
    if column not in opened.columns or not isinstance(who, str):
        listed = ", ".join(map(str, opened.columns))
        raise InputError(f'the votes have no column "{column}"; there are {listed}')
    groups: dict[Any, Any] = {}
    for name, group in opened.read([who, column]).drop_nulls().iter_rows():
        if groups.setdefault(name, group) != group:
            raise InputError(f"annotator {name} is in several groups: {groups[name]}, {group}")
    return groups


def audit(
    votes: Any,
    labels: Any,
    method: str | Method | None = None,
    *,
    labels_task: str | None = None,
    labels_label: str | None = None,
    **keywords: Unpack[Fitting],
) -> Any:
    """Return how likely each label in use is wrong, judged by votes and predictions.

    The labels in use are not evidence themselves. A task with neither votes nor predictions cannot
    be judged; a warning counts such tasks.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes,
            as in `finegold.aggregate`; or a result, or the path of a saved one, which needs no fit.
        labels (path, data frame or mapping): The labels in use: a table with a column of tasks and
            one of labels, or task -> label.
        method: The method that is fitted to votes. The default is that of `finegold.aggregate`.
        labels_task: The column of the tasks in `labels`, if its name does not tell.
        labels_label: The column of the labels in `labels`, if its name does not tell.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`.

    Returns:
        DataFrame: One row per task, the worst first: `task`, `current` (the label in use),
            `p_wrong`, Finegold's `label` and its `confidence`, `votes_for` and `votes_against` the
            label in use, and, with predictions, `predicted` (the class that models predict, on
            average) and `p_current_predicted` (their mean probability of the label in use).

    Raises:
        InputError: If no label belongs to a task with votes or predictions, or if options for votes
            are given with a result.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2, 2], list("abcab"), list("xxyyy"))
        >>> table = finegold.audit(votes, {1: "x", 2: "x"}, "mv")
        >>> table["task"].to_list(), table["p_wrong"].round(2).to_list(), table["votes_against"].to_list()
        ([2, 1], [1.0, 0.33], [2, 1])
    """
    result = result_of(votes, method, keywords)
    refuse_sets(result, "single label to audit")
    everything = with_predicted_tasks(result)
    key = match_truth(everything, labels, task=labels_task, label=labels_label)
    return own_name(audit_table(result, everything, key), result.annotations, 0)
