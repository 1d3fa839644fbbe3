"""Simulated crowds of many kinds, none of them drawn from the model of a single method.

A world is a kind of crowd, the votes per task d, the votes per annotator m and the classes K. Every annotator has a
confusion matrix; the kinds differ in how these are drawn, how frequent the classes are, and who copies from whom. In a
panel of families, as of LLM judges, a few judges vote on every task, and often as their family does.
"""

from __future__ import annotations

import zlib
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.votes.annotations import Annotations

__all__ = ["KINDS", "World", "draw", "worlds"]

Floats = NDArray[np.float64]

FEWEST_TASKS, MOST_VOTES = 300, 60_000
SKILL = (0.5, 0.8)  # the pooled chance of being right lies between, class by class
SKILL_OF_TWO = (0.6, 0.85)
FEWEST_ANNOTATORS = 6
GRID = (
    "alike",
    "unlike",
    "imbalance",
    "adversaries",
    "spammers",
    "one group copies",
    "families copy",
)
PANELS = "panel of families"
KINDS = (*GRID, PANELS)
COPIES = 0.9  # how often a member of a group gives the answer of its leader
FOLLOWS = 0.7  # how often a judge of a panel sees a task as the family does


class World(NamedTuple):
    kind: str
    votes_per_task: int
    votes_per_annotator: int
    n_classes: int

    def __str__(self) -> str:
        return f"{self.kind}, d={self.votes_per_task}, m={self.votes_per_annotator}, K={self.n_classes}"


def worlds(kinds: tuple[str, ...] = KINDS) -> list[World]:
    cells = product(
        [kind for kind in kinds if kind != PANELS], (2, 5, 30), (3, 30, 300, 3000), (2, 5, 20)
    )
    grid = [World(*cell) for cell in cells]
    panels = [
        World(*cell)
        for cell in product([PANELS], (5, 8, 12), (100, 300, 1000), (2, 5))
        if PANELS in kinds
    ]
    return [
        world for world in grid if _size(world)[0] * world.votes_per_task <= MOST_VOTES
    ] + panels


def draw(world: World, seed: int) -> tuple[Annotations, NDArray[np.int64]]:
    """Votes and the truth of every task."""
    rng = np.random.default_rng([zlib.crc32(str(world).encode()), seed])
    n_tasks, n_annotators = _size(world)
    K = world.n_classes
    shares = np.geomspace(20, 1, K) if world.kind == "imbalance" else np.ones(K)
    truth = rng.choice(K, size=n_tasks, p=shares / shares.sum())
    asked = rng.random((n_tasks, n_annotators)).argsort(axis=1)[:, : world.votes_per_task]
    task, annotator = np.repeat(np.arange(n_tasks), world.votes_per_task), asked.ravel()
    matrices = _matrices(rng, world.kind, n_annotators, K)
    label = _votes(rng, matrices, truth[task], annotator)
    label = _copy(rng, world.kind, matrices, truth, task, annotator, label)
    votes = Annotations.from_arrays(task, annotator, label, classes=list(range(K)))
    return votes, truth[np.asarray(votes.task_names)]


def _size(world: World) -> tuple[int, int]:
    """Tasks and annotators, so that everybody casts about m votes and nobody votes twice on a task."""
    d, m = world.votes_per_task, world.votes_per_annotator
    if world.kind == PANELS:
        return m, d
    n_tasks = max(FEWEST_TASKS, m)
    return n_tasks, max(round(n_tasks * d / m), d, FEWEST_ANNOTATORS)


def _matrices(rng: np.random.Generator, kind: str, n_annotators: int, K: int) -> Floats:
    """[W, K, K]. The pooled matrix has confusions of its own; annotators differ from it by the kind."""
    right = rng.uniform(*(SKILL_OF_TWO if K == 2 else SKILL), size=(K, 1))
    wrong = rng.gamma(np.ones((K, K))) * (1 - np.eye(K))
    pooled = right * np.eye(K) + (1 - right) * wrong / wrong.sum(axis=1, keepdims=True)
    strength = {"alike": 200.0, PANELS: 20.0}.get(kind, 4.0)
    matrices = rng.gamma(np.maximum(strength * pooled, 1e-3), size=(n_annotators, K, K)) + 1e-9
    matrices /= matrices.sum(axis=2, keepdims=True)
    odd = rng.random(n_annotators) < {"adversaries": 0.15, "spammers": 0.4}.get(kind, 0.0)
    return np.where(odd[:, None, None], _odd(rng, kind, n_annotators, K), matrices)


def _odd(rng: np.random.Generator, kind: str, n: int, K: int) -> Floats:
    if kind == "adversaries":  # takes each class for the next one
        return np.tile(0.2 / K + 0.8 * np.roll(np.eye(K), 1, axis=1), (n, 1, 1))
    habits = rng.dirichlet(np.full(K, 0.3), size=n)  # votes without looking
    return np.repeat(habits[:, None], K, axis=1)


def _votes(
    rng: np.random.Generator, matrices: Floats, truth: Any, annotator: Any
) -> NDArray[np.int64]:
    steps = matrices[annotator, truth].cumsum(axis=1)
    found: NDArray[np.int64] = (steps < rng.random((len(annotator), 1)) * steps[:, -1:]).sum(axis=1)
    return found


def _copy(
    rng: np.random.Generator,
    kind: str,
    matrices: Floats,
    truth: Any,
    task: Any,
    annotator: Any,
    label: Any,
) -> NDArray[np.int64]:
    """Members of a group often give the answer that their leader has for the task."""
    n = len(matrices)
    group = np.full(n, -1)
    if kind == "one group copies":
        group[: round(0.4 * n)] = 0
    elif kind == "families copy":
        group = np.arange(n) // max(round(n / 8), 2)  # about eight families
        group[group < 3] = -1  # three eighths stand alone
    elif kind == PANELS:
        families = int(rng.integers(2, 5))
        group = np.append(np.arange(families), rng.integers(families, size=n - families))
    follows = FOLLOWS if kind == PANELS else COPIES
    result = label.copy()
    for leader in np.unique(group[group >= 0]):
        answer = _votes(
            rng, matrices[[int(np.argmax(group == leader))]], truth, np.zeros(len(truth), int)
        )
        copied = (group[annotator] == leader) & (rng.random(len(label)) < follows)
        result[copied] = answer[task[copied]]
    return np.asarray(result, dtype=np.int64)
