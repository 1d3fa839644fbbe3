"""One line that shows how far a fit has come, where somebody is there to see it: in a notebook or on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.results.data import Step

    OnStep = Callable[[Step], None]
    Show = Callable[[str], None]

__all__ = ["compiling", "in_notebook", "on_terminal"]

PATIENCE = 0.5  # seconds before the line appears: most fits are over by then
PACE = 0.2  # seconds between two states of it
COMPILING = "compiling for votes like these, once on this machine ..."


@contextmanager
def in_notebook(name: str) -> Iterator[OnStep | None]:
    """In Jupyter, in any of its homes; elsewhere None."""
    found = _jupyter()
    if found is None:
        yield None
        return
    show, clear = found
    try:
        with compiling(show):
            yield _show_steps(name, show)
    finally:
        clear()


@contextmanager
def on_terminal(name: str) -> Iterator[OnStep | None]:
    """On standard error; None where that is a file or a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{name} ...") as line, compiling(line.update):
        yield lambda step: line.update(_said(name, step))


@contextmanager
def compiling(show: Show) -> Iterator[None]:
    """Says so when a kernel is compiled: a first run waits for that, later ones find it on disk."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            show(COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


def _show_steps(name: str, show: Show) -> OnStep:
    due = time.monotonic() + PATIENCE

    def on_step(step: Step) -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + PACE
            show(_said(name, step))

    return on_step


def _said(name: str, step: Step) -> str:
    bound = "" if step.bound != step.bound else f", bound {step.bound:.6g}"  # NaN differs from itself
    restart = f"restart {step.restart + 1}, " if step.restart else ""
    return f"{name}: {restart}iteration {step.iteration}, change {step.change:.2g}{bound}"


def _jupyter() -> tuple[Show, Callable[[], None]] | None:
    """One output of the cell that is written anew; no widgets are needed."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if not hasattr(shell, "kernel"):  # IPython on a terminal has a shell, but no kernel
        return None
    from IPython.display import HTML, display

    handles: list[Any] = []

    def show(text: str) -> None:
        line = HTML(f"<small>{escape(text)}</small>")
        if handles:
            handles[0].update(line)
        else:
            handles.append(display(line, display_id=True))

    return show, lambda: handles[0].update(HTML("")) if handles else None
