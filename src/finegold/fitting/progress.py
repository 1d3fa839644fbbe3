"""Show the progress of a fit in one line, in a notebook or on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from finegold.kernels.compiling import compiling

if TYPE_CHECKING:
    from finegold.results.data import Step

    OnStep = Callable[[Step], None]

# most fits have ended by then
SECONDS_BEFORE_FIRST_LINE = 0.5
SECONDS_BETWEEN_LINES = 0.2


def in_python(name: str) -> AbstractContextManager[OnStep | None]:
    """Show progress in Jupyter or on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # IPython on a terminal has a shell but no kernel.
    return in_notebook(name) if hasattr(shell, "kernel") else on_terminal(name)


@contextmanager
def in_notebook(name: str) -> Iterator[OnStep]:
    from IPython.display import HTML, display

    lines: list[Any] = []
    due = time.monotonic() + SECONDS_BEFORE_FIRST_LINE

    def show(text: str) -> None:
        line = HTML(f"<small>{escape(text)}</small>")
        if lines:
            lines[0].update(line)
        else:
            lines.append(display(line, display_id=True))

    def on_step(step: Step) -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + SECONDS_BETWEEN_LINES
            show(_line(name, step))

    try:
        with compiling(show):
            yield on_step
    finally:
        if lines:
            lines[0].update(HTML(""))


@contextmanager
def on_terminal(name: str) -> Iterator[OnStep | None]:
    """Show progress on standard error; yield None if that is a file or a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{name} ...") as line, compiling(line.update):
        yield lambda step: line.update(_line(name, step))


def _line(name: str, step: Step) -> str:
    # NaN differs from itself
    objective = "" if step.objective != step.objective else f", objective {step.objective:.6g}"
    restart = f"restart {step.restart + 1}, " if step.restart else ""
    return (
        f"{name}: {restart}iteration {step.iteration}, change {step.largest_change:.2g}{objective}"
    )
