"""The sample that is part of Finegold, and the proof in small on simulated votes: no public data set is needed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import finegold
from finegold import Annotations
from finegold.votes import sample
from tests.support.animals import TRUTH, VOTES
from tests.support.data_sets import SHARED

ROOT = Path(__file__).resolve().parents[2]

ACCURACY = {"mv": 0.8683, "anchored": 0.9333, "ds": 0.9400, "ptbcc": 0.9433}


def test_the_sample_is_what_the_script_makes_from_the_public_files() -> None:
    if not (SHARED / "logs" / "pandalm").exists():
        pytest.skip("PandaLM's files are not in ../shared/logs/pandalm")
    sys.path.insert(0, str(ROOT / "tools"))
    made = importlib.import_module("make_sample").make_sample(SHARED / "logs" / "pandalm")
    for path in (sample.VOTES, sample.TASKS, sample.TRUTH):
        assert path.read_text(encoding="utf-8") == made[path.name]


def test_the_sample_is_small_carries_its_licence_and_says_what_it_is() -> None:
    folder = sample.VOTES.parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 300_000
    assert "Copyright 2023 Yidong Wang, Zhuohao Yu" in (folder / "LICENSE").read_text()
    assert f"{finegold.read(sample.VOTES).n_votes:,} votes" in (folder / "README.md").read_text()


def test_every_vote_of_the_sample_has_its_text_in_the_studio(tmp_path: Path) -> None:
    sample.write_with_texts(tmp_path / "sample.csv")
    rows = finegold.read(tmp_path / "sample.csv")
    assert rows.n_votes == finegold.read(sample.VOTES).n_votes
    text = (tmp_path / "sample.csv").read_text(encoding="utf-8")
    assert text.startswith("task,annotator,label,instruction,response_1,response_2")
    assert text.count("\n") > rows.n_votes


@pytest.fixture(scope="module")
def votes() -> Annotations:
    return finegold.read(VOTES)


@pytest.mark.parametrize("method", ACCURACY)
def test_the_accuracy_is_the_known_one(method: str, votes: Annotations) -> None:
    (row,) = finegold.evaluate(votes, str(TRUTH), [method]).to_dicts()
    assert row["accuracy"] == pytest.approx(ACCURACY[method], abs=5e-5)
