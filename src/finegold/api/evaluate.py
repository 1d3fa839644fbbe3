"""`finegold.evaluate`: compare labels with known truths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from finegold.api.job import given_result, job_of, refuse_for_model, result_for
from finegold.api.options import Fitting
from finegold.errors import InputError
from finegold.insight import comparison, measures
from finegold.insight.comparison import Comparison, audit_table
from finegold.insight.measures import Agreement, Level
from finegold.insight.votes import single_labels, true_answers, votes_of
from finegold.io.options import Reading
from finegold.io.truth import TruthSets, match_sets, match_truth
from finegold.methods.base import Method
from finegold.methods.lookup import make_method, method_names
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results import metrics
from finegold.results.sets import refuse_sets, set_figures
from finegold.results.tables import own_name, with_predicted_tasks

Methods = str | Method | Iterable[str | Method]
MEASURES = ("accuracy", "macro_f1", "log_loss", "calibration_error")
ORDERED_MEASURES = ("mean_absolute_error", "quadratic_kappa")


def evaluate(
    votes: Any,
    truth: Any,
    methods: Methods = DEFAULT_METHOD,
    *,
    truth_task: str | None = None,
    truth_label: str | None = None,
    **keywords: Unpack[Fitting],
) -> list[dict[str, Any]]:
    """Fit one or more methods to the votes and compare their labels with known truths.

    The methods do not learn from the truths. If nobody voted for the truth of a task, every method
    is wrong on it.

    Args:
        votes (path, paths, data frame, address of a database, or Annotations): The votes, as in
            `finegold.aggregate`.
        truth (path, data frame or mapping): Known truths of some tasks.
        methods (str, Method, or several of them): Names from `finegold methods`, or methods with
            their settings.
        truth_task: The column of the tasks in `truth`, if its name does not tell.
        truth_label: The column of the truths in `truth`, if its name does not tell.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`. With `ordered`, `mean_absolute_error` and `quadratic_kappa` are added.

    Returns:
        One dict per method: `method`, `accuracy`, `macro_f1`, `log_loss`, `calibration_error`,
        `iterations`, `converged`, `seconds`, `n_tasks`, `n_truths` and `n_truths_unused` (of tasks
        without votes). If votes are sets of labels (see `multi` of `finegold.aggregate`), the
        metrics are `exact_match`, `micro_f1` and `macro_f1`.

    Raises:
        InputError: If no truth belongs to a task with votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
        >>> [(row["method"], row["accuracy"]) for row in finegold.evaluate(votes, {1: "x", 2: "x"}, ["mv", "ds"])]
        [('mv', 0.5), ('ds', 0.5)]
    """
    job, chosen, rows = job_of(votes, keywords), _methods_of(methods), []
    is_ordered = job.reading_keywords.get("ordered") is not None
    with job.fitter(chosen) as fit:
        votes = job.read()
        match: Any = match_sets if votes.multi else match_truth
        known = match(votes, truth, task=truth_task, label=truth_label)
        for method in chosen:
            result = fit(method, votes)
            if isinstance(known, TruthSets):
                figures = set_figures(result, known.task, known.sets)
                n_known, n_unused = len(known.sets), known.n_unused
            else:
                figures = {
                    name: getattr(metrics, name)(result.posterior, known.codes) for name in MEASURES
                }
                if is_ordered:
                    compared = (
                        result.label_codes,
                        known.codes,
                        metrics.scale_of(result.class_names),
                    )
                    figures |= {
                        name: getattr(metrics, name)(*compared) for name in ORDERED_MEASURES
                    }
                n_known, n_unused = known.n_known, known.n_unmatched
            fitted = {
                "iterations": result.iterations,
                "converged": result.converged,
                "seconds": result.seconds,
            }
            counts = {
                "n_tasks": len(result.posterior),
                "n_truths": n_known,
                "n_truths_unused": n_unused,
            }
            rows.append({"method": result.method, **figures, **fitted, **counts})
    return rows


def _methods_of(methods: Methods) -> list[Method]:
    """Return methods that are given by name or as objects."""
    given = [methods] if isinstance(methods, str | Method) else list(methods)
    if not given:
        raise InputError("no method is given; name at least one, such as ds")
    return [make_method(method, {}) for method in given]


def compare(
    votes: Any, methods: Methods | None = None, *, truth: Any = None, **keywords: Unpack[Fitting]
) -> Comparison:
    """Fit several methods to the same votes and compare their labels with each other and with the
    majority vote.

    Args:
        votes (path, paths, data frame, address of a database, or Annotations): The votes, as in
            `finegold.aggregate`.
        methods (str, Method, or several of them): Names from `finegold methods`, or methods with
            their settings. The default is all methods.
        truth (path, data frame or mapping): Known truths of some tasks, to judge the labels by.
            They do not teach the methods.
        **keywords: What a fit takes, as in `finegold.aggregate`, and how to read the votes, as in
            `finegold.read`.

    Returns:
        `rows()` returns one dict per method, `labels()` a data frame with the label of each method.
        `agreement` is the share of tasks to which two methods give the same label, and `results`
        the results.

    Raises:
        InputError: If there is no such method, or if no truth belongs to a task with votes.

    Examples:
        >>> import finegold
        >>> votes = finegold.Annotations.from_arrays([1, 1, 1, 2], ["ann", "bob", "eve", "ann"], ["x", "x", "y", "y"])
        >>> comparison = finegold.compare(votes, ["mv", "ds"], truth={1: "x"})
        >>> [(row["method"], row["flips"], row["accuracy"]) for row in comparison.rows()]
        [('mv', 0, 1.0), ('ds', 0, 1.0)]
    """
    job, chosen = (
        job_of(votes, keywords),
        _methods_of(method_names() if methods is None else methods),
    )
    with job.fitter(chosen) as fit:
        votes = job.read()
        if not votes.multi:
            codes = None if truth is None else match_truth(votes, truth).codes
            return comparison.compare(votes, chosen, truth=codes, run=fit)
        # on each task and option: yes or no
        results = [single_labels(fit(method, votes)) for method in chosen]
        majority = single_labels(fit(make_method("mv", {}), votes))
        return Comparison(
            list(results), majority, None if truth is None else true_answers(votes, truth)
        )


def agreement(votes: Any, *, level: Level = "nominal", **reading: Unpack[Reading]) -> Agreement:
    """Measure how much annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's
    AC1.

    If an annotator voted on a task more than once, their most frequent vote counts.
    `self_agreement` is the share of such repeated votes that agree.

    Args:
        votes (path, paths, data frame, address of a database, Annotations, or Result): The votes,
            as in `finegold.aggregate`; or a result, or the path of a saved one, whose votes are
            measured.
        level ({"nominal", "ordinal", "interval"}): What classes are to alpha: names, in order (give
            `classes` if it is not that of the alphabet), or numbers.
        **reading: How to read the votes: keywords of `finegold.read`. The default of `repeated` is
            "all" here.

    Returns:
        The figures as attributes, `interval(name)` with 95 % confidence, and the data frames
        `classes()`, `annotators()` and `pairs()`.

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
        return measures.agreement(votes, level=level, **reading)
    refuse_for_model(reading)
    return measures.agreement(votes_of(single_labels(result)), level=level)


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
    result, _ = result_for(votes, method, keywords)
    refuse_sets(result, "single label to audit")
    everything = with_predicted_tasks(result)
    key = match_truth(everything, labels, task=labels_task, label=labels_label)
    return own_name(audit_table(result, everything, key), result.annotations, 0)
