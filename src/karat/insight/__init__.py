"""Whether votes and labels can be trusted: what users ask before they use them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.insight.correlated_annotators import Alike as Alike
    from karat.insight.correlated_annotators import alike as alike
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

# Where each name lives; loaded when first used, so that counting flips does not wait for SciPy's optimisers.
_HOME = {
    "Agreement": "measures",
    "Alike": "correlated_annotators",
    "Calibration": "reliability",
    "Expected": "expected",
    "Trust": "overview",
    "agreement": "measures",
    "alike": "correlated_annotators",
    "calibration": "reliability",
    "contested": "majority",
    "coverage": "coverage_table",
    "expected_accuracy": "expected",
    "flips": "majority",
    "n_flips": "majority",
    "spammers": "spam",
    "trust": "overview",
    "why": "majority",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'karat.insight' has no attribute {name!r}")
    return getattr(import_module(f"karat.insight.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
