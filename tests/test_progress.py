"""The line of progress says what is being done."""

import os
import re
import subprocess
import sys

import pytest

from karat import Annotations
from karat.checks.laws import sample_votes
from karat.knowledge import CHOOSING
from karat.methods.auto import CANDIDATES, Auto
from karat.methods.ptbcc import PTBCC
from karat.progress import _said
from karat.solve import fit
from tests.test_auto import unlike_crowd


def lines_of(method, votes):
    lines = []
    fit(method, votes, watch=lambda step: lines.append((step.stage, _said(method.name, step))))
    return lines


def test_a_method_of_one_stage_counts_its_iterations():
    lines = lines_of(PTBCC(), Annotations.from_arrays(*sample_votes()))
    assert lines[0][1].startswith("ptbcc: iteration 1, change 0.")
    assert {stage for stage, _ in lines} == {""}


def test_auto_names_each_stage_and_its_iterations_rise_within_it():
    lines = lines_of(Auto(), unlike_crowd()[0])
    stages = list(dict.fromkeys(stage for stage, _ in lines))
    assert stages[:2] == ["ptbcc", CHOOSING]
    assert set(stages[2:]) <= set(CANDIDATES)
    assert {line for stage, line in lines if stage == CHOOSING} == {"auto: choosing a method ..."}
    for stage in {*stages} - {CHOOSING}:
        own = [line for of, line in lines if of == stage]
        numbers = [int(re.fullmatch(rf"auto: {stage}, iteration (\d+), change .*", line)[1]) for line in own]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal to look at")
def test_on_a_terminal_the_line_is_seen():
    leader, follower = os.openpty()
    script = (
        "import time\n"
        "from karat.knowledge import CHOOSING, Step\n"
        "from karat.progress import on_terminal\n"
        "with on_terminal('auto') as watch:\n"
        "    for stage in ('ptbcc', CHOOSING, 'hpt'):\n"
        "        watch(Step(0, 12, 0.5, 1.0, stage))\n"
        "        time.sleep(0.3)\n"
    )
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", script], check=True, stderr=follower, env=environment)
    os.close(follower)
    seen = os.read(leader, 100_000).decode()
    os.close(leader)
    for words in ("auto: ptbcc, iteration 12", "auto: choosing a method", "auto: hpt, iteration 12"):
        assert words in seen
