"""Twins of the kernels for the GPU, under the same names and with the same arguments.

Votes and posteriors are arrays on the device (CuPy); parameters and sums are NumPy arrays on the host, as for the CPU.
Each CUDA file is compiled when it is first needed, for the number of classes at hand; CuPy keeps what it compiled.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from karat.errors import InputError

__all__ = ["compiled", "cupy", "grid"]

HERE = Path(__file__).parent
MOST_CLASSES = 16  # of the kernels that keep a task in registers
BLOCKS_PER_PROCESSOR = 8


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
def compiled(file: str, name: str, **constants: Any) -> Any:
    """The kernel of this name in this file, with these constants known to the compiler."""
    options = ("-std=c++17", "--use_fast_math", *(f"-D{key}={value}" for key, value in constants.items()))
    return cupy().RawModule(code=(HERE / file).read_text(), options=options).get_function(name)


def grid(tasks: int, threads: int) -> int:
    """Blocks that fill the device; each thread takes several tasks."""
    processors: int = cupy().cuda.Device().attributes["MultiProcessorCount"]
    return max(min(-(-tasks // threads), processors * BLOCKS_PER_PROCESSOR), 1)
