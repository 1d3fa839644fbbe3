"""Warn about names of Karat 0.1 that were renamed. They will be removed after one release."""

from __future__ import annotations

from warnings import warn

__all__ = ["warn_renamed"]


def warn_renamed(old: str, new: str, *, stacklevel: int = 2) -> None:
    """Tell the caller of the function that calls this one to use the new name."""
    warn(f"{old} is now {new}; the old name will be removed in 0.3", DeprecationWarning, stacklevel=stacklevel + 1)
