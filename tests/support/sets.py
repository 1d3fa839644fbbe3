"""Simulated votes that are sets of labels: annotators who miss right options and choose wrong ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng


class SetVotes(NamedTuple):
    """The rows of a table of votes, and the true set of each task."""

    task: list[str]
    annotator: list[str]
    label: list[list[str]]
    truth: dict[str, list[str]]

    def table(self) -> dict[str, list[Any]]:
        return {"task": self.task, "worker": self.annotator, "label": self.label}


def simulated_sets(
    seed: int,
    n_tasks: int = 200,
    n_options: int = 40,
    votes_per_task: int = 5,
    n_annotators: int = 25,
) -> SetVotes:
    """Draw about 2.5 labels per task; annotators find two thirds of them and choose one wrong option in forty."""
    draw = default_rng(seed)
    prevalence = (draw.dirichlet(np.ones(n_options)) * 2.5).clip(0.002, 0.6)
    truth = draw.random((n_tasks, n_options)) < prevalence
    hits = _logits(draw, 4, 2, n_annotators)[:, None] + draw.normal(0, 0.7, n_options)
    slips = _logits(draw, 1, 40, n_annotators)[:, None] + draw.normal(0, 0.7, n_options)
    task = np.repeat(np.arange(n_tasks), votes_per_task)
    who = np.concatenate(
        [draw.choice(n_annotators, votes_per_task, replace=False) for _ in range(n_tasks)]
    )
    chance = 1 / (1 + np.exp(-np.where(truth[task], hits[who], slips[who])))
    chosen = draw.random(chance.shape) < chance
    return SetVotes(
        [f"t{one}" for one in task],
        [f"w{one}" for one in who],
        [_names(row) for row in chosen],
        {f"t{one}": _names(row) for one, row in enumerate(truth)},
    )


def _logits(draw: Generator, a: float, b: float, size: int) -> np.ndarray[Any, Any]:
    shares = draw.beta(a, b, size).clip(0.001, 0.999)
    return np.log(shares / (1 - shares))


def _names(row: np.ndarray[Any, Any]) -> list[str]:
    return [f"o{code}" for code in np.flatnonzero(row)]
