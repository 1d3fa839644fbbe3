"""A process that runs cases one after the other, within limits, and prints a line before and after each.

To look at one case alone: python -m tests.fuzz.worker SEED NUMBER
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random

from tests.fuzz import formats, make
from tests.fuzz.case import run_case
from tests.fuzz.run import STARTED

MEMORY = 2**30  # that a case may take beside what Finegold takes by itself
VIRTUAL_MEMORY = 4 * 2**30  # beyond this the process dies, so that the machine does not
GROWTH, LITTLE_GROWTH = (
    2**31,
    2**28,
)  # of the address space by what earlier cases loaded; little if memory is limited
CPU_SECONDS, WALL_SECONDS = 20, 120


def work(seed: int, numbers: range) -> None:
    """Run these cases; end after one that took too much memory, for it keeps what it has."""
    run_in_folder(formats.counted_table(Random(0)))  # loads what every command needs
    first = address_space()
    limit = int(os.environ.get("FUZZ_MEMORY", first + VIRTUAL_MEMORY))
    growth = LITTLE_GROWTH if "FUZZ_MEMORY" in os.environ else GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    most = peak() + MEMORY
    for number in numbers:
        case = make(seed, number)
        _say(number, case.name, 0, STARTED)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.alarm(WALL_SECONDS)
        code, broken = run_in_folder(case)
        if peak() > most:
            broken = f"it took {(peak() - most + MEMORY) / 2**20:,.0f} MiB"
        _say(number, case.name, code, broken)
        if (
            peak() > most or address_space() > first + growth
        ):  # the next case begins in a new process
            return


def run_in_folder(case: formats.Case) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run_case(case, Path(folder))
        finally:
            os.chdir("/")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def address_space() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmSize:")[2].split()[0]) * 1024


def _say(number: int, name: str, code: int, broken: str) -> None:
    print(json.dumps([number, name, code, broken]), flush=True)


def show(seed: int, number: int) -> None:
    """One case without limits: its files, what the command says, and what became of it."""
    case = make(seed, number)
    print(case.name, case.arguments, case.files)
    print(run_in_folder(case))


if __name__ == "__main__":
    given = [int(part) for part in sys.argv[1:]]
    if len(given) == 2:
        show(*given)
    else:
        work(given[0], range(*given[1:]))
