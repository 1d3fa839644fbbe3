"""Draw a log of LLM judges whose truth is known: families, position bias, failures, ties, costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# one of so many truths is gold
GOLD_EVERY = 4
FAMILIES = (
    "acme-large",
    "acme-small",
    "acme-mini",
    "borealis-chat",
    "borealis-instruct",
    "cirrus-70b",
    "delta-turbo",
)
# how often a member takes over the view of its family
SHARED_VIEW = 0.6
# weight of a tie between two systems of equal strength, against 1 for each of them
TIE_SHARE = 0.1
# share of the wrong views that see a tie
WRONG_IS_TIE = 0.3
# share of the failures that are refusals; the others are errors
REFUSED = 0.3
TEXTS = np.array(["[[A]]", "[[B]]", "[[C]]", ""])
REFUSAL = "I cannot answer that."


@dataclass(frozen=True, eq=False)
class JudgeSimulation:
    """A simulated log with a row per call, the truth, and what judges and systems are like, as
    columns of tables.
    """

    # item, system_a, system_b, judge, order, verdict, error, cost
    columns: dict[str, Any]
    # item, truth: the name of the better system, or tie
    truth: dict[str, Any]
    # judge, accuracy, position_bias (negative: the second one), failure_rate, cost
    judges: dict[str, Any]
    # system, strength
    systems: dict[str, Any]


def simulate_log(
    n_judges: int = 8, n_systems: int = 5, n_items: int = 1000, seed: int = 0
) -> JudgeSimulation:
    """Draw judges and systems, and a log of every judge on every item, in both orders."""
    # What judges and systems are like.
    rng = np.random.default_rng((seed, 0))
    judges = [FAMILIES[j] if j < len(FAMILIES) else f"judge-{j + 1}" for j in range(n_judges)]
    stems = [name.split("-")[0] if j < len(FAMILIES) else name for j, name in enumerate(judges)]
    family = np.unique(stems, return_inverse=True)[1]
    accuracy, position_bias = rng.uniform(0.65, 0.85, n_judges), rng.uniform(-0.05, 0.2, n_judges)
    # the last judge mostly follows the position
    position_bias[-1] = 0.45
    failure_rate, cost = (
        rng.uniform(0, 0.06, n_judges),
        np.round(10 ** rng.uniform(-4, -2, n_judges), 6),
    )
    systems = np.array([f"system-{s + 1}" for s in range(n_systems)])
    strength = np.round(np.linspace(1, -1, n_systems), 3)

    # What is compared, and which is better.
    rng = np.random.default_rng((seed, 1))
    a = rng.integers(0, n_systems, n_items)
    b = (a + rng.integers(1, n_systems, n_items)) % n_systems
    difference = strength[a] - strength[b]
    weights = np.stack(
        [np.exp(difference / 2), np.exp(-difference / 2), np.full_like(difference, 2 * TIE_SHARE)]
    )
    sums = np.cumsum(weights / weights.sum(axis=0), axis=0)
    # the first system, the second, or a tie
    winner = np.minimum((rng.random(n_items) > sums).sum(axis=0), 2)

    def draw_luck() -> Floats:
        """[J, T] Draw uniform numbers, some of which all members of a family share."""
        common = rng.random((int(family.max()) + 1, n_items))[family]
        has_family = np.bincount(family)[family] > 1
        is_common = (rng.random((n_judges, n_items)) < SHARED_VIEW) & has_family[:, None]
        return np.where(is_common, common, rng.random((n_judges, n_items)))

    luck, error = draw_luck(), draw_luck()
    # the two sides, if a tie is right
    loser, tie = np.where(winner == 0, 1, 0), np.where(winner == 2, 1, 2)
    wrong = np.where(error < np.where(winner == 2, 0.5, WRONG_IS_TIE), tie, loser)
    # [J, T, 1] what judges think
    view = np.where(luck < accuracy[:, None], winner, wrong)[..., None]
    # [J, T, 2] the second order is swapped
    position = np.where(view == 2, 2, view ^ np.array([0, 1]))
    bias = position_bias[:, None, None]
    follows = rng.random(position.shape) < np.abs(bias)
    verdict = np.where(follows, np.where(bias > 0, 0, 1), position)
    has_failed = rng.random(verdict.shape) < failure_rate[:, None, None]
    is_refused = has_failed & (rng.random(verdict.shape) < REFUSED)
    texts = TEXTS[np.where(has_failed, 3, verdict)].astype(object)
    texts[is_refused] = REFUSAL

    def by_item(values: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(values.transpose(1, 0, 2)).ravel()

    columns = {
        "item": np.repeat(np.arange(n_items), 2 * n_judges),
        "system_a": np.repeat(systems[a], 2 * n_judges),
        "system_b": np.repeat(systems[b], 2 * n_judges),
        "judge": np.tile(np.repeat(judges, 2), n_items),
        "order": np.tile(["AB", "BA"], n_judges * n_items),
        "verdict": by_item(texts),
        "error": by_item(np.where(has_failed & ~is_refused, "timeout", "").astype(object)),
        "cost": np.tile(np.repeat(cost, 2), n_items),
    }
    truth = np.where(winner == 2, "tie", np.where(winner == 0, systems[a], systems[b]))
    rates = {"accuracy": accuracy, "position_bias": position_bias, "failure_rate": failure_rate}
    return JudgeSimulation(
        columns,
        {"item": np.arange(n_items), "truth": truth},
        {"judge": judges, **rates, "cost": cost},
        {"system": systems, "strength": strength},
    )


def write_log(folder: Path, n_judges: int, n_items: int, seed: int) -> Path:
    """Write the log, the truths, and some of them as gold."""
    drawn = simulate_log(n_judges, n_items=n_items, seed=seed)
    truth = pl.DataFrame(drawn.truth)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(drawn.columns).write_csv(folder / "log.csv")
    truth.write_csv(folder / "truth.csv")
    truth.gather_every(GOLD_EVERY).write_csv(folder / "gold.csv")
    return folder
