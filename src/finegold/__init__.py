"""Finegold turns noisy annotations into labels that you can trust."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from finegold.methods.lookup import REGISTRY as _REGISTRY

__version__ = "0.1.0.dev0"

# public modules, loaded when first used
_MODULES = ("checks", "judges")

# Public names and where they live, besides the classes of the methods. They are loaded when first
# used, so that `import finegold` costs nothing. `tools/make_methods.py` writes them to
# `__init__.pyi` for editors and type checkers.
_HOME = {
    "Annotations": "finegold.votes.annotations",
    "InputError": "finegold.errors",
    "FinegoldError": "finegold.errors",
    "FinegoldWarning": "finegold.errors",
    "Method": "finegold.methods.base",
    "NotFittedError": "finegold.errors",
    "OutputError": "finegold.errors",
    "Result": "finegold.api.result",
    "aggregate": "finegold.api.aggregate",
    "agreement": "finegold.api.evaluate",
    "audit": "finegold.api.evaluate",
    "certify": "finegold.api.certify",
    "compare": "finegold.api.evaluate",
    "coverage": "finegold.insight.coverage_table",
    "evaluate": "finegold.api.evaluate",
    "load": "finegold.api.result",
    "next_votes": "finegold.api.aggregate",
    "read": "finegold.io.read",
    "read_each": "finegold.io.read",
    "register": "finegold.methods.lookup",
    "sample": "finegold.api.sample",
    "simulate": "finegold.votes.simulation",
    "write_back": "finegold.io.writeback",
    "write_votes": "finegold.io.writers",
}

__all__ = sorted({*_HOME, *(home.partition(":")[2] for home in _REGISTRY.values())})


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"finegold.{name}")
    elif method := next(
        (method for method, home in _REGISTRY.items() if home.endswith(f":{name}")), None
    ):
        value = import_module("finegold.api.estimators").estimator(method)
    else:
        raise AttributeError(f"module 'finegold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    special = (name for name in globals() if name.startswith("__"))
    return sorted(
        {*special, *__all__, *_MODULES, *(home.partition(":")[2] for home in _REGISTRY.values())}
    )
