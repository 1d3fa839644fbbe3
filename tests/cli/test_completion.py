"""The shell completes the names of methods and charts; misspelt names are answered with the nearest one."""

from __future__ import annotations

import pytest

import finegold
from finegold.cli.app import app
from finegold.report.kinds import KINDS
from tests.support.cli_helpers import run
from tests.support.shell import completions


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("aggregate votes.csv --method an", {"anchored"}),
        ("aggregate votes.csv --method p", {"ptbcc"}),
        ("evaluate votes.csv --methods mv,d", {"mv,ds"}),
        ("plot model.finegold confu", {kind for kind in KINDS if kind.startswith("confu")}),
        ("plot model.finegold ", set(KINDS)),
    ],
)
def test_methods_and_charts_are_completed(words: str, found: set[str]) -> None:
    assert completions(app, words) == found


@pytest.mark.parametrize(("given", "meant"), [("ptbc", "ptbcc"), ("dawid-skene", ""), ("anchor", "anchored")])
def test_a_misspelt_method_is_answered_with_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(finegold.InputError) as failure:
        finegold.aggregate({"task": [1], "worker": ["a"], "label": ["x"]}, method=given)
    assert ("did you mean" in str(failure.value)) == bool(meant)
    assert meant in str(failure.value)


def test_a_misspelt_chart_is_answered_with_the_nearest() -> None:
    result = run("plot", "votes.csv", "rankin", "-o", "x.svg")
    assert result.exit_code == 2
    assert "did you mean ranking?" in result.stderr
