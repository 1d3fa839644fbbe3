"""Nothing is lost in silence: ids are never rounded, and what is no vote is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold.io.read import read
from finegold.votes.encoding import to_list
from tests.support.readers_votes import votes_of, write

LARGE = [1580661436132757506, 1580661436132757507]


def frame(tasks: list[Any], dtype: Any) -> pl.DataFrame:
    n = len(tasks)
    return pl.DataFrame({"task": pl.Series(tasks, dtype=dtype), "worker": ["w"] * n, "label": ["a"] * n})


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Int64])
def test_large_integers_and_fractions_of_two_files_are_not_merged(tmp_path: Path, dtype: Any) -> None:
    frame(LARGE, dtype).write_parquet(tmp_path / "a.parquet")
    frame([0.5], pl.Float64).write_parquet(tmp_path / "b.parquet")
    as_text = sorted(["0.5", *map(str, LARGE)])
    assert to_list(read(tmp_path).task_names) == as_text
    assert to_list(read(tmp_path, wide=True, task="task", annotator=["worker"]).task_names) == as_text


def test_small_integers_and_fractions_of_two_files_are_read(tmp_path: Path) -> None:
    frame([1, 2**53 - 1], pl.UInt64).write_parquet(tmp_path / "a.parquet")
    frame([0.5], pl.Float64).write_parquet(tmp_path / "b.parquet")
    assert to_list(read(tmp_path).task_names) == ["0.5", "1", str(2**53 - 1)]


def test_unsigned_and_signed_integers_of_two_files_stay_what_they_are(tmp_path: Path) -> None:
    frame(LARGE, pl.UInt64).write_parquet(tmp_path / "a.parquet")
    frame([-3], pl.Int64).write_parquet(tmp_path / "b.parquet")
    assert to_list(read(tmp_path).task_names) == [-3, *LARGE]


@pytest.mark.parametrize("name", ["v.jsonl", "v.json"])
def test_large_integers_and_fractions_in_json_are_not_merged(tmp_path: Path, name: str) -> None:
    rows = [{"task": task, "worker": "w", "label": "a"} for task in (*LARGE, 0.5)]
    text = "\n".join(map(json.dumps, rows)) if name == "v.jsonl" else json.dumps(rows)
    assert to_list(read(write(tmp_path / name, text)).task_names) == sorted(["0.5", *map(str, LARGE)])


@pytest.mark.parametrize("empty", [[], None])
def test_argilla_responses_without_an_answer_are_counted(tmp_path: Path, empty: Any) -> None:
    def record(task: str, *values: Any) -> dict[str, Any]:
        responses = [{"value": value, "user_id": f"u{n}", "status": "submitted"} for n, value in enumerate(values)]
        return {"id": task, "fields": {"text": "x"}, "responses": {"q": responses}, "suggestions": {}}

    records = [record("r1", "a", empty), record("r2", empty, "b"), record("r3", empty, empty)]
    found = read(write(tmp_path / "v.json", json.dumps(records)))
    assert votes_of(found) == {("r1", "u0", "a"), ("r2", "u1", "b")}
    assert found.counts.left_out == {"responses without an answer": 4}
    assert to_list(found.unlabelled) == ["r3"]
