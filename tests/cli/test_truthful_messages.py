"""Messages say what is true: times, names of what ran, files that exist, and extras that can be installed."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter

import numba
import pytest

import finegold
from finegold.fitting.solve import time_without_compiling
from finegold.kernels import compiling
from finegold.kernels.compiling import Watch
from tests.support.cli_helpers import succeed
from tests.support.readers_votes import write

ROOT = Path(__file__).parents[2]
EXTRA = re.compile(r"finegold\[\w+\]")


def test_seconds_of_compilation_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 15.0, 20.0, 21.0])
    monkeypatch.setattr("finegold.kernels.compiling.time.monotonic", lambda: next(times))
    watch = Watch()
    watch.start()
    watch.start()  # a function that the first one calls
    watch.end()
    watch.end()
    assert watch.spent == 5.0
    watch.start()
    watch.end()
    assert watch.spent == 6.0


def test_compilation_is_left_out_of_the_time() -> None:
    compiling.listen()

    @numba.njit
    def added(x: float) -> float:
        return x + 1.0

    began = perf_counter()
    with time_without_compiling() as seconds:
        added(1.0)
        took = seconds()
        assert took < perf_counter() - began - took  # nearly all of the time is compilation


def test_a_fit_reports_the_time_without_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "finegold.fitting.solve.time_without_compiling", lambda: nullcontext(lambda: 7.0)
    )
    votes = {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "x", "y"]}
    assert finegold.aggregate(votes, method="mv").seconds == 7.0


@pytest.mark.parametrize("folder", ["src", "docs", "README.md"])
def test_extras_are_named_one_way(folder: str) -> None:
    path = ROOT / folder
    files = (
        [path]
        if path.is_file()
        else [*path.rglob("*.py"), *path.rglob("*.md"), *path.rglob("*.html")]
    )
    wrong = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        for line in file.read_text("utf-8").splitlines()
        for found in EXTRA.finditer(line)
        if not line[: found.start()].endswith("pip install '")
        or not line[found.end() :].startswith("'")
    ]
    assert wrong == []


def test_the_report_names_no_file_that_it_did_not_write(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    rows = [
        f"t{task},w{worker},{(task * worker) % 3}" for task in range(600) for worker in range(3)
    ]
    rows += [f"t0,x{worker},1" for worker in range(600)]
    votes = write(tmp_path / "votes.csv", "task,worker,label\n" + "\n".join(rows) + "\n")
    page = tmp_path / "page.html"
    succeed("report", votes, "-o", page, "--method", "mv")
    text = page.read_text("utf-8")
    assert "the rest is in" in text  # the lists are cut
    assert not re.search(r"(the rest is in|confidence in) [\w.]+\.csv", text)
