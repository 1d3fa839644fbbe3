"""The cost of growth: time and memory against votes, tasks, annotators, classes and prototypes; and the promises.

python -m bench.speed.scale --show 1 2 3 5 6          what Finegold promises about a hundred million votes, measured
python -m bench.speed.scale --grow votes classes      time by phase and memory, with slopes (all, if none is named)
python -m bench.speed.scale --show 3 --votes 1e6 1e7  at other sizes

Every measurement has a process of its own, with a limit of time and of memory; what breaks them is shown as such.
Data are made in --work, by default a temporary folder that is removed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import keep
from bench.rivals.rivals import rival_python
from bench.speed.scale_shows import SHOWS

HERE = Path(__file__).resolve().parent
JOB = HERE / "scale_job.py"
BASE = {"votes": 1_000_000, "annotators": 1_000, "classes": 5, "prototypes": 2}
SWEEPS = 10
GROWTH: dict[str, list[float]] = {
    "votes": [1e5, 1e6, 1e7],
    "tasks": [1e4, 1e5, 1e6],  # with as many votes in all
    "annotators": [1e2, 1e3, 1e4, 1e5],
    "classes": [2, 5, 20, 100, 1000],
    "prototypes": [1, 2, 4, 8],
}


class Bench:
    """Where data are made, and how jobs are run."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work

    def finegold(self, job: str, **arguments: Any) -> dict[str, Any]:
        return self.run(sys.executable, job, arguments)

    def rival(self, **arguments: Any) -> dict[str, Any]:
        return self.run(str(rival_python()), "crowd-kit", arguments)

    def run(self, python: str, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        command = [python, str(JOB), job, json.dumps(arguments)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        guard = Guard(child, self.options.limit, self.options.memory)
        out, said = child.communicate()
        if guard.reason or child.returncode:
            return {"failed": guard.reason or _last_line(said), "peak_gib": guard.peak}
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found

    def simulate(self, name: str, **options: Any) -> Path:
        """Votes of `finegold simulate`, made once."""
        folder = self.work / name
        if not (folder / "votes.parquet").exists():
            words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
            command = [
                sys.executable,
                "-m",
                "finegold",
                "simulate",
                "--out",
                str(folder),
                "--format",
                "parquet",
                *words,
            ]
            subprocess.run(command, check=True, capture_output=True)
        return folder / "votes.parquet"

    def csv(self, votes: Path, *, names: bool) -> Path:
        """The same votes as CSV, with names in the place of numbers."""
        import polars as pl

        path = votes.with_name("names.csv" if names else "votes.csv")
        if not path.exists():
            scan = pl.scan_parquet(votes)
            for column in ("task", "annotator", "label") if names else ():
                scan = scan.with_columns(
                    pl.lit(f"{column}-").add(pl.col(column).cast(pl.String)).alias(column)
                )
            scan.sink_csv(path)
        return path


class Guard:
    """Ends a process that takes too long or too much."""

    def __init__(self, child: subprocess.Popen[str], seconds: float, gib: float) -> None:
        self.child, self.end, self.gib = child, time.monotonic() + seconds, gib
        self.peak, self.reason = 0.0, ""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self.child.poll() is None:
            self.peak = max(self.peak, _resident_gib(self.child.pid))
            if self.peak > self.gib:
                self.reason = f"more than {self.gib:g} GiB"
            elif time.monotonic() > self.end:
                self.reason = "took too long"
            if self.reason:
                self.child.kill()
                return
            time.sleep(0.2)


def grow(bench: Bench, names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Phases and memory of PTBCC from file to file, with a fixed number of sweeps, one size after another."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        sizes = bench.options.votes if name == "votes" and bench.options.votes else GROWTH[name]
        found[name] = [{"size": size, **_point(bench, name, size)} for size in sizes]
    if "votes" in found:
        for method in ("MajorityVote", "DawidSkene"):
            found[f"crowd-kit {method}"] = [
                _rival_point(bench, method, f["size"]) for f in found["votes"]
            ]
    return found


def _point(bench: Bench, name: str, size: float) -> dict[str, Any]:
    at = {**BASE, **({} if name == "tasks" else {name: int(size)})}
    tasks = int(size) if name == "tasks" else at["votes"] // 5
    votes = bench.simulate(
        f"grow-{name}-{size:g}",
        tasks=tasks,
        annotators=at["annotators"],
        classes=at["classes"],
        votes_per_task=at["votes"] / tasks,
    )
    few = bench.simulate(f"few-{at['classes']}", tasks=100, annotators=10, classes=at["classes"])
    settings = [f"n_prototypes={at['prototypes']}", f"max_iterations={SWEEPS}", "tolerance=0"]
    options = [word for setting in settings for word in ("--set", setting)]
    for path in (few, votes):  # what is not yet compiled is compiled on the few
        labels = str(path.with_name("labels.parquet"))
        found = bench.finegold(
            "aggregate", arguments=[str(path), "-o", labels, "--method", "ptbcc", *options]
        )
    print(f"{name:<12}{size:>12,.0f}  {found.get('failed') or _phases(found)}", flush=True)
    return found


def _rival_point(bench: Bench, method: str, size: float) -> dict[str, Any]:
    path = bench.csv(bench.work / f"grow-votes-{size:g}" / "votes.parquet", names=False)
    found = {"size": size, **bench.rival(path=str(path), method=method)}
    print(
        f"crowd-kit {method} {size:>12,.0f}  {found.get('failed') or found['seconds']}", flush=True
    )
    return found


def _phases(found: dict[str, Any]) -> str:
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found["phases"].items())
    return f"{found['seconds']:.2f} s ({parts}), {found['peak_gib']:.2f} GiB"


def _resident_gib(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 2**20


def _last_line(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1][:200] if lines else "died without a word"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="finegold-scale-") as temporary:
        bench = Bench(options, options.work or Path(temporary))
        bench.work.mkdir(parents=True, exist_ok=True)
        for number in options.show:
            figures = SHOWS[number](bench)
            print(f"kept in {keep(f'scale-{number}', figures)}\n", flush=True)
        if options.grow is not None:
            figures = grow(bench, options.grow or list(GROWTH))
            kept = keep("scale", figures)
            print(f"kept in {kept}; drawn in {draw(figures, kept.with_suffix('.png'))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", nargs="*", type=int, default=[], choices=sorted(SHOWS))
    parser.add_argument("--grow", nargs="*", choices=list(GROWTH))
    parser.add_argument(
        "--votes", nargs="*", type=float, help="sizes, in the place of the usual ones"
    )
    parser.add_argument(
        "--work", type=Path, help="a folder for data, which are kept there and used again"
    )
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one measurement")
    parser.add_argument("--memory", type=float, default=20.0, help="GiB for one measurement")
    return parser.parse_args()


PHASES = ("read", "sort", "sweeps", "write")


def draw(figures: dict[str, list[dict[str, Any]]], path: Path) -> Path:
    """Time by phase above, memory below; a column a thing that grows. Also as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name in figures if not name.startswith("crowd-kit")]
    picture, axes = pyplot.subplots(2, len(names), figsize=(4 * len(names), 7), squeeze=False)
    for column, name in enumerate(names):
        points = [point for point in figures[name] if "failed" not in point]
        for phase in PHASES:
            _line(axes[0][column], points, [point["phases"][phase] for point in points], phase)
        _line(axes[1][column], points, [point["peak_gib"] for point in points], "finegold")
        if name == "votes":
            _rivals(axes[:, column], figures)
        for row, what in enumerate(("seconds", "peak GiB")):
            axes[row][column].set(xscale="log", yscale="log", xlabel=name, ylabel=what)
            axes[row][column].legend(fontsize=7)
    picture.tight_layout()
    for kind in (".png", ".svg"):
        picture.savefig(path.with_suffix(kind), dpi=120)
    return path


def _rivals(axes: Any, figures: dict[str, list[dict[str, Any]]]) -> None:
    for name, all_points in figures.items():
        points = [point for point in all_points if "failed" not in point]
        if name.startswith("crowd-kit") and points:
            _line(axes[0], points, [point["seconds"] for point in points], name, style="--")
            _line(axes[1], points, [point["peak_gib"] for point in points], name, style="--")
            for point in all_points:
                if "failed" in point:
                    axes[0].axvline(point["size"], linestyle=":", color="grey", linewidth=1)
                    axes[0].annotate(
                        f"{name}: {point['failed']}", (point["size"], 1), fontsize=5, rotation=90
                    )


def _line(
    axes: Any, points: list[dict[str, Any]], values: list[float], name: str, style: str = "-"
) -> None:
    sizes = [point["size"] for point in points]
    positive = np.maximum(values, 1e-4)
    slope = np.polyfit(np.log(sizes), np.log(positive), 1)[0] if len(sizes) > 1 else float("nan")
    axes.plot(sizes, positive, style, marker="o", markersize=3, label=f"{name} (slope {slope:.2f})")


if __name__ == "__main__":
    main()
