"""The maths, one file per method, in the symbols of its paper. `karat.registry` lists them."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

from karat.errors import InputError
from karat.methods.base import Method
from karat.registry import REGISTRY
from karat.result import Part, Result

__all__ = ["Method", "method_class", "method_of"]


def method_class(name: str) -> type[Method]:
    """The class registered under a name (upper or lower case)."""
    if name.lower() not in REGISTRY:
        raise InputError(f"there is no method {name!r}; choose from {', '.join(REGISTRY)}")
    module, _, attribute = REGISTRY[name.lower()].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_of(result: Result | Part) -> Method:
    """The method that made the result (or a part of it), with its settings."""
    chosen = method_class(result.method)
    known = {setting.name for setting in fields(chosen) if setting.init}
    return chosen(**{name: value for name, value in result.settings.items() if name in known})
