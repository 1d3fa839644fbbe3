"""CATD: its quantiles of chi-square, and the random ties of the program that the paper compares."""

import numpy as np
import pytest

from finegold import Annotations
from finegold.api.fit import fit
from finegold.methods.catd import CATD
from paper import variants


@pytest.mark.parametrize("seed", range(10))
def test_it_goes_on_while_labels_are_drawn_by_lot(seed):
    """Two annotators contradict each other twice. Where the lots favour each once they are drawn again."""
    votes = Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 1])
    result = fit(variants.CATD(seed=seed), votes, threads=1)
    assert result.converged
    assert (result.confidence > 0.99).all()
    assert (fit(CATD(), votes, threads=1).confidence == 0.5).all()


def test_lots_are_fair_and_differ_between_tasks_and_iterations():
    tasks, three = np.arange(300, dtype=np.uint64), np.full(300, 3)
    lots = np.array([variants.draw(7, iteration, tasks, three) for iteration in range(20)])
    assert np.allclose(np.bincount(lots.ravel().astype(int)) / lots.size, 1 / 3, atol=0.02)
    assert len(np.unique(lots, axis=0)) == 20
    assert len(np.unique(lots, axis=1).T) == 300


def test_chi_square_by_table_by_approximation_and_exactly():
    votes = np.array([1.0, 2, 30, 31, 1000])
    exact = CATD().chi_square(votes)
    assert np.allclose(exact, [0.00098207, 0.05063562, 16.7907723, 17.5387385, 914.2571537])
    printed = variants.CATD().chi_square(votes)
    assert np.allclose(printed, [0.001, 0.02, 16.79, 17.116, 913.30], rtol=2e-2)
    assert CATD(alpha=0.5).chi_square(votes)[0] == pytest.approx(0.101531, rel=1e-5)
