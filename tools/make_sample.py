"""Make the embedded sample from the public files of PandaLM: `python tools/make_sample.py FOLDER`.

FOLDER has testset-v1.json, gpt-3.5-turbo-testset-v1.json and pandalm-7b-testset-v1.json, plain or with .gz; they are in
data/ of https://github.com/WeOpenML/PandaLM. The tasks are drawn at random with a fixed seed.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

N_TASKS = 300
SEED = 1
SAMPLE = Path(__file__).resolve().parents[1] / "src" / "finegold" / "votes" / "sample"
CLASSES = {
    "0": "tie",
    "Tie": "tie",
    "1": "first",
    "2": "second",
}  # gpt-3.5-turbo's "garbage" is not a vote


def main(folder: Path) -> None:
    """Write votes.csv, tasks.csv and truth.csv."""
    for name, rows in make_sample(folder).items():
        (SAMPLE / name).write_text(rows, encoding="utf-8", newline="")


def make_sample(folder: Path) -> dict[str, str]:
    """Return the content of the three files by name."""
    people, gpt, panda = (
        {record["idx"]: record for record in _load(folder, f"{name}testset-v1.json")}
        for name in ("", "gpt-3.5-turbo-", "pandalm-7b-")
    )
    drawn = sorted(random.Random(SEED).sample(sorted(people), N_TASKS))
    votes = [("task", "annotator", "label")]
    tasks = [("task", "instruction", "response_1", "response_2")]
    truth = [("task", "truth")]
    for task in drawn:
        item = people[task]
        said = {
            "gpt-3.5-turbo": gpt[task]["gpt_result"],
            "pandalm-7b": panda[task]["pandalm_result"],
            "person_1": item["annotator1"],
            "person_2": item["annotator2"],
        }
        votes += [
            (task, who, CLASSES[str(answer)])
            for who, answer in said.items()
            if str(answer) in CLASSES
        ]
        asked = "\n\n".join(filter(None, (item["instruction"], item["input"])))
        tasks.append((task, asked, str(item["response1"]), str(item["response2"])))
        truth.append((task, CLASSES[str(item["annotator3"])]))
    return {"votes.csv": _csv(votes), "tasks.csv": _csv(tasks), "truth.csv": _csv(truth)}


def _load(folder: Path, name: str) -> list[dict[str, Any]]:
    packed = folder / f"{name}.gz"
    content = (
        gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    )
    records: list[dict[str, Any]] = json.loads(content)
    return records


def _csv(rows: list[tuple[Any, ...]]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
