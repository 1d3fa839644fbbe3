"""GPU versions of the kernels, with the same names and arguments.

Votes and posteriors are arrays on the device (CuPy); parameters and sums are NumPy arrays on the
host, as on the CPU. Each CUDA file is compiled on first use for the given number of classes; CuPy
caches the compiled code.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from finegold.errors import InputError, use

__all__ = ["FIXED_ONE", "THREADS", "add", "compiled", "cupy", "expected_logs", "grid", "types_of"]

HERE = Path(__file__).parent
THREADS = 128
BLOCKS_PER_PROCESSOR = 8
# the number one in fixed-point sums
FIXED_ONE = 2.0**32


@cache
def cupy() -> Any:
    """Return CuPy if a GPU works, else raise an InputError that says what is missing."""
    try:
        import cupy as found
    except ImportError:
        raise InputError("the GPU engine needs CuPy: pip install 'finegold[gpu]'") from None
    try:
        devices = found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError as error:
        raise InputError(
            f"no GPU can be used here ({error})", remedies=[use(engine="local")]
        ) from None
    if devices == 0:
        raise InputError("there is no GPU here", remedies=[use(engine="local")])
    return found


@cache
def compiled(files: tuple[str, ...], name: str, *, fast: bool = False, **constants: Any) -> Any:
    """Return the kernel of this name in these files, compiled with these constants."""
    # `fast` uses float32 with approximate divisions and without numbers below 1e-38, in a third of
    # the time.
    math = ("--use_fast_math",) if fast else ()
    options = (
        "-std=c++17",
        *math,
        f"-DTHREADS={THREADS}",
        *(f"-D{key}={value}" for key, value in constants.items()),
    )
    source = "\n".join((HERE / file).read_text(encoding="utf-8") for file in ("common.cuh", *files))
    return cupy().RawModule(code=source, options=options).get_function(name)


def types_of(cell_class: Any, phi: Any) -> dict[str, str]:
    """Return the constants that stand for the types of two arrays."""
    return {
        "CLASS": "unsigned char" if cell_class.dtype == np.uint8 else "unsigned short",
        "REAL": "float" if phi.dtype == np.float32 else "double",
    }


def add(total: Any, values: Any) -> None:
    """Add values on the device to sums, which are there or on the host."""
    total += values.get() if isinstance(total, np.ndarray) else values


def expected_logs(counts: Any) -> tuple[Any, float]:
    """Return E log p for p ~ Dirichlet(counts) along the last axis, and the sum of log B(counts)."""
    from cupyx.scipy.special import digamma, gammaln

    total = counts.sum(axis=-1, keepdims=True)
    return digamma(counts) - digamma(total), float(gammaln(counts).sum() - gammaln(total).sum())


def grid(tasks: int) -> int:
    """Return the number of blocks that fills the device; each thread processes several tasks."""
    processors: int = cupy().cuda.Device().attributes["MultiProcessorCount"]
    return max(min(-(-tasks // THREADS), processors * BLOCKS_PER_PROCESSOR), 1)
