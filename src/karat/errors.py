"""What can go wrong by a user's hand. Each message says what was found, where, and what to do."""

from __future__ import annotations

__all__ = ["InputError", "KaratError", "KaratWarning", "NotFittedError", "OutputError"]


class KaratError(Exception):
    """Something failed that the message explains; the command line shows it without a traceback."""


class InputError(KaratError, ValueError):
    """The data or the settings cannot be used as they are (exit code 2)."""


class NotFittedError(InputError, AttributeError):
    """An estimator was asked for labels before it was fitted."""


class OutputError(KaratError, OSError):
    """A result could not be written; what stood there before is untouched (exit code 2)."""


class KaratWarning(UserWarning):
    """Something was left out or looks wrong, but the work goes on."""
