"""How every kernel is compiled, and how a loop gets a length that the compiler knows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
import numpy as np

from karat.kernels.kept import KeptCode

__all__ = ["LONGEST_UNROLLED", "ONE", "ZERO", "fixed_length", "kernel", "kernel_as_written"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba turns uint64 + int64 into a float, so unsigned counters need unsigned constants.
ZERO, ONE = np.uint64(0), np.uint64(1)

# Sums may be reordered and multiplications fused; infinities keep their meaning (log-probabilities have them).
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}
IN_ORDER = {"contract", "nsz"}

LONGEST_UNROLLED = 8


def kernel(function: Function) -> Function:
    """Compile without the interpreter lock, keep the machine code on disk, divide as NumPy does."""
    return _compile(function, FAST_SUMS)


def kernel_as_written(function: Function) -> Function:
    """The same, but sums stay in the order in which they are written."""
    return _compile(function, IN_ORDER)


def _compile(function: Function, fastmath: set[str]) -> Function:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    with suppress(RuntimeError):  # neither beside the package nor in a home folder can anything be written
        compiled._cache = KeptCode(function)
    return cast(Function, compiled)


def fixed_length(n: int) -> Any:
    """Something of length n: a tuple where n is small, so that `len` is a constant to the compiler.

    A loop over 3 classes costs half of the time when its length is known; Numba compiles one version
    for each tuple length, and one for all longer (array) ones.
    """
    return tuple(range(n)) if n <= LONGEST_UNROLLED else np.arange(n)
