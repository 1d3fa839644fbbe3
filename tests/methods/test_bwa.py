"""BWA: what its accuracy on data sets (test_accuracy.py) does not show."""

import numpy as np

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.bwa import BWA


def test_unanimous_votes_give_finite_weights_and_sure_labels():
    result = fit(
        BWA(),
        Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], classes=[0, 1, 2]),
        threads=1,
    )
    assert np.isfinite(result.learned.statistics["weight"]).all()
    assert (result.confidence > 0.999).all()


def test_a_class_that_nobody_voted_for_does_not_enter_the_weight():
    votes = sample_votes()
    plain = fit(BWA(), Annotations.from_arrays(*votes), threads=1).learned.statistics["weight"]
    wider = fit(
        BWA(), Annotations.from_arrays(*votes, classes=[0, 1, 2, 9]), threads=1
    ).learned.statistics["weight"]
    assert wider.max() < 10 * plain.max()
