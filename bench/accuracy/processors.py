"""How far labels and posteriors depend on the kind of processor.

python -m bench.accuracy.processors --data ../shared/datasets [--only ms web] [--methods glad tiremge] [--keep NAME]

Each variant is a process of its own, in which Numba compiles for another processor, NumPy leaves out instructions that
this one has, or OpenBLAS uses the kernels of another one. All are compared with this machine as it is. A name that ends
in " paper" has the settings of the paper's tables. docs/evidence/processors.md has the table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.machine import keep
from finegold.methods.lookup import REGISTRY

VARIANTS = {
    "this machine": {},
    "Numba: generic": {"NUMBA_CPU_NAME": "generic"},
    "Numba: haswell": {"NUMBA_CPU_NAME": "haswell"},
    "Numba: skylake-avx512": {"NUMBA_CPU_NAME": "skylake-avx512"},
    "Numba: znver3": {"NUMBA_CPU_NAME": "znver3"},
    "NumPy: AVX2": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    "NumPy: SSE4": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    "OpenBLAS: Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}
PAPER = " paper"


def main() -> None:
    options = _options()
    if options.run is not None:
        fit_all(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, variables in VARIANTS.items():
            began = time.monotonic()
            command = [sys.executable, "-m", "bench.accuracy.processors", "--data", options.data]
            command += ["--run", Path(folder, name), *_again(options)]
            subprocess.run(list(map(str, command)), env={**os.environ, **variables}, check=True)
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        figures = [
            row
            for method in options.methods
            for row in compare(method, _sets(options), Path(folder))
        ]
    print(table(figures, options.methods))
    if options.keep:
        print(f"kept in {keep(options.keep, figures)}")


def fit_all(options: argparse.Namespace) -> None:
    """Keep the posteriors of all methods and sets, as this process computes them."""
    import finegold
    from finegold.api.fit import fit
    from finegold.methods.lookup import method_class
    from paper.printed import make_method

    options.run.mkdir()
    for name in _sets(options):
        votes = finegold.read(options.data / name / "label.csv")
        for method in options.methods:
            own = method.removesuffix(PAPER)
            made = make_method(own) if own != method else method_class(own)()
            np.save(options.run / f"{method}-{name}.npy", fit(made, votes, threads=1).posterior)


def compare(method: str, sets: list[str], folder: Path) -> list[dict[str, Any]]:
    """Return the largest differences of a method on each data set, over all variants."""
    rows = []
    for name in sets:
        here, *others = (np.load(folder / variant / f"{method}-{name}.npy") for variant in VARIANTS)
        away = [float(np.abs(other - here).max()) for other in others]
        labels = [_other_labels(here, other) for other in others]
        rows.append(
            {
                "method": method,
                "data": name,
                "tasks": len(here),
                "posterior": max(away),
                "labels": max(labels),
            }
        )
    return rows


def _other_labels(one: NDArray[np.float64], other: NDArray[np.float64]) -> int:
    """Count the tasks whose labels differ. Classes that are tied to 1e-9 do not count."""
    best = other.argmax(axis=1)
    rows = np.arange(len(one))
    return int((one[rows, best] < one.max(axis=1) * (1 - 1e-9)).sum())


def table(figures: list[dict[str, Any]], methods: list[str]) -> str:
    lines = [
        "| method | largest difference of a probability | other labels | most on one data set |",
        "|---|---|---|---|",
    ]
    for method in methods:
        rows = [row for row in figures if row["method"] == method]
        worst = max(rows, key=lambda row: row["labels"] / row["tasks"])
        labels, tasks = sum(row["labels"] for row in rows), sum(row["tasks"] for row in rows)
        most = f"{worst['labels']} of {worst['tasks']:,} ({worst['data']})" if labels else "none"
        away = max(row["posterior"] for row in rows)
        name = (
            f"`{method.removesuffix(PAPER)}`{', as in the paper' if method.endswith(PAPER) else ''}"
        )
        lines.append(f"| {name} | {away:.0e} | {labels / tasks:.3%} | {most} |")
    return "\n".join(lines)


def _sets(options: argparse.Namespace) -> list[str]:
    there = sorted(
        folder.name for folder in options.data.iterdir() if (folder / "label.csv").exists()
    )
    return [name for name in there if not options.only or name in options.only]


def _again(options: argparse.Namespace) -> list[str]:
    return ["--methods", *options.methods, *(["--only", *options.only] if options.only else [])]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the ten data sets")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="these data sets only"
    )
    parser.add_argument(
        "--methods", nargs="*", default=[*REGISTRY, "glad" + PAPER, "tiremge" + PAPER]
    )
    parser.add_argument(
        "--keep", metavar="NAME", help="keep the figures in bench/results/NAME.json"
    )
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
