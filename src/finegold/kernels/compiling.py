"""Say that kernels are being compiled: on the displays that are open, otherwise in the log, once.

The log is Python's own, under the name "finegold": without any set-up, its warnings are printed to standard error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

COMPILING = "compiling for votes like these, once on this machine ..."
SECONDS_BEFORE_LOG = 1.0

_displays: list[Callable[[str], None]] = []


@contextmanager
def compiling(show: Callable[[str], None]) -> Iterator[None]:
    """Show a message while a kernel is compiled. Only the first run compiles; later runs load the kernel from disk."""
    _displays.append(show)
    try:
        yield
    finally:
        _displays.remove(show)


class Watch:
    """Add up the time of compilation. Numba compiles one kernel at a time, and calls these functions in between."""

    def __init__(self) -> None:
        self.depth, self.spent, self.began = 0, 0.0, 0.0  # a kernel compiles those that it calls
        self.timer: Timer | None = None
        self.is_told = False

    def start(self) -> None:
        self.depth += 1
        for show in _displays:
            show(COMPILING)
        if self.depth == 1:
            self.began = time.monotonic()
            self._start_timer()

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.monotonic() - self.began
            self._stop_timer()

    def _start_timer(self) -> None:
        if not _displays and not self.is_told:
            self.timer = Timer(max(0.0, SECONDS_BEFORE_LOG - self.spent), self._log)
            self.timer.daemon = True
            self.timer.start()

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _log(self) -> None:
        self.is_told = True
        logging.getLogger("finegold").warning("finegold: %s", COMPILING)


_watch = Watch()


def seconds_compiling() -> float:
    """Return the time of compilation so far in this process."""
    return _watch.spent


def watch_compiler() -> None:
    """Tell the `Watch` about every kernel that is compiled, and not about those that are loaded from disk."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            _watch.start()

        def on_end(self, event: Any) -> None:
            _watch.end()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
