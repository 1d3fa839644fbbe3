"""Create methods with the settings given on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.methods.lookup import Method

__all__ = ["method_from_options", "methods_from_options", "split_commas", "split_values"]


def split_commas(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def split_values(given: list[str] | None) -> list[str]:
    """Return the values of an option that can be repeated and accepts values separated by commas."""
    return [name for text in given or [] for name in split_commas(text) or []]


def methods_from_options(
    names: list[str], given: list[str] | None, seed: int | None, paper: bool = False
) -> list[Method]:
    """Return the methods with these names. If there are several, each gets the settings that it has."""
    methods = [method_from_options(name, given, seed, only_known=len(names) > 1, paper=paper) for name in names]
    for setting in [_pair(text)[0] for text in given or []]:
        if not any(setting in method.settings for method in methods):
            raise InputError(f"none of {', '.join(names)} has a setting {setting}")
    return methods


def method_from_options(
    name: str, given: list[str] | None, seed: int | None, *, only_known: bool = False, paper: bool = False
) -> Method:
    """Return the method with the settings from the command line.

    With only_known, settings that it does not have are left out, and `paper` holds for methods of the paper only.
    """
    from finegold.methods.lookup import in_paper, make_method, method_class, no_setting

    chosen = method_class(name)
    defaults = chosen().settings
    settings = dict(_pair(text) for text in given or [])
    unknown = [key for key in settings if key not in defaults]
    if unknown and not only_known:
        raise no_setting(chosen.name, unknown[0])
    values = {key: _value(key, text, defaults[key]) for key, text in settings.items() if key in defaults}
    if seed is not None:
        values["seed"] = seed
    return make_method(name, values, paper=paper and (in_paper(chosen.name) or not only_known))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--set takes NAME=VALUE, e.g. --set max_iterations=100, not {text!r}")
    return name.strip().replace("-", "_"), value.strip()


def _value(name: str, text: str, default: Any) -> Any:
    """Convert the text to the type of the setting."""
    import json

    try:
        if isinstance(default, str):
            return text
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
        return json.loads(text)
    except (ValueError, KeyError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "JSON")
        raise InputError(f"--set {name}: expected {kind}, found {text!r}") from None
