"""What fails on Windows and can be seen on any system."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Never

import pytest

import finegold
from finegold.errors import OutputError
from finegold.report.html import written_date
from finegold.studio import serve
from finegold.studio.files import safe_name
from finegold.system import files

SOURCES = sorted(Path(finegold.__file__).parent.rglob("*.py"))
TEXT = re.compile(r"\.(read_text|write_text)\((?!.*encoding)[^\"]*\)|\.open\(\)")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows itself is the test")
def test_files_are_synced_through_a_handle_that_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert [
        path.name for path in SOURCES if re.search(r"%-[a-zA-Z]", path.read_text("utf-8"))
    ] == []


def test_text_files_are_opened_with_an_encoding() -> None:
    found = [
        f"{path.name}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if TEXT.search(line) and ">>>" not in line and "..." not in line
    ]
    assert found == []


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


def denied(*_: Any) -> Never:
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.usefixtures("windows")
def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows replaces no file that is read-only or open elsewhere, and removes no file that is read-only."""
    path, modes = tmp_path / "labels.csv", []
    path.touch()
    path.chmod(0o444)
    monkeypatch.setattr(
        Path, "replace", lambda temporary, _: modes.append(temporary.stat().st_mode) or denied()
    )
    with pytest.raises(OutputError, match="another program has it open"):
        files.write_bytes(path, b"task,label\n")
    assert [stat.S_IMODE(mode) & 0o200 for mode in modes] == [0o200]
    assert list(tmp_path.iterdir()) == [path]


def test_json_keeps_letters_that_the_encoding_of_a_pipe_lacks(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,annotator,label\n1,a,猫\n1,b,猫\n2,a,ß\n", encoding="utf-8")
    command = [sys.executable, "-m", "finegold", "aggregate", str(votes), "--json"]
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    assert [row["label"] for row in json.loads(done.stdout.decode("cp1252"))["labels"]] == [
        "猫",
        "ß",
    ]


@pytest.mark.usefixtures("windows")
def test_a_port_that_is_in_use_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """With SO_REUSEADDR, Windows lets two servers listen on one port."""
    options: list[Any] = []
    monkeypatch.setattr(socket.socket, "setsockopt", lambda _, *given: options.append(given))
    assert serve._free_port("127.0.0.1", None) > 0
    assert options == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("CON.csv", "_CON.csv"),
        ("nul", "_nul"),
        ("Lpt1.json.gz", "_Lpt1.json.gz"),
        ("votes. ", "votes"),
    ]
    + [(name, name) for name in ("console.csv", "votes.csv", "com.csv")],
)
def test_uploads_have_names_that_windows_allows(name: str, safe: str) -> None:
    assert safe_name(name) == safe
