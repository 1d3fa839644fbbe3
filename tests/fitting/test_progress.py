"""The line of progress says what is being done."""

import os
import subprocess
import sys

import pytest

IN_COMMANDS = "from finegold.fitting.progress import on_terminal as shown"
IN_PYTHON = "from finegold.api.fit import IN_PYTHON; shown = IN_PYTHON.fitting"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal to look at")
@pytest.mark.parametrize("how", [IN_COMMANDS, IN_PYTHON])
def test_on_a_terminal_the_line_is_seen(how):
    leader, follower = os.openpty()
    script = (
        f"import time\n{how}\n"
        "from finegold.results.data import Step\n"
        "with shown('hds') as watch:\n"
        "    for iteration in (12, 13):\n"
        "        watch(Step(0, iteration, 0.5, 1.0))\n"
        "        time.sleep(0.3)\n"
    )
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", script], check=True, stderr=follower, env=environment)
    os.close(follower)
    seen = os.read(leader, 100_000).decode()
    os.close(leader)
    for words in ("hds: iteration 12, change 0.5", "hds: iteration 13, change 0.5"):
        assert words in seen
