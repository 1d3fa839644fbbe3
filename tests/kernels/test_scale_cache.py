"""Kernels are compiled once: the machine code survives processes, also where the package itself is read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import finegold

COUNT = """
import numpy as np
from finegold.kernels import sort_votes

sort_votes.count_many(np.zeros(3, np.int32), 1)
print(sort_votes.__file__)
print(sum(sort_votes.count_many.stats.cache_hits.values()), sum(sort_votes.count_many.stats.cache_misses.values()))
"""


def count(package: Path, home: Path, cwd: Path | None = None) -> tuple[str, list[int]]:
    """-> the file that was used, and how often the machine code was found and not found."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))
    }
    environment |= {"PYTHONPATH": str(package), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", COUNT],
        env=environment,
        cwd=cwd or home,
        capture_output=True,
        text=True,
        check=True,
    )
    file, numbers = ended.stdout.splitlines()
    return file, [int(number) for number in numbers.split()]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def installed(place: Path) -> Path:
    """A copy of the package, without any machine code."""
    shutil.copytree(
        Path(finegold.__file__).parent,
        place / "finegold",
        ignore=shutil.ignore_patterns("__pycache__", "*.nb[ci]"),
    )
    return place


def read_only(place: Path) -> Path:
    """The same where no folder can be made for machine code, not even by root, whom permissions do not stop."""
    (installed(place) / "finegold" / "kernels" / "__pycache__").write_text("a file")
    return place


def test_machine_code_survives_the_process(tmp_path: Path, home: Path) -> None:
    package = installed(tmp_path / "package")
    assert count(package, home)[1] == [0, 1]
    assert count(package, home)[1] == [1, 0]


def test_a_package_in_a_read_only_place_keeps_its_machine_code_elsewhere(
    tmp_path: Path, home: Path
) -> None:
    package = read_only(tmp_path / "package")
    file, numbers = count(package, home)
    assert file.startswith(str(package))
    assert numbers == [0, 1]
    assert count(package, home)[1] == [1, 0]
    assert list(home.rglob("*.nbi"))


def test_where_nothing_can_be_written_kernels_still_work(tmp_path: Path) -> None:
    package = read_only(tmp_path / "package")
    no_home = tmp_path / "home"
    no_home.write_text("a file")
    for _ in range(2):
        assert count(package, no_home, cwd=tmp_path)[1] == [0, 1]
