"""One thread for BLAS while a method runs: its blocks have the cores already, and sums must not depend on how many
threads a BLAS happens to use. On a busy machine that is also many times faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """Finding the libraries takes milliseconds, so it is done once."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # the core also runs where only NumPy, SciPy and Numba are installed
        return None
    return ThreadpoolController()
