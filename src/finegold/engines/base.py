"""The interface of engines. An engine divides the votes into blocks and sums what a method computes
on each block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Protocol

from numpy.typing import NDArray

from finegold.engines.blocks import Statistics
from finegold.votes.annotations import Annotations


class Engine(Protocol):
    def accept(self, method: Any) -> None:
        """Prepare for a method. Raise an InputError if the engine cannot run it."""
        return

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        """Divide the votes into blocks, or into one block if the method is not divisible."""

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        """Sum step(block, *arguments) over all blocks, in the order of the blocks."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the state that the blocks keep between sweeps."""
        ...

    def restore(self, state: dict[str, NDArray[Any]]) -> None: ...

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        """Return the array that the blocks keep under this name, in the order of tasks."""
        ...

    def records(self) -> tuple[NDArray[Any], ...] | None:
        """Return labels, ties, and counts by annotator as `summarise` takes them, or None to
        compute them here.
        """
        return None

    def notes(self) -> list[str]:
        return []

    def close(self) -> None:
        """Release threads, workers and memory."""


def one_blas_thread() -> AbstractContextManager[Any]:
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """Return the controller of the BLAS libraries; finding them takes milliseconds, so it is
    cached.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        # the core also runs if only NumPy, SciPy, Numba and Polars are installed
        return None
    return ThreadpoolController()
