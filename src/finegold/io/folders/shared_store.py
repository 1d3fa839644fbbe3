"""Arrays and names in folders that all machines see. Each folder appears whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.system.files import move, temporary_name

__all__ = ["array", "names", "put"]


def put(folder: Path, **columns: pl.Series | NDArray[Any]) -> None:
    """Store names and arrays. The first writer wins: Dask repeats a job after a loss, with the same outcome."""
    temporary = temporary_name(folder)
    temporary.mkdir()
    for name, values in columns.items():
        if isinstance(values, pl.Series):
            values.alias("name").to_frame().write_ipc(temporary / f"{name}.arrow")
        else:
            np.save(temporary / f"{name}.npy", values)
    try:
        move(temporary, folder)
    except OSError:
        shutil.rmtree(temporary)
        if not folder.is_dir():
            raise


def array(folder: Path, name: str) -> NDArray[Any]:
    """Map an array from disk: only the parts that are used are read."""
    values: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return values


def names(folder: Path, name: str, first: int = 0, end: int | None = None) -> pl.Series:
    rows = None if end is None else end - first
    return pl.scan_ipc(folder / f"{name}.arrow").slice(first, rows).collect().get_column("name")
