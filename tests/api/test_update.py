"""New votes folded into a result: the votes are those of all, the sums are right, and untouched tasks stay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.fitting.updating import _renumber, _subtract_touched
from finegold.insight.expected import calibration
from finegold.methods.ds import DS
from finegold.methods.hds import HDS
from finegold.methods.ibcc import IBCC
from finegold.methods.lookup import method_class
from finegold.methods.mv import MajorityVote
from finegold.methods.ptbcc import PTBCC
from finegold.methods.registry import REGISTRY
from finegold.results.metrics import temper
from finegold.votes.encoding import MISSING
from finegold.votes.merging import merge
from paper.printed import make_method

ARRAYS = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
REMEMBER = [PTBCC(), MajorityVote(), DS(max_iterations=400), HDS(), IBCC()]


def cut(votes, last):
    """Two parts of the votes, as Annotations of the same classes, and all of them."""
    classes = sorted(set(votes[2].tolist()))
    parts = (slice(None, -last), slice(-last, None), slice(None))
    return [
        Annotations.from_arrays(*(column[part] for column in votes), classes=classes)
        for part in parts
    ]


@pytest.fixture(scope="module")
def parts():
    return cut(sample_votes(n_tasks=120), 60)


def same_votes(one, other):
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)
    for name in ("task_names", "annotator_names", "class_names"):
        assert list(getattr(one, name)) == list(getattr(other, name))


@pytest.mark.parametrize("seed", range(5))
def test_merged_votes_are_those_of_all_votes_read_at_once(seed):
    rng = np.random.default_rng(seed)
    task, annotator, label = (
        rng.integers(40, size=150),
        rng.integers(12, size=150),
        rng.integers(4, size=150),
    )
    names = [f"t{number}" for number in task] if seed % 2 else task
    first = int(rng.integers(1, 149))
    columns = [np.asarray(names, dtype=object if seed % 2 else None), annotator, label]
    old = Annotations.from_arrays(*(column[:first] for column in columns))
    new = Annotations.from_arrays(*(column[first:] for column in columns))
    merged = merge(old, new)
    whole = Annotations.from_arrays(*columns)
    same_votes(merged.votes, whole)
    assert merged.votes.counts.repeated == whole.counts.repeated
    assert merged.votes.counts.rows == 150


def test_repeated_votes_follow_the_wish():
    old = Annotations.from_arrays(["a"], ["ann"], ["x"], classes=["x", "y"])
    new = Annotations.from_arrays(["a"], ["ann"], ["y"])
    labels = {
        wish: merge(old, new, wish).votes.votes()[2].tolist() for wish in ("first", "last", "all")
    }
    assert labels == {"first": [0], "last": [1], "all": [0, 1]}
    with pytest.raises(InputError, match="repeat an earlier vote"):
        merge(old, new, "error")


def test_a_name_that_is_written_alike_is_the_same():
    merged = merge(
        Annotations.from_arrays([7, 8], [1, 1], [0, 1]),
        Annotations.from_arrays(["7"], ["2"], ["1"]),
    )
    assert list(merged.votes.task_names) == [7, 8]
    assert merged.votes.n_annotators == 2
    assert merged.votes.n_classes == 2


def without_all_tasks(method, votes, temperature=1.0):
    """A fit, its engine, and the sums that are left if those of all tasks are taken out."""
    result = fit(
        type(method)(**{**method.settings, "tolerance": 1e-7, "max_iterations": 3000}), votes
    )
    merged = merge(votes, Annotations.from_arrays(np.arange(120), ["new"] * 120, votes.gold * 0))
    known = _renumber(result.learned, method, merged.annotators)
    memory, engine = method.sufficient_statistics(replace(result, learned=known)), LocalEngine(1)
    sums = _subtract_touched(
        method, engine, memory, replace(result, temperature=temperature), merged
    )
    return result, engine, *sums


@pytest.mark.parametrize("method", REMEMBER, ids=lambda method: method.name)
def test_the_sums_of_all_tasks_taken_out_leave_nothing(parts, method):
    _, _, first, rest = without_all_tasks(method, parts[2])
    assert max(np.abs(field).max() for field in rest if isinstance(field, np.ndarray)) < 1e-3
    if isinstance(method, PTBCC):
        assert max(np.abs(field).max() for field in (first.tau, first.raw_pi, first.raw_v)) < 1e-6
        assert np.abs(first.pi.sum(axis=1)).max() < 1e-6


def test_priors_of_ptbcc_are_those_of_a_fit_from_scratch(parts):
    old, new, whole = parts
    updated, scratch = fit(PTBCC(), old).update(new), fit(PTBCC(), whole)
    for name in ("u", "beta", "a"):
        assert np.allclose(updated.learned.statistics[name], scratch.learned.statistics[name])


@pytest.mark.parametrize("method", REMEMBER, ids=lambda method: method.name)
def test_an_update_comes_close_to_a_fit_from_scratch_and_leaves_other_tasks_alone(parts, method):
    old, new, whole = parts
    before, scratch = fit(method, old), fit(method, whole)
    updated = before.update(new)
    same_votes(updated.annotations, whole)
    untouched = np.setdiff1d(old.task_names, new.task_names)
    assert np.array_equal(updated.posterior[untouched], before.posterior[untouched])
    assert (updated.label_codes != scratch.label_codes).mean() < 0.05
    assert np.allclose(updated.posterior.sum(axis=1), 1)
    assert np.array_equal(updated.votes_per_annotator, scratch.votes_per_annotator)
    assert method.name != "mv" or np.allclose(updated.accuracy, scratch.accuracy)
    assert "60 votes were folded in" in updated.notes[0]


def test_updates_add_up(parts):
    old, new, whole = parts
    result = fit(PTBCC(), old)
    task, annotator, label = new.votes()
    for part in (slice(0, 20), slice(20, 60)):
        names = new.task_names[task[part]], new.annotator_names[annotator[part]], label[part]
        result = result.update(Annotations.from_arrays(*names))
    same_votes(result.annotations, whole)
    assert "60 votes were folded in" in result.notes[0]
    assert np.allclose(
        result.learned.statistics["beta"], fit(PTBCC(), whole).learned.statistics["beta"]
    )


@pytest.mark.parametrize("name", REGISTRY)
def test_a_refit_is_a_fit_from_scratch(parts, name):
    old, new, whole = parts
    method = method_class(name)()
    assert np.array_equal(
        fit(method, old).update(new, refit=True).posterior, fit(method, whole).posterior
    )


def test_votes_that_are_known_already_change_nothing(parts):
    old = fit(PTBCC(), parts[0])
    again = old.update(parts[0])
    assert again.stopped == "no new votes to fold in"
    np.testing.assert_array_equal(again.posterior, old.posterior)
    assert again.annotations.n_votes == parts[0].n_votes


def test_a_truth_that_comes_with_known_votes_is_learned(parts):
    old = fit(PTBCC(), parts[0])
    told = np.full(parts[0].n_tasks, MISSING, np.int32)
    told[3] = (old.label_codes[3] + 1) % 3
    assert old.update(replace(parts[0], gold=told)).label_codes[3] == told[3]


def test_a_refit_needs_no_new_votes(parts):
    result = fit(PTBCC(), parts[0]).update(parts[1])
    assert np.array_equal(result.update(refit=True).posterior, fit(PTBCC(), parts[2]).posterior)


def test_a_new_annotator_and_a_new_task_are_welcome(parts):
    result = fit(PTBCC(), parts[0]).update(
        Annotations.from_arrays([999, 0], ["zoe", "zoe"], [1, 1])
    )
    assert 999 in list(result.task_names)
    assert result.labels().filter(result.labels()["task"] == 999)["label"].to_list() == [1]
    assert result.confusion("zoe").shape == (3, 3)


def test_a_new_class_needs_a_refit(parts):
    result, new = fit(PTBCC(), parts[0]), Annotations.from_arrays([0], ["zoe"], [7])
    with pytest.raises(
        InputError, match=r"does not know the label 7, only 0, 1, 2; use refit=True"
    ):
        result.update(new)
    assert list(result.update(new, refit=True).class_names) == [0, 1, 2, 7]


@pytest.mark.parametrize(
    ("method", "words"), [("glad", "glad cannot fold in new votes"), ("ibcc", "inference=vb")]
)
def test_methods_that_cannot_fold_in_say_so(parts, method, words):
    with pytest.raises(InputError, match=f"{words}.*refit=True"):
        finegold.aggregate(parts[0], make_method(method)).update(parts[1])


def test_gold_may_arrive_alone_and_what_was_known_stays(parts):
    first = finegold.aggregate(parts[0], gold={0: 2})
    result = first.update(gold={1: 0})
    assert result.label_codes[:2].tolist() == [2, 0]
    assert (result.gold != MISSING).sum() == 2
    assert result.posterior[1].tolist() == [1, 0, 0]
    assert np.array_equal(result.posterior[2:], first.posterior[2:])


@pytest.mark.parametrize("name", ["mv", "ds", "hds"])
def test_truths_that_arrive_are_certain_whatever_the_method(parts, name):
    result = finegold.aggregate(parts[0], name).update(gold={1: 0})
    assert result.posterior[1].tolist() == [1, 0, 0]


def test_gold_may_be_a_column_of_the_new_votes(parts):
    frame = pd.DataFrame(
        {"task": [500, 500], "annotator": [1, 2], "label": [0, 1], "truth": [1, 1]}
    )
    assert fit(PTBCC(), parts[0]).update(frame, gold="truth").label[-1] == 1


def test_nothing_to_update_with_and_models_without_votes_are_refused(parts, tmp_path):
    result = fit(PTBCC(), parts[0])
    with pytest.raises(InputError, match="nothing to update"):
        result.update()
    with pytest.raises(InputError, match="saved without its votes"):
        replace(result, annotations=None).update(parts[1])


def test_a_loaded_model_is_updated_to_the_same_bits(parts, tmp_path):
    result = fit(PTBCC(), parts[0])
    result.save(tmp_path / "model")
    ours, theirs = result.update(parts[1]), finegold.load(tmp_path / "model").update(parts[1])
    assert np.array_equal(ours.posterior, theirs.posterior)
    assert np.array_equal(ours.accuracy, theirs.accuracy)


def test_single_precision_stays_single(parts):
    assert fit(PTBCC(precision="single"), parts[0]).update(parts[1]).posterior.dtype == np.float32


def test_estimators_learn_in_parts(parts):
    learner = finegold.PTBCC().partial_fit(parts[0]).partial_fit(parts[1])
    same_votes(learner.result_.annotations, parts[2])


@pytest.mark.parametrize(
    "method",
    [PTBCC(), MajorityVote(), DS(), HDS(), HDS(class_prior="flat")],
    ids=["ptbcc", "mv", "ds", "hds", "flat"],
)
def test_posteriors_are_found_again_from_parameters_and_votes(parts, method):
    """The sums of all tasks, made of these posteriors and taken out, leave nothing."""
    result, engine, _, rest = without_all_tasks(
        method, parts[2], 2.0
    )  # its posteriors are computed again
    assert np.abs(engine.posterior - result.posterior).max() < 0.02
    assert max(np.abs(field).max() for field in rest if isinstance(field, np.ndarray)) < 0.2


def test_a_flat_prior_stays_flat(parts):
    result = fit(HDS(class_prior="flat"), parts[2])
    against = Annotations.from_arrays(
        np.arange(120), ["new"] * 120, np.full(120, 2)
    )  # shares of 0 and 1 fall
    assert result.update(against).learned.statistics["u"].tolist() == [1, 1, 1]


def test_a_calibrated_model_stays_calibrated():
    order = np.random.default_rng(0).permutation(
        len(sample_votes(n_tasks=120)[0])
    )  # new votes are of old tasks, too
    old, new, _ = cut([column[order] for column in sample_votes(n_tasks=120)], 60)
    result = fit(PTBCC(), old)
    truth = {
        int(task): int((label + (task % 3 == 0)) % 3)
        for task, label in enumerate(result.label_codes)
    }
    found = calibration(result, truth)
    assert found.temperature > 1.5
    touched = np.unique(new.task_names)
    plain, tempered = (one.update(new).posterior[touched] for one in (result, found.apply(result)))
    assert np.abs(tempered - temper(plain, found.temperature)).max() < 0.02
