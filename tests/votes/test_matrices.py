"""Label matrices: a row per task, a column per annotator, abstentions in between."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold import Annotations, InputError
from finegold.votes.encoding import to_list
from tests.support.readers_votes import votes_of

# Snorkel's way: -1 abstains. The function "never" abstains always, "one" votes for class 1 only.
L = np.array([[0, -1, 1], [1, -1, 1], [-1, -1, -1], [0, -1, -1]])
NAMES = ["both", "never", "one"]
VOTES = {(0, "both", 0), (0, "one", 1), (1, "both", 1), (1, "one", 1), (3, "both", 0)}
WIDE = "both,never,one\n0,-1,1\n1,-1,1\n-1,-1,-1\n0,-1,-1\n"


@pytest.mark.parametrize("dtype", [np.int8, np.int64, float, object])
def test_a_matrix_of_any_kind_gives_its_votes(dtype):
    votes = Annotations.from_matrix(L.astype(dtype), annotators=NAMES)
    assert votes_of(votes) == VOTES
    assert votes.unlabelled.tolist() == [2]
    assert votes.never_voted.tolist() == ["never"]
    assert [type(name) for name in votes.class_names.tolist()] == [int, int]
    assert (votes.counts.rows, votes.counts.missing) == (12, 7)


@pytest.mark.parametrize(
    ("matrix", "more", "votes"),
    [
        ([[0, 1]], {}, {(0, 0, 0), (0, 1, 1)}),
        (
            [[0, 1], [1, 1]],
            {"tasks": ["z", "a"], "annotators": ["y", "b"]},
            {("z", "y", 0), ("z", "b", 1), ("a", "y", 1), ("a", "b", 1)},
        ),
        ([[0, 2]], {"abstain": 0}, {(0, 1, 2)}),
        ([[-1, 2]], {"abstain": None}, {(0, 0, -1), (0, 1, 2)}),
        ([["ham", "?"]], {"abstain": "?"}, {(0, 0, "ham")}),
        (np.array([["ham", "-1"]]), {}, {(0, 0, "ham")}),
        ([["ham", -1]], {}, {(0, 0, "ham")}),
        ([[0.0, np.nan]], {}, {(0, 0, 0)}),
        (np.array([["a", None], [None, np.nan]], dtype=object), {}, {(0, 0, "a")}),
        (np.ma.masked_equal(np.array([[0, 5]]), 5), {}, {(0, 0, 0)}),
        ([[0.5, 1.0]], {}, {(0, 0, 0.5), (0, 1, 1.0)}),
    ],
    ids=[
        "rows and columns have numbers", "named rows and columns", "abstain", "nothing abstains", "a text abstains",
        "-1 in an array of texts", "-1 among texts", "nan", "None and nan", "masked", "fractions",
    ],
)  # fmt: skip
def test_rows_columns_and_abstentions_may_be_named(matrix, more, votes):
    found = Annotations.from_matrix(matrix, **more)
    assert set(map(repr, votes_of(found))) == set(map(repr, votes))  # 0 is not 0.0
    assert to_list(found.task_names) == sorted({task for task, _, _ in votes})
    assert len(found.unlabelled) == len(matrix) - found.n_tasks
    assert len(found.never_voted) == len(matrix[0]) - found.n_annotators


def test_classes_that_nobody_votes_for_can_be_given():
    votes = Annotations.from_matrix(L, classes=[2, 1, 0])
    assert to_list(votes.class_names) == [2, 1, 0]
    assert votes_of(votes) == votes_of(Annotations.from_matrix(L))
    with pytest.raises(InputError, match=r"label 1 is not among the classes 0, 2"):
        Annotations.from_matrix(L, classes=[0, 2])


@pytest.mark.parametrize(
    ("matrix", "more", "words"),
    [
        ([0, 1], {}, r"one row per task and one column per annotator, but the shape is \(2,\)"),
        ([[0, 1], [1]], {}, "rows of the matrix must be equally long"),
        (pd.DataFrame(L), {}, r'read it with finegold\.read\(frame, layout="wide", missing='),
        (L, {"annotators": ["a", "b"]}, "annotators must be 3 distinct names, .*, but are a, b"),
        (L, {"tasks": [1, 2, 3, 3]}, "tasks must be 4 distinct names"),
        (L, {"annotators": ["a", "b", None]}, "annotators must be 3 distinct names"),
        ([[-1, -1]], {}, "there are no votes"),
    ],
)
def test_what_is_wrong_is_said(matrix, more, words):
    with pytest.raises(InputError, match=words):
        Annotations.from_matrix(matrix, **more)


@given(st.data())
def test_a_matrix_is_read_as_its_votes_one_by_one(data):
    shape = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    matrix = np.array(
        data.draw(
            st.lists(st.integers(-1, 2), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
        )
    )
    matrix = matrix.reshape(shape)
    if (matrix == -1).all():
        matrix[0, 0] = 0
    found = Annotations.from_matrix(matrix)
    entries = [(i, j, int(matrix[i, j])) for i in range(shape[0]) for j in range(shape[1])]
    assert votes_of(found) == {entry for entry in entries if entry[2] != -1}
    assert found.unlabelled.tolist() == [i for i in range(shape[0]) if (matrix[i] == -1).all()]
    assert found.never_voted.tolist() == [j for j in range(shape[1]) if (matrix[:, j] == -1).all()]
    assert found.counts.rows == found.n_votes + found.counts.missing == matrix.size


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, "csv", "parquet"])
def test_a_wide_table_is_read_like_the_matrix(kind, tmp_path):
    columns = {name: L[:, j] for j, name in enumerate(NAMES)}
    table = kind(columns) if not isinstance(kind, str) else tmp_path / f"L.{kind}"
    if kind == "csv":
        table.write_text(WIDE)
    elif kind == "parquet":
        pl.DataFrame(columns).write_parquet(table)
    votes = finegold.read(table, layout="wide", missing=[-1])
    assert votes_of(votes) == VOTES
    assert (to_list(votes.unlabelled), to_list(votes.never_voted)) == ([2], ["never"])
    assert (votes.counts.rows, votes.counts.missing, votes.counts.left_out) == (12, 7, {})


@pytest.mark.parametrize("names", [NAMES, [10, 20, 30]])
def test_who_never_voted_is_kept_in_a_saved_model(names, tmp_path):
    result = finegold.aggregate(Annotations.from_matrix(L, annotators=names), method="mv")
    result.save(tmp_path / "m.finegold")
    assert finegold.load(tmp_path / "m.finegold").annotations.never_voted.tolist() == [names[1]]


def test_who_votes_at_last_is_no_longer_among_those_who_never_voted():
    result = finegold.aggregate(Annotations.from_matrix(L[:, :], annotators=NAMES), method="mv")
    later = Annotations.from_matrix([[1, 1, -1]], annotators=["never", "both", "new"], tasks=[9])
    assert to_list(result.update(later).annotations.never_voted) == ["new"]
