"""Karat turns noisy annotations into labels one can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from warnings import warn

if TYPE_CHECKING:
    from karat.annotations import Annotations as Annotations
    from karat.api import aggregate as aggregate
    from karat.archive import load as load
    from karat.crowdkit import DawidSkene as DawidSkene
    from karat.crowdkit import MajorityVote as MajorityVote
    from karat.crowdkit import Wawa as Wawa
    from karat.datasets import load_dataset as load_dataset
    from karat.errors import InputError as InputError
    from karat.errors import KaratError as KaratError
    from karat.errors import KaratWarning as KaratWarning
    from karat.errors import OutputError as OutputError
    from karat.readers import read as read
    from karat.readers import read_each as read_each
    from karat.result import Result as Result
    from karat.simulation import simulate as simulate
    from karat.trust import agreement as agreement
    from karat.trust import coverage as coverage
    from karat.writeback import write_back as write_back
    from karat.writers.votes import write_votes as write_votes

__version__ = "0.1.0"

# Public names and where they live; loaded when first used, so that `import karat` costs nothing.
_HOME = {
    "Annotations": "karat.annotations",
    "DawidSkene": "karat.crowdkit",
    "InputError": "karat.errors",
    "KaratError": "karat.errors",
    "KaratWarning": "karat.errors",
    "MajorityVote": "karat.crowdkit",
    "OutputError": "karat.errors",
    "Result": "karat.result",
    "Wawa": "karat.crowdkit",
    "aggregate": "karat.api",
    "agreement": "karat.trust",
    "coverage": "karat.trust",
    "load": "karat.archive",
    "load_dataset": "karat.datasets",
    "read": "karat.readers",
    "read_each": "karat.readers",
    "simulate": "karat.simulation",
    "write_back": "karat.writeback",
    "write_votes": "karat.writers.votes",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif not name.startswith("_") and (method := _method_of_class(name)):
        value = import_module("karat.estimators").estimator(method)
    elif name == "Auto":
        warn("karat.Auto is now the default method; leave it out, or name a method", DeprecationWarning, stacklevel=2)
        return import_module("karat.estimators").auto
    else:
        raise AttributeError(f"module 'karat' has no attribute {name!r}")
    globals()[name] = value
    return value


def _method_of_class(class_name: str) -> str | None:
    """The registered method whose class has this name, e.g. ptbcc for PTBCC."""
    registry: dict[str, str] = import_module("karat.registry").REGISTRY
    return next((method for method, home in registry.items() if home.endswith(f":{class_name}")), None)


def __dir__() -> list[str]:
    registry: dict[str, str] = import_module("karat.registry").REGISTRY
    return sorted({*globals(), *_HOME, *(home.partition(":")[2] for home in registry.values())})
