"""Small files for the cases of dirt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ANNOTATORS = ("ann", "bob", "eve")
CLEAN = ("cat", "dog", "cat", "dog", "dog", "cat")


def csv(rows: Sequence[Sequence[Any]], header: str = "task,annotator,label") -> bytes:
    quoted = [
        ",".join(f'"{cell}"' if "," in str(cell) or '"' in str(cell) else str(cell) for cell in row) for row in rows
    ]
    return "\n".join([header, *quoted, ""]).encode()


def votes(*labels: Any, tasks: str = "t") -> list[tuple[str, str, Any]]:
    """Three annotators vote on a task, then on the next one."""
    return [(f"{tasks}{place // 3}", ANNOTATORS[place % 3], label) for place, label in enumerate(labels)]


def long(*labels: Any, tasks: str = "t") -> Mapping[str, bytes]:
    return {"v.csv": csv(votes(*labels, tasks=tasks))}


def wide(*rows: str) -> Mapping[str, bytes]:
    return {"v.csv": "\n".join(["task,rater1,rater2,rater3", *rows, ""]).encode()}


def as_json(value: Any, name: str = "v.json") -> Mapping[str, bytes]:
    return {name: json.dumps(value).encode()}


def with_gold(*truths: str, labels: Sequence[Any] = CLEAN * 3) -> Mapping[str, bytes]:
    rows = [truth.split("=") for truth in truths]
    return {**long(*labels), "_gold.csv": csv(rows, "task,truth")}
