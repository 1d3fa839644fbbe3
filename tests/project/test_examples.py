"""The scripts in examples/ run, and the guide shows what they measure."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def printed():
    command = [sys.executable, "-W", "error", ROOT / "examples" / "llm_judges.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_panel_tells_what_the_guide_is_about(printed):
    assert "of 9600 calls failed" in printed
    assert "judges agree with themselves in 85% of the repeats" in printed
    assert "gpt-4.1, gpt-4o, gpt-4o-mini are of one family and err alike" in printed
    assert "claude-3-haiku, claude-3-opus are of one family and err alike" in printed
    worth = float(re.search(r"6 judges are worth ([\d.]+) independent ones", printed)[1])
    assert 3.5 < worth < 4.5


def test_the_guides_table_is_what_the_example_measures(printed):
    guide = (ROOT / "docs" / "guides" / "llm_judges.md").read_text("utf-8")
    told = dict(re.findall(r"^\| ([a-z][^|]+?) \| (0\.\d+ \| 0\.\d+) \|$", guide, re.MULTILINE))
    found = re.findall(r"^(\S.*?)\s+(0\.\d+)\s+(0\.\d+)$", printed, re.MULTILINE)
    assert len(found) == len(told) == 9
    for name, *figures in found:
        assert [float(x) for x in told[name].split(" | ")] == pytest.approx(
            [float(x) for x in figures], abs=0.005
        )


def test_merging_swaps_and_families_helps_and_own_matrices_harm(printed):
    right = {
        name: float(x)
        for name, x, _ in re.findall(r"^(\S.*?)\s+(0\.\d+)\s+(0\.\d+)$", printed, re.MULTILINE)
    }
    assert right["vote, merged"] > right["vote, first order, first call"] + 0.02
    assert right["vote, merged by family"] > right["vote, merged"]
    assert right["ds, merged"] < right["vote, merged"] - 0.02
    assert right["ds, merged"] < right["anchored, merged"] < right["vote, merged"]
    assert right["anchored, merged by family"] == max(right.values())


def test_the_page_on_training_has_the_figures_of_its_example():
    command = [sys.executable, ROOT / "examples" / "training.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = {
        name: float(x)
        for name, x in re.findall(r"^(\S.*?)  .* (0\.\d+)$", done.stdout, re.MULTILINE)
    }
    page = (ROOT / "docs" / "guides" / "training.md").read_text("utf-8")
    told = dict(re.findall(r"^\| ([a-z0-9][^|]+?) \|[^|]*\| (0\.\d+) \|$", page, re.MULTILINE))
    assert {name: float(x) for name, x in told.items()} == pytest.approx(measured, abs=0.01)
    assert (
        measured["majority vote"] + 0.03
        < measured["aggregated labels"]
        <= measured["soft labels, weights"]
    )
