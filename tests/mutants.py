"""Small changes to the code, each with the test that fails because of it.

    python -m tests.mutants            apply each change to a copy of the code and run its test
    python -m tests.mutants anchored   only those whose file or test has this word

A test that passes with its change sees nothing: the run then ends with 1. Tests register their changes by `kills`, or
are named in OTHERS. `tests/project/test_survivors.py` checks that the code still has every line that is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[1]
T = TypeVar("T", bound=Callable[..., object])


class Mutant(NamedTuple):
    """A change of one line, and the test that sees it."""

    file: str  # in src/finegold
    line: str
    changed: str
    test: str


FAULTS, JUDGING = "tests/system/test_faults.py", "tests/studio/test_judging.py"
MOVES = f"{FAULTS}::test_a_list_of_moves_that_is_not_whole_or_not_ours_moves_nothing"
OTHERS = [
    Mutant("system/files.py", "temporary.parent == final.parent and ", "", MOVES),
    Mutant("system/files.py", "all(_is_temporary_of(*move) for move in moves) and ", "", MOVES),
    Mutant("system/files.py", "if all(_read_list(one) == (moves, lists) for one in lists):", "if True:", MOVES),
    Mutant("studio/tables.py", '"probabilities": [], ', "",
           f"{JUDGING}::test_tasks_to_judge_blindly_come_without_votes_and_labels"),
]  # fmt: skip
MUTANTS = list(OTHERS)


def kills(file: str, line: str, changed: str) -> Callable[[T], T]:
    """Register a change that the decorated test sees."""

    def register(test: T) -> T:
        module = test.__module__.replace(".", "/")
        MUTANTS.append(Mutant(file, line, changed, f"{module}.py::{test.__name__}"))
        return test

    return register


def main(words: list[str]) -> int:
    import tests.project.test_survivors
    import tests.project.test_survivors_evidence  # noqa: F401  (they register)

    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        for mutant in MUTANTS:
            if words and not any(word in mutant.file + mutant.test for word in words):
                continue
            path = source / "finegold" / mutant.file
            text = path.read_text()
            path.write_text(text.replace(mutant.line, mutant.changed))
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutant.test],
                cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, check=False,
            )  # fmt: skip
            path.write_text(text)
            survived += done.returncode != 1
            said = {0: "SURVIVED", 1: "seen"}.get(done.returncode, f"pytest ended with {done.returncode}")
            print(f"{said:9} {mutant.file}: {mutant.line.strip()} -> {mutant.changed.strip() or 'nothing'}", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    from tests.mutants import main as run  # the module that the tests register with, not __main__

    raise SystemExit(run(sys.argv[1:]))
