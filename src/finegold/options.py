"""How options are declared: once, as fields of a dataclass, for Python, the command line, the
studio and the pages.

A field made by `option` carries an `Option`: what the option means, what values it takes and how
the command line spells it. Click's options, the studio's form, the words of remedies and the page
of options are made from these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Surface = Literal["python", "cli", "studio"]
EVERYWHERE: frozenset[Surface] = frozenset({"python", "cli", "studio"})


@dataclass(frozen=True)
class Option:
    """What an option means and how it is given."""

    # one or two sentences for `--help`, the studio's form and the page of options
    help: str
    # the heading under which it is listed
    group: str = ""
    # text, number, choice or list; a flag has no value; a switch is on, off or not given; pairs
    # NAME=VALUE, texts and paths can be repeated; a path is read, a table or another output is written
    kind: str = "text"
    # what `--help` shows in place of the value, such as NAME
    metavar: str = ""
    # the values that are allowed
    choices: tuple[str, ...] = ()
    # the range of a number
    low: float | None = None
    high: float | None = None
    # how the command line spells it, if not `--` and its name with hyphens; a short flag comes first
    flag: str = ""
    # on the command line
    required: bool = False
    # words of the command line that stand for a value, such as "export" for `gold=True`
    words: Mapping[str, Any] = field(default_factory=dict)
    # a value that is right, for messages about values that are not
    example: str = ""
    # where it can be given
    surfaces: frozenset[Surface] = EVERYWHERE

    def flag_of(self, name: str) -> str:
        """Return how the command line spells this option, given its name."""
        return self.flag.rpartition(" ")[2] or f"--{name.replace('_', '-')}"


class Options:
    """Base class of dataclasses of options."""

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        defaults: dict[str, Any] = {name: getattr(type(self), name) for name in options_of(self)}
        values = {name: getattr(self, name) for name in defaults}
        # values may be data frames; an empty list says nothing, but for words: then none means
        # "no vote"
        return [
            name
            for name, value in values.items()
            if (
                value != defaults[name]
                if value is None or isinstance(value, str | int)
                else name == "missing" or not hasattr(value, "__len__") or len(value) > 0
            )
        ]


def option(default: Any, help: str, **about: Any) -> Any:
    """Declare a field of a dataclass of options."""
    return field(default=default, metadata={"option": Option(help, **about)})


def options_of(declared: Any, surface: Surface | None = None) -> dict[str, Option]:
    """Return the options of a dataclass by name, or those that a surface has."""
    options = {each.name: each.metadata.get("option") for each in fields(declared)}
    return {
        name: about
        for name, about in options.items()
        if about is not None and (surface is None or surface in about.surfaces)
    }
