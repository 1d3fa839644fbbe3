"""The labels of a block, written by the worker that holds it, and sums over annotators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.engines.blocks import Block
from finegold.io.folders.stored import Stored
from finegold.kernels.votes import agreement, decide, outvoted
from finegold.results.data import ResultData
from finegold.results.tables import labels_for_users
from finegold.system.files import move, temporary_name
from finegold.votes.encoding import Names

__all__ = ["Tally", "Totals", "class_totals", "part_name", "write_block", "write_unlabelled"]


class Totals(NamedTuple):
    classes: NDArray[np.float64]  # [K] sums of the posteriors


class Tally(NamedTuple):
    """Sums over tasks and votes."""

    tied: int
    outvoted: int  # labels with fewer votes than another class
    votes: NDArray[np.int64]  # [W]
    agreed: NDArray[np.int64]  # [W]
    expected: NDArray[np.float64]  # [W]


def class_totals(block: Block) -> Totals:
    return Totals(block.class_sums())


def write_block(
    block: Block,
    stored: list[Stored],
    preference: NDArray[np.int64],
    template: ResultData,
    probabilities: bool,
    folder: Path,
) -> Tally:
    label, tied = np.empty(block.n_tasks, np.int32), np.empty(block.n_tasks, np.bool_)
    decide(block.posterior, preference, label, tied)
    piece = replace(
        template,
        task_names=nw.from_native(stored[block.index].task_names(), series_only=True),
        posterior=block.posterior,
        gold=block.gold,
        label_codes=label,
        tied=tied,
        votes_per_task=np.diff(block.cell_ptr[block.task_ptr]).astype(np.int64),
    )
    _write(piece, probabilities, folder / part_name(block.index))
    return _tally(block, label, tied)


def write_unlabelled(template: ResultData, unlabelled: Names, names: Names, probabilities: bool, path: Path) -> None:
    """Write the tasks without votes, without labels, as a part of their own."""
    _write(replace(template, task_names=names[:0], unlabelled=unlabelled), probabilities, path)


def part_name(index: int) -> str:
    return f"part-{index:05}.parquet"


def _write(piece: ResultData, probabilities: bool, path: Path) -> None:
    """Write a part whole: a worker that was taken for lost may still write it, and writes the same again."""
    temporary = temporary_name(path)
    labels_for_users(piece, probabilities).write_parquet(temporary)
    move(temporary, path)


def _tally(block: Block, label: NDArray[np.int32], tied: NDArray[np.bool_]) -> Tally:
    n = block.n_annotators
    votes, agreed, expected = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    task_ptr, cell_ptr, cell_class, annotator = block.votes
    agreement(task_ptr, cell_ptr, cell_class, annotator, block.posterior, label, votes, agreed, expected)
    against = np.empty(block.n_tasks, np.bool_)
    outvoted(task_ptr, cell_ptr, cell_class, block.gold, label, against)
    return Tally(int(tied.sum()), int(against.sum()), votes, agreed, expected)
