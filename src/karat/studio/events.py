"""News for open tabs: something changed, or a job got on. Told from any thread, heard in the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

__all__ = ["Hub"]

QUIET = 15.0  # seconds after which a sign of life is sent, so that dead connections are noticed


class Hub:
    """Listeners hear the number of the project that has news; what the news is, they ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event, int | None]] = set()
        self._closed = False

    def tell(self, project: int) -> None:
        self._wake(lambda wanted: wanted is None or wanted == project)

    def close(self) -> None:
        """All listeners end: a server that stops does not wait for open tabs."""
        self._closed = True
        self._wake(lambda wanted: True)

    async def listen(self, project: int | None) -> AsyncIterator[bool]:
        """True each time there is news of the project (None: of any), False as a sign of life.

        News that comes while the listener is busy is told once, not once each.
        """
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event, project)
        with self._lock:
            self._listeners.add(listener)
        try:
            yield True
            while not self._closed:
                try:
                    await asyncio.wait_for(event.wait(), QUIET)
                    event.clear()
                    if not self._closed:
                        yield True
                except TimeoutError:
                    yield False
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def _wake(self, wants: Callable[[int | None], bool]) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for loop, event, project in listeners:
            if wants(project) and not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
