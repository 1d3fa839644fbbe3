"""What fails on Windows and can be seen on any system."""

from __future__ import annotations

import os
import re
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import karat
from karat.cli import aggregate
from karat.report.html import written_date
from karat.system import files

SOURCES = sorted(Path(karat.__file__).parent.rglob("*.py"))
TEXT = re.compile(r"\.(read_text|write_text)\((?!.*encoding)[^\"]*\)|\.open\(\)")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows itself is the test")
def test_files_are_synced_through_a_handle_that_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    modes = []

    def fsync(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            modes.append(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE)

    monkeypatch.setattr(os, "fsync", fsync)
    files.write_bytes(tmp_path / "labels.csv", b"task,label\n")
    assert modes == [os.O_RDWR]


def test_a_read_only_file_keeps_its_mode_when_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.touch()
    path.chmod(0o444)
    if sys.platform != "win32":
        files.write_bytes(path, b"task,label\n")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"task,label\n", 0o444)


def test_dates_need_no_directive_that_windows_lacks() -> None:
    assert written_date(datetime(2026, 3, 7, 9, 5, tzinfo=UTC)) == "7 March 2026, 09:05 UTC"
    assert [path.name for path in SOURCES if re.search(r"%-[a-zA-Z]", path.read_text("utf-8"))] == []


def test_a_folder_may_end_in_the_separator_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert aggregate.is_folder("labels/")
    assert not aggregate.is_folder("labels\\.csv")
    monkeypatch.setattr(os, "sep", "\\")
    assert aggregate.is_folder("labels\\")


def test_text_files_are_opened_with_an_encoding() -> None:
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if TEXT.search(line) and ">>>" not in line and "..." not in line
    ]
    assert found == []
