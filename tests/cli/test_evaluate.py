from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli_helpers import CSV, DATASETS, refusal_of, run, succeed, write

FIGURES = ["method", "accuracy", "macro_f1", "log_loss", "calibration_error", "iterations", "converged", "seconds"]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", CSV)


def truth(tmp_path: Path, text: str) -> Path:
    return write(tmp_path / "truth.csv", text)


def test_json_is_one_object_for_one_method(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\nt2,y\nt3,z\n")
    result = run("evaluate", votes, "--truth", key, "--method", "mv", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert list(found)[:8] == FIGURES
    assert (found["n_tasks"], found["n_truths"]) == (4, 3)
    assert found["accuracy"] == pytest.approx((1 + 1 + 1 / 3) / 3)  # t3 is a tie of three


def test_json_is_a_list_for_several_methods(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\n")
    found = json.loads(run("evaluate", votes, "--truth", key, "--method", "mv", "--method", "ptbcc", "--json").stdout)
    assert [score["method"] for score in found] == ["mv", "ptbcc"]


def test_people_get_a_table(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\nt2,x\n")
    result = succeed("evaluate", votes, "--truth", key, "--method", "mv")
    assert result.stderr == ""
    for words in ("accuracy", "macro-F1", "log loss", "0.5000", "2 truths, 4 tasks"):
        assert words in result.stdout


def test_a_truth_that_nobody_voted_for_is_a_mistake_not_left_out(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\nt2,owl\nt4,fox\n")
    found = json.loads(run("evaluate", votes, "--truth", key, "--method", "mv", "--json").stdout)
    assert found["n_truths"] == 3
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["macro_f1"] == pytest.approx(1 / 3)


def test_columns_of_the_truth_may_be_named(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "a,b,c\nt1,0,x\n")
    result = run("evaluate", votes, "--truth", key, "--truth-task", "a", "--truth-label", "c", "--json")
    assert json.loads(result.stdout)["accuracy"] == 1.0


def test_with_several_methods_a_setting_goes_to_those_that_have_it(votes: Path, tmp_path: Path) -> None:
    key = truth(tmp_path, "task,truth\nt1,x\n")
    methods = ["--method", "mv", "--method", "ptbcc"]
    assert run("evaluate", votes, "--truth", key, *methods, "--set", "n_prototypes=3").exit_code == 0
    message = refusal_of("evaluate", votes, "--truth", key, *methods, "--set", "wings=3")
    assert "none of mv, ptbcc has a setting wings" in message


def test_a_truth_of_other_tasks_is_refused(votes: Path, tmp_path: Path) -> None:
    assert "none of the 1 truth" in refusal_of("evaluate", votes, "--truth", truth(tmp_path, "task,truth\n77,x\n"))


def test_a_data_set_of_the_paper_comes_out() -> None:
    folder = DATASETS / "val5"
    if not folder.exists():
        pytest.skip("the data sets are not beside the repository (../shared/datasets)")
    asked = ["evaluate", folder / "label.csv", "--truth", folder / "truth.csv", "--method", "ptbcc", "--json"]
    found = json.loads(run(*asked).stdout)
    assert (found["accuracy"], found["iterations"]) == (pytest.approx(0.56, abs=1e-12), 57)
