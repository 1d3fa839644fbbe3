"""Ids of several kinds: the same if they are written alike, and never rounded by float64."""

import datetime
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold import Annotations
from finegold.io.read import read
from finegold.system.unpacking import check_votes
from finegold.votes.encoding import match, of_one_kind, text_of, to_list
from finegold.votes.merging import join_names, merge

LONG = [
    1580661436132757506 + number for number in range(6)
]  # a float64 has one value for all of them
ONES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(2**53, 2**53 + 9),
    st.integers(0, 9),
    st.floats(allow_nan=False),
    st.sampled_from([0.5, 1.0, 7.0, float(2**53)]),
    st.booleans(),
    st.dates(),
    st.sampled_from(["7", "0.5", "true", "a", "9007199254740993"]),
)


def votes(tasks):
    """One vote on each task."""
    return Annotations.from_arrays(
        tasks, ["ann"] * len(tasks), ["x", "y"] * (len(tasks) // 2) + ["x"] * (len(tasks) % 2)
    )


def written(tasks):
    """What a text file has for ids."""
    return {text_of(task) for task in tasks}


@given(st.lists(ONES, min_size=1, max_size=12), st.lists(ONES, min_size=1, max_size=12))
def test_there_are_as_many_tasks_as_ids_that_are_written_differently(first, second):
    old, new = votes(first), votes(second)
    assert written(to_list(old.task_names)) == written(first)
    assert old.n_tasks == len(written(first))
    merged = merge(old, new)
    assert merged.n_tasks == len(written(first) | written(second))
    assert written(to_list(merged.task_names)) == written(first) | written(second)
    assert merged.n_votes == merged.n_tasks
    sizes = {"T": merged.n_tasks, "W": merged.n_annotators, "K": merged.n_classes}
    check_votes(
        merged.task_ptr, merged.cell_ptr, merged.cell_class, merged.annotator, merged.gold, sizes
    )


@given(
    st.lists(ONES, min_size=1, max_size=12, unique_by=text_of),
    st.lists(ONES, min_size=1, max_size=12),
)
def test_old_names_keep_their_order_and_every_vote_its_task(first, second):
    old, new = votes(first), votes(second)
    tasks = join_names(old.task_names, new.task_names)
    assert (np.diff(tasks.codes[0]) > 0).all()
    names = [text_of(name) for name in to_list(merge(old, new).task_names)]
    for codes, votes_of in zip(tasks.codes, (old, new), strict=True):
        assert [names[code] for code in codes] == [
            text_of(name) for name in to_list(votes_of.task_names)
        ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1, 2]),
        ([1, 2.0, None], [1, 2, None]),
        ([1, float("nan")], [1, None]),
        ([1, 2.5], ["1", "2.5"]),
        ([True, 1], ["true", "1"]),
        ([7, "7"], ["7", "7"]),
        ([2**64, -1, 1.0], [2**64, -1, 1]),
        ([datetime.date(2026, 11, 15), 3], ["2026-11-15", "3"]),
        ([0.5, 1.0], [0.5, 1.0]),
    ],
)
def test_values_of_several_kinds_become_integers_or_text(values, expected):
    unified = of_one_kind(values)
    assert unified == expected
    assert list(map(type, unified)) == list(map(type, expected))


def test_values_are_found_by_how_they_are_written():
    assert match([7, 7.0, "7", "007", True], np.array([7, 8])).tolist() == [0, 0, 0, -1, -1]
    assert match(["True", "true", True, 1], np.array([False, True])).tolist() == [1, 1, 1, -1]
    assert match([True], np.array(["False", "True"], dtype=object)).tolist() == [1]
    assert match([LONG[0]], np.array([float(LONG[0])])).tolist() == [-1]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["votes.jsonl", "votes.json"])
def test_a_json_file_with_one_float_keeps_long_integers(tmp_path, name):
    rows = [{"task": task, "annotator": "ann", "label": task == 0.5} for task in [*LONG, 0.5]]
    path = tmp_path / name
    path.write_text(
        json.dumps(rows)
        if name == "votes.json"
        else "".join(json.dumps(row) + "\n" for row in rows)
    )
    assert written(to_list(read(path).task_names)) == written([*LONG, 0.5])


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (pl.Series(LONG, dtype=pl.UInt64), pl.Series([0.5]), ["0.5", *map(str, LONG)]),
        (pl.Series(LONG, dtype=pl.UInt64), pl.Series([7.0]), [7, *LONG]),
        (pl.Series(LONG, dtype=pl.UInt64), pl.Series([-1]), [-1, *LONG]),
        (pl.Series([1, 2]), pl.Series([True]), ["1", "2", "true"]),
        (pl.Series([1, 2]), pl.Series([datetime.date(2026, 11, 15)]), ["1", "2", "2026-11-15"]),
        (pl.Series([1, 2]), pl.Series(["2", "a"]), ["1", "2", "a"]),
        (pl.Series([1, 2], dtype=pl.Int8), pl.Series([3]), [1, 2, 3]),
    ],
)
def test_files_whose_ids_are_of_different_kinds(tmp_path, one, other, names):
    for number, tasks in enumerate((one, other)):
        pl.DataFrame({"task": tasks, "annotator": "ann", "label": "x"}).write_parquet(
            tmp_path / f"{number}.parquet"
        )
    found = read([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    assert sorted(to_list(found.task_names)) == names


HUGE = [2**64, 2**64 + 1, -(2**70), 7]


@pytest.mark.parametrize("tasks", [HUGE, [2**63 + 1, 2**63 + 2]], ids=["128 bits", "64 bits"])
def test_huge_ids_are_saved_and_updated(tmp_path, tasks):
    path = write(
        tmp_path / "v.jsonl", [{"task": task, "annotator": 1, "label": "x"} for task in tasks]
    )
    model = tmp_path / "m.finegold"
    finegold.aggregate(path, "mv").save(model)
    again = finegold.load(model)
    assert to_list(again.task_names) == sorted(tasks)
    assert again.update(path).annotations.n_tasks == len(tasks)
    both = finegold.aggregate(path, "mv").update(
        write(tmp_path / "n.jsonl", [{"task": 8, "annotator": 1, "label": "x"}])
    )
    assert to_list(both.task_names) == sorted([*tasks, 8])


def test_signed_and_unsigned_integers_are_the_same_ids():
    old, new = votes(np.array([2**53, 2**53 + 1], "u8")), votes(np.array([2**53 + 1], "i8"))
    assert merge(old, new).n_tasks == 2
