"""Finegold and its rivals on the same files in one run: accuracy, time and peak memory.

python bench/rivals.py --data ../shared/datasets [--only val5 ms] [--libraries finegold crowd-kit] [--limit 120]
    [--out bench/results]

With --predictions, Finegold and CROWDLAB get votes and the probabilities of a classifier (bench/predictions.py).

The rivals live in bench/.venv-rivals, made here from bench/rivals.txt. Every fit has a process of its own, one thread
and a time limit; what crashes or takes too long is shown as such, with its message.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from finegold.methods.registry import DEFAULT_METHOD
from finegold.paper.datasets import data_sets, find
from finegold.system.files import write_bytes
from machine import describe
from rivals_page import write_page

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv-rivals"
REQUIREMENTS = HERE / "rivals.txt"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "FINEGOLD_THREADS")

RIVALS = {
    "crowd-kit": ["MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "MMSR"],
    "peerannot": ["MajorityVoting", "IWMV", "DawidSkene", "WDS", "GLAD"],
    "cleanlab": ["majority", "CROWDLAB on vote shares"],
    "snorkel": ["LabelModel"],
}
METHODS = [DEFAULT_METHOD, "mv", "catd", "ds", "glad", "ibcc", "cbcc", "bwa", "tiremge", "ebcc", "fgbcc", "ptbcc"]


def main() -> None:
    options = _options()
    if options.predictions:
        subprocess.run([sys.executable, HERE / "predictions.py", "--out", options.out], check=True)
        return
    python = rival_python()
    names = [name for name in data_sets() if find(name, options.data) and (not options.only or name in options.only)]
    figures: list[dict[str, Any]] = []
    for library, methods in {"finegold": METHODS, **RIVALS}.items():
        if options.libraries and library not in options.libraries:
            continue
        runner = Path(sys.executable) if library == "finegold" else python
        for method, name in itertools.product(methods, names):
            found = measure(runner, library, method, str(find(name, options.data)), options.limit)
            figures.append({"library": library, "method": method, "data": name, **found})
            print(_line(figures[-1]), flush=True)
        kept = _keep(options, figures)  # after every library: an interruption loses one at most
    print(f"kept in {kept}; page: {write_page(kept, options.out)}")


def _keep(options: argparse.Namespace, figures: list[dict[str, Any]]) -> Path:
    machine = {**describe(), "rivals": versions(), "limit_seconds": options.limit}
    options.out.mkdir(parents=True, exist_ok=True)
    kept: Path = options.out / "rivals.json"
    write_bytes(kept, json.dumps({"machine": machine, "figures": figures}, indent=1).encode())
    return kept


def rival_python() -> Path:
    """The rivals' own environment, made if need be; torch first, so that its pinned version is what others find."""
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = ENVIRONMENT / ".ready"
    if done.exists() and done.read_text() == REQUIREMENTS.read_text():
        return python
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    torch = next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("torch=="))
    for what in ([torch], ["-r", str(REQUIREMENTS)]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what], check=True)
    done.write_text(REQUIREMENTS.read_text())
    return python


def measure(python: Path, library: str, method: str, folder: str, limit: float) -> dict[str, Any]:
    command = [str(python), str(HERE / "rival.py"), library, method, folder]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=one_thread())
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {limit:g} s"}
    if ended.returncode:
        return {"failed": _message(ended.stderr) or f"exit code {ended.returncode}"}
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def one_thread() -> dict[str, str]:
    """The environment of a process whose libraries use one thread."""
    return {**os.environ, **dict.fromkeys(THREADS, "1")}


def _message(text: str) -> str:
    """The exception and what follows it, without the way to it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [number for number, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return " ".join(lines[raised[-1] : raised[-1] + 3] if raised else lines[-1:])[:300]


def _line(f: dict[str, Any]) -> str:
    name = f"{f['library']:<10}{f['method']:<24}{f['data']:<7}"
    if "failed" in f:
        return f"{name}{f['failed']}"
    return f"{name}{f['accuracy']:.4f} {f['seconds']:9.4f} s {f['peak_mib']:7.0f} MiB"


def versions() -> dict[str, str]:
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if "==" in line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--only", nargs="*", help="data sets")
    parser.add_argument("--libraries", nargs="*", choices=["finegold", *RIVALS])
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--predictions", action="store_true", help="run bench/predictions.py instead: CROWDLAB")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
