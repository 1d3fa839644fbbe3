"""New votes added to a result: it is the fit of all votes."""

from dataclasses import replace

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.insight.calibration import calibration
from finegold.methods.lookup import REGISTRY, method_class
from finegold.methods.ptbcc import PTBCC
from finegold.results.metrics import temper
from finegold.votes.encoding import MISSING
from finegold.votes.merging import merge

ARRAYS = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")


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
    same_votes(merged, whole)
    assert merged.counts.repeated == whole.counts.repeated
    assert merged.counts.rows == 150


def test_repeated_votes_follow_the_wish():
    old = Annotations.from_arrays(["a"], ["ann"], ["x"], classes=["x", "y"])
    new = Annotations.from_arrays(["a"], ["ann"], ["y"])
    labels = {wish: merge(old, new, wish).votes()[2].tolist() for wish in ("first", "last", "all")}
    assert labels == {"first": [0], "last": [1], "all": [0, 1]}
    with pytest.raises(InputError, match="repeat an earlier vote"):
        merge(old, new, "error")


@pytest.mark.parametrize("name", REGISTRY)
def test_an_update_is_a_fit_of_all_votes(parts, name):
    old, new, whole = parts
    method = method_class(name)()
    updated = fit(method, old).update(new)
    same_votes(updated.annotations, whole)
    assert np.array_equal(updated.posterior, fit(method, whole).posterior)


def test_a_truth_that_comes_with_known_votes_is_learned(parts):
    old = fit(PTBCC(), parts[0])
    told = np.full(parts[0].n_tasks, MISSING, np.int32)
    told[3] = (old.label_codes[3] + 1) % 3
    assert old.update(replace(parts[0], gold=told)).label_codes[3] == told[3]


def test_a_new_annotator_and_a_new_task_are_welcome(parts):
    result = fit(PTBCC(), parts[0]).update(
        Annotations.from_arrays([999, 0], ["zoe", "zoe"], [1, 1])
    )
    assert 999 in list(result.task_names)
    assert result.labels().filter(result.labels()["task"] == 999)["label"].to_list() == [1]
    assert result.confusion("zoe").shape == (3, 3)


def test_gold_may_arrive_alone_and_what_was_known_stays(parts):
    result = finegold.aggregate(parts[0], gold={0: 2}).update(gold={1: 0})
    assert result.label_codes[:2].tolist() == [2, 0]
    assert (result.gold != MISSING).sum() == 2
    assert result.posterior[1].tolist() == [1, 0, 0]


def test_a_calibrated_model_keeps_its_temperature(parts):
    old, new, whole = parts
    result = fit(PTBCC(), old)
    truth = {
        int(task): int((label + (task % 3 == 0)) % 3)
        for task, label in enumerate(result.label_codes)
    }
    found = calibration(result, truth)
    assert found.temperature > 1.5
    updated, plain = found.apply(result).update(new), fit(PTBCC(), whole)
    assert updated.temperature == found.temperature
    assert "keep the temperature" in updated.notes[-1]
    np.testing.assert_allclose(updated.posterior, temper(plain.posterior, found.temperature))
