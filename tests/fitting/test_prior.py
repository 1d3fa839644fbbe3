"""What an earlier run knew of annotators counts as if its votes stood in the new table."""

import numpy as np
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.api.fit import fit
from finegold.methods.ds import DS
from finegold.methods.hds import HDS
from finegold.methods.ibcc import IBCC
from finegold.methods.ptbcc import PTBCC

METHODS = [PTBCC(), DS(), HDS(), IBCC(inference="ep"), IBCC()]


@pytest.fixture(scope="module")
def earlier():
    """ann and bob are nearly always right, eve is nearly always wrong; classes x and y."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    rights = {"ann": 0.95, "bob": 0.95, "cat": 0.9, "eve": 0.1}
    rows = [
        (i, who, "xy"[t if rng.random() < p else 1 - t])
        for who, p in rights.items()
        for i, t in enumerate(truth)
    ]
    return Annotations.from_arrays(*zip(*rows, strict=True))


DISPUTED = Annotations.from_arrays([1, 1, 2, 2], ["ann", "eve"] * 2, ["x", "y", "y", "x"])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_dispute_is_settled_by_what_is_known_of_both(earlier, method):
    without = finegold.aggregate(DISPUTED, method)
    assert without.tied.all() or method.name == "ibcc"
    result = finegold.aggregate(DISPUTED, method, prior=fit(method, earlier))
    assert result.label.tolist() == ["x", "y"]
    assert result.confidence.min() > (
        0.5 if method.name == "ptbcc" else 0.8
    )  # two prototypes, four people
    assert "2 of 2 annotators are known" in result.notes[0]


def test_ptbcc_adds_the_counts_of_the_earlier_posterior(earlier):
    before = fit(PTBCC(), earlier)
    result = finegold.aggregate(DISPUTED, "ptbcc", prior=before)
    known = dict(zip(before.annotator_names, before.learned.statistics["eta"], strict=True))
    beta = result.learned.statistics["beta"]
    votes = result.learned.statistics["eta"].sum(axis=1) - beta.sum(axis=1)
    assert votes == pytest.approx([2, 2])
    assert (beta >= [known["ann"], known["eve"]]).all()
    assert (result.learned.statistics["a"] >= before.learned.statistics["mu"]).all()


@pytest.mark.parametrize(
    "method", [DS(), HDS(), IBCC(inference="vb")], ids=lambda method: method.name
)
def test_counts_of_all_runs_add_up(earlier, method):
    once = finegold.aggregate(DISPUTED, method, prior=fit(method, earlier))
    twice = finegold.aggregate(DISPUTED, method, prior=once)
    votes = [result.learned.statistics["n"].sum(axis=(1, 2)) for result in (once, twice)]
    assert votes[0] == pytest.approx([202, 202], rel=1e-6)
    assert votes[1] == pytest.approx([204, 204], rel=1e-6)


def test_classes_are_matched_by_name(earlier):
    votes = Annotations.from_arrays([1, 1, 2, 2, 3], ["ann", "eve"] * 2 + ["ann"], list("xyyxa"))
    for method in (PTBCC(), HDS()):
        result = finegold.aggregate(votes, method, prior=fit(method, earlier))
        assert result.label.tolist() == ["x", "y", "a"]


def test_new_annotators_are_as_without_a_prior(earlier):
    votes = Annotations.from_arrays(
        [1, 1, 1, 2], ["ann", "eve", "new", "new"], ["x", "y", "y", "y"]
    )
    result = finegold.aggregate(votes, "ptbcc", prior=fit(PTBCC(), earlier))
    assert result.learned.statistics["beta"].sum(axis=1)[2] < 2
    assert "2 of 3 annotators are known" in result.notes[0]


def test_an_update_after_a_prior_asks_for_it(earlier):
    before = fit(PTBCC(), earlier)
    result = finegold.aggregate(DISPUTED, "ptbcc", prior=before)
    more = Annotations.from_arrays([3, 3], ["ann", "eve"], ["x", "y"])
    with pytest.raises(InputError, match="fitted with a prior; give the same one again"):
        result.update(more)
    assert result.update(more, prior=before).label.tolist() == ["x", "y", "x"]


def test_what_cannot_serve_as_prior_is_refused(earlier):
    before = fit(PTBCC(), earlier)
    strangers = Annotations.from_arrays([1, 2], ["zoe", "zoe"], ["x", "y"])
    others = Annotations.from_arrays([1, 2], ["ann", "eve"], ["p", "q"])
    for votes, method, prior, words in (
        (DISPUTED, "mv", before, "mv cannot take a prior, only .*ptbcc, hds.* can"),
        (
            DISPUTED,
            "ptbcc",
            fit(HDS(), earlier),
            "must be a model of ptbcc, but this one is of hds",
        ),
        (DISPUTED, PTBCC(n_prototypes=3), before, "set n_prototypes=2"),
        (strangers, "ptbcc", before, "knows none of these annotators"),
        (others, "ptbcc", before, r"knows none of these classes, only x, y"),
    ):
        with pytest.raises(InputError, match=words):
            finegold.aggregate(votes, method, prior=prior)
