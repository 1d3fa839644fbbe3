"""How options are declared: once, as fields of a dataclass, for Python, the command line, the
studio and the pages.

A field made by `option` carries an `Option`: what the option means, what values it takes and how
the command line spells it. The Typer options, the studio's form and request model, the typed
keywords of Python and the page of options are made from these fields, so an option that is added to
a dataclass is added everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Surface = Literal["python", "cli", "studio"]
Kind = Literal[
    "text",
    "number",
    "flag",
    "switch",
    "choice",
    "list",
    "pairs",
    "path",
    "paths",
    "table",
    "output",
]
EVERYWHERE: frozenset[Surface] = frozenset({"python", "cli", "studio"})


@dataclass(frozen=True)
class Constant:
    """A further flag of the command line that stands for one value, such as --no-header for
    `header=0`.
    """

    value: Any
    help: str
    group: str = ""


@dataclass(frozen=True)
class Option:
    """What an option means and how it is given."""

    # one or two sentences for `--help`, the studio's form and the page of options
    help: str
    # the heading under which it is listed
    group: str = ""
    # a flag has no value; a switch is on, off or not given; pairs NAME=VALUE and paths can be
    # repeated; a path is read, and a table or another output is written
    kind: Kind = "text"
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
    # further flags for one value, such as --no-header
    constants: Mapping[str, Constant] = field(default_factory=dict)
    # a value that is right, for messages about values that are not
    example: str = ""
    # what Python's documentation says, if more than `help`
    doc: str = ""
    # where it can be given
    surfaces: frozenset[Surface] = EVERYWHERE

    def flag_of(self, name: str) -> str:
        """Return how the command line spells this option, given its name."""
        return self.flag.rpartition(" ")[2] or f"--{name.replace('_', '-')}"


class Options:
    """Base class of dataclasses of options."""

    def given(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        given = []
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, each.name)
            is_plain = value is None or isinstance(value, str | int)
            # an empty list says nothing, but for words: then none of them means "no vote"
            is_given = (
                value != each.default
                if is_plain
                else each.name == "missing" or not hasattr(value, "__len__") or len(value) > 0
            )
            given += [each.name] if "option" in each.metadata and is_given else []
        return given


def option(default: Any, help: str, **about: Any) -> Any:
    """Declare a field of a dataclass of options."""
    return field(default=default, metadata={"option": Option(help, **about)})


def options_of(declared: Any, surface: Surface | None = None) -> dict[str, Option]:
    """Return the options of a dataclass by name, or those that a surface has."""
    options = {
        each.name: each.metadata["option"] for each in fields(declared) if "option" in each.metadata
    }
    return {
        name: about
        for name, about in options.items()
        if surface is None or surface in about.surfaces
    }
