"""How long a user waits before anything happens: best of five, everything warm.

    python bench/start_up.py [--repeat 5]

Prints a table and writes bench/results/start_up.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from machine import keep

VOTES = Path(__file__).resolve().parents[1] / "src" / "karat" / "sample" / "votes.csv"
KARAT = [sys.executable, "-c", "from karat.cli import main; main()"]
COMMANDS = {  # words for the table: what to run, and the goal in seconds
    "karat --help": ([*KARAT, "--help"], 0.3),
    "import karat": ([sys.executable, "-c", "import karat"], None),
    "karat aggregate (sample)": ([*KARAT, "aggregate", str(VOTES)], 1.5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    rows = [measure(name, command, goal, repeat) for name, (command, goal) in COMMANDS.items()]
    for row in rows:
        goal = f"goal {row['goal']:.1f} s" if row["goal"] else ""
        print(f"{row['name']:<26}{row['seconds']:7.3f} s   {goal}")
    print(f"written to {keep('start_up', rows)}")


def measure(name: str, command: list[str], goal: float | None, repeat: int) -> dict[str, object]:
    """The first run fills the caches (byte code, compiled kernels) and does not count."""
    times = [run(command) for _ in range(repeat + 1)][1:]
    return {"name": name, "seconds": round(min(times), 4), "all": [round(t, 4) for t in times], "goal": goal}


def run(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
