"""Say that kernels are being compiled: on the displays that are open, otherwise in the log, once.

The log is Python's own, under the name "finegold": without any set-up, its warnings are printed to standard error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

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
        self.is_logged = False

    def start(self) -> None:
        self.depth += 1
        for show in _displays:
            show(COMPILING)
        if self.depth > 1:
            return
        self.began = time.monotonic()
        if not _displays and not self.is_logged:
            self.timer = Timer(max(0.0, SECONDS_BEFORE_LOG - self.spent), self._log)
            self.timer.daemon = True
            self.timer.start()

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.monotonic() - self.began
            if self.timer is not None:
                self.timer.cancel()

    def _log(self) -> None:
        self.is_logged = True
        logging.getLogger("finegold").warning("finegold: %s", COMPILING)


WATCH = Watch()


def seconds_compiling() -> float:
    """Return the time of compilation so far in this process."""
    return WATCH.spent
