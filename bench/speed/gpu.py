"""The GPU engine against the CPU's, and its speed. Run it on a machine with a GPU, CuPy and Numba:

PYTHONPATH=src python -m bench.speed.gpu [--data DIR] [--votes 8e8] [--fit 1e9] [--methods 8e7]
    [--timed ds] [--out FILE]

Every method on both is compared on simulated votes, and on the data sets of the paper (--data). --votes: sweeps of
PTBCC. --kernels: sweeps of the methods in --timed. --fit: whole fits of them, by parts. --methods: the same on both.

What it ran on is printed first and kept with the figures.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from bench.machine import describe
from finegold.engines.gpu import GPUEngine
from finegold.engines.local import LocalEngine
from finegold.fitting.solve import descend, fit
from finegold.kernels import Votes
from finegold.kernels.cuda import compiled
from finegold.kernels.cuda import ptbcc as kernels
from finegold.methods.lookup import method_class
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Names

METHODS: dict[str, list[dict[str, Any]]] = {
    "anchored": [{}],
    "mv": [{}],
    "ds": [{}],
    "ibcc": [{"inference": "ep"}, {}],
    "ptbcc": [{}],
    "hds": [{}, {"class_prior": "flat"}],
}
TIMED = {
    "anchored": 4,
    "ptbcc": 50,
    "ds": 50,
    "hds": 50,
    "ibcc": 50,
}  # most sweeps of a timed fit
PREPARING = (
    "slots_of",
    "count_votes",
    "sort_votes",
    "name_chunks",
    "start",
    "vote_shares",
    "index_votes",
)
CLASSES = 5
TOLERANCE = 1e-4  # as docs/guides/gpu.md promises
RANDOM_ACCESS = r"""
extern "C" __global__ void look_up_and_add(unsigned n, const unsigned *annotator, const float *odds,
                                           unsigned long long *totals) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(totals + annotator[i], (unsigned long long)(fabsf(odds[annotator[i]]) * 4294967296.0f));
}
"""


def compare(annotations: Annotations, truth: dict[int, int], **engine: Any) -> dict[str, Any]:
    """Every method on both engines: the biggest difference of a posterior, of labels and of accuracy."""
    found = {}
    for name, variants in METHODS.items():
        for settings in variants:
            method = method_class(name)(**settings)
            cpu, gpu = (
                fit(method, annotations),
                fit(method, annotations, engine=GPUEngine(**engine)),
            )
            of_both = {
                "accuracy": [accuracy(cpu, truth), accuracy(gpu, truth)],
                **differences(cpu, gpu),
            }
            found[" ".join([name, *settings.values()])] = of_both
    return found


def differences(cpu: Any, gpu: Any) -> dict[str, Any]:
    return {
        "difference": float(np.abs(cpu.posterior - gpu.posterior).max()),
        "labels": int((cpu.label_codes != gpu.label_codes).sum()),
        "iterations": [cpu.iterations, gpu.iterations],
    }


def accuracy(result: Any, truth: dict[int, int]) -> float:
    tasks, labels = result.task_names.tolist(), result.label.tolist()
    hits = [labels[at] == truth[task] for at, task in enumerate(tasks) if task in truth]
    return float(np.mean(hits)) if hits else float("nan")


def check_data(folder: Path | None) -> dict[str, Any]:
    """The data sets of the paper, if they are given, and votes with many classes, resident and in turns."""
    found = {}
    for place in sorted(folder.iterdir()) if folder else []:
        if (place / "label.csv").exists():
            annotations = Annotations.from_arrays(*np.array(_rows(place / "label.csv")).T)
            found[place.name] = compare(annotations, dict(_rows(place / "truth.csv")))
            _tell(place.name, found[place.name])
            if place.name in ("fact", "web"):
                found[f"{place.name}, in turns"] = compare(annotations, {}, memory=100_000)
                _tell(f"{place.name}, in turns", found[f"{place.name}, in turns"])
    for n_classes in (2, 10, 11, 40):
        for turns, engine in (("", {}), (", in turns", {"memory": 100_000})):
            name = f"{n_classes} classes{turns}"
            found[name] = compare(simulated(n_classes), {}, **engine)
            _tell(name, found[name])
    return found


def simulated(n_classes: int) -> Annotations:
    rng = np.random.default_rng(n_classes)
    truth, annotator = rng.integers(n_classes, size=3000), rng.integers(60, size=(3000, 7))
    right = rng.random((3000, 7)) < 0.4 + 0.5 * (annotator % 2)
    label = np.where(right, truth[:, None], rng.integers(n_classes, size=(3000, 7)))
    gold = dict(zip(range(0, 3000, 50), truth[::50].tolist(), strict=True))
    return Annotations.from_arrays(
        np.repeat(np.arange(3000), 7), annotator.ravel(), label.ravel(), gold=gold
    )


def _rows(path: Path) -> list[tuple[int, ...]]:
    with path.open() as file:
        return [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]


def _tell(name: str, found: dict[str, Any]) -> None:
    for method, f in found.items():
        cpu, gpu = f["accuracy"]
        print(
            f"{name:15} {method:8} posteriors within {f['difference']:.1e}, {f['labels']} labels differ, "
            f"accuracy {cpu:.6f} {gpu:.6f}, iterations {f['iterations']}",
            flush=True,
        )
    _tell_largest(found)


def _tell_largest(found: dict[str, Any]) -> None:
    worst = max(found, key=lambda method: found[method]["difference"])
    if found[worst]["difference"] > TOLERANCE or any(f["labels"] for f in found.values()):
        print(f"    LOOK: beyond {TOLERANCE:g}, or other labels; the worst is {worst}", flush=True)


def time_sweeps(n_votes: int, n_annotators: int, sweeps: int = 10) -> dict[str, Any]:
    """Seconds of device time per sweep on random votes, with the least time that the memory allows.

    Annotators come in no order, and a vote needs the odds of one and adds to one's sum: even a kernel that does nothing
    else takes `random_ps_per_vote`.
    """
    n_tasks = n_votes // VOTES_PER_TASK
    votes = random_votes(n_tasks, n_annotators, CLASSES)
    known = cp.full(n_tasks, -1, dtype=np.int32)
    phi = cp.full((n_tasks, CLASSES), 1 / CLASSES, dtype=np.float32)
    rng = np.random.default_rng(0)
    base, diff = rng.normal(size=(CLASSES, CLASSES)), rng.normal(size=(CLASSES, 1, CLASSES))
    log_odds = rng.normal(size=(n_annotators, 1))
    parameters = [
        cp.asarray(values, dtype=np.float32) for values in (np.zeros(CLASSES), log_odds, base, diff)
    ]
    kernels.launch(votes, known, parameters, phi)
    kernel = []
    for _ in range(sweeps):
        with Timer() as timer:
            kernels.launch(votes, known, parameters, phi)
        kernel.append(timer.seconds)
    look_up, random = cp.RawModule(code=RANDOM_ACCESS).get_function("look_up_and_add"), []
    totals = cp.zeros(n_annotators, dtype=np.uint64)
    for _ in range(sweeps):
        with Timer() as timer:
            look_up((1056,), (256,), (np.uint32(n_votes), votes.annotator, parameters[1], totals))
        random.append(timer.seconds)
    moved = sum(a.nbytes for a in (*votes, known)) + 2 * phi.nbytes
    seconds = float(np.median(kernel))
    return {
        "votes": n_votes,
        "tasks": n_tasks,
        "annotators": n_annotators,
        "cells": len(votes.cell_class),
        "seconds_per_sweep": seconds,
        "ps_per_vote": seconds / n_votes * 1e12,
        "random_ps_per_vote": float(np.median(random)) / n_votes * 1e12,
        "floor_ps_per_vote": moved / copy_bandwidth() / n_votes * 1e12,
        "bytes_per_sweep": moved,
    }


def time_kernels(
    n_votes: int, n_annotators: int, names: list[str], sweeps: int = 8
) -> dict[str, Any]:
    """Device time of the kernels of a sweep, in picoseconds per vote, and the time that passes with the host's part."""
    annotations = on_host(
        random_votes(n_votes // VOTES_PER_TASK, n_annotators, CLASSES), n_annotators, CLASSES
    )
    found: dict[str, Any] = {"votes": n_votes, "annotators": n_annotators}
    for name in names:
        engine, method, moments = GPUEngine(), method_class(name)(max_iterations=sweeps), []
        method.tolerance = 0.0
        engine.accept(method)
        engine.scatter(annotations)
        with Launches() as launches:
            descend(method, engine, on_step=lambda _, to=moments: to.append(time.perf_counter()))
        engine.close()
        n = len(moments)
        of_sweeps = {
            k: s / n / n_votes * 1e12 for k, s in launches.seconds.items() if k not in PREPARING
        }
        whole = float(np.median(np.diff(moments))) / n_votes * 1e12
        found[name] = {
            "sweeps": n,
            "ps_per_vote": sum(of_sweeps.values()),
            "with_host": whole,
            **of_sweeps,
        }
        found[name]["preparing"] = sum(s for k, s in launches.seconds.items() if k in PREPARING)
        print(name, json.dumps(found[name]), flush=True)
    return found


def time_fit(n_votes: int, n_annotators: int, names: list[str]) -> dict[str, Any]:
    """Seconds of a whole fit from votes on the host to a result there, by parts."""
    annotations = on_host(
        random_votes(n_votes // VOTES_PER_TASK, n_annotators, CLASSES), n_annotators, CLASSES
    )
    cp.get_default_memory_pool().free_all_blocks()
    found: dict[str, Any] = {"votes": n_votes, "annotators": n_annotators}
    for name in names:
        method = method_class(name)(max_iterations=TIMED[name])
        fit(
            method, simulated(CLASSES), engine=GPUEngine()
        )  # what is not yet compiled is compiled before
        seconds: dict[str, float] = {}
        engine = GPUEngine()
        for part in ("scatter", "sum", "gather", "records"):
            setattr(engine, part, _timed(getattr(engine, part), part, seconds))
        began = time.perf_counter()
        result = fit(method, annotations, engine=engine)
        whole = time.perf_counter() - began
        found[name] = {
            **seconds,
            "rest": whole - sum(seconds.values()),
            "whole": whole,
            "sweeps": result.iterations,
        }
        print(name, json.dumps(found[name]), flush=True)
        engine.close()
    return found


def _timed(function: Any, part: str, seconds: dict[str, float]) -> Any:
    def call(*arguments: Any, **keywords: Any) -> Any:
        began = time.perf_counter()
        returned = function(*arguments, **keywords)
        cp.cuda.Device().synchronize()
        seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - began
        return returned

    return call


def time_methods(n_votes: int, n_annotators: int, names: list[str]) -> dict[str, Any]:
    """Seconds of a whole fit from votes on the host to a result there, on the device and on all cores."""
    annotations = on_host(
        random_votes(n_votes // VOTES_PER_TASK, n_annotators, CLASSES), n_annotators, CLASSES
    )
    cp.get_default_memory_pool().free_all_blocks()
    found: dict[str, Any] = {"votes": n_votes, "annotators": n_annotators}
    few = simulated(CLASSES)
    for name in names:
        method = method_class(name)(max_iterations=TIMED[name])
        for engine in (GPUEngine(), LocalEngine()):
            fit(method, few, engine=engine)  # what is not yet compiled is compiled before
        gpu, cpu = (
            fit(method, annotations, engine=GPUEngine()),
            fit(method, annotations, engine=LocalEngine()),
        )
        found[name] = {
            "gpu_seconds": gpu.seconds,
            "cpu_seconds": cpu.seconds,
            **differences(cpu, gpu),
        }
        print(name, json.dumps(found[name]), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with the data sets of the paper")
    parser.add_argument("--votes", type=float, nargs="*", default=[1e8, 8e8])
    parser.add_argument(
        "--kernels", type=float, nargs="*", default=[8e7], help="sweeps of the methods in --timed"
    )
    parser.add_argument(
        "--fit",
        type=float,
        nargs="*",
        default=[1e9],
        help="fits of the methods in --timed, by parts",
    )
    parser.add_argument("--methods", type=float, nargs="*", default=[8e7])
    parser.add_argument("--timed", nargs="*", default=list(TIMED), choices=TIMED)
    parser.add_argument("--annotators", type=int, default=1_000_000)
    parser.add_argument("--only-times", action="store_true", help="do not compare with the CPU")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    figures: dict[str, Any] = {
        "device": name,
        "machine": describe(),
        "sweeps": [],
        "kernels": [],
        "fits": [],
        "methods": [],
    }
    print(f"{name}, CuPy {cp.__version__}, copy {copy_bandwidth() / 1e12:.2f} TB/s")
    if not options.only_times:
        figures["differences"] = check_data(options.data)
    parts = {
        "sweeps": time_sweeps,
        "kernels": partial(time_kernels, names=options.timed),
        "fits": partial(time_fit, names=options.timed),
        "methods": partial(time_methods, names=options.timed),
    }
    for part, sizes in zip(
        parts, (options.votes, options.kernels, options.fit, options.methods), strict=True
    ):
        for votes in sizes:
            figures.setdefault(part, []).append(parts[part](int(votes), options.annotators))
            print(json.dumps(figures[part][-1], indent=1), flush=True)
            cp.get_default_memory_pool().free_all_blocks()
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2))


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
            self.seconds[name] = (
                self.seconds.get(name, 0.0) + cp.cuda.get_elapsed_time(start, end) / 1e3
            )


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
        table = (label[:, :, None] == cp.arange(n_classes, dtype=np.uint8)).sum(
            axis=1, dtype=np.uint8
        )
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
        task_names=Names(np.arange(len(task_ptr) - 1)),
        annotator_names=Names(np.arange(n_annotators)),
        class_names=Names(np.arange(n_classes)),
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


if __name__ == "__main__":
    main()
