"""Seconds and memory of `finegold aggregate` from file to file, as the files grow.

    python -m bench.speed.scale --votes 1e6 1e7 1e8
    python -m bench.speed.scale --votes 1e6 2e7 --format csv --names --methods anchored

The files are made once in --work. Every measurement is a process of its own, and its memory is the most that it held.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from bench.machine import keep
from finegold.methods.lookup import DEFAULT_METHOD

FINEGOLD = [sys.executable, "-m", "finegold"]
VOTES_PER_TASK = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--votes", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet")
    parser.add_argument("--names", action="store_true", help="names in the place of numbers")
    parser.add_argument("--methods", nargs="+", default=[DEFAULT_METHOD, "ptbcc"])
    parser.add_argument("--work", type=Path, help="where the files are made and stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        rows = []
        print("| votes | method | seconds | of the processor | GiB | MB of the file |")
        print("|---:|---|---:|---:|---:|---:|", flush=True)
        for votes in map(int, options.votes):
            path = make_file(work, votes, options.format, options.names)
            for method in options.methods:
                row = {"votes": votes, "method": method, **measure(path, method)}
                rows.append(row)
                figures = f"{row['seconds']:.2f} | {row['processor']:.2f} | {row['gib']:.2f}"
                size = path.stat().st_size / 1e6
                print(f"| {votes:,} | {method} | {figures} | {size:,.0f} |", flush=True)
    print("kept in", keep("scale", rows))


def make_file(work: Path, votes: int, file_format: str, names: bool) -> Path:
    """Draw votes with `finegold simulate`, a thousand by each annotator."""
    folder = work / f"{votes}"
    path = folder / "votes.parquet"
    if not path.exists():
        sizes = {"tasks": votes // VOTES_PER_TASK, "annotators": max(votes // 1000, 10)}
        words = [f"--{name}={value}" for name, value in sizes.items()]
        words += ["--classes=5", f"--votes-per-task={VOTES_PER_TASK}", "--format=parquet"]
        command = [*FINEGOLD, "simulate", "--out", str(folder), *words]
        subprocess.run(command, check=True, capture_output=True)
    if file_format == "parquet" and not names:
        return path
    wanted = path.with_name(f"{'names' if names else 'numbers'}.{file_format}")
    if not wanted.exists():
        scan = pl.scan_parquet(path)
        if names:
            columns = ("task", "annotator", "label")
            scan = scan.with_columns(
                pl.format(f"{name}-{{}}", name).alias(name) for name in columns
            )
        scan.sink_csv(wanted) if file_format == "csv" else scan.sink_parquet(wanted)
    return wanted


def measure(votes: Path, method: str) -> dict[str, float]:
    """Return seconds by the clock and of the processor, and the most memory of the process."""
    labels = votes.with_name(f"labels{votes.suffix}")
    command = [*FINEGOLD, "aggregate", str(votes), "-o", str(labels), "--method", method]
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": time.perf_counter() - began,
        "processor": used.ru_utime + used.ru_stime,
        "gib": used.ru_maxrss / 2**20,
    }


if __name__ == "__main__":
    main()
