"""Karat turns noisy annotations into labels that you can trust."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from warnings import warn

from karat.system import moved

__version__ = "0.2.0.dev0"

_MODULES = ("checks", "judges", "paper")  # public modules, loaded when first used

# Public names and where they live. They are loaded when first used, so that `import karat` costs nothing.
# `__init__.pyi` has the same names for editors and type checkers; a test compares them.
_HOME = {
    "Annotations": "karat.votes.annotations",
    "AnchoredVote": "karat.api.estimators",
    "BWA": "karat.api.estimators",
    "CATD": "karat.api.estimators",
    "CBCC": "karat.api.estimators",
    "DS": "karat.api.estimators",
    "DawidSkene": "karat.api.dawid_skene",
    "EBCC": "karat.api.estimators",
    "FGBCC": "karat.api.estimators",
    "GLAD": "karat.api.estimators",
    "HDS": "karat.api.estimators",
    "HPT": "karat.api.estimators",
    "IBCC": "karat.api.estimators",
    "InputError": "karat.errors",
    "KaratError": "karat.errors",
    "KaratWarning": "karat.errors",
    "MajorityVote": "karat.api.weighted_votes",
    "Method": "karat.methods.base",
    "MultiResult": "karat.results.multi",
    "NotFittedError": "karat.errors",
    "OutputError": "karat.errors",
    "PTBCC": "karat.api.estimators",
    "Result": "karat.api.result",
    "TiReMGE": "karat.api.estimators",
    "Wawa": "karat.api.weighted_votes",
    "aggregate": "karat.api.aggregate",
    "agreement": "karat.api.agreement",
    "audit": "karat.api.audit",
    "compare": "karat.api.compare",
    "coverage": "karat.insight",
    "evaluate": "karat.api.evaluate",
    "load": "karat.api.result",
    "load_dataset": "karat.paper.datasets",
    "next_votes": "karat.api.next_votes",
    "read": "karat.io.readers",
    "read_each": "karat.io.readers",
    "register": "karat.methods.outside",
    "simulate": "karat.votes.simulation",
    "write_back": "karat.io.writeback",
    "write_votes": "karat.io.writers.votes",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"karat.{name}")
    elif not name.startswith("_") and (method := _registered_method(name)):
        value = import_module("karat.api.estimators").estimator(method)
    elif name == "Auto":
        warn("karat.Auto is now the default method; leave it out, or name a method", DeprecationWarning, stacklevel=2)
        return import_module("karat.api.estimators").auto
    else:
        raise AttributeError(f"module 'karat' has no attribute {name!r}")
    globals()[name] = value
    return value


def _registered_method(class_name: str) -> str | None:
    """Return the method whose class has this name, if a package or a user registered one."""
    registry: dict[str, str] = import_module("karat.methods.registry").REGISTRY
    return next((method for method, home in registry.items() if home.endswith(f":{class_name}")), None)


def __dir__() -> list[str]:
    registry: dict[str, str] = import_module("karat.methods.registry").REGISTRY
    special = (name for name in globals() if name.startswith("__"))
    return sorted({*special, *__all__, *_MODULES, *(home.partition(":")[2] for home in registry.values())})


moved.install()
