"""What a report is about: a result, and what else is known of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.insight.overview import Trust, trust
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING
from finegold.votes.key import Key


@dataclass(frozen=True)
class Measurement:
    """The share of right labels that a certificate reports."""

    estimate: float
    low: float
    high: float
    checked: int
    # as 2026-03-07
    date: str
    method: str
    n_tasks: int


@dataclass(frozen=True, eq=False)
class Subject:
    """A result, and what else is known of it."""

    result: ResultData
    # truths to compare the labels with
    key: Key | None = None
    # true sets, by task, where labels are sets
    true_sets: Any = None
    measurement: Measurement | None = None
    # of a log of LLM judges: `JudgeReport.view`
    judges: dict[str, Any] | None = None
    command: str | None = None

    @cached_property
    def trust(self) -> Trust:
        """Agreement, correlation and calibration, computed once for all sections."""
        key = self.key
        has_truths = key is not None and (key.without(self.result.gold) != MISSING).any()
        return trust(self.result, key if has_truths else None)


def measurement_of(certificate: Any) -> Measurement:
    """Return what a certificate says: a `Certificate`, what its `to_dict` returns, or a .json file."""
    if isinstance(certificate, str | Path):
        try:
            certificate = json.loads(Path(certificate).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValueError) as error:
            words = f"{certificate} is not a certificate as .json ({error})"
            raise InputError(words) from None
    values = certificate if isinstance(certificate, dict) else certificate.to_dict()
    try:
        accuracy = values["accuracy"]
        return Measurement(
            **{name: accuracy[name] for name in ("estimate", "low", "high", "checked")},
            date=str(values["date"])[:10],
            method=values["method"],
            n_tasks=values["tasks"],
        )
    except (KeyError, TypeError):
        raise InputError(
            "this certificate has no accuracy: certify writes one from a sample drawn for accuracy"
        ) from None
