"""What annotators and labelling functions cover: by hand, against a dense twin, on the command line."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold import Annotations, InputError
from finegold.insight.coverage_table import coverage_figures
from finegold.votes.frames import to_polars
from tests.support.cli_helpers import json_of, read_table, refusal_of, succeed, write

# Four functions on five tasks, -1 abstains: "all" votes on nearly everything, "ham" for class 0.
L = np.array([[0, 0, 0, -1], [1, 0, 0, -1], [1, -1, 1, -1], [1, -1, -1, -1], [-1] * 4])
NAMES = ["all", "ham", "some", "never"]
TRUTH = {0: 0, 1: 1, 2: 0, 4: 1}
BY_HAND = {
    "annotator": NAMES,
    "n_votes": [4, 2, 3, 0],
    "coverage": [0.8, 0.4, 0.6, 0.0],
    "polarity": [[0, 1], [0], [0, 1], []],
    # task 3 has one vote
    "overlaps": [0.6, 0.4, 0.6, 0.0],
    # on task 1 only
    "conflicts": [0.2, 0.2, 0.2, 0.0],
    "n_truths": [3, 2, 3, 0],
    "empirical_accuracy": [2 / 3, 0.5, 1 / 3, None],
}
FIGURES = {
    "n_tasks": 5,
    "n_annotators": 4,
    "n_votes": 9,
    "classes": [0, 1],
    "coverage": 0.8,
    "overlaps": 0.6,
    "conflicts": 0.2,
    "n_one_class": 1,
    "never_voted": ["never"],
}
READING = ("--layout", "wide", "--missing", "-1")


def matrix():
    return Annotations.from_matrix(L, annotators=NAMES)


def test_the_table_and_the_figures_by_hand():
    assert finegold.coverage(matrix(), TRUTH).to_dict(as_series=False) == BY_HAND
    assert list(finegold.coverage(matrix()).columns) == list(BY_HAND)[:-2]
    assert coverage_figures(matrix()) == FIGURES
    with pytest.raises(InputError, match="none of the 1 truths belongs to a task with votes"):
        finegold.coverage(matrix(), {77: 1})


def test_gold_is_known_truth_too():
    votes = Annotations.from_arrays([1, 1, 2], ["a", "b", "a"], ["x", "y", "y"], gold={1: "x"})
    assert finegold.coverage(votes, {1: "x"})["empirical_accuracy"].to_list() == [1.0, 0.0]


def test_a_result_adds_expected_accuracies():
    result = finegold.aggregate(matrix(), method="ds")
    found = finegold.coverage(result, TRUTH)
    assert found["accuracy"].to_list() == [*result.annotator_accuracy.tolist(), None]
    rest = found.drop("accuracy", "accuracy_low", "accuracy_high")
    assert rest.to_dict(as_series=False) == BY_HAND
    with pytest.raises(InputError, match="layout cannot be applied to a result"):
        finegold.coverage(result, layout="wide")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_comes_back_as_it_came(kind):
    frame = kind({"task": list(range(5)), **{name: L[:, j] for j, name in enumerate(NAMES)}})
    found = finegold.coverage(frame, TRUTH, layout="wide", missing=[-1])
    assert type(found) is type(frame)
    plain = to_polars(found).to_dict(as_series=False)
    assert {key: [v if v == v else None for v in plain[key]] for key in plain} == BY_HAND


def test_classes_of_mixed_kinds_become_text():
    votes = Annotations.from_arrays([1, 1], ["a", "b"], np.array([1, "x"], dtype=object))
    assert finegold.coverage(votes)["polarity"].to_list() == [["1"], ["x"]]


def twin(votes, truth):
    """The same, slowly: a table of tasks and annotators with the sets of classes voted for."""
    n_tasks, W = votes.n_tasks + len(votes.unlabelled), votes.n_annotators
    said = [[set() for _ in range(W)] for _ in range(votes.n_tasks)]
    rows = list(zip(*votes.votes(), strict=True))
    for i, j, k in rows:
        said[i][j].add(int(k))
    for j in range(W):
        own = [row[j] for row in said]
        others = [set().union(*(row[o] for o in range(W) if o != j)) for row in said]
        both = list(zip(own, others, strict=True))
        judged = [truth[i] == k for i, who, k in rows if who == j and truth[i] >= 0]
        yield (
            sum(who == j for _, who, _ in rows),
            sum(map(bool, own)) / n_tasks,
            sorted(set().union(*own)),
            sum(bool(mine and theirs) for mine, theirs in both) / n_tasks,
            sum(any(a != b for a in mine for b in theirs) for mine, theirs in both) / n_tasks,
            len(judged),
            sum(judged) / len(judged) if judged else None,
        )


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=40
    ),
    st.lists(st.integers(-1, 4), min_size=6, max_size=6),
    st.sampled_from(["first", "all"]),
)
def test_sums_over_votes_equal_a_dense_table(rows, truth, repeated):
    task, annotator, label = zip(*rows, (0, 0, 0), strict=True)
    labels = np.array([None if k < 0 else k for k in label], dtype=object)
    classes = list(range(4))
    votes = Annotations.from_arrays(task, annotator, labels, classes=classes, repeated=repeated)
    key = np.array(truth, np.int32)[: votes.n_tasks]
    key[0] = 0
    found = finegold.coverage(votes, key).head(votes.n_annotators).drop("annotator").rows()
    assert found == list(twin(votes, key))


@pytest.fixture
def files(tmp_path):
    rows = "".join(f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(L.tolist()))
    truth = "task,truth\n" + "".join(f"{task},{label}\n" for task, label in TRUTH.items())
    votes = write(tmp_path / "L.csv", f"task,{','.join(NAMES)}\n{rows}")
    return votes, write(tmp_path / "truth.csv", truth)


def test_the_command_prints_text_and_json(files):
    votes, truth = files
    told = json_of("coverage", votes, *READING, "--truth", truth)
    assert pl.DataFrame(told.pop("annotators")).to_dict(as_series=False) == BY_HAND
    assert told == FIGURES
    found = succeed("coverage", votes, *READING)
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert "5 tasks, 4 annotators, 2 classes" in found.stdout
    assert "tasks on which votes differ 20.0%" in lines
    assert "all 4 0.800 0, 1 0.600 0.200" in lines


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_table_is_written(files, tmp_path, name):
    out = tmp_path / name
    succeed("coverage", files[0], *READING, "--truth", files[1], "-o", out)
    table = read_table(out)
    assert table.columns == list(BY_HAND)
    assert table["polarity"][0] == "0, 1"


def test_a_saved_model_shows_expected_accuracies(files, tmp_path):
    model = tmp_path / "m.finegold"
    outputs = ("-o", tmp_path / "labels.csv", "--save", model)
    succeed("aggregate", files[0], *READING, "--method", "ds", *outputs)
    told = json_of("coverage", model)["annotators"]
    expected = [*finegold.load(model).annotator_accuracy.tolist(), None]
    assert [row["accuracy"] for row in told] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--truth", "none.csv"], "none.csv"),
        (["-o", "out.html"], "no extension that Finegold writes"),
        (["-o", "{votes}"], "would be overwritten"),
        (["--truth", "{truth}", "--truth-label", "nosuch"], "nosuch"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(files, options, words):
    given = [option.format(votes=files[0], truth=files[1]) for option in options]
    assert words in refusal_of("coverage", files[0], "--layout", "wide", *given)
