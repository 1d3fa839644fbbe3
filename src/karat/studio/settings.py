"""Settings of a method that come as JSON: each must be of the kind that the method declares."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import Any

from karat.methods import method_class
from karat.studio.problems import Problem

__all__ = ["check_settings"]

KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
LITERAL = "Literal"


def check_settings(method: str, settings: dict[str, Any]) -> None:
    """Refuse values of another kind. Settings that the method does not have are refused by `make_method`."""
    declared = {field.name: str(field.type) for field in fields(method_class(method))}
    for name, value in settings.items():
        if name in declared and (expected := _objection(declared[name].removesuffix(" | None"), value)):
            raise Problem(422, "A setting is not as expected", f"{method} takes {expected} as {name}, not {value!r}.")


def _objection(kind: str, value: Any) -> str:
    """What is expected instead of the value; nothing if it is fine."""
    if kind.startswith(LITERAL):
        allowed = ast.literal_eval(kind.removeprefix(LITERAL))
        return "" if value in allowed else " or ".join(allowed)
    if kind not in KINDS:
        return "only its default"  # an array, which JSON from a page does not give
    return "" if type(value) in KINDS[kind] else WORDS[kind]
