"""Draw a log of LLM judges with known biases: families, position bias, failures, ties and costs.

    winner_i ~ Davidson(strength)         which of two systems is better on item i, or a tie
    view_ij                               right with probability accuracy_j; members of a family share their luck
    verdict_ijo                           the position, with probability |position_bias_j|; otherwise the view

Every judge sees every item in both orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError

__all__ = ["JudgeProcess", "JudgeSimulation", "draw_judges", "simulate_log"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FAMILIES = ("acme-large", "acme-small", "acme-mini", "borealis-chat", "borealis-instruct", "cirrus-70b", "delta-turbo")
SHARED_VIEW = 0.6  # how often a member takes over the view of its family
TIE_SHARE = 0.1  # weight of a tie between two systems of equal strength, against 1 for each of them
WRONG_IS_TIE = 0.3  # share of the wrong views that see a tie
REFUSED = 0.3  # share of the failures that are refusals; the others are errors
TEXTS = np.array(["[[A]]", "[[B]]", "[[C]]", ""])
REFUSAL = "I cannot answer that."


@dataclass(frozen=True, eq=False)
class JudgeProcess:
    """What judges and systems are like."""

    judge_names: list[str]
    family: Integers  # [J]
    accuracy: Floats  # [J] probability that the view is right
    position_bias: Floats  # [J] probability of following the position; negative: the second one
    failure_rate: Floats  # [J]
    cost: Floats  # [J] of a call
    system_names: list[str]
    strength: Floats  # [S]


@dataclass(frozen=True, eq=False)
class JudgeSimulation:
    """A simulated log: a row per call, and the truth."""

    process: JudgeProcess
    columns: dict[str, Any]  # item, system_a, system_b, judge, order, verdict, error, cost
    truth: dict[str, Any]  # item, truth: the name of the better system, or tie


def draw_judges(n_judges: int = 8, n_systems: int = 5, seed: int = 0) -> JudgeProcess:
    """Draw judges and systems."""
    if not 1 <= n_judges <= 10_000 or not 2 <= n_systems <= 1000:
        raise InputError(f"expected 1 to 10,000 judges and 2 to 1,000 systems, not {n_judges} and {n_systems}")
    rng = np.random.default_rng((seed, 0))
    names = [FAMILIES[j] if j < len(FAMILIES) else f"judge-{j + 1}" for j in range(n_judges)]
    stems = [name.split("-")[0] if j < len(FAMILIES) else name for j, name in enumerate(names)]
    accuracy = rng.uniform(0.65, 0.85, n_judges)
    bias = rng.uniform(-0.05, 0.2, n_judges)
    bias[n_judges - 1] = 0.45  # the last judge mostly follows the position
    return JudgeProcess(
        judge_names=names,
        family=np.unique(stems, return_inverse=True)[1],
        accuracy=accuracy,
        position_bias=bias,
        failure_rate=rng.uniform(0, 0.06, n_judges),
        cost=np.round(10 ** rng.uniform(-4, -2, n_judges), 6),
        system_names=[f"system-{s + 1}" for s in range(n_systems)],
        strength=np.round(np.linspace(1, -1, n_systems), 3),
    )


def simulate_log(process: JudgeProcess, n_items: int = 1000, seed: int = 0) -> JudgeSimulation:
    """Draw a log of every judge on every item, in both orders."""
    if not 1 <= n_items <= 10_000_000:
        raise InputError(f"expected 1 to 10,000,000 items, not {n_items:,}")
    rng = np.random.default_rng((seed, 1))
    a, b = _pairs(rng, len(process.strength), n_items)
    winner = _winners(rng, process.strength[a] - process.strength[b])
    view = _views(rng, process, winner)
    side, failed = _verdicts(rng, process, view)
    names = np.array(process.system_names)
    truth = np.where(winner == 2, "tie", np.where(winner == 0, names[a], names[b]))
    return JudgeSimulation(
        process,
        _columns(rng, process, (names[a], names[b]), side, failed),
        {"item": np.arange(n_items), "truth": truth},
    )


def _pairs(rng: np.random.Generator, n_systems: int, n_items: int) -> tuple[Integers, Integers]:
    a = rng.integers(0, n_systems, n_items)
    return a, (a + rng.integers(1, n_systems, n_items)) % n_systems


def _winners(rng: np.random.Generator, difference: Floats) -> Integers:
    """Draw 0 for the first system, 1 for the second, 2 for a tie."""
    weights = np.stack([np.exp(difference / 2), np.exp(-difference / 2), np.full_like(difference, 2 * TIE_SHARE)])
    sums = np.cumsum(weights / weights.sum(axis=0), axis=0)
    drawn: Integers = (rng.random(len(difference)) > sums).sum(axis=0)
    return np.minimum(drawn, 2)


def _views(rng: np.random.Generator, process: JudgeProcess, winner: Integers) -> Integers:
    """[J, T] Draw what judges think; a member of a family may share the luck of all members."""
    shape = (len(process.accuracy), len(winner))
    luck, error = (_shared(rng, process.family, shape) for _ in range(2))
    one, other = np.where(winner == 0, 1, 0), np.where(winner == 2, 1, 2)
    tie_share = np.where(winner == 2, 0.5, WRONG_IS_TIE)
    wrong = np.where(error < tie_share, other, one)
    return np.where(luck < process.accuracy[:, None], winner, wrong)


def _shared(rng: np.random.Generator, family: Integers, shape: tuple[int, int]) -> Floats:
    """[J, T] Draw uniform numbers, some of which all members of a family share."""
    common = rng.random((int(family.max()) + 1, shape[1]))[family]
    has_family = np.bincount(family)[family] > 1
    is_common = (rng.random(shape) < SHARED_VIEW) & has_family[:, None]
    return np.where(is_common, common, rng.random(shape))


def _verdicts(rng: np.random.Generator, process: JudgeProcess, view: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """[J, T, 2] Return the position that each call names (0, 1, 2 for a tie), and whether the call failed."""
    shape = (*view.shape, 2)
    position = np.where(view[..., None] == 2, 2, view[..., None] ^ np.array([0, 1]))  # the second order is swapped
    bias = process.position_bias[:, None, None]
    follows = rng.random(shape) < np.abs(bias)
    said = np.where(follows, np.where(bias > 0, 0, 1), position)
    return said, rng.random(shape) < process.failure_rate[:, None, None]


def _columns(
    rng: np.random.Generator,
    process: JudgeProcess,
    systems: tuple[NDArray[np.str_], NDArray[np.str_]],
    said: Integers,
    failed: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return the log, item by item."""
    n_judges, n_items, _ = said.shape
    texts, is_failed = TEXTS[said].astype(object), failed
    is_refused = is_failed & (rng.random(said.shape) < REFUSED)
    texts[is_refused] = REFUSAL
    texts[is_failed & ~is_refused] = ""

    def by_item(values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values.transpose(1, 0, 2)).ravel()

    return {
        "item": np.repeat(np.arange(n_items), 2 * n_judges),
        "system_a": np.repeat(systems[0], 2 * n_judges),
        "system_b": np.repeat(systems[1], 2 * n_judges),
        "judge": np.tile(np.repeat(process.judge_names, 2), n_items),
        "order": np.tile(["AB", "BA"], n_judges * n_items),
        "verdict": by_item(texts),
        "error": by_item(np.where(is_failed & ~is_refused, "timeout", "").astype(object)),
        "cost": np.tile(np.repeat(process.cost, 2), n_items),
    }
