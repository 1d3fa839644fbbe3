"""The maths, one file per method, in the symbols of its paper. `karat.registry` lists them."""

from __future__ import annotations

from importlib import import_module

from karat.errors import InputError
from karat.methods.base import Method
from karat.registry import REGISTRY

__all__ = ["Method", "method_class"]


def method_class(name: str) -> type[Method]:
    """The class registered under a name (upper or lower case)."""
    if name.lower() not in REGISTRY:
        raise InputError(f"there is no method {name!r}; choose from {', '.join(REGISTRY)}")
    module, _, attribute = REGISTRY[name.lower()].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found
