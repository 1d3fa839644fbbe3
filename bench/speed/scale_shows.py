"""What Finegold promises about a hundred million votes, each as one measurement of scale.py.

The promises are about PTBCC. What the default costs beside it is measured with the first and the sixth.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from finegold.methods.registry import DEFAULT_METHOD

Figures = dict[str, Any]

FINEGOLD = [sys.executable, "-m", "finegold"]
METHODS = ("ptbcc", DEFAULT_METHOD)


def parquet_to_parquet(bench: Any) -> Figures:
    """1. 100 million votes: under 10 GiB, and the sweeps take more than half of the time."""
    votes = _sizes(bench, [1e8])[0]
    path = bench.simulate(
        f"big-{votes:g}", tasks=int(votes / 5), annotators=int(votes / 1000), classes=5
    )
    found = {method: _file_to_file(bench, path, method) for method in METHODS}
    for method, figures in found.items():
        _said(1, f"{votes:,.0f} votes, {method}: {_phases(figures)}", figures)
    return {**found["ptbcc"], "votes": votes, DEFAULT_METHOD: found[DEFAULT_METHOD]}


def _file_to_file(bench: Any, path: Path, method: str) -> Figures:
    labels = path.with_name("labels.parquet")
    found: Figures = bench.finegold(
        "aggregate", arguments=[str(path), "-o", str(labels), "--method", method]
    )
    if "failed" not in found:
        found["share_of_sweeps"] = found["phases"]["sweeps"] / found["seconds"]
    return found


def _phases(found: Figures) -> str:
    if "failed" in found:
        return str(found["failed"])
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found["phases"].items())
    share, peak = found["share_of_sweeps"], found["peak_gib"]
    return f"{found['seconds']:.1f} s ({phases}); sweeps {share:.0%}; {peak:.2f} GiB"


def names_from_csv(bench: Any) -> Figures:
    """2. 20 million votes with string ids from CSV: under 6 GiB."""
    votes = _sizes(bench, [2e7])[0]
    made = bench.simulate(
        f"big-{votes:g}", tasks=int(votes / 5), annotators=int(votes / 1000), classes=5
    )
    path = bench.csv(made, names=True)
    labels = str(path.with_name("labels.csv"))
    found = bench.finegold("aggregate", arguments=[str(path), "-o", labels, "--method", "ptbcc"])
    words = found.get("failed") or (
        f"{found['seconds']:.1f} s (read {found['phases']['read']:.1f} s), {found['peak_gib']:.2f} GiB"
    )
    return _said(2, f"{votes:,.0f} votes with names from CSV: {words}", {**found, "votes": votes})


def constant_time(bench: Any) -> Figures:
    """3. Time per vote and sweep within 1.3 times of constant; two threads at least 1.7 times one from 10 million."""
    found = []
    for votes in _sizes(bench, [1e6, 1e7, 1e8]):
        sweeps = 40 if votes < 5e7 else 12
        figures = bench.finegold(
            "sweeps",
            votes=votes,
            annotators=int(votes / 1000),
            classes=5,
            prototypes=2,
            threads=[1, 2],
            sweeps=sweeps,
        )
        found.append({"votes": votes, **figures})
        if "failed" in figures:
            return _said(3, f"{votes:,.0f} votes: {figures['failed']}", {"sizes": found})
        one, two = figures["ns_per_vote_and_sweep"].values()
        cpu = figures["cpu_ns_per_vote_and_sweep"]["1"]
        print(
            f"   {votes:>12,.0f} votes: {one:.2f} ns with one thread ({cpu:.2f} of the processor), "
            f"{two:.2f} ns with two ({one / two:.2f} times)",
            flush=True,
        )
    times = [f["ns_per_vote_and_sweep"]["1"] for f in found]
    return _said(3, f"slowest over fastest: {max(times) / min(times):.2f}", {"sizes": found})


def against_crowd_kit(bench: Any) -> Figures:
    """5. crowd-kit's MV and DS as far as they get, reading included; and from a data frame at 10 million votes."""
    found = []
    alive = ["MajorityVote", "DawidSkene"]
    for votes in _sizes(bench, [1e6, 1e7, 1e8]):
        made = bench.simulate(
            f"big-{votes:g}", tasks=int(votes / 5), annotators=int(votes / 1000), classes=5
        )
        path = str(bench.csv(made, names=False))
        finegold = bench.finegold("whole", path=path, threads=2)
        figures: Figures = {"votes": votes, "finegold": finegold}
        print(f"   {votes:>12,.0f} votes from CSV: finegold PTBCC {_time(finegold)}", flush=True)
        for method in list(alive):
            figures[method] = bench.rival(path=path, method=method)
            print(
                f"   {'':>12} crowd-kit {method} {_time(figures[method])}{_ratio(figures[method], finegold)}",
                flush=True,
            )
            if "failed" in figures[method]:
                alive.remove(method)
        if votes == 1e7:
            rival = figures["MajorityVote"]["fit_seconds"]
            own = figures["finegold_frame"] = bench.finegold("frame", path=path, threads=2)
            print(
                f"   {'':>12} from a data frame: finegold PTBCC {own['seconds']:.2f} s, {own['iterations']} sweeps; "
                f"MV {rival:.2f} s ({rival / own['seconds']:.2f} times)"
            )
        found.append(figures)
    return _said(5, "as above", {"sizes": found})


def killed_and_resumed(bench: Any) -> Figures:
    """6. SIGKILL leaves the old output or the new one; a resumed run equals an uninterrupted one."""
    votes = _sizes(bench, [2e6])[0]
    path = bench.simulate(
        f"big-{votes:g}", tasks=int(votes / 5), annotators=int(votes / 1000), classes=5
    )
    found: Figures = {}
    for method in METHODS:
        found[method] = _killed(
            _command(path, method), path.with_name("labels.parquet"), _command(path, "mv")
        )
        same, resumed = _resume(
            _command(path, method), path.with_name("labels.parquet"), **found[method].pop("run")
        )
        found[method] |= {"same": same, "resumed": resumed}
        _said(6, f"{method} after SIGKILL and Ctrl-C: {found[method]}", found[method])
    return found


def _command(path: Path, method: str) -> list[str]:
    return [
        *FINEGOLD,
        "aggregate",
        str(path),
        "-o",
        str(path.with_name("labels.parquet")),
        "--method",
        method,
    ]


def _killed(command: list[str], out: Path, other: list[str]) -> Figures:
    """How often the output was the old one, the new one or a part after a kill; and what a whole run made."""
    subprocess.run(other, check=True, capture_output=True)
    old = out.read_bytes()
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    new, seconds = out.read_bytes(), time.perf_counter() - began
    kept = {"old": 0, "new": 0, "part": 0}
    moments = random.Random(1)
    for _ in range(12):
        out.write_bytes(old)
        _interrupt(command, moments.uniform(0, 1.2 * seconds), signal.SIGKILL)
        content = out.read_bytes()
        kept["old" if content == old else "new" if content == new else "part"] += 1
    return {**kept, "run": {"new": new, "seconds": seconds}}


def _resume(command: list[str], out: Path, new: bytes, seconds: float) -> tuple[bool, int]:
    """Ctrl-C again and again, until the work is done. -> same output as at one go, and how often it went on"""
    checkpoint = out.with_name("checkpoint")
    checkpoint.unlink(missing_ok=True)
    out.unlink()
    tried = resumed = 0
    while not out.exists():
        patience = seconds * (0.3 + 0.1 * tried)
        _interrupt([*command, "--checkpoint", str(checkpoint), "--resume"], patience, signal.SIGINT)
        tried, resumed = tried + 1, resumed + checkpoint.exists()
    return out.read_bytes() == new, resumed


def _interrupt(command: list[str], after: float, number: signal.Signals) -> None:
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        child.wait(after)
    except subprocess.TimeoutExpired:
        child.send_signal(number)
        child.wait()


def _sizes(bench: Any, usual: list[float]) -> list[float]:
    return list(bench.options.votes or usual)


def _said(number: int, words: str, figures: Figures) -> Figures:
    print(f"{number}. {words}", flush=True)
    return figures


def _time(figures: Figures) -> str:
    return str(
        figures.get("failed") or f"{figures['seconds']:.1f} s, {figures['peak_gib']:.2f} GiB"
    )


def _ratio(rival: Figures, finegold: Figures) -> str:
    return (
        ""
        if "failed" in rival or "failed" in finegold
        else f" ({rival['seconds'] / finegold['seconds']:.1f} times)"
    )


SHOWS: dict[int, Callable[[Any], Figures]] = {
    1: parquet_to_parquet,
    2: names_from_csv,
    3: constant_time,
    5: against_crowd_kit,
    6: killed_and_resumed,
}
