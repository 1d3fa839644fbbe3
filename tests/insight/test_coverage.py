"""What annotators and labelling functions cover: by hand, against a dense twin, and on the command line."""

import json
import tracemalloc

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
from tests.support.cli_helpers import json_of, read_table, refusal_of, run, succeed, write

# Four functions on five tasks, -1 abstains: "all" votes on nearly everything, "ham" for class 0 only.
L = np.array(
    [
        [0, 0, 0, -1],
        [1, 0, 0, -1],
        [1, -1, 1, -1],
        [1, -1, -1, -1],
        [-1, -1, -1, -1],
    ]
)
NAMES = ["all", "ham", "some", "never"]
TRUTH = {0: 0, 1: 1, 2: 0, 4: 1}
# Worked out by hand: on 5 tasks
BY_HAND = {
    "annotator": ["all", "ham", "some", "never"],
    "n_votes": [4, 2, 3, 0],
    "coverage": [0.8, 0.4, 0.6, 0.0],
    "polarity": [[0, 1], [0], [0, 1], []],
    "overlaps": [0.6, 0.4, 0.6, 0.0],  # task 3 has one vote
    "conflicts": [0.2, 0.2, 0.2, 0.0],  # on task 1 only
    "n_truths": [3, 2, 3, 0],
    "empirical_accuracy": [2 / 3, 0.5, 1 / 3, None],
}
WIDE = "task,all,ham,some,never\n" + "".join(
    f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(L.tolist())
)


def matrix():
    return Annotations.from_matrix(L, annotators=NAMES)


def test_the_table_by_hand():
    found = finegold.coverage(matrix(), TRUTH)
    assert found.to_dict(as_series=False) == BY_HAND
    assert list(finegold.coverage(matrix()).columns) == list(BY_HAND)[:-2]


def test_figures_of_all_annotators_together():
    assert coverage_figures(matrix()) == {
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


def test_gold_is_known_truth_too():
    votes = Annotations.from_arrays([1, 1, 2], ["a", "b", "a"], ["x", "y", "y"], gold={1: "x"})
    assert finegold.coverage(votes, {1: "x"})["empirical_accuracy"].to_list() == [1.0, 0.0]


def test_truths_of_other_tasks_are_refused():
    with pytest.raises(InputError, match="none of the 1 truths belongs to a task with votes"):
        finegold.coverage(matrix(), {77: 1})


def test_a_result_adds_expected_accuracies():
    result = finegold.aggregate(matrix(), method="ds")
    found = finegold.coverage(result, TRUTH)
    assert found["accuracy"].to_list() == [*result.accuracy.tolist(), None]
    assert (
        found.drop("accuracy", "accuracy_low", "accuracy_high").to_dict(as_series=False) == BY_HAND
    )
    with pytest.raises(InputError, match="layout cannot be applied to a result"):
        finegold.coverage(result, layout="wide")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_comes_back_as_it_came(kind):
    frame = kind({"task": list(range(5)), **{name: L[:, j] for j, name in enumerate(NAMES)}})
    found = finegold.coverage(frame, TRUTH, layout="wide", missing=[-1])
    assert type(found) is type(frame)
    plain = to_polars(found).to_dict(as_series=False)
    assert {
        name: [v if v == v else None for v in values] for name, values in plain.items()
    } == BY_HAND


def test_classes_of_mixed_kinds_become_text():
    votes = Annotations.from_arrays([1, 1], ["a", "b"], np.array([1, "x"], dtype=object))
    assert finegold.coverage(votes)["polarity"].to_list() == [["1"], ["x"]]


def twin(votes, truth):
    """The same, slowly: a table of tasks and annotators, whose entries are the sets of classes voted for."""
    n_tasks = votes.n_tasks + len(votes.unlabelled)
    said = [[set() for _ in range(votes.n_annotators)] for _ in range(votes.n_tasks)]
    n_votes, right, judged = (np.zeros(votes.n_annotators, int) for _ in range(3))
    for i, j, k in zip(*votes.votes(), strict=True):
        said[i][j].add(int(k))
        n_votes[j] += 1
        judged[j] += truth[i] >= 0
        right[j] += truth[i] == k
    rows = []
    for j in range(votes.n_annotators):
        others = [
            set().union(*(row[o] for o in range(votes.n_annotators) if o != j)) for row in said
        ]
        own = [row[j] for row in said]
        together = [bool(mine and theirs) for mine, theirs in zip(own, others, strict=True)]
        differ = [
            any(a != b for a in mine for b in theirs)
            for mine, theirs in zip(own, others, strict=True)
        ]
        share = right[j] / judged[j] if judged[j] else None
        covered = sum(map(bool, own)) / n_tasks
        polarity = sorted(set().union(*own))
        rows.append(
            (
                n_votes[j],
                covered,
                polarity,
                sum(together) / n_tasks,
                sum(differ) / n_tasks,
                judged[j],
                share,
            )
        )
    return rows


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=40
    ),
    st.lists(st.integers(-1, 4), min_size=6, max_size=6),
    st.sampled_from(["first", "all"]),
)
def test_sums_over_votes_equal_a_dense_table(rows, truth, repeated):
    rows = [*rows, (0, 0, 0)]
    task, annotator, label = zip(*rows, strict=True)
    labels = np.array([None if k < 0 else k for k in label], dtype=object)
    votes = Annotations.from_arrays(
        task, annotator, labels, classes=list(range(4)), repeated=repeated
    )
    key = np.array(truth, np.int32)[: votes.n_tasks]
    key[0] = 0
    found = finegold.coverage(votes, key).head(votes.n_annotators).drop("annotator").rows()
    assert found == twin(votes, key)


def test_many_votes_need_no_table_of_tasks_and_annotators():
    n = 20_000
    rng = np.random.default_rng(0)
    task, annotator = (
        rng.permutation(n),
        rng.permutation(n),
    )  # a dense table would have 400 million entries
    votes = Annotations.from_arrays(
        np.append(task, 0), np.append(annotator, 1), np.append(task % 300, 5)
    )
    finegold.coverage(matrix())  # compiled, loaded
    tracemalloc.start()
    found = finegold.coverage(votes, {0: 5})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == votes.n_annotators
    assert peak < 1000 * n  # bytes


@pytest.fixture
def files(tmp_path):
    truth = "task,truth\n" + "".join(f"{task},{label}\n" for task, label in TRUTH.items())
    return write(tmp_path / "L.csv", WIDE), write(tmp_path / "truth.csv", truth)


def as_rows(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_json_of_the_command(files):
    votes, truth = files
    found = succeed(
        "coverage", votes, "--layout", "wide", "--missing", "-1", "--truth", truth, "--json"
    )
    told = json.loads(found.stdout)
    assert told.pop("annotators") == as_rows(BY_HAND)
    assert told == coverage_figures(matrix())
    assert "1 task without any vote (listed without a label)" in found.stderr
    assert "1 annotator without any vote: never" in found.stderr


def test_text_of_the_command(files):
    found = succeed("coverage", files[0], "--layout", "wide", "--missing", "-1")
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert "5 tasks, 4 annotators, 2 classes" in found.stdout
    assert "tasks on which votes differ 20.0%" in lines
    assert "annotators who vote for one class only 1" in lines
    assert "annotators without any vote 1" in lines
    shown = [name for line in lines for name in NAMES if line.startswith(f"{name} ")]
    assert shown == ["all", "some", "ham", "never"]  # by coverage
    assert "all 4 0.800 0, 1 0.600 0.200" in lines


def test_a_long_polarity_is_cut_on_the_terminal_only(tmp_path):
    rows = "".join(f"{k},a,c{k}\n" for k in range(8))
    votes = write(tmp_path / "v.csv", f"task,worker,label\n{rows}")
    assert "c0, c1, c2, c3, c4 and 3 more" in run("coverage", votes).stdout
    assert len(json_of("coverage", votes)["annotators"][0]["polarity"]) == 8


@pytest.mark.parametrize(
    ("name", "polarity"), [("out.csv", "0, 1"), ("out.tsv", "0, 1"), ("out.parquet", [0, 1])]
)
def test_the_table_is_written(files, tmp_path, name, polarity):
    out = tmp_path / name
    succeed(
        "coverage", files[0], "--layout", "wide", "--missing", "-1", "--truth", files[1], "-o", out
    )
    table = read_table(out)
    assert table.columns == list(BY_HAND)
    assert table["coverage"].to_list() == BY_HAND["coverage"]
    first = table["polarity"][0]
    assert (first.to_list() if isinstance(first, pl.Series) else first) == polarity


def test_a_saved_model_shows_expected_accuracies(files, tmp_path):
    model = tmp_path / "m.finegold"
    options = (
        "--layout",
        "wide",
        "--missing",
        "-1",
        "--method",
        "ds",
        "-o",
        tmp_path / "labels.csv",
        "--save",
        model,
    )
    succeed("aggregate", files[0], *options)
    told = json_of("coverage", model)["annotators"]
    assert [row["annotator"] for row in told] == NAMES
    assert [row["accuracy"] for row in told][:3] == pytest.approx(finegold.load(model).accuracy)
    assert told[3]["accuracy"] is None
    assert "leave out --layout because it needs votes" in refusal_of(
        "coverage", model, "--layout", "wide"
    )


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
