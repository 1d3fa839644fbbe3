"""Sets of labels on the command line, from exports of annotation tools and back into them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import finegold
from finegold import FinegoldWarning
from tests.io.test_exports_mturk import TICKED, batch
from tests.support.cli_helpers import run, succeed, write
from tests.support.exports_made import ARGILLA, annotation, choices

VOTES = "doc_id,worker,label\n" + "".join(
    f"d{number},{who},{label}\n"
    for number, labels in enumerate(
        [("a;b", "a;b", "b"), ("c", "b;c", "c"), ("a;c", "[]", "a;c")] * 4
    )
    for who, label in zip(("ann", "bob", "eve"), labels, strict=True)
)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return write(tmp_path / "votes.csv", VOTES)


def test_sets_are_found_and_it_is_said_how_to_switch_that_off(tmp_path: Path) -> None:
    mixed = write(tmp_path / "mixed.csv", VOTES.replace(",c\n", ",b;c\n"))
    done = succeed("aggregate", mixed, "-o", tmp_path / "labels.csv")
    assert "the votes are sets of labels" in done.stderr
    assert "--no-multi" in done.stderr
    assert "36 sets of labels by 3 annotators on 12 tasks, 3 options" in done.stderr
    off = succeed("aggregate", mixed, "--no-multi", "--method", "mv")
    assert off.stdout.startswith("doc_id,label,confidence")
    few = write(
        tmp_path / "few.csv", VOTES.replace("a;c", "c")
    )  # a third of the votes hold several labels
    assert "votes hold several labels" in succeed("aggregate", few, "--method", "mv").stderr


def label_studio(path: Path) -> Path:
    """Each task has three annotations; that of user 3 on the last one is empty."""
    answers = [
        [("x", "y"), ("x", "y"), ("x",)],
        [("y",), ("y", "z"), ("z",)],
        [("x",), ("x",), ()],
    ] * 3
    tasks = [
        {
            "id": number,
            "data": {"text": f"text {number}"},
            "annotations": [
                annotation(who, *([choices("topics", *labels)] if labels else []))
                for who, labels in enumerate(given, start=1)
            ],
        }
        for number, given in enumerate(answers, start=1)
    ]
    return write(path / "export.json", json.dumps(tasks))


def test_label_studio_multiple_choice_goes_in_and_out(tmp_path: Path) -> None:
    path, back = label_studio(tmp_path), tmp_path / "back.json"
    done = succeed("aggregate", path, "--write-back", back, "-o", tmp_path / "labels.csv")
    assert "the votes are sets of labels, such as x|y" in done.stderr
    labels = dict(pl.read_csv(tmp_path / "labels.csv").select("task", "labels").iter_rows())
    assert (labels[1], labels[3]) == ("x;y", "x")
    written = json.loads(back.read_text())
    for task in written:
        (result,) = task["predictions"][0]["result"]
        assert result["value"] == {"choices": labels[task["id"]].split(";")}
        assert (result["from_name"], result["type"]) == ("topics", "choices")
        assert 0 < task["predictions"][0]["score"] <= 1
    again = run("aggregate", back, "--include", "predictions", "--multi", "--method", "mv")
    assert (
        again.exit_code == 2
    )  # predictions alone are no annotations: only the full export has them


def test_an_empty_annotation_is_an_empty_set_or_left_out(tmp_path: Path) -> None:
    path = label_studio(tmp_path)
    votes = finegold.read(path, multi=True)
    assert votes.votes_per_class.tolist()[-1] == 3
    assert votes.counts.left_out == {}
    with pytest.warns(FinegoldWarning, match="9 votes hold several labels"):
        single = finegold.read(path, multi=False)
    assert single.counts.left_out == {"annotations without an answer": 3}
    one = json.loads(path.read_text())
    for task in one:
        for made in task["annotations"]:
            for result in made["result"]:
                result["value"]["choices"] = result["value"]["choices"][:1]
    found = finegold.aggregate(write(tmp_path / "one.json", json.dumps(one)), "mv")
    assert isinstance(found, finegold.Result)
    assert found.counts.left_out == {"annotations without an answer": 3}
    assert found.counts.missing == 0


def test_argilla_multi_label_goes_in_and_out(tmp_path: Path) -> None:
    values: list[list[str]] = [["p", "q"], ["q"], [], ["p", "q"]]
    responses = [{"value": value, "user_id": f"u{number}"} for number, value in enumerate(values)]
    records = [
        {**ARGILLA[0], "id": f"r{number}", "responses": {"topics": responses}}
        for number in range(4)
    ]
    path, back = write(tmp_path / "argilla.json", json.dumps(records)), tmp_path / "back.json"
    with pytest.warns(FinegoldWarning, match="the votes are sets of labels"):
        result = finegold.aggregate(path)
    assert result.label_sets is not None
    assert result.votes_per_task.tolist() == [4] * 4
    finegold.write_back(result, path, back)
    assert (
        json.loads(back.read_text())[0]["suggestions"]["topics"]["value"] == result.label_lists()[0]
    )


def test_check_boxes_of_mechanical_turk_are_one_set(tmp_path: Path) -> None:
    path = write(tmp_path / "batch.csv", batch("Answer.ride.Car,Answer.ride.Bus", TICKED))
    with pytest.warns(FinegoldWarning, match="the votes are sets of labels"):
        result = finegold.aggregate(path, "mv", question="ride")
    assert result.label_sets is not None
    assert list(result.class_names) == ["Bus", "Car"]
    assert result.votes_per_task.tolist() == [
        2,
        1,
    ]  # nothing was ticked on the second, which is an answer
    assert result.label_lists() == [["Bus"], []]
