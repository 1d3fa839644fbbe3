"""The maths, one file per method, in the symbols of its paper. `karat.registry` lists them."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from karat.errors import InputError
from karat.methods.base import Method
from karat.registry import REGISTRY
from karat.result import Knowledge, Part, Result
from karat.validation import Field, check

__all__ = ["Method", "method_class", "method_of"]

KNOWN = {"class_prior": "K", "confusion": "WKK", "weights": "WS", "prototypes": "SKK"}  # shapes, as in karat.validation


def method_class(name: str) -> type[Method]:
    """The class registered under a name (upper or lower case)."""
    if name.lower() not in REGISTRY:
        raise InputError(f"there is no method {name!r}; choose from {', '.join(REGISTRY)}")
    module, _, attribute = REGISTRY[name.lower()].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_of(result: Result | Part) -> Method:
    """The method that made the result (or a part of it), with its settings; what it needs of the result is checked."""
    chosen = method_class(result.method)
    known = {setting.name: setting.default for setting in fields(chosen) if setting.init}
    settings = {name: value for name, value in result.settings.items() if name in known}
    for name, value in settings.items():
        _check_setting(chosen.name, name, value, known[name])
    _check_kept(chosen, result.knowledge)
    return chosen(**settings)


def _check_setting(method: str, name: str, value: Any, default: Any) -> None:
    kinds: dict[type, Any] = {bool: bool, int: int, float: int | float, str: str}
    kind = kinds.get(type(default), object)
    if not isinstance(value, kind) or (kind is not bool and type(default) is not bool and isinstance(value, bool)):
        raise InputError(f"the model has {name} = {value!r}, which {method} cannot use; fit it again")


def _check_kept(chosen: type[Method], known: Knowledge) -> None:
    """Compiled code works with these arrays, and checks no index. All must be of the same sizes."""
    fields = {**KNOWN, **chosen.keeps}
    held = {name: values for name in KNOWN if (values := getattr(known, name)) is not None} | known.more
    lost = [name for name in [*(chosen.remembers or ()), *chosen.keeps] if name not in held]
    try:
        if lost:
            raise ValueError(f"{lost[0]} is missing")
        check(held, {name: Field(shape, "f", 0) for name, shape in fields.items()}, {})
    except ValueError as error:
        raise InputError(f"the model does not hold what {chosen.name} keeps ({error}); fit it again") from None
