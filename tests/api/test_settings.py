"""Settings that cannot work are refused in one sentence, and so are data that do not fit into memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import finegold
from finegold import Annotations
from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.errors import InputError
from finegold.fitting import solve
from finegold.methods.base import COUNT, POSITIVE, Range
from finegold.methods.ds import DS
from finegold.methods.lookup import REGISTRY, method_class
from finegold.system import memory

# Of those that a search over extreme values found to end in NaN, in an exception or in a warning.


@pytest.mark.parametrize("method", [name for name in REGISTRY if name != "auto"])
def test_the_most_extreme_allowed_settings_end_in_probabilities(method: str) -> None:
    """Seeded: some of all combinations of the ends of every range."""
    rng = np.random.default_rng(0)
    votes = Annotations.from_arrays(*sample_votes(n_tasks=12, n_annotators=5), classes=[0, 1, 2, 9])
    limits = {
        name: r
        for name, r in method_class(method).limits().items()
        if isinstance(r, Range) and not r.whole
    }
    few = {"max_iterations": 10} | ({"n_restarts": 2} if method == "ebcc" else {})
    modes: dict[str, list[dict[str, Any]]] = {
        "ibcc": [{"inference": "vb"}, {}],
        "ptbcc": [{}, {"n_prototypes": 3}],
    }
    for mode in modes.get(method, [{}]):
        for _ in range(6 if limits else 1):
            ends = {name: float(rng.choice([r.low, r.high])) for name, r in limits.items()}
            result = fit(method_class(method)(**few, **mode, **ends), votes, threads=1)
            assert np.isfinite(result.posterior).all(), ends
            assert np.allclose(result.posterior.sum(axis=1), 1), ends


def test_every_number_among_the_settings_has_a_range() -> None:
    for name in REGISTRY:
        chosen = method_class(name)
        numbers = {key for key, value in chosen.defaults().items() if isinstance(value, float)}
        missing = numbers - {"tolerance"} - set(chosen.limits())
        assert not missing, (
            f"say in a setting of {chosen.__name__} which values {', '.join(missing)} may have"
        )


def test_ranges_are_those_that_are_stated() -> None:
    assert (POSITIVE.low, POSITIVE.high) == (1e-6, 1e6)
    assert 3 in COUNT
    assert np.int64(3) in COUNT
    assert all(value not in COUNT for value in (0, 1.5, True, "3", math.nan, 10**7))
    with pytest.raises(InputError, match=r"^e must be positive from 1e-06 to 1e\+06, not 1e-07$"):
        finegold.PTBCC(e=1e-7)


class Broken(DS):
    def sweep(self, block: Any, parameters: Any) -> Any:
        statistics = super().sweep(block, parameters)
        block.posterior[0] = np.nan
        return statistics


def test_a_posterior_that_is_no_number_is_refused_whatever_made_it() -> None:
    votes = Annotations.from_arrays(*sample_votes())
    with pytest.raises(
        InputError, match=r"max_iterations=3.*quality=0\.6.* ended in probabilities that are no"
    ):
        fit(Broken(max_iterations=3, quality=0.6), votes, threads=1)


def wide(n_classes: int, n_tasks: int = 300, n_annotators: int = 100) -> Annotations:
    rng = np.random.default_rng(0)
    task, who = np.repeat(np.arange(n_tasks), 3), rng.integers(n_annotators, size=3 * n_tasks)
    return Annotations.from_arrays(
        task, who, rng.integers(n_classes, size=3 * n_tasks), classes=range(n_classes)
    )


@pytest.mark.parametrize("method", [name for name in REGISTRY if name != "auto"])
def test_every_method_is_checked_against_the_memory_that_there_is(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "available_memory", lambda: 10_000.0)
    with pytest.raises(
        InputError, match=f"^{method} needs at least .* are available; check that the label column"
    ):
        fit(method_class(method)(), wide(20), threads=1)


def test_memory_that_is_available_is_that_of_machine_container_and_process(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 10**8 < memory.available_memory() < 10**15
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("2000\n")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available_memory() == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_memory() > 3000
