"""What every method returns: labels, ties, annotators, tables of the user's kind, and a file that keeps it all."""

import datetime
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.mv import MajorityVote
from finegold.methods.ptbcc import PTBCC


@pytest.fixture
def result():
    return fit(PTBCC(), Annotations.from_arrays(*sample_votes()), threads=1)


def test_ties_go_to_the_class_that_is_most_frequent_and_are_marked():
    votes = Annotations.from_arrays([1, 1, 2, 3], ["a", "b", "a", "a"], ["x", "y", "y", "z"])
    result = fit(MajorityVote(), votes)
    assert result.label.tolist() == ["y", "y", "z"]
    assert result.tied.tolist() == [True, False, False]
    assert result.confidence.tolist() == [0.5, 1.0, 1.0]


def test_annotators_are_described(result):
    votes = sample_votes()
    assert result.votes_per_annotator.tolist() == np.bincount(votes[1]).tolist()
    agreed = [(result.label[votes[0]] == votes[2])[votes[1] == j].mean() for j in range(9)]
    assert np.allclose(result.annotator_agreement, agreed)
    assert np.isnan(result.annotator_accuracy_low).all()  # an interval needs votes on gold tasks
    assert np.isnan(result.annotator_accuracy_high).all()
    assert result.confusion(3).shape == (3, 3)
    assert np.allclose(result.confusion(3).sum(axis=1), 1)


def test_the_confusion_of_an_unknown_annotator_or_method_is_refused(result):
    with pytest.raises(InputError, match="no annotator 'zoe'"):
        result.confusion("zoe")
    with pytest.raises(InputError, match="mv has no confusion"):
        fit(MajorityVote(), Annotations.from_arrays(*sample_votes())).confusion(0)


def test_tables_have_the_documented_columns(result):
    labels, annotators = result.labels(probabilities=True), result.annotators()
    assert isinstance(labels, pl.DataFrame)
    assert labels.columns == [
        "task",
        "label",
        "confidence",
        "n_votes",
        "tied",
        "is_gold",
        "0",
        "1",
        "2",
    ]
    assert annotators.columns == [
        *["annotator", "n_votes", "accuracy", "accuracy_low", "accuracy_high", "agreement"],
        *["prototype_1", "prototype_2"],
    ]
    assert np.allclose(labels.select("0", "1", "2").sum_horizontal(), 1)


def test_a_task_whose_votes_are_all_missing_is_listed_without_a_label():
    votes = Annotations.from_arrays(["a", "b"], [1, 1], ["x", None])
    table = fit(PTBCC(), votes).labels(probabilities=True)
    assert table.rows() == [
        ("a", "x", 1.0, 1, False, False, 1.0),
        ("b", None, None, 0, False, False, None),
    ]


def test_every_table_calls_tasks_and_annotators_as_the_votes_do():
    frame = pd.DataFrame(
        {"doc": ["t", "t", "u", "u"], "rater": [1, 2, 1, 2], "verdict": ["x", "y", "x", "x"]}
    )
    names = {"task": "doc", "annotator": "rater", "label": "verdict"}
    result = finegold.aggregate(frame, **names)
    plan, audited = (
        finegold.next_votes(result, safe=0.99),
        finegold.audit(frame, {"t": "x"}, **names),
    )
    of_tasks = [
        result.labels(),
        result.soft_labels(),
        result.flips(),
        result.contested(),
        plan.tasks(),
        audited,
    ]
    of_annotators = [result.annotators(), result.spammers(), result.why("t"), plan.annotators()]
    assert {table.columns[0] for table in [*of_tasks, plan.safe_tasks()]} == {"doc"}
    assert {table.columns[0] for table in of_annotators} == {"rater"}


@pytest.mark.parametrize(
    "names",
    [
        ["a", "ü", "c\x00"],
        [3, 1, 2],
        [1.5, 2.5, 3.5],
        [True, False, True],
        [1, "a", 2.5],
        np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[D]"),
    ],
)
def test_names_of_many_kinds_survive_saving(tmp_path, names):
    result = fit(PTBCC(), Annotations.from_arrays(names, ["w"] * 3, ["x", "y", "x"]))
    result.save(tmp_path / "model")
    again = finegold.load(tmp_path / "model")
    assert list(again.task_names) == list(result.task_names)
    assert again.label.tolist() == result.label.tolist()
    assert again.counts == result.counts
    assert again.settings == result.settings
    assert again.stopped == result.stopped
    assert np.array_equal(again.learned.prototypes, result.learned.prototypes)
    assert again.learned.confusion is None


def test_names_that_no_file_can_hold_are_refused_and_nothing_is_written(tmp_path):
    names = [datetime.time(1), datetime.time(2)]
    result = fit(PTBCC(), Annotations.from_arrays(names, ["w"] * 2, ["x", "y"]))
    with pytest.raises(InputError, match="type time cannot be saved"):
        result.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_damaged_and_absent_files_are_refused(tmp_path, result):
    path = tmp_path / "model"
    with pytest.raises(InputError, match="no file"):
        finegold.load(path)
    path.write_bytes(b"rubbish")
    with pytest.raises(InputError, match="damaged"):
        finegold.load(path)
    with pytest.raises(InputError, match="folder"):
        finegold.load(tmp_path)
    result.save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="damaged"):
        finegold.load(path)


def test_a_pickle_inside_a_model_is_never_loaded(tmp_path, result):
    path = tmp_path / "model"
    result.save(path)
    with zipfile.ZipFile(path, "a") as archive, archive.open("evil.npy", "w") as handle:
        np.lib.format.write_array(handle, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="damaged"):
        finegold.load(path)
