"""Help texts: flags and arguments without a type, and paragraphs that wrap at the width of the terminal."""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


class PlainHelp:
    """A command or a group of commands whose help says what a user types, and nothing about Python's types."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, help=help and unwrapped(help), **kwargs)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperArgument):
                param.display_type_rich = _no_type  # type: ignore[method-assign]
            elif getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(PlainHelp, TyperCommand):
    pass


class Group(PlainHelp, TyperGroup):
    pass


def unwrapped(text: str) -> str:
    """Join the lines of each paragraph. Typer does this for the first one only."""
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in inspect.cleandoc(text).split("\n\n"))


def _no_type(ctx: Any) -> str:
    return ""
