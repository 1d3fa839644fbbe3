"""Votes in many files, sorted by task: Finegold's passes over the files against Dask's data frames and their shuffle.

python -m bench.reading.folders                       5 million votes in 10 Parquet files, two workers
python -m bench.reading.folders --votes 2e6 --show    smaller, printed only

Both read the files, give codes to annotators and classes, bring all votes of a task together, drop repeated votes, and
leave arrays grouped by task on disk, from which workers load blocks. Each has a cluster of its own, whose workers have
run the same on few votes before.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from bench.machine import keep
from finegold.engines.dask.cluster import Cluster
from finegold.io.folders.votes import ROWS_PER_RANGE, read_votes
from finegold.io.options import ReadOptions
from finegold.votes.annotations import Annotations

ARRAYS = ("task_ptr", "cell_ptr", "cell_class", "annotator")


def write_votes(folder: Path, n_votes: int, n_files: int = 10) -> Path:
    """Write votes with names as text, in no order; every hundredth is repeated."""
    rng, n_tasks = np.random.default_rng(1), n_votes // 5
    task, annotator = (
        rng.integers(0, n_tasks, n_votes),
        rng.integers(0, max(n_votes // 1000, 10), n_votes),
    )
    task[::100], annotator[::100] = task[1::100], annotator[1::100]
    names = pl.DataFrame(
        {"task": task, "annotator": annotator, "label": rng.integers(0, 5, n_votes)}
    )
    names = names.with_columns(
        pl.format("task-{}", "task").alias("task"),
        pl.format("worker-{}", "annotator").alias("annotator"),
        pl.format("class {}", "label").alias("label"),
    )
    folder.mkdir()
    for number, part in enumerate(names.iter_slices(-(-n_votes // n_files))):
        part.write_parquet(folder / f"{number:02}.parquet")
    return folder


def finegolds_own(cluster: Cluster, votes: Path, scratch: Path) -> dict[str, Any]:
    sizes = {"fewest_votes": 2**16, "rows_per_range": ROWS_PER_RANGE}
    remote = read_votes(cluster, votes, ReadOptions(), scratch, **sizes)
    blocks = [stored.load(index, np.float64) for index, stored in enumerate(remote.blocks)]
    return {
        "annotator": np.concatenate([block.annotator for block in blocks]),
        "n_tasks": remote.n_tasks,
    }


def dask_data_frames(cluster: Cluster, votes: Path, scratch: Path) -> dict[str, Any]:
    import dask
    import dask.dataframe as dd

    with cluster.client.as_current(), dask.config.set({"dataframe.shuffle.method": "p2p"}):
        table = dd.read_parquet(str(votes), columns=["task", "annotator", "label"])
        table = table.map_partitions(
            _number_rows
        )  # "the first vote counts" means the order of the rows
        annotators, labels, rows = dask.compute(
            table["annotator"].unique(), table["label"].unique(), table.shape[0]
        )
        known = {
            "annotators": pd.Index(annotators).sort_values(),
            "labels": pd.Index(labels).sort_values(),
        }
        coded = table.map_partitions(_encode, **known, meta=_encode(table._meta, **known))
        by_task = coded.set_index("task", npartitions=max(rows // ROWS_PER_RANGE, 2))
        parts = by_task.to_delayed()
        jobs = [dask.delayed(_store)(part, scratch / f"{i}.npz") for i, part in enumerate(parts)]
        n_tasks = sum(dask.compute(*jobs))
    stored = [np.load(scratch / f"{i}.npz") for i in range(len(jobs))]
    return {
        "annotator": np.concatenate([arrays["annotator"] for arrays in stored]),
        "n_tasks": n_tasks,
    }


def _number_rows(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
    first = 0 if partition_info is None else partition_info["number"] << 40
    return part.assign(row=np.arange(first, first + len(part)))


def _encode(part: pd.DataFrame, annotators: pd.Index, labels: pd.Index) -> pd.DataFrame:
    annotator, label = annotators.get_indexer(part["annotator"]), labels.get_indexer(part["label"])
    return part.assign(annotator=annotator.astype(np.int32), label=label.astype(np.int32))


def _store(part: pd.DataFrame, path: Path) -> int:
    part = part.sort_values("row", kind="stable")
    task, names = pd.factorize(part.index, sort=True)
    codes = task.astype(np.int32), part["annotator"].to_numpy(), part["label"].to_numpy()
    everybody, classes = np.arange(codes[1].max() + 1), np.arange(5)
    votes = Annotations.from_codes(*codes, np.arange(len(names)), everybody, classes)
    arrays = {name: getattr(votes, name) for name in ARRAYS}
    arrays["annotator"] = votes.annotator_names[votes.annotator]
    np.savez(path, names=np.asarray(names, dtype=str), **arrays)
    return votes.n_tasks


def measure(n_votes: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"votes": n_votes}
    with tempfile.TemporaryDirectory(prefix="finegold-folders-") as place:
        few, many = (write_votes(Path(place) / f"votes-{n}", n) for n in (20_000, n_votes))
        made = {}
        for name, work in (("finegold", finegolds_own), ("dask.dataframe", dask_data_frames)):
            cluster = Cluster(None, 2)
            try:
                for source in (few, many):
                    scratch = Path(place) / f"{name}-{source.name}"
                    scratch.mkdir()
                    began = time.perf_counter()
                    made[name] = work(cluster, source, scratch)
                    seconds = time.perf_counter() - began
                peaks = cluster.client.run(
                    lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                )
            finally:
                cluster.close()
            figures[name] = {
                "seconds": round(seconds, 2),
                "largest_worker_mib": round(max(peaks.values()) / 2**20),
            }
        same = np.array_equal(made["finegold"]["annotator"], made["dask.dataframe"]["annotator"])
        figures["same_votes"] = (
            same and made["finegold"]["n_tasks"] == made["dask.dataframe"]["n_tasks"]
        )
    figures["ratio"] = round(
        figures["dask.dataframe"]["seconds"] / figures["finegold"]["seconds"], 2
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--votes", type=float, default=5e6)
    parser.add_argument("--show", action="store_true", help="print the figures, do not keep them")
    options = parser.parse_args()
    figures = measure(int(options.votes))
    print(json.dumps(figures, indent=2))
    if not options.show:
        print(f"kept in {keep('folders', figures)}")


if __name__ == "__main__":
    main()
