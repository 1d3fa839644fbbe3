"""Whether votes and labels can be trusted: agreement, flips, spammers, correlated annotators, calibration."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The module of each name. Modules are loaded on first use, so that counting flips does not load SciPy's optimisers.
_MODULES = {
    "Agreement": "measures",
    "Calibration": "expected",
    "CorrelatedAnnotators": "correlation",
    "Trust": "overview",
    "agreement": "measures",
    "calibration": "expected",
    "contested": "majority",
    "correlated_annotators": "correlation",
    "coverage": "coverage_table",
    "expected_accuracy": "expected",
    "flips": "majority",
    "n_flips": "majority",
    "spammers": "spam",
    "trust": "overview",
    "why": "majority",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'finegold.insight' has no attribute {name!r}")
    return getattr(import_module(f"finegold.insight.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
