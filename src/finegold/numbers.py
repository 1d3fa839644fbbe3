"""Numbers as votes: ratings such as 0 to 100, estimates and measurements.

Each task gets a value with an interval, and each annotator a bias, a scale and a noise. The equations are in
`finegold.results.scores`.

    result = finegold.numbers.aggregate("ratings.csv")
    result.values()
    result.annotators()
    result.evaluate("truth.csv", within=10)
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import FinegoldWarning, InputError
from finegold.io.read import read
from finegold.io.truth import read_truth
from finegold.results.metrics import exact_interval
from finegold.results.scores import Scores, estimate
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, match, text_of, to_list
from finegold.votes.frames import make_frame, to_polars

Floats = NDArray[np.float64]

# Labels are taken for numbers and not for classes if they have decimals, or more values than this.
MOST_CLASSES = 20


@dataclass(frozen=True)
class NumberResult:
    """The value of every task, and how far each annotator is from the values.

    Attributes:
        annotations: The votes.
        scores: The values with their intervals, and the annotators' figures, as arrays.
    """

    annotations: Annotations
    scores: Scores

    def values(self) -> Any:
        """Return a row for each task: task, value, value_low, value_high, n_votes.

        The interval is for the mean that many more such annotators would give; it holds in 90 to
        96 % of tasks on real data.
        """
        names, n_votes = self.annotations.task_names, self.annotations.votes_per_task
        value, low, high = self.scores[:3]
        columns = {"task": names, "value": value, "value_low": low, "value_high": high}
        return make_frame(columns | {"n_votes": n_votes}, like=names)

    def annotators(self) -> Any:
        """Return a row for each annotator: annotator, n_votes, bias, scale, noise.

        An annotator with a bias of 2 gives two more than others, one with a scale of .5 uses half
        of the range, and the noise is the standard deviation of what remains without the bias.
        """
        names = self.annotations.annotator_names
        n_votes = np.bincount(self.annotations.annotator, minlength=len(names))
        columns = {"annotator": names, "n_votes": n_votes}
        columns |= {name: getattr(self.scores, name) for name in ("bias", "scale", "noise")}
        return make_frame(columns, like=names)

    def sample(self, n: int, *, seed: int = 0) -> Any:
        """Return tasks drawn at random, with an empty column `truth` that a person fills in.

        `evaluate` with the sheet that comes back then says how far all values are from the truth.

        Args:
            n: The number of tasks.
            seed: Another seed draws other tasks.
        """
        names = self.annotations.task_names
        drawn = np.random.default_rng(seed).permutation(len(names))[:n]
        return make_frame({"task": names[np.sort(drawn)], "truth": [None] * len(drawn)}, like=names)

    def evaluate(self, truth: Any, *, within: float | None = None) -> NumberErrors:
        """Measure how far the values are from known truths.

        If the tasks with a truth were drawn at random, this holds for all tasks, with the intervals
        that are returned.

        Args:
            truth: A file or a data frame with the columns task and truth (or label).
            within: A distance that is acceptable: the share of values that are as close is
                measured, too.

        Returns:
            The mean absolute error, the bias and the rank correlation.

        Raises:
            InputError: If no task has a truth, or a truth is not a number.
        """
        tasks, truths = map(to_list, read_truth(truth, prefix=""))
        position = match(tasks, self.annotations.task_names)
        known = position != MISSING
        if not known.any():
            raise InputError("no truth belongs to a task with votes")
        true = numbers_of(truths, "a truth")
        return measure_errors(self.scores.value[position[known]], true[known], within)

    def report(self, path: str | Path, title: str = "Values of tasks") -> None:
        """Write one HTML file with the values on their scale, and the annotators.

        Args:
            path: The file.
            title: The heading of the page.
        """
        from finegold.report import write_page

        about = repr(self).removeprefix("NumberResult(").removesuffix(")")
        write_page(path, title, about, self.sections())

    def sections(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return the titles and values of the report's sections, by their names."""
        from finegold.report.sections.scales import values

        shown = values(self.annotations.task_names, *self.scores[:3])
        people = to_polars(self.annotators()).sort("noise").to_dicts()
        return {"scores": ("Values", shown), "raters": ("Annotators", {"rows": people})}

    def __repr__(self) -> str:
        low, high = self.scores.value.min(), self.scores.value.max()
        return (
            f"NumberResult({len(self.scores.value):,} tasks from {low:.4g} to {high:.4g},"
            f" {len(self.scores.bias):,} annotators)"
        )


@dataclass(frozen=True)
class NumberErrors:
    """How far values are from truths.

    Attributes:
        n_tasks: The number of tasks with a truth.
        mean_absolute_error: The mean distance, with its 95 % interval.
        bias: How much more the values are than the truths, on average.
        spearman: The rank correlation with the truths.
        within: The distance that was asked for, if any.
        share_within: The share of values that are as close, with its exact 95 % interval.
    """

    n_tasks: int
    mean_absolute_error: float
    mean_absolute_error_low: float
    mean_absolute_error_high: float
    bias: float
    spearman: float
    within: float | None = None
    share_within: float | None = None
    share_within_low: float | None = None
    share_within_high: float | None = None


def measure_errors(value: Floats, true: Floats, within: float | None = None) -> NumberErrors:
    """Return how far values are from truths, with intervals for all tasks if these are a random
    sample of them.
    """
    from scipy.stats import spearmanr, t

    error, n = np.abs(value - true), len(value)
    half = float(t.ppf(0.975, n - 1) * error.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf
    mean = float(error.mean())
    varies = n > 2 and np.ptp(value) > 0 and np.ptp(true) > 0
    rank = float(spearmanr(value, true)[0]) if varies else math.nan
    bias, low, high = float((value - true).mean()), max(mean - half, 0.0), mean + half
    if within is None:
        return NumberErrors(n, mean, low, high, bias, rank)
    n_close = int((error <= within).sum())
    interval = map(float, exact_interval(n_close, n))
    return NumberErrors(n, mean, low, high, bias, rank, within, n_close / n, *interval)


def aggregate(votes: Any, **reading: Any) -> NumberResult:
    """Return a value for every task of which annotators gave numbers.

    Args:
        votes: A file, a data frame, or `Annotations`, as for `finegold.aggregate`.
        **reading: Options of `finegold.read`.

    Returns:
        The values with intervals, and the annotators.

    Raises:
        InputError: If a label is not a number.
    """
    with warnings.catch_warnings():
        # numbers are as many classes
        warnings.filterwarnings("ignore", r"there are [\d,]+ classes", FinegoldWarning)
        annotations = votes if isinstance(votes, Annotations) else read(votes, **reading)
    task, annotator, label = annotations.votes()
    scale = numbers_of(annotations.class_names)
    sizes = annotations.n_tasks, annotations.n_annotators
    return NumberResult(annotations, estimate(task, annotator, scale[label], *sizes))


def are_numbers(annotations: Annotations) -> bool:
    """Whether labels are numbers rather than classes: all are numbers, and some have decimals, or
    there are more than 20 of them.
    """
    try:
        numbers = numbers_of(annotations.class_names)
    except InputError:
        return False
    return len(numbers) > MOST_CLASSES or bool((numbers % 1 != 0).any())


def numbers_of(names: Any, what: str = "a label") -> Floats:
    """Return the numbers that these names are."""
    texts = [text_of(name) for name in to_list(names)]
    for text in texts:
        try:
            is_number = math.isfinite(float(text))
        except ValueError:
            is_number = False
        if not is_number:
            raise InputError(f"{what} is {text!r}, which is not a number")
    return np.array(texts, dtype=np.float64)
