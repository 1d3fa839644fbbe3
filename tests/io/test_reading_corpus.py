"""Every file of the corpus is read or refused as expected, and none is wrong in silence."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest

from tests.io.corpus import CASES, Case
from tests.support.cli_helpers import run


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_read_or_refused_as_expected(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    votes = case.write(tmp_path)
    result = run("aggregate", *votes, "--method", "mv", "-o", "labels.csv", *case.arguments)
    assert [text for text in case.says if text not in result.stderr] == [], result.stderr
    assert result.exit_code == (2 if case.votes is None else 0), result.stderr
    assert Path("labels.csv").exists() == (case.votes is not None)
    assert ("\ntry: " in result.stderr) == (case.pasted is not None), (
        result.stderr
    )  # a hint is right, or there is none
    if case.votes is not None:
        assert f"mv: {case.votes:,} vote" in result.stderr, result.stderr


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.pasted is not None], ids=lambda case: case.name
)
def test_the_command_of_an_error_reads_the_votes(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    votes = case.write(tmp_path)
    refused = run("aggregate", *votes, "--method", "mv", "-o", "labels.csv", *case.arguments)
    command = refused.stderr.partition("try: ")[2].splitlines()[0]
    again = run(*shlex.split(command)[1:])
    assert again.exit_code == 0, again.stderr
    assert f"mv: {case.pasted:,} vote" in again.stderr, again.stderr


def test_the_names_of_cases_differ() -> None:
    assert [name for name, times in Counter(case.name for case in CASES).items() if times > 1] == []
