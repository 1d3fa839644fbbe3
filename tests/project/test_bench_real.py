"""The measures of bench/accuracy/real.py: small examples worked out by hand."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from finegold.errors import InputError

pytest.importorskip("resource", reason="benchmarks measure processes as POSIX does")


def shared_folder(path: Path) -> Path:
    kinds = {"human": [["a", "b"], ["c"]], "experts": [], "llm": [], "systems": [], "weak": [["d"]]}
    for name in "abcd":
        folder = path / "real" / name
        folder.mkdir(parents=True)
        with gzip.open(folder / "label.csv.gz", "wt") as file:
            file.write("item,worker,label\n5,0,1\n5,7,1\n9,0,0\n")
        with gzip.open(folder / "truth.csv.gz", "wt") as file:
            file.write("item,truth\n9,2\n4,0\n5,1\n")
    (path / "real" / "families.json").write_text(json.dumps(kinds))
    (path / "datasets" / "senti").mkdir(parents=True)
    (path / "datasets" / "senti" / "truth.csv").write_text("item,truth\n0,0\n")
    return path


def test_measures_share_ties_floor_probabilities_and_take_unseen_classes_for_wrong():
    from bench.accuracy.real_score import measure

    posterior = np.array([[0.5, 0.5], [1.0, 0.0], [0.15, 0.85], [0.2, 0.8]])
    found = measure(posterior, np.array([0, 1, 2, -1]))
    assert found["accuracy"] == pytest.approx(0.5 / 3)
    assert found["log_loss"] == pytest.approx(-(np.log(0.5) + 2 * np.log(1e-10)) / 3)
    assert found["ece"] == pytest.approx((0.0 + 1.0 + 0.85) / 3)


def test_calibration_error_takes_ten_bins():
    from bench.accuracy.real_score import measure

    posterior = np.array(
        [[0.89, 0.11], [0.81, 0.19]]
    )  # one bin: 1/2 right, .85 sure; two bins would give .5
    assert measure(posterior, np.array([0, 1]))["ece"] == pytest.approx(0.35)


def test_means_are_over_families_and_failures_count_as_the_vote():
    from bench.accuracy.real_score import summarise

    def one(kind, family, accuracy, truths=100):
        vote = {"accuracy": accuracy, "log_loss": 1.0, "ece": 0.1}
        return {"kind": kind, "family": family, "truths": truths, "mv": vote}

    sets = {
        "a": one("human", "a", 0.6),
        "b": one("human", "a", 0.8),
        "c": one("weak", "c", 0.5, truths=99),
    }
    sets["p"] = one("paper", "p", 0.9)
    rows = {name: {"accuracy": 0.4, "log_loss": 0.5, "ece": 0.2, "seconds": 2.0} for name in "acp"}
    rows["b"] = {"failed": "longer than 30 s"}
    found = summarise(rows, sets)
    assert found["human"]["accuracy"] == pytest.approx((0.4 + 0.8) / 2)
    assert found["open"]["accuracy"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["paper"]["accuracy"] == pytest.approx(0.4)
    assert found["under"] == {1: ["a"], 3: ["a"], 5: ["a"]}
    assert found["failed"] == ["b"]
    assert found["seconds"] == 6.0
    assert found["llm"] is None
    assert summarise({"a": rows["a"]}, sets)["open"] is None


def test_sets_are_read_with_contiguous_codes_and_truths_of_their_own_tasks(tmp_path):
    from bench.real_data import load, without_labels

    shared = shared_folder(tmp_path)
    found = {one.name: one for one in load(shared)}
    assert sorted(found) == ["a", "b", "c", "d"]
    assert found["b"].family == "a"
    assert found["a"].votes.tolist() == [[0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert found["a"].truth.tolist() == [1, 2]  # the truth of task 4 has no votes
    assert found["a"].shares.tolist() == [[0, 1], [1, 0]]
    assert without_labels(shared) == ["senti"]


def test_thinned_sets_have_so_many_votes_of_each_task_and_draws_differ(tmp_path):
    from bench.real_data import load

    votes = np.array([[task, j, j % 2] for task in range(50) for j in range(1 + task % 5)])
    one = load(shared_folder(tmp_path))[0]._replace(votes=votes, truth=np.zeros(50, np.int64))
    first, again, other = (one.thin(2, draw).votes for draw in (0, 0, 1))
    assert np.bincount(first[:, 0]).tolist() == [min(1 + task % 5, 2) for task in range(50)]
    assert {tuple(row) for row in first.tolist()} <= {tuple(row) for row in votes.tolist()}
    assert first.tolist() == again.tolist() != other.tolist()


def test_absent_data_and_unknown_names_are_told(tmp_path):
    from bench.real_data import load

    with pytest.raises(InputError, match=r"the real data sets are absent: .*--shared"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"no data set 'x'.*choose from a, b, c, d"):
        load(shared_folder(tmp_path), only=["x"])


def test_a_method_that_takes_too_long_is_not_tried_on_larger_sets(tmp_path):
    from bench.accuracy.real import run_sets
    from bench.real_data import load

    data = load(shared_folder(tmp_path))
    rows = run_sets(data, {}, lambda one: {"failed": "longer than 1 s of processor time"})
    reasons = [row["failed"] for row in rows.values()]
    assert [reason.startswith("not tried") for reason in reasons] == [False, False, False, True]


def test_settings_are_read_from_the_name():
    from bench.accuracy.real import parse

    assert parse("ds max_iterations=7").max_iterations == 7
    assert parse("hds class_prior=flat").class_prior == "flat"


def test_a_method_that_crashes_is_shown_as_failed(tmp_path, monkeypatch):
    from bench.accuracy import real
    from bench.real_data import load

    def crash(*arguments, **options):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(real, "fit", crash)
    found = real._fit(real.parse("mv"), load(shared_folder(tmp_path))[0], limit=1.0)
    assert found == {"failed": "LinAlgError: Singular matrix"}


def test_the_leaderboard_has_every_method_that_was_measured():
    """A method of another package is one that Finegold has registered, as its page says."""
    leaderboard = pytest.importorskip("bench.accuracy.leaderboard")
    rows = [line.split(" | ") for line in leaderboard.page().splitlines() if line.startswith("| ")]
    places = {cells[1]: cells[0].strip("| ") for cells in rows}
    assert places["Finegold: `anchored` (default)"].isdigit()
    assert places["snorkel LabelModel"] == "–"  # on labelling functions only
    accuracies = [float(cells[2]) for cells in rows if cells[2].startswith(".")]
    assert accuracies == sorted(accuracies, reverse=True)
