"""Models and checkpoints of before the modules were moved (commit b27a7c9) load, update and resume.

The votes are those on the first 45 tasks of the embedded sample; each fit was interrupted in its second sweep.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import karat
from karat.methods.lookup import Method, method_class

DATA = Path(__file__).parent / "data" / "before_the_move"
VOTES, NEW_VOTES = DATA / "votes.csv", DATA / "new_votes.csv"
METHODS = ["ptbcc", "ds", "anchored", "hpt"]


@pytest.mark.parametrize("name", METHODS)
def test_an_old_model_loads_and_is_that_of_today(name: str) -> None:
    model = karat.load(DATA / f"{name}.karat")
    again = karat.aggregate(VOTES, method_as_then(name))
    assert model.method == name
    assert model.settings == again.settings
    assert model.posterior == pytest.approx(again.posterior, abs=1e-9)
    assert model.label_codes.tolist() == again.label_codes.tolist()
    assert model.accuracy == pytest.approx(again.accuracy, abs=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_an_old_model_takes_new_votes(name: str) -> None:
    model = karat.load(DATA / f"{name}.karat")
    old, today = (one.update(NEW_VOTES) for one in (model, karat.aggregate(VOTES, method_as_then(name))))
    assert len(old.label) == 50
    assert "votes were folded in" in old.notes[0]
    assert old.posterior == pytest.approx(today.posterior, abs=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_an_old_checkpoint_is_resumed(name: str, tmp_path: Path) -> None:
    for file in DATA.glob(f"{name}.checkpoint*"):
        shutil.copy(file, tmp_path)
    steps: list[int] = []
    resumed = karat.aggregate(
        VOTES,
        method_as_then(name),
        checkpoint=tmp_path / f"{name}.checkpoint",
        resume=True,
        on_step=lambda step: steps.append(step.iteration),
    )
    assert steps[0] == 3
    assert resumed.posterior == pytest.approx(karat.load(DATA / f"{name}.karat").posterior, abs=1e-9)
    assert np.array_equal(list(tmp_path.iterdir()), [])


def method_as_then(name: str) -> Method:
    """With the settings of the model, whatever the defaults are now."""
    settings = karat.load(DATA / f"{name}.karat").settings
    return method_class(name)(**settings)
