"""Where blocks of tasks run. An engine scatters the votes and sums what a method computes on each block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from karat.annotations import Annotations

__all__ = ["Engine"]

Statistics = TypeVar("Statistics", bound=tuple[Any, ...])


class Engine(Protocol):
    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        """Cut the votes into blocks (one, if the method cannot be divided)."""

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        """step(block, *arguments) of every block, added up in the order of the blocks."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of all that the blocks keep between sweeps."""
        ...

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Make the blocks keep what they kept then."""
        ...

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        """What the blocks keep under this name, task by task."""
        ...
