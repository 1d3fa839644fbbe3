"""Numbers as votes: finegold.numbers."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest

import finegold
from finegold import numbers
from finegold.errors import InputError
from tests.support.cli_helpers import succeed
from tests.support.report_helpers import EVIL, Page

RNG = np.random.default_rng(1)
VALUE = RNG.normal(50, 20, 150)
ROWS = [
    (f"t{task:03}", f"w{rater}", round(float(VALUE[task] + bias + RNG.normal(0, 5)), 1))
    for task in range(150)
    for rater, bias in enumerate([0, 6, -6, 25])
    if (task + rater) % 4
]
FRAME = pl.DataFrame(ROWS, schema=["task", "annotator", "label"], orient="row")
TRUTH = {f"t{task:03}": float(VALUE[task]) for task in range(150)}


def test_values_are_nearer_to_the_truth_than_means_and_biases_are_found():
    result = numbers.aggregate(FRAME)
    means = FRAME.group_by("task").agg(pl.col("label").mean()).sort("task")["label"].to_numpy()
    errors = result.evaluate(TRUTH, within=10)
    assert errors.n_tasks == 150
    assert errors.mean_absolute_error < np.abs(means - VALUE).mean()
    assert (
        errors.mean_absolute_error_low
        < errors.mean_absolute_error
        < errors.mean_absolute_error_high
    )
    assert errors.share_within_low < errors.share_within < errors.share_within_high
    assert errors.spearman > 0.9
    annotators = result.annotators()
    assert annotators.sort("bias")["annotator"].to_list() == ["w2", "w0", "w1", "w3"]


def test_the_report_shows_values_on_their_scale_and_what_raters_are_like(tmp_path):
    frame = FRAME.with_columns(pl.col("annotator") + EVIL)
    frame.write_csv(tmp_path / "votes.csv")
    path = tmp_path / "report.html"
    succeed("numbers", tmp_path / "votes.csv", "--report", path, "-o", tmp_path / "values.csv")
    page = Page(path)
    assert page.figures == {"scores", "raters"}
    assert len(page.scripts) == 1
    assert "150 tasks from " in page.words
    assert "40 of 150 shown, ordered by value" in page.words


def test_frames_of_the_users_library_come_back():
    result = numbers.aggregate(FRAME.to_pandas())
    values = result.values()
    assert isinstance(values, pd.DataFrame)
    assert list(values) == ["task", "value", "value_low", "value_high", "n_votes"]
    assert (values.value_low < values.value).all()
    assert isinstance(result.sample(10), pd.DataFrame)


def test_a_random_sample_that_is_checked_measures_the_error():
    result = numbers.aggregate(FRAME)
    sheet = result.sample(40)
    assert sheet["task"].n_unique() == 40
    assert result.sample(40, seed=1)["task"].to_list() != sheet["task"].to_list()
    checked = sheet.with_columns(truth=pl.col("task").replace_strict(TRUTH))
    assert result.evaluate(checked).n_tasks == 40


def test_errors_are_those_worked_out_by_hand():
    rows = [
        (task, worker, value)
        for task, value in zip("abcd", (1, 2, 3, 4), strict=True)
        for worker in "xy"
    ]
    result = numbers.aggregate(rows)
    errors = result.evaluate([("nobody", 9), ("d", 7), ("a", 1), ("b", 3), ("c", 3)], within=1)
    assert (errors.n_tasks, errors.mean_absolute_error, errors.bias) == (4, 1, -1)
    share = binomtest(3, 4).proportion_ci(method="exact")
    found = errors.share_within, errors.share_within_low, errors.share_within_high
    assert found == pytest.approx((3 / 4, share.low, share.high))


def test_the_interval_of_the_mean_error_holds():
    value = np.zeros(2000)
    true = RNG.normal(0, 1, (300, 60))
    errors = [numbers.measure_errors(value[:60], each) for each in true]
    mean = math.sqrt(2 / math.pi)
    held = np.mean(
        [e.mean_absolute_error_low <= mean <= e.mean_absolute_error_high for e in errors]
    )
    assert held > 0.9


@pytest.mark.parametrize(
    ("labels", "are_numbers"),
    [
        ([1, 2, 3], False),
        ([1.5, 2, 3], True),
        (list(range(40)), True),
        (["a", "b"], False),
        (["1.5", "2"], True),
    ],
)
def test_decimals_and_many_values_are_numbers(labels, are_numbers):
    votes = finegold.Annotations.from_arrays(
        [str(each) for each in range(len(labels))], ["w"] * len(labels), labels
    )
    assert numbers.are_numbers(votes) == are_numbers


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="a label is 'cat', which is not a number"):
        numbers.aggregate([("t", "w", "cat"), ("t", "v", "2")])
    result = numbers.aggregate(FRAME)
    with pytest.raises(InputError, match="a truth is 'high'"):
        result.evaluate({"t001": "high"})
    with pytest.raises(InputError, match="no truth belongs to a task with votes"):
        result.evaluate({"x": 3})
