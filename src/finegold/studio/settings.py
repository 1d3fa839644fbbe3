"""Check the types of method settings that come as JSON."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import Any

from finegold.methods.lookup import method_class
from finegold.studio.problems import Problem

__all__ = ["check_settings"]

KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
LITERAL = "Literal"


def check_settings(method: str, settings: dict[str, Any]) -> None:
    """Refuse values of the wrong type. `make_method` refuses unknown settings."""
    declared = {field.name: str(field.type) for field in fields(method_class(method))}
    for name, value in settings.items():
        if name in declared and (expected := _objection(declared[name].removesuffix(" | None"), value)):
            raise Problem(422, "A setting is not valid", f"{method} takes {expected} as {name}, not {value!r}.")


def _objection(kind: str, value: Any) -> str:
    """Return what is expected instead of the value; an empty text if the value is valid."""
    if kind.startswith(LITERAL):
        allowed = ast.literal_eval(kind.removeprefix(LITERAL))
        return "" if value in allowed else " or ".join(allowed)
    if kind not in KINDS:
        return "only its default"  # arrays cannot be set in the studio
    return "" if type(value) in KINDS[kind] else WORDS[kind]
