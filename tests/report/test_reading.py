"""The section of the report that shows what was read."""

from __future__ import annotations

from pathlib import Path

import pytest

import finegold
from finegold.report.sections import Subject
from finegold.report.sections.reading import Reading, reading
from tests.support.cli_helpers import write

DIRTY = "task,worker,label\n" + "".join(
    f"t{i},{worker},{label}\n"
    for i in range(6)
    for worker, label in (("ann", "cat"), ("bob", "Cat"), ("eve", "NA" if i < 2 else "dog"))
)


def read(result: finegold.Result) -> Reading:
    return reading(Subject(result))


@pytest.fixture
def result(tmp_path: Path) -> finegold.Result:
    with pytest.warns(finegold.errors.FinegoldWarning):
        return finegold.aggregate(write(tmp_path / "v.csv", f"{DIRTY}t0,ann,dog\nt7,ann,\n"), "mv")


def test_votes_of_classes_and_reasons_why_cells_were_left_out(result: finegold.Result) -> None:
    found = read(result)
    assert found.classes == [("Cat", 6), ("cat", 6), ("dog", 4)]
    assert dict(found.left_out) == {
        "votes without a label": 1,
        "“NA”, which means no vote": 2,
        "repeated votes of an annotator on a task": 1,
        "pairs of task and annotator whose repeated votes disagree": 1,
        "tasks without any vote": 1,
    }
    assert found.alarms == ["3 classes look like 2: Cat (6) = cat (6)."]
    assert [(one.spellings, one.is_merged) for one in found.spellings] == [
        ([("Cat", 6), ("cat", 6)], False)
    ]


def test_merged_spellings_are_shown_and_raise_no_alarm(tmp_path: Path) -> None:
    found = read(finegold.aggregate(write(tmp_path / "v.csv", DIRTY), "mv", normalise=True))
    assert ([one.is_merged for one in found.spellings], found.alarms) == ([True], [])


def test_spaces_that_would_not_be_seen_are_quoted(tmp_path: Path) -> None:
    with pytest.warns(finegold.errors.FinegoldWarning):
        result = finegold.aggregate(write(tmp_path / "v.csv", DIRTY.replace("Cat", " cat")), "mv")
    found = read(result)
    assert [name for name, _ in found.classes] == ['" cat"', "cat", "dog"]
    assert found.spellings[0].spellings == [('" cat"', 6), ("cat", 6)]
