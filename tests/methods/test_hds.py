"""HDS: its prior is learned; its bound holds where Minka's proof does not."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.methods.hds import HDS, learn
from finegold.results.metrics import accuracy


def test_the_prior_is_strong_where_annotators_are_alike_and_weak_where_they_differ():
    rng = np.random.default_rng(1)
    row = np.array([0.7, 0.2, 0.1])
    alike = rng.multinomial(50, row, size=200)[:, :, None].astype(float)  # [W, L, K=1]
    unlike = np.array([rng.multinomial(50, p) for p in rng.dirichlet(3 * row, size=200)])[
        :, :, None
    ].astype(float)
    strong, _ = learn(alike, 2.0 * np.ones((3, 1)), steps=500)
    weak, _ = learn(unlike, 2.0 * np.ones((3, 1)), steps=500)
    assert strong.sum() > 50
    assert weak.sum() == pytest.approx(3, rel=0.2)
    assert np.allclose(weak[:, 0] / weak.sum(), row, atol=0.05)


def test_a_flat_prior_lets_a_rare_class_be_rarer_than_its_votes():
    """Right in 75 % of the cases, and one truth in thirty is 1: most votes for 1 are errors."""
    rng = np.random.default_rng(0)
    truth = (rng.random(400) < 1 / 30).astype(int)
    answers = np.where(rng.random((400, 5)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = Annotations.from_arrays(*np.nonzero(np.ones((400, 5))), answers.ravel())
    by_votes, flat = fit(HDS(), votes, threads=1), fit(HDS(class_prior="flat"), votes, threads=1)
    assert flat.learned.statistics["u"].tolist() == [1, 1]
    assert (np.diff(flat.objective) >= -1e-9 * np.abs(flat.objective[1:])).all()
    assert accuracy(flat.posterior, truth) > accuracy(by_votes.posterior, truth) + 0.03
