"""A command under every fault: an exit code that tells, and old files or new ones, never half.

All commands write through the same function, so one command that writes several files stands for
all.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_helpers import CSV, run, write

resource = pytest.importorskip("resource", reason="limits of a process are those of POSIX")

COMMAND = [
    "aggregate",
    "votes.csv",
    "--method",
    "mv",
    "-o",
    "a.csv",
    "--annotators",
    "b.pq",
    "--save",
    "c.finegold",
]
OUTPUTS = ["a.csv", "b.pq", "c.finegold"]
OLD = b"old"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "votes.csv", CSV)
    for name in OUTPUTS:
        write(tmp_path / name, OLD)
    return tmp_path


def new_files(folder: Path) -> list[str]:
    return [name for name in OUTPUTS if (folder / name).read_bytes() != OLD]


def litter(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"votes.csv", *OUTPUTS}


@contextmanager
def limited(kind: int, soft: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


@contextmanager
def full_disk(_: pytest.MonkeyPatch) -> Iterator[None]:
    with limited(resource.RLIMIT_FSIZE, 10):
        yield


@contextmanager
def read_only_folder(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not by permissions: the tests may run as root, who may write everywhere."""
    opened = os.open

    def refuse(path: Any, flags: int, *mode: int, **more: Any) -> int:
        if flags & os.O_CREAT and not str(path).startswith("/dev"):
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *mode, **more)

    with patch.context() as patched:
        patched.setattr(os, "open", refuse)
        yield


@contextmanager
def no_descriptor(_: pytest.MonkeyPatch) -> Iterator[None]:
    # also the numbers between those in use
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(64)]
    try:
        with limited(resource.RLIMIT_NOFILE, max(taken) + 1):
            yield
    finally:
        for number in taken:
            os.close(number)


@contextmanager
def ctrl_c(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Before the first file is put in place."""
    synced = os.fsync

    def pressed(handle: int) -> None:
        signal.raise_signal(signal.SIGINT)
        synced(handle)

    with patch.context() as patched:
        patched.setattr(os, "fsync", pressed)
        yield


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        (full_disk, 2, "cannot be written: the file is too large for this disk"),
        (read_only_folder, 2, "that disk is read-only"),
        (no_descriptor, 2, "too many files are open"),
        (ctrl_c, 130, "interrupted"),
    ],
)
def test_a_fault_leaves_the_old_files_and_no_litter(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[pytest.MonkeyPatch], AbstractContextManager[None]],
    code: int,
    says: str,
) -> None:
    # modules are loaded, and functions compiled
    assert run("aggregate", "votes.csv", "--method", "mv").exit_code == 0
    with fault(monkeypatch):
        done = run(*COMMAND)
    assert done.exit_code == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert new_files(here) == []
    assert litter(here) == set()
    assert run(*COMMAND).exit_code == 0
    assert new_files(here) == OUTPUTS


def test_a_folder_of_many_files_costs_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the folder of an input nor that of an output is listed."""

    def listed(*_: object) -> Any:
        raise AssertionError("a folder was listed")

    with monkeypatch.context() as patched:
        for name in ("iterdir", "glob", "rglob"):
            patched.setattr(Path, name, listed)
        patched.setattr(os, "listdir", listed)
        patched.setattr("finegold.io.source.glob.glob", listed)
        assert run(*COMMAND).exit_code == 0
