"""One front door: what works in `finegold aggregate` works in every command that fits, and in Python."""

import numpy as np
import pytest

import finegold
from finegold.api import fit as front_door
from finegold.api.options import FitOptions
from finegold.cli.app import every_command
from finegold.errors import InputError
from finegold.io.options import ReadOptions
from finegold.methods.ds import DS
from finegold.options import options_of
from tests.support.animals import TRUTH, VOTES
from tests.support.cli_helpers import json_of, refusal_of, run, without_seconds

COMMANDS = {
    "aggregate": ("{votes}", "--method", "ds", "-o", "{folder}/labels.csv"),
    "compare": ("{votes}", "--methods", "ds,ibcc"),
    "evaluate": ("{votes}", "--method", "ds", "--truth", str(TRUTH)),
    "export": ("{votes}", "--method", "ds", "--purpose", "torch", "-o", "{folder}/train.parquet"),
    "next-votes": ("{votes}", "--method", "ds"),
    "report": ("{votes}", "--method", "ds", "-o", "{folder}/report.html"),
    "trust": ("{votes}", "--method", "ds"),
    "update": ("{model}", "{votes}", "-o", "{folder}/new.finegold"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.finegold"
    finegold.aggregate(VOTES, "ds").save(path)
    return path


@pytest.fixture
def fits(monkeypatch):
    """The keywords of every fit."""
    seen, real = [], front_door.fit

    def spy(method, votes, **keywords):
        seen.append(keywords)
        return real(method, votes, **keywords)

    monkeypatch.setattr(front_door, "fit", spy)
    return seen


def run_command(name, folder, model, *options):
    places = {"votes": VOTES, "folder": folder, "model": model}
    return run(name, *(word.format(**places) for word in COMMANDS[name]), *options)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_fits_takes_a_prior_and_threads(name, fits, model, tmp_path):
    done = run_command(name, tmp_path, model, "--prior", model, "--threads", 3)
    assert done.exit_code == 0, done.stderr
    assert fits
    fits = [seen for seen in fits if seen]  # without that of the majority vote
    assert len(fits) == (2 if name == "compare" else 1)
    for seen in fits:
        assert (seen["prior"], seen["engine"].threads) == (str(model), 3)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine", "nowhere"], "there is no engine 'nowhere'; there are local"),
        (["--prior", "nowhere.finegold"], "nowhere.finegold"),
    ],
)
def test_every_command_that_fits_checks_where_it_runs(name, options, words, model, tmp_path):
    done = run_command(name, tmp_path, model, *options)
    assert done.exit_code == 2
    assert words in done.stderr


@pytest.mark.parametrize("name", ["next-votes", "report", "trust"])
@pytest.mark.parametrize(
    "option", [("--prior", "x"), ("--engine", "dask"), ("--gold", "x"), ("--layout", "wide")]
)
def test_a_saved_model_is_not_fitted_again(name, option, model):
    assert f"this is a saved model, which is fitted already; leave out {option[0]}" in refusal_of(
        name, model, *option
    )


def _words(option):
    return option.help.partition("  [default")[0]


def test_reading_options_are_those_of_every_command_that_reads():
    named = {
        name: {one.name: one for one in command.params} for name, command in every_command().items()
    }
    for declared, without, expected in (
        (
            ReadOptions,
            set(),
            {
                *COMMANDS,
                "agreement",
                "audit",
                "certify",
                "coverage",
                "convert",
                "numbers",
                "sample",
            },
        ),
        (FitOptions, {"method", "settings", "gold"}, {*COMMANDS, "audit", "certify", "sample"}),
    ):
        options = options_of(declared, "cli").keys() - without
        having = {
            name
            for name, params in named.items()
            if name != "simulate" and set(options) <= set(params)
        }
        assert having == expected
        for option in options:
            assert (
                len({(*named[name][option].opts, _words(named[name][option])) for name in having})
                == 1
            )


def test_next_votes_takes_votes_a_model_and_a_result(model):
    of_model, of_ds, by_default = (
        json_of("next-votes", *source) for source in ((model,), (VOTES, "--method", "ds"), (VOTES,))
    )
    assert of_model == of_ds != by_default
    of_votes = finegold.next_votes(VOTES, 5, method="ds").tasks()
    assert of_votes.equals(finegold.next_votes(model, 5).tasks())
    assert of_votes.equals(finegold.next_votes(finegold.load(model), 5).tasks())
    with pytest.raises(InputError, match="leave out threads because it needs votes"):
        finegold.next_votes(model, threads=2)


def test_evaluate_gives_the_figures_of_the_command():
    printed = json_of("evaluate", VOTES, "--truth", TRUTH, "--methods", "mv,ds")
    found = finegold.evaluate(VOTES, TRUTH, ["mv", DS()])
    assert without_seconds(found.to_dicts()) == without_seconds(printed)
    assert finegold.evaluate(VOTES, TRUTH)["method"].to_list() == ["anchored"]
    results = [finegold.aggregate(VOTES, "mv"), finegold.aggregate(VOTES, "ds")]
    assert finegold.evaluate(results, TRUTH).drop("seconds").equals(found.drop("seconds"))
    assert finegold.evaluate(VOTES, TRUTH, "mv").columns == found.columns
    with pytest.raises(InputError, match="no method is given"):
        finegold.evaluate(VOTES, TRUTH, [])


def test_evaluate_warns_of_truths_without_votes(tmp_path):
    votes = finegold.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "x"])
    with pytest.warns(finegold.FinegoldWarning, match="1 truth belongs to a task without votes"):
        assert finegold.evaluate(votes, {1: "x", 2: "y"}, "mv")["n_truths_unused"][0] == 1
    with pytest.raises(InputError, match="none of the 1 truths belongs to a task with votes"):
        finegold.evaluate(votes, {7: "x"}, "mv")


def test_compare_takes_names_and_methods():
    found = finegold.compare(VOTES, ["mv", "ds"], truth=TRUTH)
    printed = json_of("compare", VOTES, "--methods", "mv,ds", "--truth", TRUTH)["methods"]
    assert without_seconds(found.rows()) == without_seconds(printed)
    assert found.table().columns[:2] == ["method", "flips"]
    assert isinstance(found.results[0], finegold.Result)
    assert finegold.compare(VOTES, DS(max_iterations=2)).results[0].iterations == 2
    with pytest.raises(InputError, match="no method 'magic'"):
        finegold.compare(VOTES, ["mv", "magic"])


def test_what_a_method_cannot_do_is_said_before_the_first_fit(model):
    never = pytest.fail
    with pytest.raises(InputError, match="mv cannot take a prior"):
        finegold.compare(VOTES, ["ds", "mv"], prior=model, on_step=never)


def test_agreement_takes_votes_a_model_and_a_result(model):
    found = [finegold.agreement(source).alpha for source in (VOTES, model, finegold.load(model))]
    assert found[0] == found[1] == found[2]
    assert (
        finegold.agreement(VOTES, classes=["fox", "cat", "dog", "owl"], level="ordinal").alpha
        != found[0]
    )
    with pytest.raises(InputError, match="leave out task because it needs votes"):
        finegold.agreement(model, task="task")


def test_an_update_takes_what_a_fit_takes(fits, model):
    result = finegold.load(model).update(VOTES, prior=model, threads=2)
    assert result.known_annotators == len(result.annotator_names)
    assert fits[0]["engine"].threads == 2


def test_distances_from_the_shares_of_people():
    votes = finegold.Annotations.from_arrays([1, 1, 2, 2], list("abab"), [1, 2, 3, 3])
    shares = {"people": ([1, 2], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], [1, 2, 3])}
    row = finegold.evaluate(
        votes, {1: 1}, "mv", shares=shares["people"], ordered=[1, 2, 3]
    ).to_dicts()[0]
    # task 1 is as people see it; on task 2, half of the probability is one step away
    assert row["manhattan"] == pytest.approx(0.5)
    assert row["wasserstein"] == pytest.approx(0.25)
    assert row["jensen_shannon"] == pytest.approx(np.sqrt(0.311278) / 2, abs=1e-5)
