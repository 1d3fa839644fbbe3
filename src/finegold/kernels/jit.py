"""Compile kernels, and give loops a length that the compiler knows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
import numpy as np

from finegold.kernels.compiling import watch_compiler
from finegold.kernels.kept import KeptCode

__all__ = ["MAX_UNROLLED", "ONE", "ZERO", "fixed_length", "inlined", "kernel", "kernel_as_written"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba converts uint64 + int64 to a float, so unsigned counters need unsigned constants.
ZERO, ONE = np.uint64(0), np.uint64(1)

# Sums may be reordered and multiplications fused. Infinities stay valid, because log-probabilities have them.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}
IN_ORDER = {"contract", "nsz"}

MAX_UNROLLED = 8

watch_compiler()


def kernel(function: Function) -> Function:
    """Compile without the interpreter lock, cache the machine code on disk, and divide as NumPy does."""
    return _compile(function, FAST_SUMS)


def kernel_as_written(function: Function) -> Function:
    """The same, but sums keep the order in which they are written."""
    return _compile(function, IN_ORDER)


def inlined(function: Function) -> Function:
    """Copy the function into the kernels that call it, which takes less time than compiling it and then linking it."""
    return cast(Function, numba.njit(inline="always")(function))


def _compile(function: Function, fastmath: set[str]) -> Function:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    with suppress(RuntimeError):  # neither the package folder nor the home folder is writable
        KeptCode(function).attach(compiled)
    return cast(Function, compiled)


def fixed_length(n: int) -> Any:
    """Return an object of length n: a tuple if n is small, so that `len` is a constant for the compiler.

    A loop over 3 classes takes half the time if its length is known. Numba compiles one version for each tuple length,
    and one for all longer (array) ones.
    """
    return tuple(range(n)) if n <= MAX_UNROLLED else np.arange(n)
