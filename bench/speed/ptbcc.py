"""PTBCC against the plain NumPy reference: same data, same iterations, same run, one thread each.

python -m bench.speed.ptbcc --data ../shared/datasets [--only fact adult]
"""

from __future__ import annotations

import os

# Before NumPy is loaded: the reference must not use more threads than Finegold does.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bench.machine import keep, peak_memory
from finegold.api.fit import fit
from finegold.methods.ptbcc import PTBCC
from finegold.votes.annotations import Annotations


def main() -> None:
    options = _options()
    reference = _load(options.reference)
    figures = []
    print("          votes  it.    reference        finegold   ratio  compile  accuracy  bits")
    for folder in sorted(options.data.iterdir()):
        if (folder / "label.csv").exists() and (not options.only or folder.name in options.only):
            figures.append(compare(folder, reference, options.repeats))
            print(_row(figures[-1]), flush=True)
    print(
        f"peak memory {peak_memory():.0f} MiB; times are per iteration; kept in {keep('ptbcc', figures)}"
    )


def compare(folder: Path, reference: ModuleType, repeats: int) -> dict[str, Any]:
    votes, truth = reference.load(folder)
    annotations = Annotations.from_arrays(*votes.T)
    method = PTBCC()
    cold = _seconds(lambda: fit(method, annotations, threads=1))
    result = fit(method, annotations, threads=1)
    n = result.iterations
    # The difference of two fits is the time of the iterations alone, without the start and the summary.
    finegold = _per_iteration(lambda k: fit(_fixed(k), annotations, threads=1), n, repeats)
    slow = _per_iteration(
        lambda k: reference.fit(votes, tolerance=0.0, max_iterations=k), n, max(repeats // 3, 1)
    )
    warm = _best(lambda: fit(method, annotations, threads=1), repeats)
    return {
        "data": folder.name,
        "votes": annotations.n_votes,
        "iterations": n,
        "reference_seconds_per_iteration": slow,
        "finegold_seconds_per_iteration": finegold,
        "ratio": slow / finegold,
        "finegold_ns_per_vote": finegold / annotations.n_votes * 1e9,
        "finegold_seconds_of_a_fit": warm,
        "compile_seconds": max(cold - warm, 0.0),
        "accuracy": float(reference.accuracy(result.posterior, truth)),
        "same_bits_with_1_2_4_threads": _same_bits(annotations),
    }


def _per_iteration(run: Callable[[int], object], iterations: int, repeats: int) -> float:
    whole = _best(lambda: run(iterations), repeats)
    first = _best(lambda: run(1), repeats)
    return (whole - first) / (iterations - 1)


def _fixed(iterations: int) -> PTBCC:
    return PTBCC(tolerance=0.0, max_iterations=iterations)


def _same_bits(annotations: Annotations) -> bool:
    one, *others = (fit(PTBCC(), annotations, threads=threads).posterior for threads in (1, 2, 4))
    return all(np.array_equal(one, other) for other in others)


def _best(run: Callable[[], object], repeats: int) -> float:
    return min(_seconds(run) for _ in range(repeats))


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _row(f: dict[str, Any]) -> str:
    return (
        f"{f['data']:6} {f['votes']:8,} {f['iterations']:4} {f['reference_seconds_per_iteration'] * 1e3:9.3f} ms "
        f"{f['finegold_seconds_per_iteration'] * 1e3:9.3f} ms {f['ratio']:6.1f}x {f['compile_seconds']:6.1f} s "
        f"{f['accuracy']:9.6f}  {'same' if f['same_bits_with_1_2_4_threads'] else 'DIFFER'}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument(
        "--reference", type=Path, default=Path("../shared/reference/ptbcc_reference.py")
    )
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--repeats", type=int, default=9)
    return parser.parse_args()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ptbcc_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
