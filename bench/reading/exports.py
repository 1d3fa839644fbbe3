"""A Label Studio export of a gigabyte: how much memory and time it takes to read it, in a process of its own.

    python -m bench.reading.exports [--bytes 1000000000] [--folder /tmp]

Makes the export, reads it, compares the votes with those written, prints a line, and writes bench/results/exports.json.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.machine import keep, peak_memory

GOAL = 1024  # MiB
ANNOTATORS, LABELS = 300, ("positive", "neutral", "negative")
WORDS = (
    "rain",
    "falls",
    "on",
    "every",
    "roof",
    "of",
    "the",
    "town",
    "while",
    "nobody",
    "looks",
    "out",
    "again",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read)))
        return
    path = options.folder / "finegold-bench-export.json"
    try:
        written = make(path, options.bytes)
        figures = {
            "bytes": path.stat().st_size,
            "written": written,
            **in_own_process(path),
            "goal_mib": GOAL,
        }
    finally:
        path.unlink(missing_ok=True)
    assert figures["votes"] == written, f"{figures['votes']} votes read, {written} written"
    print(f"{figures['bytes'] / 1e9:.2f} GB, {figures['tasks']:,} tasks, {figures['votes']:,} votes: "
          f"{figures['peak_mib']:.0f} MiB (goal {GOAL}), {figures['seconds']:.1f} s, "
          f"{figures['cpu_seconds']:.1f} s of CPU time")  # fmt: skip
    print(f"written to {keep('exports', figures)}")


def make(path: Path, size: int) -> int:
    """Tasks as Label Studio writes them, three annotations each. -> how many votes there are"""
    draw, votes, number = random.Random(0), 0, 0
    with path.open("w") as file:
        file.write("[")
        while file.tell() < size:
            number += 1
            task = make_task(number, draw)
            file.write((",\n" if number > 1 else "") + json.dumps(task))
            votes += len(task["annotations"])
        file.write("]")
    return votes


def make_task(number: int, draw: random.Random) -> dict[str, Any]:
    text = " ".join(draw.choices(WORDS, k=60))
    annotations = [make_annotation(number, by, draw) for by in draw.sample(range(ANNOTATORS), 3)]
    return {
        "id": number, "annotations": annotations, "file_upload": "reviews.csv", "drafts": [], "predictions": [],
        "data": {"text": text, "source": f"https://example.org/reviews/{number}"}, "meta": {},
        "created_at": "2026-01-02T03:04:05.678901Z", "updated_at": "2026-01-02T03:04:05.678901Z", "inner_id": number,
        "total_annotations": 3, "cancelled_annotations": 0, "total_predictions": 0, "comment_count": 0, "project": 1,
    }  # fmt: skip


def make_annotation(task: int, by: int, draw: random.Random) -> dict[str, Any]:
    number = ANNOTATORS * task + by
    value = {"choices": [draw.choice(LABELS)]}
    return {
        "id": number, "completed_by": by, "was_cancelled": False, "ground_truth": False,
        "result": [{"value": value, "id": f"{number:010x}", "from_name": "sentiment", "to_name": "text",
                    "type": "choices", "origin": "manual"}],
        "created_at": "2026-01-02T03:04:05.678901Z", "updated_at": "2026-01-02T03:04:05.678901Z",
        "draft_created_at": None, "lead_time": draw.random() * 20, "prediction": {}, "result_count": 1,
        "unique_id": f"{number:032x}",
        "import_id": None, "last_action": None, "task": task, "project": 1, "updated_by": 1, "parent_prediction": None,
        "parent_annotation": None, "last_created_by": None,
    }  # fmt: skip


def in_own_process(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.reading.exports", "--read", path],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def read(path: Path) -> dict[str, Any]:
    import finegold

    began, busy = time.perf_counter(), time.process_time()
    votes = finegold.read(path)
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
    return {"votes": votes.n_votes, "tasks": votes.n_tasks, **seconds, "peak_mib": peak_memory()}


if __name__ == "__main__":
    main()
