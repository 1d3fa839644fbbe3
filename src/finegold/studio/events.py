"""Notify open tabs that a project changed. Any thread can notify; listeners run in the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

__all__ = ["Hub"]

KEEP_ALIVE_SECONDS = (
    15.0  # seconds without an event after which a keep-alive message is sent, to detect closed connections
)


class Hub:
    """Tell listeners which project changed. They request the new state themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event, int | None]] = set()
        self._closed = False

    def notify(self, project: int) -> None:
        self._wake(lambda wanted: wanted is None or wanted == project)

    def close(self) -> None:
        """End all listeners, so that a server that stops does not wait for open tabs."""
        self._closed = True
        self._wake(lambda wanted: True)

    async def listen(self, project: int | None) -> AsyncIterator[bool]:
        """Yield True each time the project changes (None: any project), and False as a keep-alive.

        Several changes while the listener is busy are reported once.
        """
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event, project)
        with self._lock:
            self._listeners.add(listener)
        try:
            yield True
            while not self._closed:
                try:
                    await asyncio.wait_for(event.wait(), KEEP_ALIVE_SECONDS)
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
