"""Kernels are compiled once and kept; whoever waits is told so once; damage costs time only."""

from __future__ import annotations

import errno
import importlib.util
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import caching

from finegold.errors import FinegoldWarning
from finegold.kernels import compiling
from finegold.kernels.compiling import COMPILING

SCRIPT = """
import finegold
votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), list("xyxx"))
finegold.aggregate(votes, "mv")
finegold.aggregate(votes, "ds")
"""


def test_a_script_is_told_once_when_it_compiles_and_not_again(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    )
    assert first.stderr == f"finegold: {COMPILING}\n"
    assert second.stderr == ""


def test_the_log_says_it_once_and_is_silent_where_a_display_is_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    compiling._log_once.cache_clear()
    caplog.set_level(logging.WARNING, "finegold")
    shown: list[str] = []
    with compiling.compiling(shown.append):
        compiling.say_compiling()
    assert shown == [COMPILING]
    assert caplog.messages == []
    compiling.say_compiling()
    compiling.say_compiling()
    assert caplog.messages == [f"finegold: {COMPILING}"]


SOURCE = """
from finegold.kernels.compiling import kernel

@kernel
def double(value):
    return value + value

@kernel
def four_times(value):
    return double(value) + double(value)
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    compiling._warn_once.cache_clear()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    path = tmp_path / "kernels_here.py"
    path.write_text(SOURCE)
    return path


def module_of(source: Path) -> Any:
    """The module as a new process would load it."""
    spec = importlib.util.spec_from_file_location("kernels_here", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hits(source: Path) -> int:
    """How often the machine code of a first call was found on disk."""
    double = module_of(source).double
    assert double(21) == 42
    return sum(double.compiled.stats.cache_hits.values())


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("harm", [lambda _: b"", lambda data: data[:-10], lambda _: b"rubbish"])
def test_code_is_kept_and_damaged_code_is_compiled_again(
    source: Path, pattern: str, harm: Any
) -> None:
    assert [hits(source), hits(source)] == [0, 1]
    (path,) = (source.parent / "__pycache__").glob(pattern)
    path.write_bytes(harm(path.read_bytes()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert hits(source) == 0
    assert [one.category for one in said] == [FinegoldWarning]
    assert f"the compiled code in {path.parent} is damaged" in str(said[0].message)
    assert hits(source) == 1


def test_a_full_disk_only_costs_time(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(
        FinegoldWarning, match=r"__pycache__ cannot be stored \(.*No space left on device"
    ):
        assert hits(source) == 0
    # and is not said again
    assert hits(source) == 0


def test_numba_is_loaded_by_the_first_call_which_compiles_all_kernels_that_it_needs(
    source: Path,
) -> None:
    program = "import sys, kernels_here\nassert 'numba' not in sys.modules\nprint(kernels_here.four_times(5))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "20\n", done.stderr
