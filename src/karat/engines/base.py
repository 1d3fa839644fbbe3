"""Where blocks of tasks run. An engine scatters the votes and sums what a method computes on each block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from karat.engines.registry import ENGINES
from karat.errors import InputError
from karat.votes.annotations import Annotations

__all__ = ["Engine", "opened"]

Statistics = TypeVar("Statistics", bound=tuple[Any, ...])


class Engine(Protocol):
    def accept(self, method: Any) -> None:
        """The method runs next; an InputError, if it cannot run here."""

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

    def notes(self) -> list[str]:
        """What the user may want to know of the work so far, a sentence each."""
        ...

    def close(self) -> None:
        """Give back what the engine holds: threads, workers, memory."""


@contextmanager
def opened(engine: str | Engine, **options: Any) -> Iterator[Engine]:
    """The engine of this name, closed in the end; what is an engine already stays open, for it is the caller's."""
    if not isinstance(engine, str):
        yield engine
        return
    made = _engine_class(engine)(**options)
    try:
        yield made
    finally:
        made.close()


def _engine_class(name: str) -> Callable[..., Engine]:
    if name not in ENGINES:
        raise InputError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
    module, _, class_name = ENGINES[name].partition(":")
    found: Callable[..., Engine] = getattr(import_module(module), class_name)
    return found
