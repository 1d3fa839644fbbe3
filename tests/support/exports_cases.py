"""Cases for the readers of exports: what is written, and the votes, or the words of the refusal, that it must give."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import finegold
from tests.support.exports_made import lines
from tests.support.readers_votes import votes_of, write

Case = Callable[[Path], None]


def check_each(cases: Mapping[str, Case]) -> Callable[..., None]:
    """Return the test of a table of cases, whose keys say what each of them is about."""

    @pytest.mark.parametrize("case", cases)
    def test(tmp_path: Path, case: str) -> None:
        cases[case](tmp_path)

    return test


def put(folder: Path, file: str, content: Any) -> Path:
    """Write a text, bytes, records of JSON (one per line for .jsonl) or, for a folder or pattern, several files."""
    path = folder / file
    if not file or "*" in file:
        for name, part in content.items():
            put(folder, name, part)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = lines(content) if file.endswith(".jsonl") else json.dumps(content)
    return write(path, content)


def reads(
    file: str,
    content: Any,
    votes: Any,
    left_out: dict[str, int] | None = None,
    *,
    warns: str = "",
    unlabelled: list[Any] | None = None,
    missing: int | None = None,
    rows: int | None = None,
    truths: dict[Any, Any] | None = None,
    **options: Any,
) -> Case:
    """Expect these votes, which are by question if several are read, and these counts; None: whatever they are."""

    def check(folder: Path) -> None:
        path = put(folder, file, content)
        with pytest.warns(finegold.FinegoldWarning, match=warns) if warns else nullcontext():
            if isinstance(votes, dict):
                found = finegold.read_each(path, **options)
            else:
                found = {"": finegold.read(path, **options)}
        expected = votes if isinstance(votes, dict) else {"": votes}
        assert {name: votes_of(each) for name, each in found.items()} == expected
        assert list(found) == sorted(found)
        first = next(iter(found.values()))
        tasks, classes = first.task_names.to_list(), first.class_names.to_list()
        assert left_out is None or first.counts.left_out == left_out
        assert unlabelled is None or first.unlabelled.to_list() == unlabelled
        assert missing is None or first.counts.missing == missing
        assert rows is None or first.counts.rows == rows
        known = {
            tasks[task]: classes[code] for task, code in enumerate(first.gold.tolist()) if code >= 0
        }
        assert known == (truths or {})

    return check


def refuses(
    file: str, content: Any, *words: str, without: str | None = None, **options: Any
) -> Case:
    """Expect a refusal with these words, and without another one."""

    def check(folder: Path) -> None:
        path = put(folder, file, content)
        with pytest.raises(finegold.InputError) as failure:
            finegold.read(path, **options)
        assert [word for word in words if word not in str(failure.value)] == [], str(failure.value)
        assert without is None or without not in str(failure.value)

    return check
