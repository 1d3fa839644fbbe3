"""`finegold.agreement`: measure how far annotators agree beyond chance."""

from __future__ import annotations

from typing import Any

from finegold.api.run import refuse_for_model, saved
from finegold.insight import measures
from finegold.insight.measures import Agreement, Level
from finegold.insight.votes import votes_of

__all__ = ["agreement"]


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
