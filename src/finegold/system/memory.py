"""Limits that the environment sets, the memory that is available, and words for numbers and
misspelt names.
"""

from __future__ import annotations

import difflib
import math
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from finegold.errors import InputError, Remedy

CGROUP = Path("/sys/fs/cgroup")
# bytes of address space: with less the libraries hang or end the process, and below the second
# number they get few threads, whose memory is reserved
LEAST_ADDRESSES, MANY_ADDRESSES = 2**31, 2**33


def limit(name: str, default: float) -> float:
    """Return the limit FINEGOLD_MAX_NAME of the environment, or its default."""
    text = os.environ.get(f"FINEGOLD_MAX_{name}", "")
    try:
        number = float(text or default)
    except ValueError:
        raise InputError(
            f"FINEGOLD_MAX_{name} is {text!r}; expected a number, such as 1e9"
        ) from None
    return int(number) if number.is_integer() else number


def remedy_of(name: str) -> str:
    """Return the end of a message about something that exceeds a limit."""
    return f"if you trust the file, raise the limit: FINEGOLD_MAX_{name}=N in the environment"


def available_memory() -> float:
    """Return the number of bytes that this process may still allocate, or infinity if it is
    unknown. FINEGOLD_MAX_MEMORY overrides it.
    """
    if (stated := limit("MEMORY", math.inf)) < math.inf:
        return stated
    limits = [math.inf]
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.append(
            1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        )
    # the control group (version 2), whose limit may be "max"
    with suppress(OSError, ValueError):
        most, used = (
            int((CGROUP / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
        limits.append(float(most - used))
    return min(limits)


def check_address_space() -> None:
    """Raise if the process may use too few addresses, before the libraries are loaded."""
    if sys.platform == "win32":
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= most < LEAST_ADDRESSES:
        has, needs = in_words(most), in_words(LEAST_ADDRESSES)
        problem = f"the address space is limited to {has} (ulimit -v), and {needs} are needed"
        raise InputError(problem, remedies=[Remedy(text="raise it; most of it is never used")])
    if 0 <= most < MANY_ADDRESSES:
        for name in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "2")


def in_words(n_bytes: float) -> str:
    """Return text such as "480 MB", "2.3 GB" or "12,000 GB"."""
    return (
        f"{n_bytes / 1e6:,.0f} MB"
        if n_bytes < 1e9
        else f"{n_bytes / 1e9:,.{1 if n_bytes < 1e11 else 0}f} GB"
    )


def count(number: int, noun: str, plural: str = "s") -> str:
    """Return text such as "1 task", "2 tasks" or "1,000 tasks"."""
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return text such as "; did you mean ptbcc?" for the end of a message, or nothing if no name
    is near.
    """
    near = difflib.get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
