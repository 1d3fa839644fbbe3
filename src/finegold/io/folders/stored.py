"""A block in the shared store, which any worker can load, and load again after a loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from finegold.engines.blocks import Block
from finegold.engines.dask.packing import Packed
from finegold.io.folders import shared_store

__all__ = ["Slice", "Stored"]


class Slice(NamedTuple):
    """Consecutive tasks of a range."""

    folder: Path
    first: int
    end: int

    def votes(self) -> tuple[Any, Any, Any, Any, Any]:
        """Return cells per task, votes per cell, classes of the cells, annotators and gold truths."""
        task_ptr, cell_ptr, cell_class, annotator, gold = (
            shared_store.array(self.folder, name)
            for name in ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
        )
        tasks = task_ptr[self.first : self.end + 1]
        cells = cell_ptr[tasks[0] : tasks[-1] + 1]
        return (
            np.diff(tasks),
            np.diff(cells),
            cell_class[tasks[0] : tasks[-1]],
            annotator[cells[0] : cells[-1]],
            gold[self.first : self.end],
        )


class Stored(NamedTuple):
    slices: tuple[Slice, ...]
    n_annotators: int
    n_classes: int

    @property
    def n_tasks(self) -> int:
        return sum(part.end - part.first for part in self.slices)

    def load(self, index: int, dtype: Any) -> Block:
        cells, votes, classes, annotator, gold = (
            np.concatenate(columns) for columns in zip(*(part.votes() for part in self.slices), strict=True)
        )
        return Packed(cells, votes, classes, annotator, gold, self.n_annotators, self.n_classes).load(index, dtype)

    def task_names(self) -> pl.Series:
        return pl.concat([shared_store.names(part.folder, "tasks", part.first, part.end) for part in self.slices])
