"""Whether votes and labels can be trusted: what users ask before they use them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.trust.copies import Alike as Alike
    from karat.trust.copies import alike as alike
    from karat.trust.coverage_table import coverage as coverage
    from karat.trust.expected import Expected as Expected
    from karat.trust.expected import expected_accuracy as expected_accuracy
    from karat.trust.majority import contested as contested
    from karat.trust.majority import flips as flips
    from karat.trust.majority import n_flips as n_flips
    from karat.trust.majority import why as why
    from karat.trust.measures import Agreement as Agreement
    from karat.trust.measures import agreement as agreement
    from karat.trust.overview import Trust as Trust
    from karat.trust.overview import trust as trust
    from karat.trust.reliability import Calibration as Calibration
    from karat.trust.reliability import calibration as calibration
    from karat.trust.spam import spammers as spammers

# Where each name lives; loaded when first used, so that counting flips does not wait for SciPy's optimisers.
_HOME = {
    "Agreement": "measures",
    "Alike": "copies",
    "Calibration": "reliability",
    "Expected": "expected",
    "Trust": "overview",
    "agreement": "measures",
    "alike": "copies",
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
        raise AttributeError(f"module 'karat.trust' has no attribute {name!r}")
    return getattr(import_module(f"karat.trust.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
