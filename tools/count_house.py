"""Count the house: python tools/count_house.py [--names]

Prints files, lines and functions of each folder of src/finegold and tests, then the functions and files that
`finegold aggregate votes.csv` and `finegold.aggregate(frame)` enter; with --names, which.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS = [
    (f"t{task}", f"a{annotator}", "ab"[task * annotator % 2])
    for task in range(30)
    for annotator in range(4)
]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sizes(root: Path) -> dict[str, Counter[str]]:
    """Return files, lines and functions by folder, and those of files at the top under their names."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for path in root.rglob("*.py"):
        text = path.read_text("utf-8")
        functions = sum(isinstance(node, FUNCTIONS) for node in ast.walk(ast.parse(text)))
        counted = {"files": 1, "lines": text.count("\n"), "functions": functions}
        for folder in (path.relative_to(root).parts[0], "all"):
            folders[folder].update(counted)
    return folders


def entered(work: Callable[[], Any]) -> dict[str, set[str]]:
    """Return the named functions of Finegold that some work enters, by file."""
    package, names = str(ROOT / "src" / "finegold"), defaultdict(set)

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = (
            code.co_flags & inspect.CO_OPTIMIZED and "<" not in code.co_name
        )  # no class, module or lambda
        if event == "call" and is_function and code.co_filename.startswith(package):
            names[code.co_filename[len(package) + 1 :]].add(code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    with contextlib.suppress(SystemExit):
        work()
    sys.setprofile(None)
    threading.setprofile(None)
    return names


def crossing(what: str) -> dict[str, set[str]]:
    if what == "frame":
        import polars as pl

        import finegold

        frame = pl.DataFrame(ROWS, ["task", "annotator", "label"], orient="row")
        return entered(lambda: finegold.aggregate(frame))
    from finegold.cli import main

    with tempfile.TemporaryDirectory() as folder:
        votes = Path(folder) / "votes.csv"
        votes.write_text("\n".join(["task,annotator,label", *map(",".join, ROWS)]) + "\n")
        sys.argv = ["finegold", "aggregate", str(votes), "-o", f"{folder}/labels.csv"]
        return entered(main)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crossing"]:  # in a process of its own, where nothing has been imported
        shows_names = "--names" in sys.argv
        files = crossing(sys.argv[2])
        print(f"{sum(map(len, files.values()))} functions in {len(files)} files")
        for file, names in sorted(files.items()) if shows_names else ():
            print(f"  {file}: {' '.join(sorted(names))}")
        sys.exit()
    for root in ("src/finegold", "tests"):
        print(f"{root:<16}{'files':>9}{'lines':>9}{'functions':>11}")
        for folder, count in sorted(sizes(ROOT / root).items(), key=lambda item: -item[1]["lines"]):
            print(
                f"  {folder:<14}{count['files']:>9,}{count['lines']:>9,}{count['functions']:>11,}"
            )
    for what, words in {
        "csv": "finegold aggregate votes.csv",
        "frame": "finegold.aggregate(frame)",
    }.items():
        command = [sys.executable, __file__, "--crossing", what, *sys.argv[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"{words} enters {done.stdout.rstrip()}")
