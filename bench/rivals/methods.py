"""Every method on the data sets: its time, its accuracy, and how it compares with rivals and with plain NumPy.

python -m bench.rivals.methods --data ../shared/datasets [--only val5 ms] [--methods ds glad] [--rivals] [--twins]
python -m bench.rivals.methods --page docs/evidence/costs.md

Seconds are those of the processor, which other work on the machine disturbs little.

--rivals runs crowd-kit (at the version of rivals.txt, in the environment that rivals.py makes) on the same votes
with the same number of iterations; --twins runs the slow NumPy versions of tests/reference.
"""

from __future__ import annotations

import os

# Before NumPy is loaded: one thread each, for the plain versions too.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import BENCH, describe, keep
from finegold.api.fit import fit
from finegold.methods.lookup import REGISTRY, method_class
from finegold.votes.annotations import Annotations

RIVAL_PYTHON = BENCH / ".venv-rivals" / "bin" / "python"
# crowd-kit's class, and the iterations that both run.
RIVALS = {"mv": ("MajorityVote", None), "ds": ("DawidSkene", 20), "glad": ("GLAD", 3)}
LONG = 2.0  # seconds; of shorter fits the fastest of three counts
CONFUSION_MATRICES = ("ds", "ibcc", "cbcc", "ebcc", "fgbcc")

RIVAL_CODE = """
import json, sys, time
import pandas as pd
import crowdkit.aggregation as rivals
name, iterations, path = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
votes = pd.read_csv(path).set_axis(["task", "worker", "label"], axis=1)
# A tolerance of -1e300 is never met: crowd-kit's bound may fall, and it would stop before its n_iter.
settings = {} if iterations is None else {"n_iter": iterations, "tol": -1e300}
made = getattr(rivals, name)(**settings, **({"silent": True} if name == "GLAD" else {}))
start = time.perf_counter()
made.fit(votes)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "iterations": len(getattr(made, "loss_history_", [0]))}))
"""


def main() -> None:
    options = _options()
    figures: dict[str, Any] = {}
    for folder in _folders(options):
        data = Data(folder)
        figures[folder.name] = {name: measure(name, data, options) for name in options.methods}
        _print(folder.name, data, figures[folder.name])
    _shares(figures)
    print(f"kept in {keep('methods', figures)}")
    if options.page:
        options.page.write_text(page(figures))


class Data:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "label.csv"
        self.votes = np.loadtxt(self.path, delimiter=",", skiprows=1, dtype=np.int64)
        self.truth = np.loadtxt(folder / "truth.csv", delimiter=",", skiprows=1, dtype=np.int64)
        self.annotations = Annotations.from_arrays(*self.votes.T)

    def accuracy(self, posterior: np.ndarray[Any, Any]) -> float:
        best = posterior == posterior.max(axis=1, keepdims=True)
        return float(
            (best / best.sum(axis=1, keepdims=True))[self.truth[:, 0], self.truth[:, 1]].mean()
        )


def measure(name: str, data: Data, options: argparse.Namespace) -> dict[str, Any]:
    fit(method_class(name)(max_iterations=1), data.annotations, threads=1)  # compile
    found = _timed(name, data)
    if found["seconds"] < LONG:
        found = min(
            found, _timed(name, data), _timed(name, data), key=lambda one: float(one["seconds"])
        )
    if options.rivals and name in RIVALS:
        found["crowd-kit"] = against_rival(name, data)
    if options.twins:
        found["twin"] = against_twin(name, data)
    return found


def _timed(name: str, data: Data) -> dict[str, Any]:
    began = time.process_time()
    result = fit(method_class(name)(), data.annotations, threads=1)
    seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "iterations": len(result.steps),
        "accuracy": data.accuracy(result.posterior),
    }


def against_rival(name: str, data: Data) -> dict[str, Any]:
    rival, iterations = RIVALS[name]
    ours = _best(lambda: fit(_fixed(name, iterations), data.annotations, threads=1))
    command = [str(RIVAL_PYTHON), "-c", RIVAL_CODE, rival, json.dumps(iterations), str(data.path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        theirs = found["seconds"]
    except (subprocess.SubprocessError, OSError, ValueError, IndexError) as error:
        message = getattr(error, "stderr", None) or str(error)
        return {"failed": str(message).strip().splitlines()[-1][:200]}
    return {
        "iterations": found["iterations"],
        "seconds": theirs,
        "finegold_seconds": ours,
        "ratio": theirs / ours,
    }


def against_twin(name: str, data: Data) -> dict[str, Any] | None:
    """The plain NumPy version of the same equations."""
    from twins import TWINS, seconds_of

    if name not in TWINS:
        return None
    theirs, iterations = seconds_of(name, tuple(data.votes.T), data.annotations.n_classes)
    ours = _best(lambda: fit(_fixed(name, iterations), data.annotations, threads=1))
    return {
        "iterations": iterations,
        "seconds": theirs,
        "finegold_seconds": ours,
        "ratio": theirs / ours,
    }


def _fixed(name: str, iterations: int | None) -> Any:
    """A method that runs exactly so many iterations, from one start."""
    made = method_class(name)
    settings: dict[str, Any] = (
        {} if iterations is None else {"max_iterations": iterations, "tolerance": 0.0}
    )
    if name in ("glad", "fgbcc"):
        settings["max_iterations"] = iterations
    if "n_restarts" in made().settings:
        settings["n_restarts"] = 1
    return made(**settings)


def _best(run: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _print(name: str, data: Data, figures: dict[str, dict[str, Any]]) -> None:
    print(f"\n{name}: {data.annotations.n_votes:,} votes")
    for method, found in figures.items():
        line = f"  {method:8} {found['seconds']:9.3f} s {found['iterations']:5} it. accuracy {found['accuracy']:.4f}"
        for rival in ("crowd-kit", "twin"):
            against = found.get(rival)
            if against:
                line += f"   {rival}: " + (
                    against.get("failed") or f"{against['ratio']:.1f}x slower"
                )
        print(line, flush=True)


def _shares(figures: dict[str, dict[str, Any]]) -> None:
    """The paper's claim on cost: PTBCC's share of the time of each method with confusion matrices."""
    print("\nPTBCC's time in % of that of")
    others = [
        name for name in CONFUSION_MATRICES if all(name in found for found in figures.values())
    ]
    print(f"  {'':8}" + "".join(f"{name:>8}" for name in others))
    for data, found in figures.items():
        if "ptbcc" in found:
            print(f"  {data:8}" + "".join(f"{share:8.1f}" for share in _share(found, others)))


def page(figures: dict[str, dict[str, Any]]) -> str:
    """docs/evidence/costs.md, its first table: seconds of every method on every data set."""
    methods, machine = list(next(iter(figures.values()))), describe()
    lines = [
        "# What the methods cost",
        "",
        "**What this means for you.** Except for `ebcc`, `tiremge`, `fgbcc` and, on many votes, `glad`, every method",
        "takes a fraction of a second on these data sets, so accuracy decides ([choosing](choosing.md)). For millions",
        "of votes, use the default, `ptbcc`, `ds` or `mv`.",
        "",
        "Seconds of processor time of a whole fit with the default settings,",
        f" one thread, compiled before, on {machine['processor']} ({machine['date'][:10]}).",
        "",
        *_table(
            ["data set", *methods],
            _rows(figures, lambda found: [f"{found[m]['seconds']:.3f}" for m in methods]),
        ),
        "",
        "This page is made by `python -m bench.rivals.methods --page docs/evidence/costs.md`.",
    ]
    return "\n".join(lines) + "\n"


def _rows(
    figures: dict[str, dict[str, Any]], of: Callable[[dict[str, Any]], list[str]]
) -> list[list[str]]:
    return [[data, *of(found)] for data, found in figures.items()]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        "|---|" + "---:|" * (len(head) - 1),
        *(f"| {' | '.join(r)} |" for r in rows),
    ]


def _share(found: dict[str, dict[str, Any]], others: list[str]) -> list[float]:
    return [100 * found["ptbcc"]["seconds"] / found[name]["seconds"] for name in others]


def _folders(options: argparse.Namespace) -> list[Path]:
    found = [folder for folder in sorted(options.data.iterdir()) if (folder / "label.csv").exists()]
    return [folder for folder in found if not options.only or folder.name in options.only]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(REGISTRY))
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--twins", action="store_true")
    parser.add_argument("--page", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
