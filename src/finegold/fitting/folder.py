"""Label a folder of Parquet files that is larger than the memory of this machine, on a Dask cluster.

Polars streams the rows into one folder per part, by a hash of the task, on a disk that all machines
share. A worker reads the votes of a part, and writes its labels when the fit ends. Only names of
annotators and classes, and sums, come to this machine.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from finegold.engines.base import Block, one_blas_thread
from finegold.errors import InputError
from finegold.fitting.solve import descend
from finegold.kernels import Votes, cells
from finegold.methods.base import Method
from finegold.results.data import Learned

if TYPE_CHECKING:
    from finegold.engines.dask import DaskEngine

# of a part
VOTES_PER_PART = 2**22


def label_folder(
    votes: str | Path,
    labels: str | Path,
    method: Method,
    engine: DaskEngine,
    *,
    task: str = "task",
    annotator: str = "annotator",
    label: str = "label",
    votes_per_part: int = VOTES_PER_PART,
) -> Learned:
    """Fit a method to a folder of Parquet files, and write a folder of labels.

    Rows without a label are no votes. If an annotator votes on a task more than once, the first
    class in sorted order counts. Labels and probabilities are those of a fit in memory, up to the
    order of sums.

    Args:
        votes (path): The folder of the votes. All machines see it under this path.
        labels (path): The folder of the labels, which must be new or empty: a file per part, with
            the columns task, label and confidence.
        method (Method): The method, such as `finegold.DS()`.
        engine (DaskEngine): The cluster.
        task: The column of the tasks.
        annotator: The column of the annotators.
        label: The column of the labels.
        votes_per_part: About how many votes a worker reads at a time.

    Returns:
        Learned: What the method learned: class shares, matrices, statistics.
    """
    target = Path(labels).resolve()
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise InputError(f"{labels} is not empty; name another folder for the labels")
    engine.accept(method)
    rows = pl.scan_parquet(Path(votes).resolve() / "*.parquet").select(
        pl.col(task).alias("task"),
        pl.col(annotator).alias("annotator"),
        pl.col(label).alias("label"),
    )
    rows = rows.filter(pl.col("label").is_not_null())
    names = [
        rows.select(pl.col(name).unique().sort()).collect(engine="streaming")[name]
        for name in ("annotator", "label")
    ]
    n_votes = rows.select(pl.len()).collect(engine="streaming").item()
    if not n_votes:
        raise InputError(f"there are no votes in {votes}: every label is missing")
    n_parts = math.ceil(n_votes / votes_per_part)
    with TemporaryDirectory(dir=target, prefix=".parts-") as work:
        part = (pl.col("task").hash(0) % n_parts).alias("part")
        rows.with_columns(part).sink_parquet(pl.PartitionBy(work, key="part"), mkdir=True)
        folders = sorted(Path(work).iterdir())
        engine.load(_read_part, [(folder, *names, n_votes) for folder in folders])
        with one_blas_thread():
            found = descend(method, engine)
        learned = method.learned(found.parameters)
        order = cells.preference_of(learned.class_prior)
        engine.each(_write_part, [(folder, target, names[1], order) for folder in folders])
    return learned


def _read_part(
    index: int, folder: Path, annotators: pl.Series, classes: pl.Series, n_votes: int
) -> Block:
    """Return the votes of a part as a block, with the codes that all parts share."""
    table = _table_of(folder)
    task, label = table["task"].rank("dense") - 1, _codes(table["label"], classes)
    codes = task.to_numpy().astype(np.int32), _codes(table["annotator"], annotators), label
    made = cells.sort(cells.pack(*codes, cells.FIRST), len(classes))
    votes = Votes(
        made.task_ptr.view(np.uint64),
        made.cell_ptr.view(np.uint64),
        made.cell_class,
        made.annotator.view(np.uint32),
    )
    n_tasks = len(made.task_ptr) - 1
    gold, posterior = np.full(n_tasks, -1, np.int32), np.zeros((n_tasks, len(classes)))
    return Block(index, votes, gold, len(annotators), n_votes, posterior)


def _write_part(
    posterior: Any, index: int, folder: Path, target: Path, classes: pl.Series, order: Any
) -> None:
    """Write the labels of a part."""
    label, tied = np.empty(len(posterior), np.int32), np.empty(len(posterior), np.bool_)
    cells.decide(posterior, order, label, tied)
    tasks = _table_of(folder)["task"].unique().sort()
    confidence = np.take_along_axis(posterior, label[:, None].astype(np.int64), axis=1)[:, 0]
    table = pl.DataFrame({"task": tasks, "label": classes.gather(label), "confidence": confidence})
    table.write_parquet(target / f"labels-{index:05}.parquet")


def _table_of(folder: Path) -> pl.DataFrame:
    """Return the rows of a part in an order that does not depend on how they were streamed."""
    table = pl.read_parquet(folder / "**/*.parquet", hive_partitioning=False)
    return table.select("task", "annotator", "label").sort("task", "annotator", "label")


def _codes(values: pl.Series, names: pl.Series) -> Any:
    return names.search_sorted(values).to_numpy().astype(np.int32)
