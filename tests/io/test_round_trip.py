"""Random ids of many kinds through every door: votes and ids come back exactly, in whatever order they come."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from finegold.io import read as readers
from finegold.io.columns import TRUTH, candidates
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, to_list
from tests.support.readers_votes import votes_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::finegold.errors.FinegoldWarning"
)  # of labels that look like one class

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
).filter(str.strip)
# Names that a careless reader would change, beside those that nobody can foresee.
TRICKY = st.sampled_from(
    [
        "007",
        "7",
        "-0",
        "+1",
        "1e5",
        "1.0",
        " x",
        "x ",
        "a,b",
        'a"b',
        "a\nb",
        "é",
        "true",
        "None",
        "#1",
    ]
)
KINDS = [WORDS | TRICKY, st.integers(-(2**63), 2**63 - 1), st.integers(0, 9)]


def read(votes: Any, **how: Any) -> Annotations:
    return readers.read(votes, missing=[], **how)


def are_one_number(labels: list[Any]) -> bool:
    """Return whether all labels are numbers and some are written in several formats: these are merged."""
    try:
        return len(set(map(float, labels))) < len(set(labels))
    except ValueError:
        return False


@st.composite
def tables(draw: Any) -> dict[str, list[Any]]:
    """A table of votes without repetitions of (task, annotator)."""
    rows = draw(st.integers(1, 12))
    task, worker, label = (draw(st.sampled_from(KINDS)) for _ in range(3))
    pairs = draw(st.lists(st.tuples(task, worker), min_size=rows, max_size=rows, unique=True))
    labels = draw(st.lists(label, min_size=rows, max_size=rows))
    assume(not all(isinstance(one, str) for one in labels) or not are_one_number(labels))
    return {
        "task": [pair[0] for pair in pairs],
        "worker": [pair[1] for pair in pairs],
        "label": labels,
    }


def through_parquet(table: dict[str, list[Any]]) -> Annotations:
    file = io.BytesIO()
    pl.DataFrame(table).write_parquet(file)
    return read(io.BytesIO(file.getvalue()))


DOORS = {
    "csv": lambda table: read(
        io.BytesIO(pl.DataFrame(table).write_csv(quote_style="non_numeric").encode())
    ),
    "jsonl": lambda table: read(io.BytesIO(pl.DataFrame(table).write_ndjson().encode())),
    "parquet": through_parquet,
    "polars": lambda table: read(pl.DataFrame(table)),
    "pandas": lambda table: read(pd.DataFrame(table)),
    "pandas object": lambda table: read(pd.DataFrame(table, dtype=object)),
    "pyarrow": lambda table: read(pa.table(table)),
}


def rows_of(table: dict[str, list[Any]]) -> list[tuple[Any, Any, Any]]:
    return list(zip(table["task"], table["worker"], table["label"], strict=True))


def as_read(values: list[Any]) -> list[Any]:
    """What a text file says: integers, if every value looks like one."""
    plain = [str(value) for value in values]
    numbers = [int(value) for value in plain if value.isascii() and value.lstrip("-").isdigit()]
    whole = len(numbers) == len(plain) and [str(number) for number in numbers] == plain
    return numbers if whole and all(-(2**63) <= number < 2**63 for number in numbers) else plain


@pytest.mark.parametrize("door", DOORS)
@given(table=tables(), seed=st.integers(0, 1000))
def test_votes_and_ids_come_back_exactly_in_whatever_order_they_come(
    door: str, table: dict[str, list[Any]], seed: int
) -> None:
    expected = {name: as_read(values) for name, values in table.items()} if door == "csv" else table
    one = DOORS[door](table)
    assert votes_of(one) == set(rows_of(expected))
    assert one.n_votes == len(table["task"])
    order = list(range(len(table["task"])))
    random.Random(seed).shuffle(order)
    other = DOORS[door]({name: [values[row] for row in order] for name, values in table.items()})
    for array in ("task_ptr", "cell_ptr", "cell_class", "annotator"):
        np.testing.assert_array_equal(getattr(one, array), getattr(other, array))
    for names, values in zip(
        ("task_names", "annotator_names", "class_names"), expected.values(), strict=True
    ):
        assert to_list(getattr(one, names)) == to_list(getattr(other, names)) == sorted(set(values))
        assert getattr(one, names).values.dtype == getattr(other, names).values.dtype


@given(table=tables())
def test_a_wide_table_tells_the_same_votes_as_a_long_one(table: dict[str, list[Any]]) -> None:
    texts = {name: ["w-" + str(value) for value in values] for name, values in table.items()}
    assume(
        not candidates(texts["worker"], TRUTH)
    )  # Hypothesis takes names such as TRUTH from the sources
    texts["label"] = [
        label[:20] for label in texts["label"]
    ]  # a column of long texts is left aside
    long = read(pl.DataFrame(texts))
    frame = pl.DataFrame(texts).pivot(
        "worker", index="task", values="label", aggregate_function="first"
    )
    assert votes_of(read(frame, layout="wide", task="task")) == votes_of(long)


@given(table=tables())
def test_gold_finds_its_tasks_and_classes(table: dict[str, list[Any]]) -> None:
    truths = {task: label for task, _, label in rows_of(table)}
    annotations = read(pl.DataFrame(table), gold=truths)
    classes, tasks = to_list(annotations.class_names), to_list(annotations.task_names)
    assert MISSING not in annotations.gold
    assert {
        task: classes[code] for task, code in zip(tasks, annotations.gold, strict=True)
    } == truths
