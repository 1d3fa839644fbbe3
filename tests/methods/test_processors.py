"""The law of determinism on another processor: same bits there, and the same answer as here."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from finegold.api.fit import fit
from finegold.checks import sample_votes
from finegold.methods.lookup import make_method
from finegold.votes.annotations import Annotations

METHODS = ("anchored", "ds")
VARIANTS = {
    "NUMBA_CPU_NAME": "generic",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",  # unknown names are ignored with a warning
}
ELSEWHERE = """
import json, sys
import numpy as np
from tests.methods.test_processors import METHODS, posterior
WAYS = ((1, False), (2, False), (2, True))
print(json.dumps({name: [posterior(name, *how).tolist() for how in WAYS] for name in METHODS}))
"""


def posterior(name: str, threads: int = 1, shuffled: bool = False) -> np.ndarray:
    task, annotator, label = sample_votes(n_tasks=200)
    order = np.random.default_rng(1).permutation(len(task)) if shuffled else slice(None)
    votes = Annotations.from_arrays(task[order], annotator[order], label[order])
    return np.asarray(fit(make_method(name, {}), votes, threads=threads).posterior)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the instructions are those of x86-64"
)
def test_another_processor_gives_the_same_bits_in_any_order_and_the_same_labels() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        env={**os.environ, **VARIANTS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name, (one, two, shuffled) in json.loads(done.stdout).items():
        assert one == two == shuffled, name
        here, there = posterior(name), np.array(one)
        assert np.abs(here - there).max() < 1e-9, name
        assert (here.argmax(axis=1) == there.argmax(axis=1)).all(), name
