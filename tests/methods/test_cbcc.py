"""CBCC: its prior, the bound of the softmax, communities."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.cbcc import CBCC, community_prior

# shared/METHODS.md, 6.2: mean diag, mean off, var diag, var off, cov(diag, off), cov(off, off).
PRIORS = {
    3: (1.9365, -0.9683, 0.9091, 0.9397, 0.1319, 0.1014),
    4: (3.1239, -1.0464, 1.0725, 1.0209, 0.0415, 0.0780),
    5: (4.1323, -1.0400, 1.2962, 1.0913, -0.0184, 0.0596),
    6: (4.9239, -0.9916, 1.5155, 1.1365, -0.0559, 0.0464),
    7: (5.1131, -0.8748, 2.4162, 1.1875, -0.2039, 0.0576),
    10: (5.9673, -0.7543, 3.3875, 1.1994, -0.2876, 0.0502),
}


def first_communities(seed, n_annotators, n_communities=4):
    return np.eye(n_communities)[
        np.random.default_rng(seed).integers(n_communities, size=n_annotators)
    ]


@pytest.mark.parametrize("n_classes", PRIORS)
def test_the_prior_of_the_communities_is_that_of_the_program(n_classes):
    m0, V0 = community_prior(n_classes)
    for k in range(n_classes):
        one, other = [c for c in range(n_classes) if c != k][:2]
        found = m0[k, k], m0[k, one], V0[k, k, k], V0[k, one, one], V0[k, k, one], V0[k, one, other]
        assert np.allclose(found, PRIORS[n_classes], atol=6e-5)


def test_communities_of_equal_size_stay_alike():
    """Rounding must not tell them apart: 44 annotators, of whom 13 start in one community and 13 in another."""
    assert sorted(first_communities(0, 44).sum(axis=0)) == [8, 10, 13, 13]
    task, annotator, label = sample_votes(n_tasks=150, n_annotators=44, n_classes=5)
    more = fit(
        CBCC(), Annotations.from_arrays(task, annotator, label), threads=1
    ).learned.statistics
    r = more["communities"][:, np.argsort(first_communities(0, 44).sum(axis=0), kind="stable")]
    assert np.array_equal(r[:, 2], r[:, 3])
    assert np.allclose(r[:, 2:].sum(axis=1), 1)


def test_kinds_of_annotators_are_found_and_known_truths_teach():
    """A hundred annotators, every third of whom takes one class for the next."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=600)
    task, annotator = np.nonzero(rng.random((600, 100)) < 0.1)
    odd = annotator % 3 == 0
    right = rng.random(task.size) < 0.9
    label = np.where(right, (truth[task] + odd) % 3, rng.integers(3, size=task.size))
    gold = {i: int(truth[i]) for i in range(60)}
    result = fit(CBCC(), Annotations.from_arrays(task, annotator, label, gold=gold))
    assert (result.label == truth).mean() > 0.95
    community = result.learned.statistics["communities"].argmax(axis=1)
    assert not set(community[::3]) & set(community[1::3])
    shifted = result.learned.statistics["community_confusion"][community[0]]
    assert (shifted.argmax(axis=1) == [1, 2, 0]).all()
