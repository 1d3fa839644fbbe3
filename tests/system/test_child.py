"""A function that runs in a child: what it returns comes back, and whatever goes wrong there ends in one exception."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from finegold.errors import InputError, leave_out, use
from finegold.system import child
from finegold.system.child import Answer, ExhaustedError, FailedError, run_in_child

MANY = b"\0\n\xff" * 200_000


def run(
    job: str,
    *arguments: Any,
    data: Path | bytes = b"",
    max_bytes: float = 2**28,
    seconds: float = 20,
) -> Answer:
    job = f"tests.system.child_jobs:{job}"
    return run_in_child(job, data, *arguments, max_bytes=max_bytes, max_seconds=seconds)


def test_bytes_and_facts_come_back(tmp_path: Path) -> None:
    (tmp_path / "naïve name").write_bytes(MANY)
    for data in (MANY, tmp_path / "naïve name"):
        content, facts = run("echo", "a", None, 3, data=data)
        assert content == MANY
        assert facts == {
            "arguments": ["a", None, 3],
            "size": len(MANY),
            "modules": [],
        }  # the test does not run there


def test_an_error_of_the_input_comes_back_as_data() -> None:
    with pytest.raises(InputError) as caught:
        run("refuse")
    assert (caught.value.problem, caught.value.where) == ("a problem", "v.x")
    assert list(caught.value.remedies) == [
        use(layout="wide", when="if it is wide"),
        leave_out("label"),
    ]


def test_a_panic_is_a_failure_with_its_reason() -> None:
    with pytest.raises(FailedError, match=r"^slice index starts at 4096 but ends at 3850$"):
        run("panic")
    with pytest.raises(FailedError, match="no_such_job"):
        run("no_such_job")


def test_an_abort_ends_the_child_only() -> None:
    with pytest.raises(ExhaustedError):
        run("abort")


def test_a_loop_ends_with_its_time() -> None:
    began = time.monotonic()
    with pytest.raises(ExhaustedError):
        run("loop", seconds=1)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("is_bounded", [True, False])
def test_memory_is_bounded_by_the_system_or_by_the_parent(
    monkeypatch: pytest.MonkeyPatch, is_bounded: bool
) -> None:
    if (
        not is_bounded
    ):  # as on macOS and Windows: the child does not bound itself, and the parent looks
        monkeypatch.setattr(child, "IS_BOUNDED_BY_SYSTEM", False)
        monkeypatch.setattr(child, "resident_bytes", lambda process: 2**28)
    began = time.monotonic()
    with pytest.raises(ExhaustedError):
        run("allocate", 2**29 if is_bounded else 2**20, max_bytes=2**27)
    assert time.monotonic() - began < 4


def test_the_memory_of_another_process_is_known() -> None:
    assert 2**23 < child.resident_bytes(os.getpid()) < 2**36
