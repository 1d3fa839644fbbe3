"""The embedded sample: two LLM judges and two people compare answers. README.md says where it comes
from.
"""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["TASKS", "TRUTH", "VOTES", "write_with_texts"]

VOTES = Path(__file__).with_name("votes.csv")
TRUTH = Path(__file__).with_name("truth.csv")
TASKS = Path(__file__).with_name("tasks.csv")


def write_with_texts(path: Path) -> None:
    """Write the votes with the texts of their tasks beside them, for people who judge tasks."""
    with (
        VOTES.open(encoding="utf-8", newline="") as votes,
        TASKS.open(encoding="utf-8", newline="") as tasks,
        path.open("w", encoding="utf-8", newline="") as out,
    ):
        texts = {task: rest for task, *rest in csv.reader(tasks)}
        csv.writer(out).writerows([*vote, *texts[vote[0]]] for vote in csv.reader(votes))
