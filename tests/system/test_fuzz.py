"""A short run of the fuzzer; the long one is `python -m tests.fuzz --cases 20000 --seed 1`."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the fuzzer limits memory, which Windows cannot")
from tests.fuzz import FAMILIES, formats, make, run
from tests.fuzz.case import BEFORE, OUTPUT, Case, run_case
from tests.fuzz.run import Outcome, run_cases


def test_cases_break_no_rule() -> None:
    outcomes = list(run_cases(seed=2, cases=60))
    assert [outcome for outcome in outcomes if outcome.broken] == []
    assert sorted(outcome.number for outcome in outcomes) == list(range(60))
    assert {outcome.code for outcome in outcomes} == {0, 2}


@pytest.mark.parametrize("name", formats.samples())
def test_the_samples_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    case = formats.aggregate(name, "valid", {name: formats.samples()[name]}, name)
    assert run_case(case, tmp_path) == (0, "")


def test_a_case_is_the_same_each_time() -> None:
    cases = [make(seed=3, number=number) for number in range(150)]
    assert cases == [make(seed=3, number=number) for number in range(150)]
    assert len({case.name.split()[0] for case in cases}) >= len(FAMILIES)


def test_broken_rules_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    votes = {"v.csv": b"task,worker,label\nt1,a,x\n"}
    command = ("aggregate", "v.csv", "--method", "mv", "-o", OUTPUT, "--json")
    assert (
        run_case(Case("x", votes, command, votes=2), tmp_path)[1]
        == "2 votes are there, but 1 were counted or reported"
    )
    assert run_case(Case("x", votes, command, votes=1), tmp_path) == (0, "")
    assert run_case(Case("x", votes, ("aggregate", "none.csv")), tmp_path) == (2, "")
    assert (tmp_path / OUTPUT).read_text() == BEFORE


def test_a_worker_that_dies_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        [Outcome(0, "a", 0, ""), Outcome(1, "b", 0, run.STARTED), Outcome(1, "b", -6, "died")],
        [Outcome(2, "c", 2, "")],
    ]
    monkeypatch.setattr(run, "_worker", lambda seed, numbers: iter(lines[numbers.start > 0]))
    assert list(run_cases(seed=1, cases=3, workers=1)) == [lines[0][0], lines[0][2], lines[1][0]]
    assert run._said(-signal.SIGABRT) == "SIGABRT"
