"""Whether votes and labels can be trusted: agreement, flips, spammers, correlated annotators, calibration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finegold.insight.correlation import CorrelatedAnnotators as CorrelatedAnnotators
    from finegold.insight.correlation import correlated_annotators as correlated_annotators
    from finegold.insight.coverage_table import coverage as coverage
    from finegold.insight.expected import Calibration as Calibration
    from finegold.insight.expected import calibration as calibration
    from finegold.insight.expected import expected_accuracy as expected_accuracy
    from finegold.insight.majority import contested as contested
    from finegold.insight.majority import flips as flips
    from finegold.insight.majority import n_flips as n_flips
    from finegold.insight.majority import why as why
    from finegold.insight.measures import Agreement as Agreement
    from finegold.insight.measures import agreement as agreement
    from finegold.insight.overview import Trust as Trust
    from finegold.insight.overview import trust as trust
    from finegold.insight.spam import spammers as spammers

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
