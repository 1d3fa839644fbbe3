"""Twins of the kernels for the GPU, under the same names and with the same arguments.

Votes and posteriors are arrays on the device (CuPy); parameters and sums are NumPy arrays on the host, as for the CPU.
Each CUDA file is compiled when it is first needed, for the number of classes at hand; CuPy keeps what it compiled.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from karat.errors import InputError

__all__ = ["FIXED_ONE", "THREADS", "compiled", "cupy", "grid", "types_of"]

HERE = Path(__file__).parent
THREADS = 128
BLOCKS_PER_PROCESSOR = 8
FIXED_ONE = 2.0**32  # of fixed-point sums


@cache
def cupy() -> Any:
    """CuPy with a working device, or a message that says what is missing."""
    try:
        import cupy as found
    except ImportError:
        raise InputError("the GPU engine needs CuPy: pip install karat[gpu]") from None
    try:
        devices = found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError as error:
        raise InputError(f"no GPU can be used here ({error}); choose --engine local") from None
    if devices == 0:
        raise InputError("there is no GPU here; choose --engine local")
    return found


@cache
def compiled(files: tuple[str, ...], name: str, *, fast: bool = False, **constants: Any) -> Any:
    """The kernel of this name in these files, with these constants known to the compiler.

    fast: float32 with quick divisions and without the numbers below 1e-38, a third of the time.
    """
    math = ("--use_fast_math",) if fast else ()
    options = ("-std=c++17", *math, f"-DTHREADS={THREADS}", *(f"-D{key}={value}" for key, value in constants.items()))
    source = "\n".join((HERE / file).read_text() for file in ("common.cuh", *files))
    return cupy().RawModule(code=source, options=options).get_function(name)


def types_of(cell_class: Any, phi: Any) -> dict[str, str]:
    """The constants that stand for the types of two arrays."""
    return {
        "CLASS": "unsigned char" if cell_class.dtype == np.uint8 else "unsigned short",
        "REAL": "float" if phi.dtype == np.float32 else "double",
    }


def grid(tasks: int) -> int:
    """Blocks that fill the device; each thread takes several tasks."""
    processors: int = cupy().cuda.Device().attributes["MultiProcessorCount"]
    return max(min(-(-tasks // THREADS), processors * BLOCKS_PER_PROCESSOR), 1)
