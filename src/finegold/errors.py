"""The errors that users meet. Each message says what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FinegoldError", "FinegoldWarning", "InputError", "NotFittedError", "OutputError"]


class FinegoldError(Exception):
    """Base class of all errors that Finegold raises; the command line shows them without a traceback."""


class InputError(FinegoldError, ValueError):
    """The data or the settings cannot be used as they are (exit code 2).

    Parameters
    ----------
    message : str
        What was found, where, and what to do.
    options : mapping, optional
        Options of the command line that would repair it, such as {"--task": "id", "--wide": ""}; None leaves an option
        out. The command line shows them as a command to paste.
    """

    def __init__(self, message: str = "", options: Mapping[str, str | None] | None = None) -> None:
        super().__init__(message)
        self.options = dict(options or {})


class NotFittedError(InputError, AttributeError):
    """An estimator was asked for labels before it was fitted."""


class OutputError(FinegoldError, OSError):
    """A result could not be written. An existing file is left as it was (exit code 2)."""


class FinegoldWarning(UserWarning):
    """Something was left out or looks wrong, but the work continues."""
