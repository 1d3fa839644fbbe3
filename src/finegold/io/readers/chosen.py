"""The columns that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Columns"]


class Columns(NamedTuple):
    """The columns of a plain table that the user names."""

    task: str | None = None
    annotator: str | Sequence[str] | None = None
    label: str | None = None
    wide: bool = False

    @property
    def names(self) -> list[Any]:
        """The columns of tasks, annotators and labels that the user names."""
        return [name for name in (self.task, self.annotator, self.label) if isinstance(name, str)]

    @property
    def say_table(self) -> bool:
        """Whether the user names columns that only a plain table has."""
        return self.wide or self.annotator is not None or self.label is not None
