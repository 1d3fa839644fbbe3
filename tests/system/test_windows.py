"""What fails on Windows and can be seen on any system."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Never

import pytest

import finegold
from finegold.errors import OutputError
from finegold.studio.files import safe_name
from finegold.system import files

SOURCES = sorted(Path(finegold.__file__).parent.rglob("*.py"))
TEXT = re.compile(r"\.(read_text|write_text)\((?!.*encoding)[^\"]*\)|\.open\(\)")


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
