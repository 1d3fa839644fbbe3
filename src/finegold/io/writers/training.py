"""Write labels for training as Parquet."""

from __future__ import annotations

import os
from pathlib import Path

from finegold.errors import InputError
from finegold.io.writers.tables import polars_errors
from finegold.results.data import ResultData
from finegold.results.training import PURPOSES, training_metadata, training_table
from finegold.system.files import replacing

__all__ = ["check_training", "write_training"]


def check_training(path: str | os.PathLike[str], purpose: str) -> None:
    """Refuse an unknown purpose, and a file that is not Parquet."""
    if purpose not in PURPOSES:
        raise InputError(f'"{purpose}" is no purpose of an export; use one of {", ".join(PURPOSES)}')
    if Path(path).suffix.lower() != ".parquet":
        raise InputError(f"{path} is not a Parquet file; labels for training are written as .parquet")


def write_training(result: ResultData, path: str | os.PathLike[str], purpose: str) -> None:
    """Write one row per task with its label, probabilities, weight, agreement and split."""
    check_training(path, purpose)
    table = training_table(result, purpose)
    with replacing(path) as temporary, polars_errors(path, "parquet"):
        table.write_parquet(temporary, metadata=training_metadata(result))
