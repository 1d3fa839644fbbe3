"""What is fitted on a cluster: the method that was asked for, or those that auto blends, as some of the votes tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karat.dependence import independent
from karat.distributed.ingest import Remote
from karat.distributed.sample import sampled
from karat.engines.dask import DaskEngine
from karat.hidden import first_tasks
from karat.methods import Method
from karat.methods.auto import CANDIDATES, MOST_BLENDED, Auto
from karat.solve import Stages, Watch

__all__ = ["Plan", "planned"]

ENOUGH = 5  # times the votes that are hidden, to look for groups: on one machine as many pairs of votes are looked at


@dataclass(frozen=True)
class Plan:
    name: str  # of the method that was asked for
    settings: dict[str, Any]
    methods: dict[str, Method]  # that are fitted, in this order
    shares: dict[str, float]
    temperature: float = 1.0
    notes: list[str] = field(default_factory=list)


def planned(method: Method, engine: DaskEngine, votes: Remote, watch: Watch | None) -> Plan:
    if not isinstance(method, Auto):
        return Plan(method.name, method.settings, {method.name: method}, {method.name: 1.0})
    stages = Stages(engine, watch=watch)
    some, order = sampled(engine.cluster, votes, ENOUGH * method.most_votes, method.seed)
    first = stages(method.candidate("ptbcc", independent(some.n_annotators)), some)
    hidden = first_tasks(some, order, method.most_votes)
    compared = method.compare(some, first, stages, alone=votes.n_votes > MOST_BLENDED, some=hidden)
    found = compared.found.among(np.asarray(some.annotator_names), len(votes.annotators))
    needed = {*compared.shares, *(["ptbcc"] if "hpt" in compared.shares else [])}  # where HPT starts
    limits = method.limits_on(votes.n_votes)
    methods = {n: method.candidate(n, found, None if n == "ptbcc" else limits) for n in CANDIDATES if n in needed}
    notes = [*compared.notes, *_said(some.n_votes, votes)]
    return Plan(method.name, method.settings_of(compared), methods, compared.shares, compared.temperature, notes)


def _said(n_votes: int, votes: Remote) -> list[str]:
    if n_votes == votes.n_votes:
        return []
    return [
        f"Groups of annotators who agree in excess were looked for among {n_votes:,} votes of random tasks only, "
        "since on a cluster the votes never come together."
    ]
