"""Whether votes and labels can be trusted: agreement, flips, spammers, correlated annotators,
calibration.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# The module of each name. Modules are loaded on first use, so that counting flips does not load
# SciPy's optimisers.
_MODULES = {
    **dict.fromkeys(("Agreement", "agreement"), "measures"),
    **dict.fromkeys(("Calibration", "calibration", "expected_accuracy"), "expected"),
    **dict.fromkeys(("CorrelatedAnnotators", "correlated_annotators"), "correlation"),
    **dict.fromkeys(("Trust", "trust"), "overview"),
    **dict.fromkeys(("contested", "flips", "n_flips", "why"), "majority"),
    **{"coverage": "coverage_table", "spammers": "spam"},
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'finegold.insight' has no attribute {name!r}")
    return getattr(import_module(f"finegold.insight.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
