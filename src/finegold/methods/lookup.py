"""Look up methods by name. `finegold.methods.registry` lists Finegold's own methods."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from finegold.errors import InputError
from finegold.methods.base import Method
from finegold.methods.outside import outside_class, outside_names, register
from finegold.methods.paper_settings import in_paper, paper_settings
from finegold.methods.registry import REGISTRY
from finegold.results.data import Learned, ResultData
from finegold.system.nearest import did_you_mean
from finegold.system.validation import Field, check

__all__ = [
    "Method",
    "in_paper",
    "make_method",
    "method_class",
    "method_names",
    "method_of",
    "no_setting",
    "paper_settings",
    "register",
]

LEARNED_SHAPES = {  # shapes, as in finegold.system.validation
    "class_prior": "K",
    "confusion": "WKK",
    "weights": "WS",
    "prototypes": "SKK",
}


def method_names() -> list[str]:
    """Return the names of all methods: Finegold's own, then those that other packages have registered."""
    return [*REGISTRY, *outside_names()]


def method_class(name: str) -> type[Method]:
    """Return the class registered under a name, in upper or lower case."""
    registered = name.lower()
    if registered not in REGISTRY:
        if (outside := outside_class(registered)) is not None:
            return outside
        known = method_names()
        raise InputError(f"there is no method {name!r}; choose from {', '.join(known)}{did_you_mean(name, known)}")
    module, _, attribute = REGISTRY[registered].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_of(result: ResultData) -> Method:
    """Return the method of a result, with its settings. Check the arrays that the method needs from the result."""
    chosen = method_class(result.method)
    known = {setting.name: setting.default for setting in fields(chosen) if setting.init}
    settings = {name: value for name, value in result.settings.items() if name in known}
    for name, value in settings.items():
        _check_setting(chosen.name, name, value, known[name])
    _check_kept(chosen, result.learned)
    return chosen(**settings)


def make_method(method: str | Method, settings: dict[str, Any], *, paper: bool = False) -> Method:
    """Return the method of this name with these settings. A method object is returned as it is, without settings.

    With `paper`, the settings that are not given are those of the paper's tables.
    """
    if isinstance(method, Method):
        if settings:
            raise InputError(f"give {', '.join(settings)} to {type(method).__name__}(...), not to aggregate")
        return method
    chosen = method_class(method)
    known = chosen().settings
    if unknown := sorted(set(settings) - set(known)):
        raise no_setting(chosen.name, unknown[0])
    if paper:
        settings = {**paper_settings(chosen.name), **settings}
    return chosen(**settings)


def no_setting(method: str, setting: str) -> InputError:
    """Return an error that lists the settings of the method, and the methods that have the requested one."""
    others = [name for name in method_names() if setting in method_class(name)().settings]
    hint = f"; {setting} is a setting of {', '.join(others)}: name the method, too" if others else ""
    return InputError(f"{method} has no setting {setting}; it has {', '.join(method_class(method)().settings)}{hint}")


def _check_setting(method: str, name: str, value: Any, default: Any) -> None:
    kinds: dict[type, Any] = {bool: bool, int: int, float: int | float, str: str}
    kind = kinds.get(type(default), object)
    if not isinstance(value, kind) or (kind is not bool and type(default) is not bool and isinstance(value, bool)):
        raise InputError(f"the model has {name} = {value!r}, which {method} cannot use; fit it again")


def _check_kept(chosen: type[Method], known: Learned) -> None:
    """Raise an error if the arrays do not have matching sizes: compiled code uses them without index checks."""
    fields = {**LEARNED_SHAPES, **chosen.keeps}
    held = {name: values for name in LEARNED_SHAPES if (values := getattr(known, name)) is not None} | known.statistics
    lost = [name for name in [*(chosen.remembers or ()), *chosen.keeps] if name not in held]
    try:
        if lost:
            raise ValueError(f"{lost[0]} is missing")
        check(held, {name: Field(shape, "f", 0) for name, shape in fields.items()}, {})
    except ValueError as error:
        raise InputError(f"the model does not hold the arrays of {chosen.name} ({error}); fit it again") from None
