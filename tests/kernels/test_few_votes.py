"""Few votes are processed by NumPy, many by compiled kernels: the arrays are the same to the bit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import finegold
from finegold.api.result import Result
from finegold.engines import blocks
from finegold.kernels import anchored, sort_votes
from finegold.kernels.sort_votes import count, first_rows, renumber
from finegold.kernels.votes import agreement, decide, outvoted, vote_shares
from finegold.methods.anchored import AnchoredVote
from finegold.votes.annotations import Annotations, Repeated, kernel_votes
from finegold.votes.encoding import encode

RNG = np.random.default_rng(5)
N = 3000


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """Call a function with NumPy, then with compiled kernels."""

    def call(function: Callable[[], Any]) -> tuple[Any, Any]:
        few = function()
        monkeypatch.setattr(sort_votes, "MAX_VOTES", -1)
        many = function()
        monkeypatch.undo()
        return few, many

    return call


def same(few: Any, many: Any) -> None:
    for one, other in zip(map(np.asarray, few), map(np.asarray, many), strict=True):
        assert one.dtype == other.dtype
        if one.dtype.kind == "f":  # compilers for other processors round products in another order
            np.testing.assert_allclose(
                one, other, rtol=1e-12 if one.dtype == np.float64 else 1e-6, atol=1e-15
            )
        else:
            np.testing.assert_array_equal(one, other)


def votes(
    n_classes: int, repeated: Repeated = "first", missing: bool = False, votes_per_task: int = 12
) -> Annotations:
    rng, n_tasks = np.random.default_rng(n_classes), N // votes_per_task
    task, annotator = (
        rng.integers(0, n_tasks, N, dtype=np.int32),
        rng.integers(0, 40, N, dtype=np.int32) * 2,
    )
    label = rng.integers(-1 if missing else 0, n_classes, N, dtype=np.int32)
    known = np.unique(task)[::7]
    gold = known, rng.integers(0, n_classes, len(known), dtype=np.int32)
    names = (np.arange(n) for n in (n_tasks, 80, n_classes))
    return Annotations.from_codes(task, annotator, label, *names, gold=gold, repeated=repeated)


@pytest.mark.parametrize("repeated", ["first", "last", "all"])
@pytest.mark.parametrize("n_classes", [1, 3, 300])
def test_sorted_votes(both: Any, n_classes: int, repeated: Repeated) -> None:
    few, many = both(lambda: votes(n_classes, repeated, missing=n_classes == 3))
    fields = (
        "task_ptr",
        "cell_ptr",
        "cell_class",
        "annotator",
        "gold",
        "annotator_names",
        "unlabelled",
    )
    same([getattr(few, name) for name in fields], [getattr(many, name) for name in fields])
    assert few.counts == many.counts
    assert few.counts.disagreeing == many.counts.disagreeing
    assert (few.counts.disagreeing > 0) == (n_classes > 1 and repeated != "all")


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("high", [100, None])
def test_codes_of_integers(both: Any, dtype: Any, high: int | None) -> None:
    limits = np.iinfo(dtype)
    values = RNG.integers(
        limits.min // 2 if high is None else 0, high or limits.max, N, dtype=dtype
    )
    same(*both(lambda: encode(values)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_the_votes_of_a_block(both: Any, dtype: Any) -> None:
    found = votes(4)
    some, gold = kernel_votes(found, 50, 200), found.gold[50:200]
    label, posterior = (
        RNG.integers(0, 4, 150, dtype=np.int32),
        RNG.dirichlet(np.ones(4), 150).astype(dtype),
    )

    def sums() -> list[Any]:
        phi, against = np.full((150, 4), 9, dtype), np.empty(150, bool)
        vote_shares(some, gold, phi)
        outvoted(some, gold, label, against)
        counts = np.zeros(80, np.int64), np.zeros(80, np.int64), np.full(80, 0.1)
        agreement(some, posterior, label, *counts)
        return [phi, against, *counts]

    few, many = both(sums)
    same(few, many)
    assert 0 < few[1].sum() < 150
    np.testing.assert_allclose(few[0].sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_and_ties(both: Any, dtype: Any) -> None:
    phi = RNG.integers(1, 4, (500, 5)).astype(dtype)
    phi[::3] *= 1 + RNG.choice([0, 1e-12, 1e-8, 1e-5], (167, 5)).astype(dtype)
    preference = RNG.permutation(5)

    def labels() -> list[Any]:
        label, tied = np.empty(500, np.int32), np.empty(500, bool)
        decide(phi, preference, label, tied)
        return [label, tied]

    few, many = both(labels)
    same(few, many)
    assert 0 < few[1].sum() < 500


def test_missing_codes_are_not_counted_and_keep_their_code(both: Any) -> None:
    codes = RNG.integers(-1, 9, 100, dtype=np.int32)

    def renumbered() -> list[Any]:
        new = codes.copy()
        renumber(new, np.arange(9, 0, -1, dtype=np.int32))
        return [count(codes, 9), new]

    few, many = both(renumbered)
    same(few, many)
    assert few[0].sum() == (codes >= 0).sum()


def test_first_rows() -> None:
    assert first_rows(np.array([1, 0, 1, 2, 0], np.int32), 3).tolist() == [1, 0, 3]


@pytest.mark.parametrize("method", ["anchored", "mv"])
def test_a_whole_fit(both: Any, method: str) -> None:
    def fitted() -> Result:
        return finegold.aggregate(votes(5), method)

    few, many = both(fitted)
    names = ("posterior", "label_codes", "tied", "accuracy", "agreement")
    same([getattr(few, name) for name in names], [getattr(many, name) for name in names])


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("ptbcc", {}),
        ("ptbcc", {"n_prototypes": 1}),
        ("ptbcc", {"n_prototypes": 3}),
        ("ds", {}),
        ("bwa", {}),
        ("catd", {}),
    ],
)
def test_one_version_for_all_numbers_of_classes_of_few_votes(
    monkeypatch: pytest.MonkeyPatch, method: str, settings: Any
) -> None:
    few = finegold.aggregate(votes(5), method, **settings)
    monkeypatch.setattr(blocks, "MIN_UNROLLED_VOTES", 0)
    many = finegold.aggregate(votes(5), method, **settings)
    np.testing.assert_allclose(few.posterior, many.posterior, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_classes", "votes_per_task"), [(2, 12), (5, 2), (40, 12)])
def test_the_anchored_vote_in_numpy_is_the_compiled_one(
    monkeypatch: pytest.MonkeyPatch, n_classes: int, votes_per_task: int
) -> None:
    def posterior_and_sums() -> list[Any]:
        found = votes(n_classes, votes_per_task=votes_per_task)
        (block,) = blocks.split(found, np.zeros((found.n_tasks, n_classes)))
        method = AnchoredVote(max_iterations=3)
        steps: list[Any] = [method.start(block, 0)]
        parameters = method.begin(steps[0])
        for _ in range(3):
            steps.append(method.sweep(block, parameters))
            parameters = method.expect(steps[-1], parameters)
        return [block.posterior, *(value for step in steps for value in step)]

    few = posterior_and_sums()
    monkeypatch.setattr(anchored, "MAX_PAIRS", -1)
    for one, other in zip(few, posterior_and_sums(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_the_default_needs_no_compiler_for_few_votes_and_imports_little() -> None:
    script = """
import sys
import finegold
from tests.support.animals import VOTES

finegold.aggregate(VOTES)
assert not {"numba", "scipy.optimize"} & set(sys.modules)  # they take long to import
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_version_depends_on_the_votes_of_the_block_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = votes(3)
    small, large = blocks.cut(found, np.zeros((found.n_tasks, 3)), np.array([900.0]))
    assert isinstance(small.classes, np.ndarray)
    assert len(small.classes) == 3
    monkeypatch.setattr(blocks, "MIN_UNROLLED_VOTES", 1000)
    assert (type(small.classes), large.classes) == (np.ndarray, (0, 1, 2))


def test_the_anchored_vote_is_compiled_for_all_blocks_of_many_votes_and_for_no_block_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However small the blocks are: NumPy takes ten times as long."""
    found = votes(3)
    cut = blocks.cut(found, np.zeros((found.n_tasks, 3)), np.array([900.0]))
    assert [block.few for block in cut] == [True, True]
    monkeypatch.setattr(blocks, "MAX_VOTES", found.n_votes - 1)
    assert [block.few for block in cut] == [False, False]
    called: list[Any] = []
    monkeypatch.setattr(anchored, "start_many", lambda *given: called.append(given))
    for block in cut:
        AnchoredVote().start(block, 0)
    assert len(called) == 2
