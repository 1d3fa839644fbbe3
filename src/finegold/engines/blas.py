"""Limit BLAS to one thread while a method runs: the blocks already use all cores, and sums must not depend on the
number of BLAS threads. On a busy machine this is also many times faster."""

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
    """Return the controller of the BLAS libraries; finding them takes milliseconds, so it is cached."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:  # the core also runs if only NumPy, SciPy and Numba are installed
        return None
    return ThreadpoolController()
