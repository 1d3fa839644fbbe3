"""What confidences of the default method are worth on the real data sets: the table that reports and summaries quote.

python bench/real_confidence.py           prints the figures; two minutes
python bench/real_confidence.py --write   also writes them to src/finegold/methods/measured.py

Labels are sorted into bins of confidence. The accuracy of a bin is taken per family, if the family has 20 labels in it.
The package keeps the mean over families and the 10th and 90th percentile: a user has one data set, so the range must
say how far single families lie apart. The interval of the mean (bootstrap over families) is printed for comparison.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from finegold.api.job import fit
from finegold.errors import InputError
from finegold.insight.expected import WITHOUT_EFFECT, widened
from finegold.io.read import read
from finegold.methods.lookup import Method, method_class
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results import metrics
from finegold.system.files import write_bytes
from finegold.votes.annotations import Annotations
from real_data import PAPER, RealSet, load

VOTES = Path(__file__).parents[1] / "tests" / "data" / "animals" / "votes.csv"
MODULE = Path(__file__).parents[1] / "src" / "finegold" / "methods" / "measured.py"
EDGES = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
FEWEST_LABELS = 20  # of a family in a bin
RANGE = (0.1, 0.9)  # percentiles over families
PEOPLE, MACHINES = ("human", "experts"), ("llm", "systems", "weak")
SIZES = (10, 20, 50, 100, 200)  # tasks of a subset
SUBSETS = 10  # of each size and data set
BOOTSTRAPS = 2000

Floats = NDArray[np.float64]


class Labels(NamedTuple):
    """The labels of a data set whose truth is known."""

    kind: str
    family: str
    confidence: Floats
    right: Floats  # 1 or 0; ties share

    @property
    def gap(self) -> float:
        """Accuracy minus mean confidence."""
        return float(self.right.mean() - self.confidence.mean())


class Row(NamedTuple):
    """A bin: mean confidence, and accuracies over families."""

    confidence: float
    low: float
    mean: float
    high: float
    people: float
    machines: float


def main() -> None:
    options = _options()
    data = [one for one in load(options.shared) if one.kind != PAPER]
    method = method_class(DEFAULT_METHOD)()
    found = [judged(method, one, np.arange(len(one.truth))) for one in data]
    rows = table(found)
    _print_bins(found, rows)
    _print_coverage(found)
    small = list(gaps_of_subsets(method, data))
    if options.write:
        write_bytes(MODULE, source(method, found, rows, small).encode())


def judged(method: Method, one: RealSet, tasks: NDArray[np.int64]) -> Labels:
    """The method's labels of these tasks, from their votes alone."""
    votes = one.votes[np.isin(one.votes[:, 0], tasks)]
    task = np.searchsorted(tasks, votes[:, 0])
    annotations = Annotations.from_arrays(task, votes[:, 1], votes[:, 2], classes=list(range(one.n_classes)))
    result = fit(method, annotations, threads=1)
    truth = np.minimum(one.truth[tasks], one.n_classes)  # the last class: one that nobody voted for
    known = truth >= 0
    posterior = np.pad(result.posterior[known], ((0, 0), (0, 1)))
    return Labels(one.kind, one.family, posterior.max(axis=1), metrics.credit(posterior, truth[known]))


def table(found: Sequence[Labels]) -> list[Row]:
    """A row for each bin. Columns of accuracies are made monotone by isotonic regression where they are not."""
    bins = [_families_in(found, low, high) for low, high in pairwise(EDGES)]
    families = [len(one) for one in bins]

    def column(value: Callable[[dict[tuple[str, str], tuple[float, float]]], float]) -> list[float]:
        return [float(x) for x in isotonic_regression([value(one) for one in bins], weights=families).x.round(3)]

    columns = (
        column(lambda one: float(np.mean([confidence for confidence, _ in one.values()]))),
        column(lambda one: float(np.quantile(_accuracies(one), RANGE[0]))),
        column(lambda one: float(_accuracies(one).mean())),
        column(lambda one: float(np.quantile(_accuracies(one), RANGE[1]))),
        column(lambda one: float(_accuracies(one, PEOPLE).mean())),
        column(lambda one: float(_accuracies(one, MACHINES).mean())),
    )
    return [Row(*values) for values in zip(*columns, strict=True)]


def _families_in(found: Iterable[Labels], low: float, high: float) -> dict[tuple[str, str], tuple[float, float]]:
    """Of each (kind, family) with enough labels in the bin: mean confidence and accuracy. The last bin includes 1."""
    families: dict[tuple[str, str], list[Floats]] = {}
    for one in found:
        inside = (one.confidence >= low) & ((one.confidence < high) | (high == EDGES[-1]))
        both = np.column_stack([one.confidence[inside], one.right[inside]])
        families.setdefault((one.kind, one.family), []).append(both)
    joined = {family: np.concatenate(parts) for family, parts in families.items()}
    enough = {family: labels.mean(axis=0) for family, labels in joined.items() if len(labels) >= FEWEST_LABELS}
    return {family: (float(confidence), float(right)) for family, (confidence, right) in enough.items()}


def _accuracies(one: dict[tuple[str, str], tuple[float, float]], kinds: Sequence[str] = PEOPLE + MACHINES) -> Floats:
    return np.array([accuracy for (kind, _), (_, accuracy) in one.items() if kind in kinds])


def gaps_of_subsets(method: Method, data: Sequence[RealSet]) -> Iterable[tuple[int, float, float]]:
    """Of each size: the range over families of accuracy minus mean confidence, on subsets that are fitted alone."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        gaps: dict[str, list[float]] = {}
        for one in data:
            known = np.flatnonzero(one.truth >= 0)
            for _ in range(SUBSETS if len(known) >= size else 0):
                tasks = np.sort(rng.choice(known, size, replace=False))
                gaps.setdefault(one.family, []).append(judged(method, one, tasks).gap)
        low, high = _range(gaps)
        print(f"subsets of {size} tasks, {len(gaps)} families: {low:+.3f} to {high:+.3f} of the mean confidence")
        yield size, round(low, 2), round(high, 2)


def _range(gaps: dict[str, list[float]]) -> tuple[float, float]:
    """Percentiles in which every family counts alike."""
    weights = np.concatenate([np.full(len(family), 1 / len(family)) for family in gaps.values()])
    low, high = np.quantile(np.concatenate(list(gaps.values())), RANGE, weights=weights, method="inverted_cdf")
    return float(low), float(high)


def _print_bins(found: Sequence[Labels], rows: list[Row]) -> None:
    rng = np.random.default_rng(0)
    for (low, high), row in zip(pairwise(EDGES), rows, strict=True):
        values = _accuracies(_families_in(found, low, high))
        means = rng.choice(values, (BOOTSTRAPS, len(values))).mean(axis=1)
        interval = " to ".join(f"{x:.3f}" for x in np.quantile(means, (0.025, 0.975)))
        print(
            f"confidence {low:.2f}-{high:.2f}, {len(values):2d} families: right {row.mean:.3f}, families from "
            f"{row.low:.3f} to {row.high:.3f}; mean {interval} (95 %); people {row.people:.3f}, "
            f"machines {row.machines:.3f}"
        )
    for kinds in (*((kind,) for kind in PEOPLE + MACHINES), PEOPLE + MACHINES):
        gaps: dict[str, list[float]] = {}
        for one in (one for one in found if one.kind in kinds):
            gaps.setdefault(one.family, []).append(one.gap)
        low, high = _range(gaps)
        mean = np.mean([np.mean(family) for family in gaps.values()])
        print(f"{', '.join(kinds)}: accuracy minus mean confidence {mean:+.3f}, from {low:+.3f} to {high:+.3f}")


def _print_coverage(found: Sequence[Labels]) -> None:
    """How often the range, made from other families, holds the accuracy of a data set."""
    inside: dict[str, list[bool]] = {}
    for family in dict.fromkeys(one.family for one in found):
        columns = np.array(table([one for one in found if one.family != family])).T
        for one in (one for one in found if one.family == family):
            means = [float(np.interp(one.confidence, columns[0], column).mean()) for column in columns[1:4]]
            low, _, high = widened(*means, len(one.confidence))
            inside.setdefault(family, []).append(bool(low <= one.right.mean() <= high))
    share = np.mean([np.mean(hits) for hits in inside.values()])
    print(f"the range of the other families holds the accuracy of {share:.0%} of data sets (mean over families)")


def source(method: Method, found: Sequence[Labels], rows: list[Row], small: Iterable[tuple[int, float, float]]) -> str:
    """The module that the package keeps."""
    settings = {name: value for name, value in method.settings.items() if name not in WITHOUT_EFFECT}
    sample = float(fit(method, read(VOTES), threads=1).confidence.mean())
    lines = [
        '"""What confidences of the default method were worth on real data sets.',
        "",
        "Written by `python bench/real_confidence.py --write`, which says how; run it again when the method changes.",
        '"""',
        "",
        f'METHOD = "{method.name}"',
        "SETTINGS = {",
        *(f'    "{name}": {value!r},' for name, value in settings.items()),
        "}",
        "CONSTANTS = {",
        *(f'    "{name}": {value!r},' for name, value in constants(method).items()),
        "}",
        f"SAMPLE_CONFIDENCE = {sample:.8f}  # mean on tests/data/animals: changes when the method does",
        f"N_SETS = {len(found)}",
        f"N_FAMILIES = {len({one.family for one in found})}",
        "",
        "# confidence; then accuracy: 10th percentile, mean and 90th percentile over families; mean of families where",
        "# people voted; mean of families where machines did (LLMs, systems, labelling functions)",
        "BINS = (",
        *(f"    ({', '.join(str(value) for value in row)})," for row in rows),
        ")",
        "",
        "# tasks of a subset; 10th and 90th percentile over families of accuracy minus mean confidence",
        "SUBSETS = (",
        *(f"    {values}," for values in small),
        ")",
    ]
    return "\n".join(lines) + "\n"


def constants(method: Method) -> dict[str, float]:
    """Of the method's module: with the settings, what the figures depend on."""
    named = vars(sys.modules[type(method).__module__])
    return {name: value for name, value in named.items() if name.isupper() and isinstance(value, float)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table into the package")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder of the data")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
