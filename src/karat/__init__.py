"""Karat turns noisy annotations into labels one can trust."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.annotations import Annotations as Annotations

__version__ = "0.1.0"

# Public names and where they live; loaded when first used, so that `import karat` costs nothing.
_HOME = {
    "Annotations": "karat.annotations",
    "InputError": "karat.errors",
    "KaratError": "karat.errors",
    "KaratWarning": "karat.errors",
    "OutputError": "karat.errors",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'karat' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
