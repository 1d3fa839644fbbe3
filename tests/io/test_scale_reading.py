"""Files that pass by in batches give the very Annotations that the whole table gives."""

from __future__ import annotations

import weakref
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from finegold.errors import InputError
from finegold.io.read import read
from finegold.kernels import cells
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Coded, to_list
from tests.support.readers_votes import write

ROWS = 60
RNG = np.random.default_rng(3)


def draw(pool: list[Any]) -> list[Any]:
    return [pool[i] for i in RNG.integers(0, len(pool), ROWS)]


def mixed(values: list[Any], late: Any) -> list[Any]:
    """Something else, but only near the end."""
    return [*values[:-3], late, *values[-2:]]


LABELS = draw(["cat", "dog", "eel"])
TEXTS: dict[str, list[Any]] = {
    "integers": draw([str(i) for i in (5, 12, -3, 100, 7)]),
    "nulls": draw(["5", "", "70"]),
    "words_late": mixed(draw(["5", "12", "70"]), "t9"),
    "zeros_late": mixed(draw(["5", "12", "70"]), "007"),
    "too_long_late": mixed(draw(["5", "12", "70"]), "99999999999999999999"),
    "words": draw(["b", "a", "ä", "B2", "\u2009"]),
}
COLUMNS: dict[str, pl.Series] = {
    "int64_far": pl.Series(draw([-(2**62), 2**62, 3])),
    "uint64_far": pl.Series(draw([2**64 - 1, 2**63, 1]), dtype=pl.UInt64),
    "int_nulls": pl.Series(draw([None, 4, 9])),
    "text": pl.Series(draw(["x", "", "y", None])),
    "truth_values": pl.Series(draw([True, False, None])),
    "fractions": pl.Series(draw([0.5, float("nan"), 1.0])),
    "int128": pl.Series(draw([1, 2**70]), dtype=pl.Int128),
}


def same(one: Annotations, other: Annotations) -> None:
    for column in fields(Annotations):
        a, b = getattr(one, column.name), getattr(other, column.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, column.name
            assert np.array_equal(a, b), column.name
        elif isinstance(a, bool) or column.name in ("counts", "hygiene", "columns", "gold_sets"):
            assert a == b, column.name
        else:
            assert to_list(a) == to_list(b), column.name
            assert a.values.dtype == b.values.dtype, column.name


def both_ways(
    votes: Any, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[Annotations, Annotations]:
    with monkeypatch.context() as patch:
        patch.setattr("finegold.io.tables.ROWS_PER_BATCH", 2)
        streamed = read(votes, **options)
    return streamed, read(votes, **options)


@pytest.mark.parametrize("name", [*TEXTS, *COLUMNS])
@pytest.mark.parametrize("role", ["task", "annotator", "label"])
def test_columns_of_any_type_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, role: str
) -> None:
    columns = {"task": draw([1, 2]), "annotator": draw(["ann", "bob"]), "label": LABELS}
    values = columns[role] = TEXTS[name] if name in TEXTS else COLUMNS[name]
    if role != "label":  # a row without an id has no label either
        lost = [id is None or id != id or not str(id).strip() for id in values]
        columns["label"] = [
            None if gone else label for gone, label in zip(lost, LABELS, strict=True)
        ]
    if name in TEXTS:
        pl.DataFrame(columns).write_csv(tmp_path / "v.csv")
    else:
        pl.DataFrame(columns).write_parquet(tmp_path / "v.parquet")
    same(*both_ways(tmp_path, monkeypatch, repeated="all"))


def test_several_files_of_different_types_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame(
        {"task": [1, 2, 3], "worker": ["a", "b", "c"], "label": [0, 1, None], "gold": [1, 0, None]}
    )
    frame.with_columns(pl.col("task", "label").cast(pl.Int8)).write_parquet(tmp_path / "a.parquet")
    frame.with_columns(pl.col("task") + 2**40).write_parquet(tmp_path / "b.parquet")
    streamed, simple = both_ways(tmp_path, monkeypatch, gold="gold")
    same(streamed, simple)
    assert streamed.task_names.values.dtype == pl.Int64
    pl.DataFrame({"task": [[1]], "worker": ["a"], "label": [0], "gold": [0]}).write_parquet(
        tmp_path / "c.parquet"
    )
    with pytest.raises(InputError, match="holds a list"):
        read(tmp_path)


def test_a_mistake_in_a_late_batch_is_found_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finegold.io.tables.ROWS_PER_BATCH", 2)
    good = "".join(f"t{i},ann,cat\n" for i in range(50))
    for bad, words in {
        ",ann,cat\n": r"row 51 \(line 52\): there is a label but no task",
        "t1,ann\n": "line 52: too few fields",
        "t1,ann,cat,x\n": "line 52: too many fields",
    }.items():
        path = write(tmp_path / "v.csv", f"task,worker,label\n{good}{bad}{good}")
        with pytest.raises(InputError, match=words):
            read(path)


def test_progress_tells_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finegold.io.tables.ROWS_PER_BATCH", 10)
    frame = pl.DataFrame({"task": range(100), "annotator": range(100), "label": [0] * 100})
    frame.write_csv(tmp_path / "v.csv")
    seen: list[int] = []
    read(tmp_path / "v.csv", watch=seen.append)
    assert seen == list(range(10, 101, 10))


def test_codes_are_freed_before_the_votes_are_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    plain, sort_rows = Coded.take_codes, cells.sort

    def take(coded: Coded) -> Any:
        codes = plain(coded)
        taken.append(weakref.ref(codes))
        return codes

    def sort(*arguments: Any) -> Any:
        assert len(taken) >= 3
        assert not any(codes() is not None for codes in taken)
        return sort_rows(*arguments)

    monkeypatch.setattr(Coded, "take_codes", take)
    monkeypatch.setattr(cells, "sort", sort)
    path = tmp_path / "votes.parquet"
    pl.DataFrame({"task": [1, 1, 2], "worker": [5, 6, 5], "label": ["x", "y", "x"]}).write_parquet(
        path
    )
    assert read(path).n_votes == 3
