"""The GPU kernels against the CPU's, and their speed. Run it on a machine with a GPU, CuPy and Numba:

PYTHONPATH=src python bench/gpu.py [--votes 8e8]

It needs neither Polars nor Narwhals. What it ran on is printed first and kept with the figures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from karat.annotations import Annotations
from karat.kernels import ptbcc as on_cpu
from karat.kernels.cuda import ptbcc as on_gpu
from karat.kernels.jit import fixed_length
from machine import describe

VOTES_PER_TASK, CLASSES = 5, 5


def check_sweep(n_classes: int, n_prototypes: int, seed: int) -> float:
    """The biggest difference of a posterior after one sweep, CPU against GPU, from random parameters."""
    rng = np.random.default_rng(seed)
    task, annotator = np.repeat(np.arange(3000), 7), rng.integers(40, size=21000)
    votes = Annotations.from_arrays(task, annotator, rng.integers(n_classes, size=21000), repeated="all")
    host = [votes.task_ptr.view(np.uint64), votes.cell_ptr.view(np.uint64), votes.cell_class]
    host.append(votes.annotator.view(np.uint32))
    device = [cp.asarray(a.astype(np.uint32) if a.dtype == np.uint64 else a) for a in host]
    K, D = n_classes, n_prototypes - 1
    log_tau, log_odds = rng.normal(size=K), rng.normal(size=(40, D))
    base, diff = rng.normal(size=(K, K)), rng.normal(size=(K, D, K))
    phi = rng.dirichlet(np.ones(K), 3000)
    known = np.where(rng.random(3000) < 0.1, rng.integers(K, size=3000), -1).astype(np.int32)
    phi[known >= 0] = np.eye(K)[known[known >= 0]]
    shape = [np.zeros(K), np.zeros((40, D)), np.zeros((K, K)), np.zeros((K, D, K))]
    ours, theirs = [a.copy() for a in shape], [a.copy() for a in shape]
    on_device = cp.asarray(phi, dtype=np.float32)
    given = (log_tau, log_odds, np.exp(log_odds), base, diff)
    cpu = on_cpu.sweep(fixed_length(K), fixed_length(D), *host, known, *given, phi, *ours, 100, 1000)
    gpu = on_gpu.sweep(K, D, *device, cp.asarray(known), *given, on_device, *theirs)
    sums = max(
        float(np.abs(a - b).max() / max(np.abs(a).max(), 1)) for a, b in zip(ours, theirs, strict=True) if a.size
    )
    numbers = max(abs(a - b) / max(abs(a), 1) for a, b in zip(cpu, gpu, strict=True))
    return max(float(np.abs(phi - on_device.get()).max()), sums, numbers)


def time_sweeps(n_votes: int, n_annotators: int, sweeps: int = 10) -> dict[str, Any]:
    """Seconds of device time per sweep on random votes, with the least time that the memory allows."""
    n_tasks = n_votes // VOTES_PER_TASK
    votes = random_votes(n_tasks, n_annotators)
    phi = cp.full((n_tasks, CLASSES), 1 / CLASSES, dtype=np.float32)
    rng = np.random.default_rng(0)
    base, diff = rng.normal(size=(CLASSES, CLASSES)), rng.normal(size=(CLASSES, 1, CLASSES))
    log_odds = rng.normal(size=(n_annotators, 1))
    parameters = [cp.asarray(values, dtype=np.float32) for values in (np.zeros(CLASSES), log_odds, base, diff)]
    on_gpu.launch((*votes, None), parameters, phi)
    kernel = []
    for _ in range(sweeps):
        with Timer() as timer:
            on_gpu.launch((*votes, None), parameters, phi)
        kernel.append(timer.seconds)
    moved = sum(a.nbytes for a in votes) + 2 * phi.nbytes
    seconds = float(np.median(kernel))
    return {
        "votes": n_votes,
        "tasks": n_tasks,
        "annotators": n_annotators,
        "cells": len(votes[2]),
        "seconds_per_sweep": seconds,
        "ps_per_vote": seconds / n_votes * 1e12,
        "floor_ps_per_vote": moved / copy_bandwidth() / n_votes * 1e12,
        "bytes_per_sweep": moved,
    }


class Timer:
    """Device time between entering and leaving, by events."""

    def __enter__(self) -> Timer:
        self.start, self.end = cp.cuda.Event(), cp.cuda.Event()
        self.start.record()
        return self

    def __exit__(self, *error: object) -> None:
        self.end.record()
        self.end.synchronize()
        self.seconds = cp.cuda.get_elapsed_time(self.start, self.end) / 1e3


def random_votes(n_tasks: int, n_annotators: int, piece: int = 10_000_000) -> tuple[Any, Any, Any, Any]:
    """Votes made on the device: annotators at random, right in two of three cases; cells as Annotations have them."""
    rng = cp.random.default_rng(1)
    annotator = cp.empty(n_tasks * VOTES_PER_TASK, dtype=np.uint32)
    lengths, classes, counts = [], [], []
    for first in range(0, n_tasks, piece):
        n = min(piece, n_tasks - first)
        part = slice(first * VOTES_PER_TASK, (first + n) * VOTES_PER_TASK)
        annotator[part] = rng.integers(0, n_annotators, size=n * VOTES_PER_TASK, dtype=np.uint32)
        truth = rng.integers(0, CLASSES, size=(n, 1), dtype=np.uint8)
        label = rng.integers(0, CLASSES, size=(n, VOTES_PER_TASK), dtype=np.uint8)
        label = cp.where(rng.random((n, VOTES_PER_TASK), dtype=np.float32) < 0.6, truth, label)
        table = (label[:, :, None] == cp.arange(CLASSES, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
        task, voted = cp.nonzero(table)
        lengths.append(table[task, voted])
        classes.append(voted.astype(np.uint8))
        counts.append((table > 0).sum(axis=1, dtype=np.uint8))
    task_ptr, cell_ptr = (_pointers(cp.concatenate(parts)) for parts in (counts, lengths))
    return task_ptr, cell_ptr, cp.concatenate(classes), annotator


def _pointers(counts: Any) -> Any:
    pointers = cp.zeros(len(counts) + 1, dtype=np.uint32)
    cp.cumsum(counts, dtype=np.uint32, out=pointers[1:])
    return pointers


def copy_bandwidth() -> float:
    """Bytes per second, read and written, of a large copy on the device."""
    source = cp.ones(2**30, dtype=np.uint8)
    target = cp.empty_like(source)
    times = []
    for _ in range(10):
        with Timer() as timer:
            cp.copyto(target, source)
        times.append(timer.seconds)
    return 2 * source.nbytes / float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=float, nargs="*", default=[1e8, 8e8])
    parser.add_argument("--annotators", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    figures: dict[str, Any] = {"device": name, "machine": describe(), "differences": {}, "sweeps": []}
    print(f"{name}, CuPy {cp.__version__}, copy {copy_bandwidth() / 1e12:.2f} TB/s")
    for K, S in ((2, 2), (3, 2), (5, 2), (5, 1), (4, 4), (10, 2), (10, 3)):
        found = check_sweep(K, S, seed=K)
        figures["differences"][f"K={K} S={S}"] = found
        print(f"one sweep against the CPU, K={K} S={S}: {found:.2g}", flush=True)
    for votes in options.votes:
        figures["sweeps"].append(time_sweeps(int(votes), options.annotators))
        print(json.dumps(figures["sweeps"][-1], indent=1), flush=True)
        cp.get_default_memory_pool().free_all_blocks()
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
