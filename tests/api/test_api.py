"""Two ways to call it, and what they need."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import finegold
from finegold import Annotations, InputError

VOTES = {
    "task": ["t1", "t1", "t1", "t2", "t2", "t2"],
    "worker": ["ann", "bob", "eve", "ann", "bob", "eve"],
    "label": ["cat", "cat", "dog", "dog", "dog", "dog"],
}


def test_aggregate_takes_a_path_a_frame_and_annotations(tmp_path):
    path = tmp_path / "votes.csv"
    pl.DataFrame(VOTES).write_csv(path)
    annotations = Annotations.from_arrays(*VOTES.values())
    for votes in (
        path,
        str(path),
        pl.DataFrame(VOTES),
        pd.DataFrame(VOTES),
        pl.LazyFrame(VOTES),
        annotations,
    ):
        assert list(finegold.aggregate(votes).label) == ["cat", "dog"]


def test_settings_reach_the_method():
    result = finegold.aggregate(pl.DataFrame(VOTES), finegold.PTBCC(n_prototypes=3, seed=7))
    assert result.learned.prototypes.shape == (3, 2, 2)
    assert result.settings["seed"] == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "magic"}, "no method 'magic'; choose from mv"),
        (
            {"method": "ds", "seed": 3},
            "no option seed .settings of a method are given to its class",
        ),
        ({"multy": True}, "no option multy; did you mean multi?"),
    ],
)
def test_an_unknown_method_or_setting_is_refused_with_the_choices(arguments, words):
    with pytest.raises(InputError, match=words):
        finegold.aggregate(pl.DataFrame(VOTES), **arguments)


def test_a_method_is_a_name_a_class_or_an_object():
    for method in ("ds", finegold.DS, finegold.DS()):
        assert finegold.aggregate(pl.DataFrame(VOTES), method).method == "ds"


def test_what_was_read_and_fitted_is_logged(caplog):
    with caplog.at_level("INFO", logger="finegold"):
        finegold.aggregate(pl.DataFrame(VOTES), "mv")
    assert "read Annotations(6 votes" in caplog.text
    assert "mv: " in caplog.text


def test_the_estimator_style_of_the_field_works_with_pandas():
    votes = pd.DataFrame(VOTES)
    labels = finegold.MajorityVote().fit_predict(votes)
    assert labels.to_dict() == {"t1": "cat", "t2": "dog"}
    assert labels.name == "label"
    assert labels.index.name == "task"
    model = finegold.PTBCC(n_prototypes=2).fit(votes)
    assert isinstance(model, finegold.PTBCC)
    assert model.labels_.to_dict() == {"t1": "cat", "t2": "dog"}
    assert model.probas_.loc["t1", "cat"] > 0.5
    assert model.probas_.sum(axis=1).round(9).tolist() == [1.0, 1.0]
    assert model.fit(votes).probas_.columns.tolist() == ["cat", "dog"]


@pytest.mark.parametrize("threads", [0, -1, "two"])
def test_a_senseless_number_of_threads_is_refused(threads):
    with pytest.raises(InputError, match="number of threads"):
        finegold.aggregate(pl.DataFrame(VOTES), threads=threads)


def test_threads_can_be_set_by_the_environment(monkeypatch):
    from finegold.engines.local import thread_count

    monkeypatch.setenv("FINEGOLD_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(1) == 1
    monkeypatch.setenv("FINEGOLD_THREADS", "many")
    with pytest.raises(InputError, match="'many'"):
        thread_count()


def test_a_fit_needs_no_other_library_of_data_frames():
    code = (
        "import sys; sys.modules['narwhals'] = sys.modules['pandas'] = sys.modules['pyarrow'] = None\n"
        "from finegold import Annotations\n"
        "from finegold.fitting.solve import fit\n"
        "from finegold.methods.ptbcc import PTBCC\n"
        "votes = Annotations.from_arrays([1, 1, 2], ['a', 'b', 'a'], ['x', 'x', 'y'])\n"
        "print(fit(PTBCC(), votes).label.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['x', 'y']"


def test_what_is_left_out_is_warned_of_at_the_users_line():
    rows = {"task": [1, 2, 2, 2], "worker": list("xyxx"), "label": ["x", None, "a", "b"]}
    for run in (finegold.read, finegold.aggregate):
        with pytest.warns(
            finegold.FinegoldWarning, match="1 row without a label, 1 repeated"
        ) as said:
            run(pl.DataFrame(rows))
        assert said[0].filename == __file__
    with pytest.warns(finegold.FinegoldWarning):
        assert "left out: 1 row without a label" in repr(finegold.read(pl.DataFrame(rows)))
