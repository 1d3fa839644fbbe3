"""What the method auto of Karat 0.1 left behind: its name, its settings, its models and its checkpoints."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import karat
from karat import Annotations, InputError, insight
from karat.api.fit import fit
from karat.errors import KaratWarning
from karat.methods.hds import HDS
from karat.methods.lookup import method_class
from karat.methods.registry import ALIASES, DEFAULT_METHOD, REGISTRY
from karat.results.predictions import votes_by_truth
from tests.cli_helpers import run

DATA = Path(__file__).parent / "data"
MODEL = DATA / "auto-0.1.karat"  # a blend of six methods, of 120 simulated votes, with a temperature of 3
NOTE = f"auto now means {DEFAULT_METHOD}; it no longer compares and blends several methods."


def default():
    return method_class(DEFAULT_METHOD)()


@pytest.fixture(scope="module")
def votes():
    return karat.load(MODEL).annotations


@pytest.fixture
def table(votes, tmp_path):
    path = tmp_path / "votes.csv"
    karat.write_votes(votes, path)
    return path


def test_auto_is_the_default_method_and_says_so(votes):
    assert ALIASES == {"auto": DEFAULT_METHOD}
    assert "auto" not in REGISTRY
    for name in ("auto", "AUTO"):
        result = karat.aggregate(votes, name)
        assert np.array_equal(result.posterior, karat.aggregate(votes).posterior)
        assert result.method == DEFAULT_METHOD
        assert result.notes == [NOTE.replace("auto", name, 1), *karat.aggregate(votes).notes]


def test_the_note_is_there_with_a_prior_too(votes):
    earlier = fit(default(), votes)
    assert NOTE in karat.aggregate(votes, "auto", prior=earlier).notes


def test_settings_that_only_auto_had_are_left_out_with_a_warning(votes):
    with pytest.warns(KaratWarning, match=f"auto now means {DEFAULT_METHOD}, which has no setting folds, calibrate"):
        result = karat.aggregate(votes, "auto", folds=3, calibrate=False, max_iterations=4)
    assert result.settings == {**default().settings, "max_iterations": 4}
    with pytest.raises(InputError, match=f"{DEFAULT_METHOD} has no setting folds"):
        karat.aggregate(votes, folds=3)
    with pytest.raises(InputError, match=f"{DEFAULT_METHOD} has no setting magic"):
        karat.aggregate(votes, "auto", magic=3)


def test_the_class_warns_and_is_an_estimator_of_the_default(votes):
    with pytest.warns(DeprecationWarning, match=r"karat\.Auto is now the default method"):
        make = karat.Auto
    with pytest.warns(KaratWarning, match="no setting most_votes"):
        made = make(most_votes=10, tolerance=0.1)
    made.fit(votes)
    assert isinstance(made, method_class(DEFAULT_METHOD))
    assert made.result_.settings["tolerance"] == 0.1
    assert made.result_.notes[0] == NOTE
    assert "Auto" not in dir(karat)


def test_the_command_line_takes_the_old_name_and_settings(table):
    done = run("aggregate", table, "--method", "auto", "--set", "folds=3")
    assert NOTE in done.stderr
    assert f"auto now means {DEFAULT_METHOD}, which has no setting folds: left out" in done.stderr
    assert done.stdout == run("aggregate", table).stdout
    truth = table.with_name("truth.csv")
    truth.write_text("task,truth\n0,0\n1,1\n")
    done = run("evaluate", table, "--truth", truth, "--method", "auto,mv", "--set", "folds=3")
    assert DEFAULT_METHOD in done.stdout
    assert "auto" not in run("methods").stdout.split()


def test_a_saved_blend_loads_with_its_labels_and_what_its_main_part_knew():
    result = karat.load(MODEL)
    assert result.method == "auto"
    assert result.label.tolist()[:5] == [0, 1, 1, 1, 0]
    assert result.confidence[:3] == pytest.approx([0.943353, 0.806445, 0.639733], abs=1e-6)
    assert result.learned.confusion.shape == (8, 3, 3)
    assert "The labels blend mv (25%), hds flat (22%)" in result.notes[0]
    assert result.settings["temperature"] == 3
    assert "choice" not in result.settings


def test_a_saved_blend_can_be_looked_at(tmp_path):
    result = karat.load(MODEL)
    assert len(result.labels()) == 60
    assert result.predict(0, 0).sum() == pytest.approx(1)
    assert result.trust().warnings is not None
    assert len(result.next(5).tasks()) == 5
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "The labels blend mv (25%)" in page
    assert f"a method of an earlier version of Karat that was removed; the name now means {DEFAULT_METHOD}" in page
    result.save(tmp_path / "again.karat")
    again = karat.load(tmp_path / "again.karat")
    assert again.settings == result.settings
    assert np.array_equal(again.posterior, result.posterior)
    assert again.method == "auto"


NEW = Annotations.from_arrays([0, 60], [0, 99], [1, 2], classes=[0, 1, 2])


@pytest.mark.parametrize("refit", [False, True])
def test_an_update_of_a_saved_blend_fits_all_votes_by_the_default_and_says_so(votes, refit):
    result = karat.load(MODEL).update(NEW, repeated="last", refit=refit)
    scratch = fit(default(), fit(default(), votes).update(NEW, repeated="last").annotations)
    assert result.method == DEFAULT_METHOD
    assert np.array_equal(result.posterior, scratch.posterior)
    assert (
        result.notes[0] == f"The method auto of the model was removed: all 122 votes were fitted by {DEFAULT_METHOD}."
    )


def test_a_saved_blend_is_a_prior_by_its_posterior(votes):
    before = karat.load(MODEL)
    result = karat.aggregate(votes, "hds", prior=MODEL)
    assert "8 of 8 annotators are known from an earlier run (auto)." in result.notes
    seen = votes_by_truth(before) + votes_by_truth(result)
    assert result.learned.statistics["seen"] == pytest.approx(seen.sum(axis=2), rel=1e-3)
    with pytest.raises(InputError, match="a prior of ptbcc must be a model of ptbcc, but this one is of auto"):
        karat.aggregate(votes, "ptbcc", prior=MODEL)


def test_a_plain_model_of_karat_0_1_is_as_it_was(votes):
    loaded, fitted = karat.load(DATA / "ptbcc-0.1.karat"), karat.aggregate(votes, "ptbcc")
    assert loaded.posterior == pytest.approx(fitted.posterior, abs=1e-9)
    assert loaded.label.tolist() == fitted.label.tolist()
    ours, theirs = (one.update(NEW, repeated="last") for one in (loaded, fitted))
    assert "2 votes were folded in" in ours.notes[0]
    assert ours.posterior == pytest.approx(theirs.posterior, abs=1e-9)


def test_a_checkpoint_of_auto_is_refused_in_one_sentence(votes, tmp_path):
    for name in ("auto-0.1.checkpoint", "auto-0.1.checkpoint.part-ptbcc"):
        shutil.copy(DATA / name, tmp_path)
    path = tmp_path / "auto-0.1.checkpoint"
    for method in ("auto", HDS()):
        with pytest.raises(
            InputError, match=r"checkpoint was left by auto, which no longer exists; discard it with --overwrite"
        ):
            karat.aggregate(votes, method, checkpoint=path, resume=True)
    assert karat.aggregate(votes, checkpoint=path, overwrite=True).converged
    assert list(tmp_path.iterdir()) == []


def test_old_names_of_what_was_learned_warn(votes):
    result = fit(HDS(), votes)
    with pytest.warns(DeprecationWarning, match="knowledge is now learned"):
        assert result.knowledge is result.learned
    with pytest.warns(DeprecationWarning, match="more is now statistics"):
        assert result.learned.more is result.learned.statistics


def test_old_names_of_correlated_annotators_warn(votes):
    with pytest.warns(DeprecationWarning, match="alike is now correlated_annotators"):
        assert insight.alike is insight.correlated_annotators
    with pytest.warns(DeprecationWarning, match="Alike is now CorrelatedAnnotators"):
        assert insight.Alike is insight.CorrelatedAnnotators
    found = karat.aggregate(votes, "mv").trust()
    with pytest.warns(DeprecationWarning, match="alike is now correlated"):
        assert found.alike is found.correlated
