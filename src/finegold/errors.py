"""The errors and warnings that users meet, as data: a problem, where it is, and what would repair
it.

The core names options as Python does (`wide`, `header`); each surface words them in its own way.
`str(error)` has the words of Python, the command line turns remedies into flags and a command to
paste, and the studio into buttons.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Placeholder(str):
    """A value that only the user knows, such as FILE or NAME: shown as it is, and never run."""


@dataclass(frozen=True)
class Remedy:
    """Something that the user can do about a problem."""

    # by their names in Python; None leaves an option out
    options: Mapping[str, Any] = field(default_factory=dict)
    # the case in which it helps, such as "if every annotator has a column of their own"
    when: str = ""
    # what to do where no option helps, such as "save it as UTF-8", or what the options then do
    text: str = ""

    @property
    def can_be_pasted(self) -> bool:
        """Whether the options hold for certain and hold all values, so that a command or a button
        can apply them.
        """
        asks = any(isinstance(value, Placeholder) for value in self.options.values())
        return bool(self.options) and not self.when and not asks


def use(when: str = "", text: str = "", **options: Any) -> Remedy:
    """Return the remedy of giving these options."""
    return Remedy(options, when, text)


def leave_out(*names: str, when: str = "", text: str = "") -> Remedy:
    """Return the remedy of leaving these options out."""
    return Remedy(dict.fromkeys(names), when, text)


def in_python(name: str, value: Any) -> str:
    """Return an option as a keyword of Python."""
    if value is None:
        return name
    return f"{name}={value}" if isinstance(value, Placeholder) else f"{name}={value!r}"


class Worded:
    """Base class of messages with remedies, which each surface words in its own way."""

    problem: str
    where: str = ""
    remedies: tuple[Remedy, ...]

    def __str__(self) -> str:
        return self.worded(in_python)

    def worded(self, option: Callable[[str, Any], str]) -> str:
        """Return the problem and its remedies as one sentence, with the options worded by `option`,
        as a surface spells them.
        """
        actions = []
        for remedy in self.remedies:
            options = remedy.options.items()
            given = [option(name, value) for name, value in options if value is not None]
            dropped = [option(name, None) for name, value in options if value is None]
            verbs = [f"use {' '.join(given)}"] if given else []
            verbs += [f"leave out {' and '.join(dropped)}"] if dropped else []
            action = " ".join(filter(None, (" and ".join(verbs), remedy.text)))
            actions.append(f"{remedy.when}, {action}" if remedy.when else action)
        prefix = f"{self.where}: " if self.where else ""
        return prefix + "; ".join(filter(None, [self.problem, ", or ".join(actions)]))


class FinegoldError(Exception):
    """Base class of all errors that Finegold raises; the command line shows them without a
    traceback.
    """


class InputError(Worded, FinegoldError, ValueError):
    """The data or the settings cannot be used as they are (exit code 2).

    Args:
        problem: What is wrong: what was found, and what was expected. It names no option of the
            command line.
        where: The file, the row and the column.
        remedies: What the user can do about it.
    """

    def __init__(self, problem: str = "", where: str = "", remedies: Iterable[Remedy] = ()) -> None:
        self.problem, self.where, self.remedies = problem, where, tuple(remedies)
        super().__init__(problem, self.where, self.remedies)


class NotFittedError(InputError, AttributeError):
    """An estimator was asked for labels before it was fitted."""


class OutputError(FinegoldError, OSError):
    """A result could not be written. An existing file is left as it was (exit code 2)."""


class FinegoldWarning(Worded, UserWarning):
    """Something was left out or looks wrong, but the work continues.

    Args:
        problem: What was noticed.
        remedies: What the user can do about it.
    """

    def __init__(self, problem: str = "", remedies: Iterable[Remedy] = ()) -> None:
        self.problem, self.remedies = problem, tuple(remedies)
        super().__init__(problem, self.remedies)


def warn_user(problem: str, remedies: Iterable[Remedy] = ()) -> None:
    """Warn of a problem at the line of the user's code that led to it."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "finegold":
        level, frame = level + 1, frame.f_back
    warnings.warn(FinegoldWarning(problem, remedies), stacklevel=level)
