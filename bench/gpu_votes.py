"""Random votes made on the device, and a clock for it: what bench/gpu.py needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import cupy as cp
import numpy as np

from finegold.kernels import Votes
from finegold.kernels.cuda import compiled
from finegold.votes.annotations import Annotations

VOTES_PER_TASK = 5


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


class Launches:
    """Device time of every kernel by name, between entering and leaving."""

    modules = ("anchored", "by_annotator", "confusion", "ibcc", "ptbcc", "votes")

    def __enter__(self) -> Launches:
        self.events: list[tuple[str, Any, Any]] = []
        self.changed = [import_module(f"finegold.kernels.cuda.{name}") for name in self.modules]
        for module in self.changed:
            module.compiled = self._compiled
        return self

    def _compiled(self, files: tuple[str, ...], name: str, **constants: Any) -> Any:
        kernel = compiled(files, name, **constants)

        def launch(*arguments: Any) -> None:
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            kernel(*arguments)
            end.record()
            self.events.append((name, start, end))

        return launch

    def __exit__(self, *error: object) -> None:
        for module in self.changed:
            module.compiled = compiled
        cp.cuda.Device().synchronize()
        self.seconds: dict[str, float] = {}
        for name, start, end in self.events:
            self.seconds[name] = self.seconds.get(name, 0.0) + cp.cuda.get_elapsed_time(start, end) / 1e3


def random_votes(n_tasks: int, n_annotators: int, n_classes: int, piece: int = 10_000_000) -> Votes:
    """Annotators at random, right in two of three cases; cells as Annotations have them."""
    rng = cp.random.default_rng(1)
    annotator = cp.empty(n_tasks * VOTES_PER_TASK, dtype=np.uint32)
    lengths, classes, counts = [], [], []
    for first in range(0, n_tasks, piece):
        n = min(piece, n_tasks - first)
        part = slice(first * VOTES_PER_TASK, (first + n) * VOTES_PER_TASK)
        annotator[part] = rng.integers(0, n_annotators, size=n * VOTES_PER_TASK, dtype=np.uint32)
        truth = rng.integers(0, n_classes, size=(n, 1), dtype=np.uint8)
        label = rng.integers(0, n_classes, size=(n, VOTES_PER_TASK), dtype=np.uint8)
        label = cp.where(rng.random((n, VOTES_PER_TASK), dtype=np.float32) < 0.6, truth, label)
        table = (label[:, :, None] == cp.arange(n_classes, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
        task, voted = cp.nonzero(table)
        lengths.append(table[task, voted])
        classes.append(voted.astype(np.uint8))
        counts.append((table > 0).sum(axis=1, dtype=np.uint8))
    task_ptr, cell_ptr = (_pointers(cp.concatenate(parts)) for parts in (counts, lengths))
    return Votes(task_ptr, cell_ptr, cp.concatenate(classes), annotator)


def on_host(votes: Votes, n_annotators: int, n_classes: int) -> Annotations:
    """The same as Annotations, with numbers for names."""
    task_ptr, cell_ptr, cell_class, annotator = (array.get() for array in votes)
    return Annotations(
        task_ptr=task_ptr.astype(np.int64),
        cell_ptr=cell_ptr.astype(np.int64),
        cell_class=cell_class,
        annotator=annotator.view(np.int32),
        gold=np.full(len(task_ptr) - 1, -1, np.int32),
        task_names=np.arange(len(task_ptr) - 1),
        annotator_names=np.arange(n_annotators),
        class_names=np.arange(n_classes),
        unlabelled=np.empty(0, np.int64),
    )


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
