"""Run cases in worker processes with limits; a worker that dies is a failure, and another goes on after it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STARTED = "started"  # the line of a worker before it runs a case


class Outcome(NamedTuple):
    """What became of a case: its exit code, negative for a signal, and the rule that it broke, if any."""

    number: int
    name: str
    code: int
    broken: str


def run_cases(seed: int, cases: int, workers: int = 2) -> Iterator[Outcome]:
    """Every case once, in the order in which they end; each worker has every `workers`-th."""
    ended: SimpleQueue[Outcome | None] = SimpleQueue()

    def collect(first: int) -> None:
        try:
            for outcome in _share(seed, range(first, cases, workers)):
                ended.put(outcome)
        finally:
            ended.put(None)

    with ThreadPoolExecutor(workers) as pool:
        shares = [pool.submit(collect, first) for first in range(workers)]
        for _ in shares:
            yield from iter(ended.get, None)
        for share in shares:
            share.result()


def _share(seed: int, numbers: range) -> Iterator[Outcome]:
    while numbers:
        last = None
        for last in _worker(seed, numbers):
            if last.broken != STARTED:
                yield last
        if last is None:
            raise RuntimeError(
                "the worker process does not start: run python -m tests.fuzz.worker 1 0 1 1"
            )
        numbers = range(last.number + numbers.step, numbers.stop, numbers.step)


def _worker(seed: int, numbers: range) -> Iterator[Outcome]:
    """What a worker says of each case. If it dies, the last is the case that it died of."""
    parts = map(str, (seed, numbers.start, numbers.stop, numbers.step))
    environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker", *parts],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        last = None
        for line in process.stdout or ():
            last = Outcome(*json.loads(line))
            yield last
        if last is not None and last.broken == STARTED:
            yield last._replace(
                code=process.wait(), broken=f"the process ended by {_said(process.wait())}"
            )


def _said(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def main() -> int:
    """Run cases and print how many ended in which way. -> 1 if one broke a rule"""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=main.__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--memory", type=float, help="the address space of a worker in bytes, as by ulimit -v"
    )
    asked = parser.parse_args()
    if asked.memory:
        os.environ["FUZZ_MEMORY"] = str(int(asked.memory))
    codes: Counter[tuple[str, int]] = Counter()
    failed = 0
    for outcome in run_cases(asked.seed, asked.cases, asked.workers):
        codes[outcome.name.split()[0], outcome.code] += 1
        if outcome.broken:
            failed += 1
            print(f"case {outcome.number} ({outcome.name}): {outcome.broken}", flush=True)
    for (family, code), times in sorted(codes.items()):
        print(f"{family:10} exit {code:3}: {times:,}")
    print(f"seed {asked.seed}, {asked.cases:,} cases, {failed:,} broke a rule")
    return int(failed > 0)
