"""The maths, one file per method, in the symbols of its paper. `karat.methods.registry` lists them."""

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

OBSOLETE = {"auto": ("folds", "most_votes", "calibrate")}  # settings of methods that are gone

KNOWN = {
    "class_prior": "K",
    "confusion": "WKK",
    "weights": "WS",
    "prototypes": "SKK",
}  # shapes, as in karat.system.validation


def method_names() -> list[str]:
    """The names of all methods: Karat's own, then those that other packages have registered."""
    return [*REGISTRY, *outside_names()]


def method_class(name: str) -> type[Method]:
    """The class registered under a name (upper or lower case), or under what an old name means now."""
    registered = ALIASES.get(name.lower(), name.lower())
    if registered not in REGISTRY:
        if (outside := outside_class(registered)) is not None:
            return outside
        raise InputError(f"there is no method {name!r}; choose from {', '.join(method_names())}")
    module, _, attribute = REGISTRY[registered].partition(":")
    found: type[Method] = getattr(import_module(module), attribute)
    return found


def method_of(result: ResultData) -> Method:
    """The method that made the result, with its settings; what it needs of the result is checked.

    For a method that is gone: the one that its name means now, with the settings of that one.
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
    """The method of this name with these settings; a finished method takes no more of them.

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
    """The same method; if it was asked for by an old name, its results say so."""
    if name.lower() in ALIASES:
        made.notes = (f"{name} now means {made.name}; it no longer compares and blends several methods.",)
    return made


def current_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those of a method that is gone, which a warning names."""
    old = [setting for setting in settings if setting in OBSOLETE.get(name.lower(), ())]
    if old:
        now = f"{name} now means {ALIASES[name.lower()]}"
        warnings.warn(f"{now}, which has no setting {', '.join(old)}: left out", KaratWarning, stacklevel=3)
    return {setting: value for setting, value in settings.items() if setting not in old}


def no_setting(method: str, setting: str) -> InputError:
    """Says which settings there are, and who has the one that was asked for."""
    others = [name for name in method_names() if setting in method_class(name)().settings]
    hint = f"; {setting} is a setting of {', '.join(others)}: name the method, too" if others else ""
    return InputError(f"{method} has no setting {setting}; it has {', '.join(method_class(method)().settings)}{hint}")


def _check_setting(method: str, name: str, value: Any, default: Any) -> None:
    kinds: dict[type, Any] = {bool: bool, int: int, float: int | float, str: str}
    kind = kinds.get(type(default), object)
    if not isinstance(value, kind) or (kind is not bool and type(default) is not bool and isinstance(value, bool)):
        raise InputError(f"the model has {name} = {value!r}, which {method} cannot use; fit it again")


def _check_kept(chosen: type[Method], known: Learned) -> None:
    """Compiled code works with these arrays, and checks no index. All must be of the same sizes."""
    fields = {**KNOWN, **chosen.keeps}
    held = {name: values for name in KNOWN if (values := getattr(known, name)) is not None} | known.statistics
    lost = [name for name in [*(chosen.remembers or ()), *chosen.keeps] if name not in held]
    try:
        if lost:
            raise ValueError(f"{lost[0]} is missing")
        check(held, {name: Field(shape, "f", 0) for name, shape in fields.items()}, {})
    except ValueError as error:
        raise InputError(f"the model does not hold what {chosen.name} keeps ({error}); fit it again") from None
