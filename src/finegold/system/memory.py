"""The memory that is available for arrays, the folder of caches, and the nearest name to a misspelt
one.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from finegold.errors import InputError, OutputError
from finegold.system.files import write_bytes

CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Return the number of bytes that this process may still allocate, or infinity if it is
    unknown.
    """
    # The environment variable FINEGOLD_MAX_MEMORY overrides the measured value.
    if (text := os.environ.get("FINEGOLD_MAX_MEMORY")) is not None:
        try:
            return float(text)
        except ValueError:
            raise InputError(
                f"FINEGOLD_MAX_MEMORY is {text!r}; expected a number of bytes, such as 16e9"
            ) from None
    limits = [float("inf")]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.append(
            1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        )
    except (OSError, StopIteration, ValueError):
        with suppress(AttributeError, OSError, ValueError):
            limits.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    # the control group (version 2), whose limit may be "max"
    with suppress(OSError, ValueError):
        limit, used = (
            int((CGROUP / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
        limits.append(float(limit - used))
    if sys.platform != "win32":
        import resource

        used = 0
        with suppress(OSError, ValueError):
            used = (
                int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
                * resource.getpagesize()
            )
        # of `ulimit -v`
        if (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
            limits.append(float(limit - used))
    return min(limits)


def in_words(n_bytes: float) -> str:
    """Return text such as "480 MB", "2.3 GB" or "12,000 GB"."""
    return (
        f"{n_bytes / 1e6:,.0f} MB"
        if n_bytes < 1e9
        else f"{n_bytes / 1e9:,.{1 if n_bytes < 1e11 else 0}f} GB"
    )


def system_cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "finegold" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "finegold"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "finegold"


def cached_text(name: str, make: Callable[[], str]) -> str:
    """Return the text of this name from the cache folder. If it is missing or damaged, make it and
    store it.
    """
    path = system_cache_folder() / name
    with suppress(OSError, ValueError):
        digest, _, stored = path.read_bytes().partition(b"\n")
        if hashlib.sha256(stored).hexdigest().encode() == digest:
            return stored.decode()
    text = make()
    # without a writable folder, each process makes it
    with suppress(OSError, OutputError):
        data = text.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
    return text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return text such as "; did you mean ptbcc?" for the end of a message, or nothing if no name
    is near.
    """
    near = difflib.get_close_matches(name.lower(), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
