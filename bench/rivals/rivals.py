"""Finegold and its rivals on the same files in one run: accuracy, time and peak memory.

python -m bench.rivals.rivals --data ../shared/datasets [--only val5 ms] [--libraries finegold crowd-kit] [--limit 120]
    [--out bench/results]

The rivals live in bench/.venv-rivals, made here from bench/rivals/rivals.txt. Every fit has a process of its own,
one thread and a time limit; what crashes or takes too long is shown as such, with its message.
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

from bench.machine import BENCH, RESULTS, describe
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.system.files import write_bytes
from paper.data import DATA_SETS, present
from paper.page import Block, Heading, Table, write

ENVIRONMENT = BENCH / ".venv-rivals"
REQUIREMENTS = BENCH / "rivals" / "rivals.txt"
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "FINEGOLD_THREADS",
)

RIVALS = {
    "crowd-kit": [
        "MajorityVote",
        "Wawa",
        "ZeroBasedSkill",
        "DawidSkene",
        "OneCoinDawidSkene",
        "GLAD",
        "MACE",
        "MMSR",
    ],
    "peerannot": ["MajorityVoting", "IWMV", "DawidSkene", "WDS", "GLAD"],
    "cleanlab": ["majority", "CROWDLAB on vote shares"],
    "snorkel": ["LabelModel"],
}
METHODS = [
    DEFAULT_METHOD,
    "mv",
    "catd",
    "ds",
    "glad",
    "ibcc",
    "cbcc",
    "bwa",
    "tiremge",
    "ebcc",
    "fgbcc",
    "ptbcc",
]


def main() -> None:
    options = _options()
    python = rival_python()
    names = [name for name in present(options.data) if not options.only or name in options.only]
    figures: list[dict[str, Any]] = []
    for library, methods in {"finegold": METHODS, **RIVALS}.items():
        if options.libraries and library not in options.libraries:
            continue
        runner = Path(sys.executable) if library == "finegold" else python
        for method, name in itertools.product(methods, names):
            found = measure(runner, library, method, str(options.data / name), options.limit)
            figures.append({"library": library, "method": method, "data": name, **found})
            print(_line(figures[-1]), flush=True)
        kept = _keep(options, figures)  # after every library: an interruption loses one at most
    print(f"kept in {kept}; page: {write_page(kept, options.out)}")


def _keep(options: argparse.Namespace, figures: list[dict[str, Any]]) -> Path:
    today = describe()
    machine = {
        **today,
        "rivals": versions(),
        "limit_seconds": options.limit,
        "default_measured": today["date"][:10],
    }
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
    torch = next(
        line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("torch==")
    )
    for what in ([torch], ["-r", str(REQUIREMENTS)]):
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what],
            check=True,
        )
    done.write_text(REQUIREMENTS.read_text())
    return python


def measure(python: Path, library: str, method: str, folder: str, limit: float) -> dict[str, Any]:
    command = [str(python), str(BENCH / "rivals" / "rival.py"), library, method, folder]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=one_thread()
        )
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
    raised = [
        number for number, line in enumerate(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)
    ]
    return " ".join(lines[raised[-1] : raised[-1] + 3] if raised else lines[-1:])[:300]


def _line(f: dict[str, Any]) -> str:
    name = f"{f['library']:<10}{f['method']:<24}{f['data']:<7}"
    if "failed" in f:
        return f"{name}{f['failed']}"
    return f"{name}{f['accuracy']:.4f} {f['seconds']:9.4f} s {f['peak_mib']:7.0f} MiB"


def versions() -> dict[str, str]:
    lines = [
        line
        for line in REQUIREMENTS.read_text().splitlines()
        if "==" in line and not line.startswith("#")
    ]
    return dict(line.split("==") for line in lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    parser.add_argument("--only", nargs="*", help="data sets")
    parser.add_argument("--libraries", nargs="*", choices=["finegold", *RIVALS])
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


TITLE = "Finegold and other libraries on the same votes"


def write_page(kept: Path, out: Path) -> Path:
    """rivals.html and rivals.md."""
    found = json.loads(kept.read_text())
    names = sorted(
        {f["data"] for f in found["figures"]}, key=lambda name: DATA_SETS[name].counts[-1]
    )
    return write(out, "rivals", TITLE, _blocks(found, names), {})


def _blocks(found: dict[str, Any], names: list[str]) -> list[Block]:
    figures, machine = found["figures"], found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["rivals"].items())
    return [
        "What this means for you: among these libraries, Finegold's default (anchored) and ptbcc have the highest mean "
        "accuracy on four data sets of the PTBCC paper, and take less than a second. Four data sets say little "
        "about which method is best in general; the page on choosing compares them on 80. Finegold's other methods "
        "run with the paper's settings here, and with the recommended settings there, so their figures differ.",
        "Each fit ran in a process of its own, with one thread, on the same files. "
        "Seconds are from arrays in memory to labels, the better of two fits where the first was short: compiled "
        "code is loaded then. Memory is the peak of the whole process, libraries included.",
        f"Versions: {versions}. Settings are each library's defaults.",
        _table(figures, names),
        Heading("What failed"),
        _failures(figures) or ["nothing"],
        Heading("Notes"),
        [
            "cleanlab is made for votes beside a classifier. Without one, its consensus is a majority vote; "
            "CROWDLAB is given the shares of the votes instead of a classifier's predictions.",
            "Snorkel's LabelModel takes every annotator for a labelling function that mostly abstains.",
            f"The others were measured on {machine['date'][:10]}, Finegold's default on {machine['default_measured']}, "
            "on a machine with other work to do: its seconds, by the clock, are an upper bound.",
            "Some libraries return one label per task: ties are broken there, at random or by order.",
        ],
        f"Machine: {machine['cores']} cores of an {machine['processor']}, Python {machine['python']}; a fit may take "
        f"{machine['limit_seconds']:g} s.",
        "This page is made by bench/rivals/rivals.py.",
    ]


def _table(figures: list[dict[str, Any]], names: list[str]) -> Table:
    rows = []
    header = ["", *(DATA_SETS[name].title for name in names), "mean", "seconds", "MiB"]
    for library, method in _methods(figures):
        of_set = {f["data"]: f for f in figures if (f["library"], f["method"]) == (library, method)}
        cells = [of_set.get(name, {}).get("accuracy", "failed") for name in names]
        most = [
            max((f[what] for f in of_set.values() if what in f), default=None)
            for what in ("seconds", "peak_mib")
        ]
        costs = [
            "" if value is None else f"{value:.{digits}f}"
            for value, digits in zip(most, (3, 0), strict=True)
        ]
        values = [f"{library} {method}", *cells, _mean(cells), *costs]
        rows.append(dict(zip(header, values, strict=True)))
    caption = "Accuracy (ties share their credit); seconds of the longest fit and its largest memory in MiB"
    return Table("figures", caption, rows, digits=4)


def _mean(cells: list[Any]) -> Any:
    return sum(cells) / len(cells) if all(isinstance(cell, float) for cell in cells) else ""


def _methods(figures: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((f["library"], f["method"]) for f in figures))


def _failures(figures: list[dict[str, Any]]) -> list[str]:
    """Once per message, with the data sets that it befell."""
    befell: dict[tuple[str, str, str], list[str]] = {}
    for f in figures:
        if "failed" in f:
            said = f["failed"].split(": ")[0].rpartition(".")[2]
            befell.setdefault((f["library"], f["method"], said), []).append(f["data"])
    return [
        f"{library} {method} on {', '.join(names)}: {said}"
        for (library, method, said), names in befell.items()
    ]


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1]), Path(sys.argv[2])))


if __name__ == "__main__":
    main()
