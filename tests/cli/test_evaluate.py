from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli_helpers import CSV, json_of, refusal_of, succeed, write

FIGURES = [
    "method",
    "accuracy",
    "macro_f1",
    "log_loss",
    "calibration_error",
    "iterations",
    "converged",
    "seconds",
]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", CSV)


def truth(tmp_path: Path, text: str) -> Path:
    return write(tmp_path / "truth.csv", text)


@pytest.mark.parametrize(
    ("truths", "options", "expected"),
    [
        (
            "task,truth\nt1,x\nt2,y\nt3,z\n",
            "",
            {"n_tasks": 4, "n_truths": 3, "accuracy": (1 + 1 + 1 / 3) / 3},
        ),  # a tie
        # a truth that nobody voted for is a mistake, not left out
        (
            "task,truth\nt1,x\nt2,owl\nt4,fox\n",
            "",
            {"n_truths": 3, "accuracy": 1 / 3, "macro_f1": 1 / 3},
        ),
        ("a,b,c\nt1,0,x\n", "--truth-task a --truth-label c", {"n_truths": 1, "accuracy": 1.0}),
    ],
)
def test_json_is_one_object_for_one_method(
    votes: Path, tmp_path: Path, truths: str, options: str, expected: dict[str, float]
) -> None:
    found = json_of(
        "evaluate", votes, "--truth", truth(tmp_path, truths), "--method", "mv", *options.split()
    )
    assert found.keys() >= set(FIGURES)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_json_is_a_list_for_several_methods(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\n")
    found = json_of("evaluate", votes, "--truth", key, "--method", "mv", "--method", "ptbcc")
    assert [score["method"] for score in found] == ["mv", "ptbcc"]


def test_people_get_a_table(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\nt2,x\n")
    result = succeed("evaluate", votes, "--truth", key, "--method", "mv")
    assert result.stderr == ""
    for words in ("accuracy", "macro f1", "log loss", "0.5000", "2 truths, 4 tasks"):
        assert words in result.stdout


def test_with_several_methods_a_setting_goes_to_those_that_have_it(
    votes: Path, tmp_path: Path
) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\n")
    methods = ["--method", "mv", "--method", "ptbcc"]
    succeed("evaluate", votes, "--truth", key, *methods, "--set", "n_prototypes=3")
    message = refusal_of("evaluate", votes, "--truth", key, *methods, "--set", "wings=3")
    assert "none of mv, ptbcc has a setting wings" in message


def test_a_truth_of_other_tasks_is_refused(votes: Path, tmp_path: Path) -> None:
    assert "none of the 1 truth" in refusal_of(
        "evaluate", votes, "--truth", truth(tmp_path, "task,truth\n77,x\n")
    )
