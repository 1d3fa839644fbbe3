"""EBCC against its slow twin, and what is particular to it: subtypes, restarts, the merging of empty subtypes."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.engines.local import LocalEngine
from finegold.kernels.numerics import digamma_and_gammaln_buffer, log_buffer
from finegold.methods.ebcc import EBCC, Columns
from paper.printed import make_method
from tests.methods.reference import ebcc as twin
from tests.methods.reference import sample, vote_shares


@pytest.mark.parametrize("n_subtypes", [1, 3, 10])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("class_prior", ["empirical", "uniform"])
def test_the_fast_sweep_equals_the_slow_twin(n_subtypes, n_classes, with_gold, class_prior):
    votes, annotations, known = sample(n_classes, with_gold)
    method = EBCC(
        n_subtypes=n_subtypes,
        n_restarts=1,
        class_prior=class_prior,
        tolerance=0,
        max_iterations=25,
        seed=3,
    )
    result = fit(method, annotations, threads=1)
    shares = vote_shares(votes[0], votes[2], n_classes, known)
    rho = twin.first_rho(shares, seed=3, restart=0, block=0, n_subtypes=n_subtypes)
    alpha = shares.sum(axis=0) if class_prior == "empirical" else np.ones(n_classes)
    phi, bounds, rho = twin.fit(*votes, rho, alpha, iterations=25, gold=known)
    assert np.allclose(result.posterior, phi, atol=1e-10)
    assert np.allclose(result.bound, bounds, rtol=1e-11)
    eta = method.a_pi / n_subtypes + rho.sum(axis=0)
    assert np.allclose(result.learned.statistics["subtypes"], -np.sort(-eta))  # the largest first
    assert np.allclose(result.learned.confusion, twin.confusion(*votes, rho, eta))


def test_subtypes_without_tasks_are_worked_out_once_and_this_changes_nothing(monkeypatch):
    annotations = Annotations.from_arrays(*sample_votes(n_tasks=300, n_annotators=12))
    method, engine = EBCC(tolerance=0), LocalEngine(1)
    engine.scatter(annotations)
    parameters = method.begin(engine.sum(method.start, 0))
    for _ in range(60):
        parameters = method.expect(engine.sum(method.sweep, parameters), parameters)
    assert len(parameters.log_prior) < 30  # or the trick was for nothing
    assert parameters.columns.copies.sum() == 30
    merged = engine.posterior.copy()

    monkeypatch.setattr(EBCC, "_merge_empty", lambda self, columns, sums: (columns, sums))
    plain = fit(EBCC(tolerance=0, max_iterations=60, n_restarts=1), annotations, threads=1)
    assert np.allclose(plain.posterior, merged, atol=1e-11)


def test_a_column_that_stands_for_several_subtypes_is_as_good_as_all_of_them():
    """Also when these subtypes find tasks again, which happens too rarely to wait for it."""
    engine, method = LocalEngine(1), EBCC(n_subtypes=5)
    engine.scatter(Annotations.from_arrays(*sample_votes(n_tasks=80, n_annotators=12)))
    start = engine.sum(method.start, 0)
    alike = start.votes.copy()
    alike[:, :, 7:10] = alike[:, :, 7:10].mean(
        axis=2, keepdims=True
    )  # three subtypes of the second class
    pi = np.append(alike[:, :, :15].sum(axis=(0, 1)) / 4, 0.0)
    plain = method.begin(start._replace(pi=pi, votes=alike))

    keep = [*range(8), *range(10, 15)]
    copies = np.array([1.0] * 7 + [3.0] + [1.0] * 5 + [0.0] * 3)
    votes = np.concatenate([alike[:, :, keep], np.zeros((12, 3, 3))], axis=2) * np.maximum(
        copies, 1
    )
    sums = start._replace(pi=np.append(pi[keep], np.zeros(3)) * np.maximum(copies, 1), votes=votes)
    columns = Columns(np.array([0, 5, 8, 13], np.uint64), copies)
    together = method._parameters(plain.alpha, columns, sums)

    expected = engine.sum(method.sweep, plain)
    phi = engine.posterior.copy()
    found = engine.sum(method.sweep, together)
    assert np.allclose(engine.posterior, phi, atol=1e-13)
    assert np.allclose(found.pi[7], expected.pi[7:10].sum())
    assert np.allclose(found.votes[:, :, 7], expected.votes[:, :, 7:10].sum(axis=2))
    assert np.isclose(method.bound(together, found), method.bound(plain, expected), rtol=1e-13)
    known, same = method.learned(plain), method.learned(together)
    assert np.allclose(known.confusion, same.confusion)
    assert np.allclose(known.statistics["subtypes"], same.statistics["subtypes"])


def test_restarts_differ_and_the_best_bound_wins(data_set):
    steps = []
    result = fit(EBCC(n_restarts=6), data_set("face").annotations, threads=1, on_step=steps.append)
    last = {step.restart: step.bound for step in steps}
    assert len({round(bound, 6) for bound in last.values()}) > 1
    assert result.steps[-1].bound == max(last.values())
    first = [step.bound for step in steps if step.iteration == 1]
    assert len(set(first)) == 6


@pytest.mark.parametrize("name", ["val7", "face"])
def test_the_bound_never_falls_on_real_votes(data_set, name):
    steps = []
    fit(EBCC(n_restarts=8), data_set(name).annotations, on_step=steps.append)
    for before, after in pairwise(steps):
        assert after.restart != before.restart or after.bound >= before.bound - 1e-10 * abs(
            before.bound
        )


def test_the_numbers_of_the_paper_on_a_small_set(data_set):
    dog = data_set("dog")
    assert abs(dog.accuracy(fit(make_method("ebcc"), dog.annotations).posterior) - 0.840149) < 0.005


def test_known_truths_teach():
    """Votes are turned round by half of the annotators; known truths say by which."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    task, annotator = np.nonzero(np.ones((200, 6)))
    label = np.where((annotator < 3) ^ (rng.random(task.size) < 0.1), truth[task], 1 - truth[task])
    gold = {i: int(truth[i]) for i in range(40)}
    result = fit(
        EBCC(n_restarts=3), Annotations.from_arrays(task, annotator, label, gold=gold), threads=1
    )
    assert (result.label == truth).mean() > 0.95
    assert result.learned.confusion[5, 0, 1] > 0.7


def test_memory_stays_below_forty_bytes_a_vote():
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(100_000), 3)
    annotations = Annotations.from_arrays(
        task, rng.integers(50, size=task.size), rng.integers(3, size=task.size)
    )
    fit(
        EBCC(n_restarts=1, max_iterations=1), annotations, threads=1
    )  # compiled before it is measured
    parameters = 8 * 50 * 3 * 32  # W L C numbers
    tracemalloc.start()
    fit(EBCC(n_restarts=2, max_iterations=2), annotations, threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * annotations.n_votes + 10 * parameters


def test_digamma_log_gamma_and_log_of_whole_buffers():
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [10 ** rng.uniform(-9, 8, 1000), rng.uniform(0.01, 20, 1000), [1e-9, 0.01, 1.0, 2.0, 4.0]]
    )
    psi, log_gamma, room = np.empty(len(x)), np.empty(len(x)), np.empty((3, len(x)))
    digamma_and_gammaln_buffer(x, len(x), psi, log_gamma, room)
    assert np.allclose(psi, digamma(x), rtol=1e-14, atol=1e-14)
    assert np.allclose(log_gamma, gammaln(x), rtol=1e-14, atol=3e-14)
    logs = x.copy()
    log_buffer(logs, len(x), room[0])
    assert np.allclose(logs, np.log(x), rtol=1e-15, atol=1e-15)
