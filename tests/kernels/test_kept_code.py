"""Machine code that is damaged or cannot be kept: a sentence that names the folder, and the run goes on."""

from __future__ import annotations

import errno
import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import pytest

from finegold.cli import outputs
from finegold.errors import FinegoldWarning
from finegold.kernels import kept
from tests.support.cli_helpers import run

SOURCE = """
from finegold.kernels.jit import kernel

@kernel
def double(value):
    return value + value
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "_warned", set())
    path = tmp_path / "kernels_here.py"
    path.write_text(SOURCE)
    return path


def double(source: Path, value: Any = 21) -> Any:
    """The function as a new process would load it, after its first call."""
    spec = importlib.util.spec_from_file_location("kernels_here", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.double(value) == value + value
    return module.double


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def code_of(source: Path, pattern: str) -> Path:
    (found,) = (source.parent / "__pycache__").glob(pattern)
    return found


def test_code_is_kept(source: Path) -> None:
    assert [hits(double(source)) for _ in range(2)] == [0, 1]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return (
        data[:middle]
        + bytes(byte ^ 255 for byte in data[middle : middle + 64])
        + data[middle + 64 :]
    )


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize(
    "harm", [lambda _: b"", lambda data: data[:-10], lambda data: b"rubbish", flip]
)
def test_damaged_code_is_compiled_again(source: Path, pattern: str, harm: Any) -> None:
    double(source)
    path = code_of(source, pattern)
    path.write_bytes(harm(path.read_bytes()))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert hits(double(source)) == 0
    assert [one.category for one in said] in (
        [FinegoldWarning],
        [],
    )  # an index of another kind is just not used
    assert all(f"the compiled code in {path.parent} is damaged" in str(one.message) for one in said)
    assert said or pattern == "*.nbi"
    assert hits(double(source)) == 1


def test_a_full_disk_only_costs_time(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept.CheckedFile, "_open_for_write", full)
    with pytest.warns(
        FinegoldWarning,
        match=r"cannot be stored in .*__pycache__ \(No space left on device\); each run",
    ):
        assert hits(double(source)) == 0
    assert hits(double(source)) == 0  # and is not said again


def test_processes_that_need_a_function_at_the_same_time_compile_it_once(source: Path) -> None:
    program = "import sys\nprint(flush=True)\nsys.stdin.readline()\nfrom kernels_here import double\ndouble(21)\n"
    program += "print(sum(double.stats.cache_hits.values()))"
    command = [sys.executable, "-c", f"import finegold.kernels.kept\n{program}"]
    both = [
        subprocess.Popen(command, cwd=source.parent, stdin=-1, stdout=-1, text=True)
        for _ in range(2)
    ]
    for one in both:
        assert one.stdout is not None
        one.stdout.readline()
    for one in both:
        assert one.stdin is not None
        print(file=one.stdin, flush=True)
    assert sorted(one.communicate()[0].strip() for one in both) == ["0", "1"]
    assert not list((source.parent / "__pycache__").glob("*.lock"))


def test_nobody_waits_for_a_function_that_could_not_be_compiled(source: Path) -> None:
    with pytest.raises(numba.errors.TypingError):
        double(source, {})
    assert not list((source.parent / "__pycache__").glob("*.lock"))


def test_a_kernel_is_compiled_with_the_kernels_that_it_calls_when_it_is_first_called(
    tmp_path: Path,
) -> None:
    caller = "@kernel\ndef four_times(value):\n    return double(value) + double(value)\n"
    (tmp_path / "kernels_here.py").write_text(SOURCE + caller)
    program = "import sys, kernels_here\nassert 'numba' not in sys.modules\nprint(kernels_here.four_times(5))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "20\n"


def test_an_end_of_file_somewhere_is_not_called_aborted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def end(*_: object, **__: object) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr("finegold.io.read.read", end)
    (tmp_path / "v.csv").write_text("task,worker,label\n1,a,x\n")
    done = run("aggregate", tmp_path / "v.csv")
    assert done.exit_code == outputs.FAILED
    assert "failed unexpectedly (EOFError: Ran out of input)" in done.stderr
