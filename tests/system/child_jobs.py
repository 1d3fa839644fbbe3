"""What children do in tests."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import IO, Any

from finegold.errors import InputError, leave_out, use


def echo(data: Path | bytes, output: IO[bytes], *arguments: Any) -> dict[str, Any]:
    print("what a library prints does not belong to the answer")
    content = data.read_bytes() if isinstance(data, Path) else data
    output.write(content)
    return {
        "arguments": arguments,
        "size": len(content),
        "modules": [name for name in sys.modules if "pytest" in name],
    }


def refuse(data: Path | bytes, output: IO[bytes]) -> dict[str, Any]:
    raise InputError(
        "a problem",
        where="v.x",
        remedies=[use(layout="wide", when="if it is wide"), leave_out("label")],
    )


class PanicError(BaseException):
    """As Rust raises: not an Exception."""


def panic(data: Path | bytes, output: IO[bytes]) -> dict[str, Any]:
    output.write(b"half a table")
    raise PanicError("slice index starts at 4096\nbut ends at 3850")


def allocate(data: Path | bytes, output: IO[bytes], n_bytes: int) -> dict[str, Any]:
    kept = bytearray(n_bytes)
    kept[:] = b"\1" * n_bytes
    time.sleep(5)
    return {}


def abort(data: Path | bytes, output: IO[bytes]) -> dict[str, Any]:
    os.abort()


def loop(data: Path | bytes, output: IO[bytes]) -> dict[str, Any]:
    while True:
        pass


def take(data: Path | bytes, output: IO[bytes], n_bytes: float) -> dict[str, Any]:
    return {"size": len(bytearray(int(n_bytes)))}
