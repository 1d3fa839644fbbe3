"""The paper's settings are one call away, and what `finegold reproduce` runs with; the defaults are for work."""

import json

import numpy as np
import pytest

import finegold
from finegold.api.job import fit
from finegold.methods.lookup import make_method, method_class
from finegold.paper import fits
from tests.support.animals import TRUTH, VOTES
from tests.support.cli_helpers import refusal_of, run, succeed

# The defaults of 0.1, when they were the rows of the paper's tables.
OLD = {
    "catd": {
        "tolerance": 0.0,
        "max_iterations": 100,
        "seed": 1,
        "ties": "random",
        "quantiles": "printed",
    },
    "ds": {"tolerance": 0.0, "max_iterations": 20, "seed": 0, "quality": 0.7},
    "glad": {
        "tolerance": 1e-4,
        "max_iterations": 500,
        "priors": False,
        "gradient_tolerance": 0.01,
        "steps": 25,
    },
    "ibcc": {
        "tolerance": 0.0,
        "max_iterations": 40,
        "inference": "ep",
        "right": None,
        "wrong": 1.0,
    },
    "ebcc": {
        "tolerance": 1e-3,
        "max_iterations": 500,
        "seed": 4,
        "n_subtypes": 10,
        "n_restarts": 40,
        "a_pi": 0.1,
    },
    "fgbcc": {"tolerance": 1e-6, "max_iterations": 1000, "exact": False, "lbfgs_tolerance": 1e-5},
}


@pytest.mark.parametrize("name", OLD)
def test_the_papers_settings_are_the_defaults_of_before(name):
    made = make_method(name, {}, paper=True)
    assert OLD[name].items() <= made.settings.items()
    assert made.settings == method_class(name)(**finegold.paper.settings(name)).settings
    assert fits.make_fit(name, "val5", **OLD[name]) == fits.make_fit(
        name, "val5"
    )  # reproduce runs with them
    assert fits._defaults(name) == made.settings


@pytest.mark.parametrize("name", ["catd", "ds", "ibcc"])
def test_posteriors_with_the_papers_settings_are_those_of_before_to_the_bit(name):
    votes = finegold.read(VOTES)
    one, other = (
        fit(make_method(name, {}, paper=True), votes),
        fit(method_class(name)(**OLD[name]), votes),
    )
    assert np.array_equal(one.posterior, other.posterior)


def test_defaults_are_for_work():
    assert (finegold.IBCC().inference, finegold.IBCC().tolerance) == ("vb", 1e-3)
    assert (finegold.CATD().ties, finegold.CATD().quantiles) == ("split", "exact")
    assert all(method_class(name)().seed == 0 for name in OLD)


def test_settings_that_are_given_come_before_the_papers():
    assert make_method("ds", {"max_iterations": 7}, paper=True).settings["max_iterations"] == 7
    changed = finegold.paper.settings("ds")
    changed["max_iterations"] = 1
    assert finegold.paper.settings("DS")["max_iterations"] == 20


def test_a_method_that_the_paper_does_not_have_is_refused():
    with pytest.raises(
        finegold.InputError, match=r"^hds is not among the paper's methods: mv, catd, ds,"
    ):
        finegold.paper.settings("hds")


def test_the_option_of_the_command_line(tmp_path):
    model = tmp_path / "model.finegold"
    assert (
        run(
            "aggregate", VOTES, "--method", "ibcc", "--paper", "--set", "wrong=2", "--save", model
        ).exit_code
        == 0
    )
    assert finegold.load(model).settings["inference"] == "ep"
    assert finegold.load(model).settings["wrong"] == 2
    for paper in (True, False):
        given = [
            "--method",
            "ibcc,hds",
            "--truth",
            TRUTH,
            "--json",
            *(["--paper"] if paper else []),
        ]
        for command in ("evaluate", "compare"):
            done = succeed(command, VOTES, *given)
            found = json.loads(done.stdout)
            rows = found["methods"] if command == "compare" else found
            assert (rows[0]["iterations"] == 40) == paper


def test_the_option_is_refused_for_a_method_that_the_paper_does_not_have(tmp_path):
    message = refusal_of(
        "aggregate", VOTES, "--method", "hds", "--paper", "-o", tmp_path / "labels.csv"
    )
    assert "hds is not among the paper's methods: mv, catd, ds" in message
