from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import finegold
from finegold.cli.outputs import heat_map
from finegold.methods.registry import DEFAULT_METHOD
from tests.support.animals import TRUTH, VOTES
from tests.support.cli_helpers import run, write

ROOT = Path(__file__).resolve().parents[2]


def test_the_sample_is_what_its_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = VOTES.with_name("README.md").read_text()
    (command,) = [line.strip() for line in readme.splitlines() if line.strip().startswith("finegold simulate")]
    words = shlex.split(command)[1:]
    words[words.index("--out") + 1] = str(tmp_path)
    monkeypatch.chdir(ROOT)
    assert run(*words).exit_code == 0
    for file in (VOTES, TRUTH):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_the_demo_does_the_whole_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0
    assert result.stderr == ""
    for words in ("1,500 votes", "majority vote", "best annotators", "worst", DEFAULT_METHOD, "fox", "█"):
        assert words in result.stdout
    written = {path.name for path in (tmp_path / "finegold-demo").iterdir()}
    assert written == {"votes.csv", "truth.csv", "labels.csv", "annotators.csv", "model.finegold"}
    assert all(name in result.stdout for name in written)
    assert finegold.load(tmp_path / "finegold-demo" / "model.finegold").method == DEFAULT_METHOD
    majority, labels = (float(line.split("%")[0].split()[-1]) for line in result.stdout.splitlines() if "%  █" in line)
    assert labels > majority + 5  # visibly better
    assert run("demo").exit_code == 0  # again in the same folder


def test_a_demo_that_cannot_write_says_so(tmp_path: Path) -> None:
    result = run("demo", "--out", write(tmp_path / "file", ""))
    assert result.exit_code == 2
    assert result.stderr.count("error: ") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_the_picture_is_darker_where_a_vote_is_more_probable() -> None:
    lines = heat_map(np.array([[0.95, 0.05], [0.45, 0.55]]), ["cat", "very-long-name"])
    assert lines[1].split() == ["cat", "very-l…"]
    assert "███ 95" in lines[2]
    assert "▒▒▒ 45" in lines[3]
    assert lines[2].strip().startswith("cat")
