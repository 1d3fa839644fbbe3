"""JSON in which a task holds its votes: objects by task, and rows with a list or an object of votes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from tests.io.test_damage import WRONG as WRONG_VALUES
from tests.io.test_damage import places, with_value
from tests.support.readers_votes import votes_of, write

VOTES = {("t1", "ann", "cat"), ("t1", "bob", "cat"), ("t2", "ann", "dog")}
BY_ANNOTATOR = {"t1": {"ann": "cat", "bob": "cat"}, "t2": {"ann": "dog"}}
OBJECTS = {
    "t1": [{"annotator": "ann", "label": "cat"}, {"annotator": "bob", "label": "cat"}],
    "t2": [{"annotator": "ann", "label": "dog"}],
}
TEXTS = {
    "t1": {"text": "hi, you", "annotations": "cat,cat", "annotators": "ann,bob", "hard_label": "cat"},
    "t2": {"text": "yes", "annotations": "dog", "annotators": "ann", "hard_label": "dog"},
}
LISTS = {"t1": ["cat", "cat"], "t2": ["dog", "cat"]}
BY_POSITION = {("t1", "1", "cat"), ("t1", "2", "cat"), ("t2", "1", "dog"), ("t2", "2", "cat")}
SPARSE = {"0": {"12": 3, "5": 1}, "1": {"12": 1, "7": 3}, "2": {"5": 3}}


def rows(by_task: dict[str, Any], field: str) -> list[dict[str, Any]]:
    return [{"id": task, "text": f"text of {task}", field: votes} for task, votes in by_task.items()]


def parallel() -> list[dict[str, Any]]:
    return [
        {"id": "t1", "votes": ["cat", "cat"], "annotator_ids": ["ann", "bob"]},
        {"id": "t2", "votes": ["dog"], "annotator_ids": ["ann"]},
    ]


GOOD: dict[str, Any] = {
    "by annotator": BY_ANNOTATOR,
    "objects": OBJECTS,
    "texts": TEXTS,
    "rows by annotator": rows(BY_ANNOTATOR, "annotations"),
    "rows with labels by annotator": rows(BY_ANNOTATOR, "labels"),
    "rows of objects": rows(OBJECTS, "annotations"),
    "rows of labels and annotators": parallel(),
}


def forms(content: Any) -> dict[str, str]:
    """The same content as people write it."""
    made = {"votes.json": json.dumps(content), "indented.json": json.dumps(content, indent=2)}
    if isinstance(content, list):
        made["votes.jsonl"] = "".join(json.dumps(row) + "\n" for row in content)
    return made


@pytest.mark.parametrize("case", GOOD)
def test_votes_inside_tasks_are_read(tmp_path: Path, case: str) -> None:
    for name, text in forms(GOOD[case]).items():
        assert votes_of(finegold.read(write(tmp_path / name, text))) == VOTES, name
    packed = write(tmp_path / "packed.json.gz", gzip.compress(json.dumps(GOOD[case]).encode()))
    assert votes_of(finegold.read(packed)) == VOTES


@pytest.mark.parametrize("content", [LISTS, rows(LISTS, "annotator_labels"), rows(LISTS, "votes")])
def test_annotators_of_lists_are_numbered_by_position_and_this_is_said(tmp_path: Path, content: Any) -> None:
    for name, text in forms(content).items():
        with pytest.warns(FinegoldWarning, match=r"no annotators.*named 1, 2, \.\.\. by their position"):
            votes = finegold.read(write(tmp_path / name, text))
        assert {(task, str(who), label) for task, who, label in votes_of(votes)} == BY_POSITION


def test_the_name_of_a_field_tells_votes_from_a_set_of_labels(tmp_path: Path) -> None:
    content = rows({"t1": ["cat", "dog"], "t2": ["dog", "cat"]}, "annotator_labels")
    with pytest.warns(FinegoldWarning, match="by their position"):
        assert finegold.read(write(tmp_path / "votes.json", json.dumps(content))).n_votes == 4


def test_numbers_of_many_annotators_are_read(tmp_path: Path) -> None:
    votes = finegold.read(write(tmp_path / "answers.json", json.dumps(SPARSE)))
    assert votes_of(votes) == {(0, 12, 3), (0, 5, 1), (1, 12, 1), (1, 7, 3), (2, 5, 3)}


def test_missing_votes_are_counted_and_tasks_without_votes_are_listed(tmp_path: Path) -> None:
    content = {**BY_ANNOTATOR, "t3": {"ann": None, "bob": "cat"}, "t4": {}, "t5": None}
    votes = finegold.read(write(tmp_path / "votes.json", json.dumps(content)))
    assert votes_of(votes) == {*VOTES, ("t3", "bob", "cat")}
    assert len(votes.unlabelled) == 2
    assert votes.counts.missing == 1  # t4 and t5 have no votes that could be missing


def test_several_fields_are_several_questions(tmp_path: Path) -> None:
    content = [{**row, "ratings": {"ann": "5", "bob": "5"}} for row in rows(BY_ANNOTATOR, "annotations")]
    path = write(tmp_path / "votes.json", json.dumps(content))
    with pytest.raises(InputError, match=r'asks 2 questions: "ratings".*"annotations"'):
        finegold.read(path)
    assert votes_of(finegold.read(path, question="annotations")) == VOTES


def test_rows_without_an_id_are_numbered_and_a_field_can_be_named(tmp_path: Path) -> None:
    content = [{"text": row["text"], "annotations": row["annotations"]} for row in rows(BY_ANNOTATOR, "annotations")]
    path = write(tmp_path / "votes.json", json.dumps(content))
    with pytest.warns(FinegoldWarning, match="have no id; they are numbered from 0"):
        assert {task for task, _, _ in votes_of(finegold.read(path))} == {0, 1}
    assert {task for task, _, _ in votes_of(finegold.read(path, task="text"))} == {"text of t1", "text of t2"}


NOT_VOTES: dict[str, Any] = {
    "settings": {"model": {"rate": 0.1, "size": 32}, "data": {"path": "a", "size": 32}},
    "texts": {"model": {"name": "a", "kind": "b"}, "data": {"path": "c"}},
    "records by id": {str(n): {"text": f"text {n}", "lang": "en", "source": "web"} for n in range(9)},
    "measurements": {str(n): {"height": n + 0.5, "width": n + 0.25} for n in range(9)},
    "counts of classes": {str(n): {"cat": n % 3, "dog": 2 - n % 3} for n in range(9)},
    "counts in rows": [{"id": n, "labels": {"cat": n % 3, "dog": 2 - n % 3}} for n in range(9)],
    "sets of labels": [{"id": n, "labels": ["cat", "dog"][: n % 2 + 1]} for n in range(9)],
    "splits": {"train": ["a.txt", "b.txt"], "test": ["c.txt"]},
    "columns": {"task": ["a", "a"], "worker": ["x", "y"], "label": ["c", "c"]},
}


@pytest.mark.parametrize("case", NOT_VOTES)
def test_other_json_is_not_taken_for_votes_and_not_called_invalid(tmp_path: Path, case: str) -> None:
    for name, text in forms(NOT_VOTES[case]).items():
        with pytest.raises(InputError) as caught:
            finegold.read(write(tmp_path / name, text))
        assert "valid JSON" not in str(caught.value), name


def test_a_long_table_with_a_list_beside_the_label_is_a_table(tmp_path: Path) -> None:
    rows = [{"task": "t", "annotator": who, "label": "x", "ratings": ["1", "1"]} for who in ("ann", "bob")]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert votes_of(finegold.read(write(tmp_path / "votes.jsonl", text))) == {("t", "ann", "x"), ("t", "bob", "x")}


def test_the_format_reads_what_is_not_recognised(tmp_path: Path) -> None:
    path = write(tmp_path / "votes.json", json.dumps({"a": {"ann": 1, "bob": 2}}))
    with pytest.raises(InputError):
        finegold.read(path)
    assert votes_of(finegold.read(path, format="nested-json")) == {("a", "ann", 1), ("a", "bob", 2)}


WRONG: dict[str, tuple[Any, str]] = {
    "another kind": ({**BY_ANNOTATOR, "t9": 3}, r'votes.json.*record 3: "t9" holds 3, expected votes'),
    "too few annotators": (
        {**TEXTS, "t3": {"annotations": "a,b", "annotators": "ann"}},
        "record 3: found 2 labels but 1 annotators",
    ),
    "a label that is an object": ({**BY_ANNOTATOR, "t3": {"ann": {"x": 1}}}, "expected a name, a number or a label"),
    "no label": ({**OBJECTS, "t3": [{"annotator": "ann"}]}, "record 3: found no label"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_task_of_another_kind_is_an_error(tmp_path: Path, case: str) -> None:
    content, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        finegold.read(write(tmp_path / "votes.json", json.dumps(content)), format="nested-json")


def test_an_error_about_the_columns_names_the_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="if every field is a task that holds its votes, use format='nested-json'"):
        finegold.read(write(tmp_path / "votes.json", json.dumps({**BY_ANNOTATOR, "t9": 3})))


def test_truncated_json_is_an_error(tmp_path: Path) -> None:
    text = json.dumps({str(n): {"ann": "cat", "bob": "cat"} for n in range(900)}, indent=1)
    with pytest.raises(InputError, match="cut short"):
        finegold.read(write(tmp_path / "votes.json", text[:-30]))


@pytest.mark.filterwarnings("ignore::finegold.errors.FinegoldWarning")
@pytest.mark.parametrize(
    "case", ["by annotator", "objects", "texts", "rows of objects", "rows of labels and annotators"]
)
def test_any_value_may_be_of_any_kind(tmp_path: Path, case: str) -> None:
    """Read, or refused in a sentence that names the file: no other exception."""
    refused = []
    for place in places(GOOD[case]):
        for wrong in WRONG_VALUES:
            path = write(tmp_path / "votes.json", json.dumps(with_value(GOOD[case], place, wrong)))
            for format in (None, "nested-json"):
                try:
                    finegold.read(path, format=format)
                except InputError as error:
                    refused.append((format, str(error)))
    assert refused
    assert [said for format, said in refused if format and "votes.json" not in said] == []


NAN = '{"task": "NaN, said \\"NaN\\"", "worker": "ann", "label": NaN}\n{"task": "b", "worker": "ann", "label": %s}\n'


@pytest.mark.parametrize("label", ['"x"', "3"])
def test_nan_is_a_missing_value_and_counted(tmp_path: Path, label: str) -> None:
    lines = NAN % label
    listed = "[" + lines.strip().replace("\n", ",") + "]"
    for name, text in {"a.jsonl": lines, "b.json": listed}.items():
        votes = finegold.read(write(tmp_path / name, text))
        assert votes_of(votes) == {("b", "ann", json.loads(label))}
        assert (votes.counts.rows, votes.counts.missing) == (2, 1)
        assert list(votes.unlabelled) == ['NaN, said "NaN"']
    packed = write(tmp_path / "c.jsonl.gz", gzip.compress(lines.encode()))
    assert finegold.read(packed).counts.missing == 1


def test_the_pairs_of_inference_data_are_tasks(tmp_path: Path) -> None:
    rows = [{"annotator_labels": ["a", "a", "b"], "pairID": f"p{n}", "sentence1": "x"} for n in range(3)]
    with pytest.warns(FinegoldWarning, match="by their position"):
        votes = finegold.read(write(tmp_path / "snli.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert {task for task, _, _ in votes_of(votes)} == {"p0", "p1", "p2"}
