"""Few votes are processed by NumPy, many by compiled kernels; arrays of votes are sorted."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import finegold
from finegold.engines import base
from finegold.errors import InputError
from finegold.kernels import cells
from finegold.methods.anchored import AnchoredVote
from finegold.methods.lookup import make_method
from finegold.votes.annotations import Annotations, Repeated

N = 3000


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
def test_votes_are_sorted_and_one_of_each_annotator_counts(
    n_classes: int, repeated: Repeated
) -> None:
    """Compared with plain Python."""
    rng = np.random.default_rng(n_classes)
    task, annotator, label = (
        rng.integers(0, n, N, dtype=np.int32) for n in (N // 12, 40, n_classes)
    )
    policy = {"first": cells.FIRST, "last": cells.LAST, "all": cells.KEEP_ALL}[repeated]
    packed = cells.pack(task, annotator, label, policy)
    made = cells.sort(packed, n_classes)
    rows = list(zip(task.tolist(), annotator.tolist(), label.tolist(), strict=True))
    chosen: dict[Any, Any] = {}
    for number, (i, j, k) in enumerate(rows):
        key = (i, j, number) if repeated == "all" else (i, j)
        if repeated == "last" or key not in chosen:
            chosen[key] = (i, k, j)
    expected = sorted(chosen.values())
    tasks = np.repeat(np.arange(len(made.task_ptr) - 1), np.diff(made.task_ptr))
    sizes = np.diff(made.cell_ptr)
    found = zip(
        np.unique(task)[np.repeat(tasks, sizes)].tolist(),
        np.repeat(made.cell_class, sizes).tolist(),
        made.annotator.tolist(),
        strict=True,
    )
    assert list(found) == expected
    assert made.cell_class.dtype == (np.uint16 if n_classes == 300 else np.uint8)
    labels: dict[Any, set[int]] = {}
    for i, j, k in rows:
        labels.setdefault((i, j), set()).add(k)
    disagreeing = sum(len(some) > 1 for some in labels.values())
    assert packed.n_disagreeing == (0 if repeated == "all" else disagreeing)


def test_runs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, result = votes(5, "last"), finegold.aggregate(votes(5), "mv")
    monkeypatch.setattr(cells, "ROWS_PER_RUN", 7)
    monkeypatch.setattr(cells, "TASKS_PER_RUN", 11)
    runs, again = votes(5, "last"), finegold.aggregate(votes(5), "mv")
    for name in ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(runs, name))
    for name in ("posterior", "label_codes", "tied", "annotator_accuracy", "annotator_agreement"):
        np.testing.assert_array_equal(getattr(result, name), getattr(again, name))


def test_sizes_that_no_integer_holds_are_refused() -> None:
    largest = np.array([2**31 - 1], np.int32)
    with pytest.raises(InputError, match="more than this version can sort; split the tasks"):
        cells.pack(largest, largest, largest, cells.FIRST)


def test_missing_codes_are_not_counted() -> None:
    codes = np.array([-1, 2, 0, 2, -1], np.int32)
    assert cells.count(codes, 4).tolist() == [1, 0, 2, 0]


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
    few = finegold.aggregate(votes(5), make_method(method, settings))
    monkeypatch.setattr(base, "VOTES_PER_BLOCK", 0)
    many = finegold.aggregate(votes(5), make_method(method, settings))
    np.testing.assert_allclose(few.posterior, many.posterior, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_classes", "votes_per_task"), [(2, 12), (5, 2), (40, 12)])
def test_the_anchored_vote_in_numpy_is_the_compiled_one(
    monkeypatch: pytest.MonkeyPatch, n_classes: int, votes_per_task: int
) -> None:
    def posterior_and_sums() -> list[Any]:
        found = votes(n_classes, votes_per_task=votes_per_task)
        (block,) = base.split(found, np.zeros((found.n_tasks, n_classes)))
        method = AnchoredVote(max_iterations=3)
        steps: list[Any] = [method.start(block, 0)]
        parameters = method.begin(steps[0])
        for _ in range(3):
            steps.append(method.sweep(block, parameters))
            parameters = method.expect(steps[-1], parameters)
        return [block.posterior, *(value for step in steps for value in step)]

    few = posterior_and_sums()
    monkeypatch.setattr(base, "FEW_PAIRS", -1)
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
