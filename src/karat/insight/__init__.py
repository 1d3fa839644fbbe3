"""Whether votes and labels can be trusted: agreement, flips, spammers, correlated annotators, calibration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from karat.system.renamed import warn_renamed

if TYPE_CHECKING:
    from karat.insight.correlation import CorrelatedAnnotators as CorrelatedAnnotators
    from karat.insight.correlation import correlated_annotators as correlated_annotators
    from karat.insight.coverage_table import coverage as coverage
    from karat.insight.expected import Expected as Expected
    from karat.insight.expected import expected_accuracy as expected_accuracy
    from karat.insight.majority import contested as contested
    from karat.insight.majority import flips as flips
    from karat.insight.majority import n_flips as n_flips
    from karat.insight.majority import why as why
    from karat.insight.measures import Agreement as Agreement
    from karat.insight.measures import agreement as agreement
    from karat.insight.overview import Trust as Trust
    from karat.insight.overview import trust as trust
    from karat.insight.reliability import Calibration as Calibration
    from karat.insight.reliability import calibration as calibration
    from karat.insight.spam import spammers as spammers

# The module of each name. Modules are loaded on first use, so that counting flips does not load SciPy's optimisers.
_MODULES = {
    "Agreement": "measures",
    "Calibration": "reliability",
    "CorrelatedAnnotators": "correlation",
    "Expected": "expected",
    "Trust": "overview",
    "agreement": "measures",
    "calibration": "reliability",
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
_OLD_NAMES = {"Alike": "CorrelatedAnnotators", "alike": "correlated_annotators"}


def __getattr__(name: str) -> Any:
    if name in _OLD_NAMES:
        new = _OLD_NAMES[name]
        warn_renamed(name, new)
        name = new
    if name not in _MODULES:
        raise AttributeError(f"module 'karat.insight' has no attribute {name!r}")
    return getattr(import_module(f"karat.insight.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
