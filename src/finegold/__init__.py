"""Finegold turns noisy annotations into labels that you can trust."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_MODULES = ("checks", "judges", "paper")  # public modules, loaded when first used

# Public names and where they live. They are loaded when first used, so that `import finegold` costs nothing.
# `__init__.pyi` has the same names for editors and type checkers; a test compares them.
_HOME = {
    "Annotations": "finegold.votes.annotations",
    "AnchoredVote": "finegold.api.estimators",
    "BWA": "finegold.api.estimators",
    "CATD": "finegold.api.estimators",
    "CBCC": "finegold.api.estimators",
    "DS": "finegold.api.estimators",
    "DawidSkene": "finegold.api.dawid_skene",
    "EBCC": "finegold.api.estimators",
    "FGBCC": "finegold.api.estimators",
    "GLAD": "finegold.api.estimators",
    "HDS": "finegold.api.estimators",
    "HPT": "finegold.api.estimators",
    "IBCC": "finegold.api.estimators",
    "InputError": "finegold.errors",
    "FinegoldError": "finegold.errors",
    "FinegoldWarning": "finegold.errors",
    "MajorityVote": "finegold.api.weighted_votes",
    "Method": "finegold.methods.base",
    "NotFittedError": "finegold.errors",
    "OutputError": "finegold.errors",
    "PTBCC": "finegold.api.estimators",
    "Result": "finegold.api.result",
    "TiReMGE": "finegold.api.estimators",
    "Wawa": "finegold.api.weighted_votes",
    "aggregate": "finegold.api.aggregate",
    "agreement": "finegold.api.evaluate",
    "audit": "finegold.api.evaluate",
    "compare": "finegold.api.evaluate",
    "coverage": "finegold.insight",
    "evaluate": "finegold.api.evaluate",
    "load": "finegold.api.result",
    "load_dataset": "finegold.paper.datasets",
    "next_votes": "finegold.api.aggregate",
    "read": "finegold.io.read",
    "read_each": "finegold.io.read",
    "register": "finegold.methods.lookup",
    "simulate": "finegold.votes.simulation",
    "write_back": "finegold.io.writeback",
    "write_votes": "finegold.io.writers",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"finegold.{name}")
    elif not name.startswith("_") and (method := _registered_method(name)):
        value = import_module("finegold.api.estimators").estimator(method)
    else:
        raise AttributeError(f"module 'finegold' has no attribute {name!r}")
    globals()[name] = value
    return value


def _registered_method(class_name: str) -> str | None:
    """Return the method whose class has this name, if a package or a user registered one."""
    registry: dict[str, str] = import_module("finegold.methods.lookup").REGISTRY
    return next((method for method, home in registry.items() if home.endswith(f":{class_name}")), None)


def __dir__() -> list[str]:
    registry: dict[str, str] = import_module("finegold.methods.lookup").REGISTRY
    special = (name for name in globals() if name.startswith("__"))
    return sorted({*special, *__all__, *_MODULES, *(home.partition(":")[2] for home in registry.values())})
