"""Docstrings of this project -> Markdown, for the pages of the API.

They say "name: what it is" of each argument, a line or two each, and show examples with >>>, without further marks.
What a field of a class is, stands in the comment behind it. Docstrings with the sections of numpydoc stay as they are.
"""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import Any

import griffe

__all__ = ["House", "as_markdown"]

SIZES = {
    "T": "tasks",
    "W": "annotators",
    "K": "classes",
    "S": "prototypes",
    "L": "votes",
    "C": "cells",
}
NUMPYDOC = re.compile(
    r"(?m)^(Parameters|Attributes|Returns|Raises|Examples)\n-{3,}$"
)  # sections, which griffe knows
MADE = "documented"  # a name in modules with docstrings that `finegold.system.docstrings` makes
ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): (.*)")


class House(griffe.Extension):
    """Rewrites every docstring after it was read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        is_short = MADE in obj.module.members and (obj.is_class or obj.is_function)
        if obj.docstring and is_short:
            obj.docstring.value = inspect.getdoc(pydoc.locate(obj.path)) or ""
        if obj.docstring and not NUMPYDOC.search(obj.docstring.value):
            obj.docstring.value = as_markdown(obj.docstring.value, _names(obj))

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """The fields that have a comment, as a table below what is said of the class."""
        rows = [
            row
            for member in cls.members.values()
            if isinstance(member, griffe.Attribute) and (row := _row(member))
        ]
        if cls.docstring and rows and "\nAttributes\n---" not in cls.docstring.value:
            cls.docstring.value += "\n\n| field | is an array of | |\n|---|---|---|\n" + "\n".join(
                rows
            )


def as_markdown(text: str, names: set[str]) -> str:
    """Arguments as a list, examples as code."""
    text = re.sub(
        r"(?m)^>>> (?:.|\n)*?(?=\n\s*\n|\Z)",
        lambda found: f"```pycon\n{found[0].rstrip()}\n```",
        text,
    )
    lines: list[str] = []
    for line in text.splitlines():
        found = ARGUMENT.match(line)
        if found and set(found[1].split(", ")) <= names:
            marked = ", ".join(f"`{name}`" for name in found[1].split(", "))
            line = f"- {marked}: {found[2]}"
            if lines and lines[-1].strip() and not lines[-1].startswith(("- ", "    ")):
                lines.append("")
        elif lines and lines[-1].startswith("- ") and line.strip() and not line.startswith(" "):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _names(obj: griffe.Object) -> set[str]:
    if isinstance(obj, griffe.Function):
        return {parameter.name for parameter in obj.parameters}
    return set(obj.members)


def _row(field: griffe.Attribute) -> str:
    """posterior: Floats  # [T, K] how likely -> | `posterior` | tasks × classes | how likely |"""
    found = re.search(r"  # (?:\[(.*?)\] ?)?(.*)", field.source)
    if field.docstring or not found:
        return ""
    sizes = (
        {**SIZES, "L": "classes"} if "," in (found[1] or "") else SIZES
    )  # L also counts the classes voted for
    shape = re.sub(
        "[A-Z]", lambda size: sizes.get(size[0], size[0]), (found[1] or "").replace(", ", " × ")
    )
    return f"| `{field.name}` | {shape} | {found[2]} |"
