"""All methods on one file, side by side."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import Annotations
from finegold.api.evaluate import comparison_of
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.insight.comparison import Comparison
from finegold.methods.lookup import REGISTRY, method_class
from tests.support.animals import VOTES as SAMPLE
from tests.support.cli_helpers import CSV, json_of, succeed, write

QUICK = ["mv", "ds", "ptbcc"]


@pytest.fixture
def votes():
    return Annotations.from_arrays(*sample_votes())


def results_of(votes, *names):
    """The results of methods, and that of the majority vote."""
    return [fit(method_class(name)(), votes) for name in names], fit(method_class("mv")(), votes)


def test_agreement_and_flips_are_those_of_the_labels(votes):
    found = finegold.compare(votes, QUICK)
    results = {name: fit(method_class(name)(), votes) for name in QUICK}
    assert [each.method for each in found.results] == QUICK
    assert np.allclose(np.diag(found.agreement), 1)
    assert found.agreement[1, 2] == np.mean(results["ds"].label == results["ptbcc"].label)
    flips = [len(results[name].flips()) for name in QUICK]
    assert [row["flips"] for row in found.rows()] == flips
    assert flips[0] == 0 < flips[1]


def test_compare_aggregate_and_trust_count_the_same_flips():
    methods = ["ptbcc", "ds", "hds"]
    rows = json_of("compare", SAMPLE, "--methods", ",".join(methods))["methods"]
    for row in rows:
        one = json_of("aggregate", SAMPLE, "--method", row["method"])
        assert (
            row["flips"]
            == one["differs_from_majority"]
            == finegold.aggregate(SAMPLE, row["method"]).trust().n_flips
        )
    assert [row["flips"] for row in rows] == [17, 22, 21]


def test_a_label_that_shares_the_most_votes_is_no_flip_and_one_below_several_leaders_is():
    """Task 1: x and y have two votes each. Task 2: the label x has one vote, y and z have two each."""
    votes = Annotations.from_arrays([1] * 4 + [2] * 5, list("abcdabcde"), list("xxyyxyyzz"))
    result = replace(fit(method_class("mv")(), votes), label_codes=np.zeros(2, np.int32))
    (row,) = comparison_of([result]).rows()
    assert row["flips"] == len(result.flips()) == 1
    assert result.flips()["task"].to_list() == [2]


def test_flips_are_judged_by_the_truth(votes):
    truth = fit(method_class("ds")(), votes).label_codes.copy()
    truth[:5] = -1
    row = Comparison(*results_of(votes, "mv", "ds"), truth).rows()[1]
    assert row["accuracy"] == 1.0
    assert row["flips_wrong"] == 0
    assert 0 < row["flips_right"] <= row["flips"]


def test_the_command_compares_every_registered_method(tmp_path):
    path = write(tmp_path / "votes.csv", CSV)
    result = succeed("compare", path, "--json", "--set", "n_restarts=2")
    found = json.loads(result.stdout)
    assert [row["method"] for row in found["methods"]] == list(REGISTRY)
    assert found["agreement"]["mv"]["mv"] == 1.0


def test_the_command_writes_its_tables(tmp_path):
    path = write(tmp_path / "votes.csv", CSV)
    truth = write(tmp_path / "truth.csv", "task,truth\nt1,x\nt2,y\n")
    table, labels = tmp_path / "table.csv", tmp_path / "labels.csv"
    result = succeed(
        "compare", path, "--truth", truth, "--methods", "mv,ds", "-o", table, "--labels", labels
    )
    assert "accuracy" in result.stdout
    assert "give the same label" in result.stdout
    assert pl.read_csv(table)["method"].to_list() == ["mv", "ds"]
    assert pl.read_csv(labels).columns == ["task", "mv", "ds"]
    assert pl.read_csv(labels)["mv"].to_list()[:2] == ["x", "y"]
