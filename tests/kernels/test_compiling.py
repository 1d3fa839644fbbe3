"""Whoever waits for the compiler is told so once: in the log, if no display is open."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from finegold.kernels import jit
from finegold.kernels.jit import COMPILING, Watch

SCRIPT = """
import finegold
from finegold.kernels import jit
jit.SECONDS_BEFORE_LOG = 0.01
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


def compile_for(watch: Watch, seconds: float) -> None:
    watch.start()
    watch.start()  # a kernel that the first one calls
    watch.end()
    time.sleep(seconds)
    watch.end()


@pytest.fixture
def log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """The log of a Watch that waits a shorter time."""
    monkeypatch.setattr(jit, "SECONDS_BEFORE_LOG", 0.3)
    caplog.set_level(logging.WARNING, "finegold")
    return caplog


def test_many_short_compilations_count_together(log: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    compile_for(watch, 0.0)
    assert log.messages == []
    for _ in range(6):
        compile_for(watch, 0.1)
    assert log.messages == [f"finegold: {COMPILING}"]


def test_the_log_says_so_also_if_the_time_is_over_when_a_compilation_begins(
    log: pytest.LogCaptureFixture,
) -> None:
    watch = Watch()
    watch.spent = 0.4
    for _ in range(2):
        compile_for(watch, 0.2)
    assert log.messages == [f"finegold: {COMPILING}"]


def test_the_log_is_silent_where_a_display_is_open(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "SECONDS_BEFORE_LOG", 0.01)
    caplog.set_level(logging.WARNING, "finegold")
    shown: list[str] = []
    with jit.compiling(shown.append):
        compile_for(Watch(), 0.1)
    assert set(shown) == {COMPILING}
    assert caplog.messages == []
