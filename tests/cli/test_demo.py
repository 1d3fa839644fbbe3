from __future__ import annotations

from pathlib import Path

import pytest

import finegold
from finegold.methods.lookup import DEFAULT_METHOD
from tests.support.cli_helpers import refusal_of, succeed, write


def test_the_demo_does_the_whole_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = succeed("demo")
    assert result.stderr == ""
    for words in ("1,189 votes", "majority vote", "finegold  ", "gpt-3.5-turbo", "person_2", "█"):
        assert words in result.stdout
    written = {path.name for path in (tmp_path / "finegold-demo").iterdir()}
    assert written == {
        "votes.csv",
        "tasks.csv",
        "truth.csv",
        "labels.csv",
        "annotators.csv",
        "model.finegold",
    }
    assert all(name in result.stdout for name in written)
    assert finegold.load(tmp_path / "finegold-demo" / "model.finegold").method == DEFAULT_METHOD
    shares = [
        float(line.split("%")[0].split()[-1])
        for line in result.stdout.splitlines()
        if "%  █" in line
    ]
    majority, labels = shares[:2]
    assert labels > majority + 3  # visibly better
    succeed("demo")  # again in the same folder


def test_a_demo_that_cannot_write_says_so(tmp_path: Path) -> None:
    assert refusal_of("demo", "--out", write(tmp_path / "file", "")).count("error: ") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
