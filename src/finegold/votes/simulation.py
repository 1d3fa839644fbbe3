"""Draw annotations and truth from the generative process of PTBCC's paper.

    tau ~ Dirichlet(u)            how frequent the classes are
    pi_j ~ Dirichlet(beta)        annotator j's mixture of S prototypes
    v_sk ~ Dirichlet(a_sk)        how prototype s votes when the truth is k
    z_i ~ tau, x_ji ~ pi_j        truth of task i; the prototype that j follows on it
    y_ij ~ v_{x_ji, z_i}          the vote

The paper does not model who votes on a task; here annotators differ in activity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.votes.annotations import MAX_CLASSES, Annotations
from finegold.votes.encoding import MISSING, Codes

Floats = NDArray[np.float64]

# sum of u; tau stays close to its mean
CLASS_STRENGTH = 1000.0
# sum of a_sk; prototypes stay close to their means
PROTOTYPE_STRENGTH = 50.0
# The probabilities of a right vote, and of a vote for the next class (for the confused prototype)
SKILLED_ACCURACY, CONFUSED_ACCURACY, CONFUSED_NEXT_CLASS = 0.85, 0.3, 0.5
# annotators per vote; with more, rejection sampling is faster
MAX_ANNOTATORS_PER_VOTE = 8


@dataclass(frozen=True, eq=False)
class Simulation:
    """Votes with the truth behind them: the result of `finegold.simulate`.

    Attributes:
        annotations: The votes.
        truth (ndarray of shape (T,)): The true class of each task, in the order of
            `annotations.task_names`.
        tau (ndarray of shape (K,)): The frequencies of the classes.
        weights (ndarray of shape (W, S)): The mixture of prototypes of each annotator, in the order
            of `annotations.annotator_names`.
        prototypes (ndarray of shape (S, K, K)): The distribution of votes (last axis) given the
            truth, for each prototype.
    """

    annotations: Annotations
    truth: Codes
    tau: Floats
    weights: Floats
    prototypes: Floats


def simulate(
    n_tasks: int,
    n_annotators: int,
    n_classes: int,
    *,
    class_names: Sequence[Any] | None = None,
    votes_per_task: float = 5.0,
    n_prototypes: int = 2,
    annotator_concentration: float = 2.0,
    imbalance: float = 1.0,
    activity_spread: float = 1.0,
    missing: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Draw votes whose truth is known, from the model of PTBCC.

    Tasks and annotators are numbered from 0.

    Args:
        n_tasks: The number of tasks.
        n_annotators: The number of annotators.
        n_classes: The number of classes.
        class_names: The names of the classes. By default they are numbered from 0.
        votes_per_task: The mean number of votes of a task.
        n_prototypes: The number of prototypes: a skilled one, one that confuses each class with the
            next, then random ones.
        annotator_concentration: If it is small, each annotator follows one prototype; if it is
            large, all annotators are alike.
        imbalance: The frequency of the most frequent class over that of the rarest.
        activity_spread: Standard deviation of the logarithm of the annotators' activity. With 0 all
            are equally active.
        missing: The share of votes that have no label.
        seed: Seed of all random draws.

    Returns:
        The votes (`annotations`), the true classes (`truth`) and the parameters that they were
        drawn from.

    Raises:
        InputError: If a number is out of its range.

    Examples:
        >>> import finegold
        >>> finegold.simulate(100, 10, 3, votes_per_task=4, seed=1).annotations
        Annotations(400 votes, 100 tasks, 10 annotators, 3 classes)
    """
    for name, value, least, most in (
        ("n_tasks", n_tasks, 1, 2**31 - 1),
        ("n_annotators", n_annotators, 1, 2**31 - 1),
        ("n_classes", n_classes, 1, MAX_CLASSES),
        ("n_prototypes", n_prototypes, 1, 2**31 - 1),
        ("votes_per_task", votes_per_task, 1, n_annotators),
        ("imbalance", imbalance, 1, 1e6),
        ("annotator_concentration", annotator_concentration, 1e-3, 1e6),
        ("activity_spread", activity_spread, 0, 4),
        ("missing", missing, 0, 0.99),
        ("seed", seed, 0, 2**63),
    ):
        if not least <= value <= most:
            raise InputError(
                f"{name} must be from {least:,.10g} to {most:,.10g}, not {value:,.10g}"
            )
    names = np.arange(n_classes) if class_names is None else list(class_names)
    if len(names) != n_classes:
        raise InputError(f"there are {n_classes} classes but {len(names)} class names")
    rng = np.random.default_rng((seed, 0))
    frequency = np.geomspace(imbalance, 1, n_classes)
    tau = rng.dirichlet(CLASS_STRENGTH * frequency / frequency.sum())
    prototypes = _draw_prototypes(rng, n_prototypes, n_classes)
    common = np.full(n_prototypes, 1 / n_prototypes)
    weights = rng.dirichlet(np.maximum(annotator_concentration * common, 1e-6), size=n_annotators)
    activity = np.exp(activity_spread * rng.standard_normal(n_annotators))
    rng = np.random.default_rng((seed, 1, 0))
    truth = _draw(rng, tau[None], np.zeros(n_tasks, np.int32))
    task, annotator = _who_votes(rng, activity / activity.sum(), votes_per_task, n_tasks)
    x = _draw(rng, weights, annotator)
    label = _draw(rng, prototypes.reshape(-1, n_classes), x * np.int32(n_classes) + truth[task])
    if missing:
        label[rng.random(len(label)) < missing] = MISSING
    annotations = Annotations.from_codes(
        task, annotator, label, np.arange(n_tasks), np.arange(n_annotators), names
    )
    truth = truth[np.asarray(annotations.task_names)]
    weights = weights[np.asarray(annotations.annotator_names)]
    return Simulation(annotations, truth, tau, weights, prototypes)


def _who_votes(
    rng: np.random.Generator, activity: Floats, votes_per_task: float, n_tasks: int
) -> tuple[Codes, Codes]:
    """Draw task and annotator of each vote; tasks differ by one vote if the mean is not whole."""
    least = int(votes_per_task)
    n_votes = least + (rng.random(n_tasks) < votes_per_task - least)
    start = np.cumsum(n_votes) - n_votes
    annotator = np.empty(n_votes.sum(), dtype=np.int32)
    # distinct annotators for each task, in proportion to their activity
    for size in map(int, np.unique(n_votes)):
        tasks = np.flatnonzero(n_votes == size)
        # draw again who occurs twice on a task
        if len(activity) > MAX_ANNOTATORS_PER_VOTE * size:
            nobody = np.zeros(len(tasks) * size, np.int32)
            people = _draw(rng, activity[None], nobody).reshape(-1, size)
            rows = np.arange(len(tasks))
            while len(rows):
                part = np.sort(people[rows], axis=1)
                twice = np.zeros(part.shape, dtype=bool)
                twice[:, 1:] = part[:, 1:] == part[:, :-1]
                part[twice] = _draw(rng, activity[None], nobody[: int(twice.sum())])
                people[rows] = part
                rows = rows[twice.any(axis=1)]
        else:
            # the smallest exponential variables give a weighted sample without replacement
            clocks = rng.standard_exponential((len(tasks), len(activity))) / activity
            first = np.argpartition(clocks, size - 1, axis=1)[:, :size]
            people = np.sort(first, axis=1).astype(np.int32)
        annotator[start[tasks][:, None] + np.arange(size)] = people
    return np.repeat(np.arange(n_tasks, dtype=np.int32), n_votes), annotator


def _draw(rng: np.random.Generator, probabilities: Floats, row: Codes) -> Codes:
    """Draw a category for each entry of `row` from that row of probabilities."""
    # The cumulative sums of row r are shifted to the range r to r + 1, so that one sorted array
    # holds all rows.
    n_rows, n = probabilities.shape
    sums = np.cumsum(probabilities, axis=1)
    steps = (sums / sums[:, -1:] + np.arange(n_rows)[:, None]).ravel()
    drawn = np.searchsorted(steps, row + rng.random(len(row)), side="right")
    return np.asarray(np.clip(drawn - row.astype(np.int64) * n, 0, n - 1), np.int32)


def _draw_prototypes(rng: np.random.Generator, n: int, n_classes: int) -> Floats:
    """[S, K, K] Draw a skilled prototype, one that confuses classes, and others at random."""
    right = np.eye(n_classes)
    confused = CONFUSED_ACCURACY * right + CONFUSED_NEXT_CLASS * np.roll(right, 1, axis=1)
    means = []
    for chances in (SKILLED_ACCURACY * right, confused):
        # equally over all classes
        rest = (1 - chances.sum(axis=1, keepdims=True)) / n_classes
        means.append(PROTOTYPE_STRENGTH * (chances + rest))
    means += [np.ones_like(right)] * (n - 2)
    return np.array([[rng.dirichlet(row) for row in prototype] for prototype in means[:n]])
