"""Each failure ends in one clear message, exit code 2, no traceback, and no output file touched."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import finegold.fitting.solve
from finegold.cli import main
from tests.support.cli_helpers import CSV, refusal_of, run, write

FINEGOLD = [sys.executable, "-c", "from finegold.cli import main; main()"]
GOLD = "task,truth\nt1,owl\n"
BINARY = bytes(range(256)) * 20
CUT_SHORT = gzip.compress((CSV * 200).encode(), mtime=0)[:-30]

# What is wrong: the files, the arguments, and words that the message must have.
FAILURES: dict[str, tuple[dict[str, str | bytes], str, list[str]]] = {
    "no such file": ({}, "votes.csv", ["there is no file", "votes.csv"]),
    "an empty file": ({"v.csv": ""}, "v.csv", ["v.csv", "empty"]),
    "a header only": ({"v.csv": "task,worker,label\n"}, "v.csv", ["v.csv"]),
    "a missing column": (
        {"v.csv": "task,person,label\n1,a,x\n"},
        "v.csv",
        ["annotator", '"person" (1 value: a)', "--annotator"],
    ),
    "a folder without data files": ({"f/notes": ""}, "f", ["the folder f ", "no data files"]),
    "binary rubbish": ({"v.csv": BINARY}, "v.csv", ["v.csv", "binary"]),
    "truncated gzip": ({"v.csv.gz": CUT_SHORT}, "v.csv.gz", ["v.csv.gz", "cut short"]),
    "ragged rows": (
        {"v.csv": CSV + "t9,ann,x,oops\n"},
        "v.csv",
        ["v.csv", "line 14", "found 4", "has 3"],
    ),
    "a class that is not given": (
        {"v.csv": CSV},
        "v.csv --classes x,y",
        ["'z'", "x, y", "--classes"],
    ),
    "gold of an unknown class": (
        {"v.csv": CSV, "g.csv": GOLD},
        "v.csv --gold g.csv --classes x,y,z",
        ["gold", "'owl'", "x, y, z"],
    ),
    "two columns that could be the task": (
        {"v.csv": "task,item,worker,label\n1,1,a,x\n"},
        "v.csv",
        ['"task", "item"', "--task"],
    ),
    "an unknown method": ({"v.csv": CSV}, "v.csv --method magic", ["magic", "ptbcc"]),
    "an unknown setting": ({"v.csv": CSV}, "v.csv --set wings=2", ["wings", "seed"]),
    "a setting of the wrong kind": (
        {"v.csv": CSV},
        "v.csv --method ptbcc --set n_prototypes=two",
        ["n_prototypes", "whole number", "'two'"],
    ),
    "a setting without a value": ({"v.csv": CSV}, "v.csv --set f", ["NAME=VALUE"]),
    "a JSON list without rows": ({"v.json": "[]"}, "v.json", ["v.json", "no columns"]),
}


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", CSV)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_one_message(stderr: str) -> str:
    assert stderr.count("error: ") == 1
    assert "Traceback" not in stderr
    lines = stderr.strip().splitlines()
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("try: finegold "))
    return stderr


@pytest.mark.parametrize("what", FAILURES)
def test_bad_input_is_one_message_and_touches_nothing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").mkdir()
    files, arguments, words = FAILURES[what]
    for name, content in {
        **files,
        **dict.fromkeys(("labels.csv", "annotators.csv", "model.finegold"), "old"),
    }.items():
        write(tmp_path / name, content)
    before = contents(tmp_path)
    outputs = "-o labels.csv --annotators annotators.csv --save model.finegold"
    message = assert_one_message(refusal_of("aggregate", *f"{arguments} {outputs}".split()))
    assert [word for word in words if word not in message] == [], message
    assert contents(tmp_path) == before


@pytest.mark.parametrize("option", ["-o", "--annotators", "--save"])
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/x.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
        ("votes.csv", "would be overwritten"),
    ],
)
def test_an_output_that_cannot_be_written_is_found_before_the_work(
    option: str,
    place: str,
    words: str,
    votes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.setattr("finegold.io.read.read", lambda *_, **__: pytest.fail("the work began"))
    before = contents(tmp_path)
    assert words in assert_one_message(refusal_of("aggregate", votes, option, tmp_path / place))
    assert contents(tmp_path) == before


def test_an_extension_that_says_nothing_and_a_name_used_twice_are_refused(
    votes: Path, tmp_path: Path
) -> None:
    assert ".parquet" in assert_one_message(
        run("aggregate", votes, "-o", tmp_path / "x.doc").stderr
    )
    for same in (tmp_path / "x.csv", f"{tmp_path}/./x.csv"):
        twice = run("aggregate", votes, "-o", tmp_path / "x.csv", "--annotators", same)
        assert "two outputs" in assert_one_message(twice.stderr)
    assert list(tmp_path.iterdir()) == [votes]


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    rows = "".join(
        f"task-number-{i},ann-{i % 2},x\n" for i in range(20_000)
    )  # more than a pipe holds
    votes = write(tmp_path / "votes.csv", "task,worker,label\n" + rows)
    unbuffered = os.environ | {
        "PYTHONUNBUFFERED": "1"
    }  # then a write may end early without an error
    with subprocess.Popen(
        [*FINEGOLD, "aggregate", votes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=unbuffered,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("task,label")
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait() == 0
    assert said == ""


@pytest.mark.parametrize("error", [ZeroDivisionError, pl.exceptions.PanicException])
def test_a_mistake_of_ours_is_exit_code_one_and_asks_for_a_report(
    votes: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[BaseException],
) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise error("by zero")

    monkeypatch.setattr(finegold.fitting.solve, "fit", wrong)
    monkeypatch.setattr(sys, "argv", ["finegold", "aggregate", str(votes)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert f"failed unexpectedly ({error.__name__}: by zero)" in assert_one_message(
        capsys.readouterr().err
    )


def test_bad_usage_is_exit_code_two(votes: Path) -> None:
    for arguments in (
        ["aggregate"],
        ["fly"],
        ["--traceback"],
        ["aggregate", votes, "--threads", "0"],
        ["evaluate", votes],
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
