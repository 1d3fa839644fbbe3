"""Look up methods by name. `karat.methods.registry` lists Karat's own methods."""

from __future__ import annotations

import warnings
from dataclasses import fields
from importlib import import_module
from typing import Any

from karat.errors import InputError, KaratWarning
from karat.methods.base import Method
from karat.methods.outside import outside_class, outside_names, register
from karat.methods.paper_settings import in_paper, paper_settings
from karat.methods.registry import ALIASES, REGISTRY
from karat.results.data import Learned, ResultData
from karat.system.nearest import did_you_mean
from karat.system.validation import Field, check

__all__ = [
    "OBSOLETE",
    "Method",
    "current_settings",
    "in_paper",
    "make_method",
    "method_class",
    "method_names",
    "method_of",
    "no_setting",
    "paper_settings",
    "register",
    "with_note",
]

OBSOLETE = {"auto": ("folds", "most_votes", "calibrate")}  # ignored settings of removed methods

LEARNED_SHAPES = {  # shapes, as in karat.system.validation
    "class_prior": "K",
    "confusion": "WKK",
    "weights": "WS",
    "prototypes": "SKK",
}


def method_names() -> list[str]:
    """Return the names of all methods: Karat's own, then those that other packages have registered."""
    return [*REGISTRY, *outside_names()]


def method_class(name: str) -> type[Method]:
    """Return the class registered under a name (upper or lower case) or under its current name, if it is an old one."""
    registered = ALIASES.get(name.lower(), name.lower())
    if registered not in REGISTRY:
        if (outside := outside_class(registered)) is not None:
            return outside
        known = method_names()
        raise InputError(f"there is no method {name!r}; choose from {', '.join(known)}{did_you_mean(name, known)}")
    module, _, attribute = REGISTRY[registered].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_of(result: ResultData) -> Method:
    """Return the method of a result, with its settings. Check the arrays that the method needs from the result.

    For a removed method, return the method that its name means now, with the default settings of that method.
    """
    chosen = method_class(result.method)
    if result.method in ALIASES:
        return chosen()
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
    chosen, settings = method_class(method), current_settings(method, settings)
    known = chosen().settings
    if unknown := sorted(set(settings) - set(known)):
        raise no_setting(chosen.name, unknown[0])
    if paper:
        settings = {**paper_settings(chosen.name), **settings}
    return with_note(chosen(**settings), method)


def with_note(made: Method, name: str) -> Method:
    """Return the same method, with a note for its results if it was requested by an old name."""
    if name.lower() in ALIASES:
        made.notes = (f"{name} now means {made.name}; it no longer compares and blends several methods.",)
    return made


def current_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without those of a removed method; a warning names them."""
    old = [setting for setting in settings if setting in OBSOLETE.get(name.lower(), ())]
    if old:
        now = f"{name} now means {ALIASES[name.lower()]}"
        warnings.warn(f"{now}, which has no setting {', '.join(old)}: left out", KaratWarning, stacklevel=3)
    return {setting: value for setting, value in settings.items() if setting not in old}


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
