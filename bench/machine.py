"""What a benchmark ran on, and how its figures are kept."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results"
SHARED = BENCH.parents[1] / "shared"  # real data, which are other people's
PACKAGES = ("finegold", "numpy", "scipy", "numba", "polars", "pandas", "crowd-kit")


def describe() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def keep(name: str, figures: Any) -> Path:
    """Write the figures, with the machine they come from, to bench/results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(
        json.dumps({"machine": describe(), "command": sys.argv, "figures": figures}, indent=2)
    )
    return path


def peak_memory() -> float:
    """The most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in info.read_text().splitlines()
        if line.startswith("model name")
    ]
    return names[0] if info.exists() and names else platform.processor()
