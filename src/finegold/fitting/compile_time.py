"""Measure the time of a fit without that of compilation, which only the first run on a machine takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any

from numba.core import event

__all__ = ["CompileTimer", "without_compiling"]


class CompileTimer(event.Listener):
    """The seconds during which some thread compiles. A function may be compiled inside of another."""

    def __init__(self) -> None:
        self.lock, self.running, self.began, self.seconds = Lock(), 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        with self.lock:
            self.began = self.began if self.running else perf_counter()
            self.running += 1

    def on_end(self, event: Any) -> None:
        with self.lock:
            self.running -= 1
            self.seconds += 0.0 if self.running else perf_counter() - self.began


@contextmanager
def without_compiling() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds since the start, without those of compilation."""
    began, timer = perf_counter(), CompileTimer()
    with event.install_listener("numba:compile", timer):
        yield lambda: perf_counter() - began - timer.seconds
