"""Prodigy: db-out, with choices and with accept or reject."""

import json

import pytest

import finegold
from finegold.errors import InputError
from tests.support.exports_made import PRODIGY, lines
from tests.support.readers_votes import votes_of, write

VOTES = {(-11, "ann", "POS"), (-11, "bob", "NEG"), (22, "ann", "NEG")}


def answer(task, who, said, **more):
    return {"text": "hi", "answer": said, "_input_hash": task, "_task_hash": 1, "_annotator_id": who, **more}


def test_choices(tmp_path):
    votes = finegold.read(write(tmp_path / "reviews.jsonl", lines(PRODIGY)))
    assert votes_of(votes) == VOTES
    assert votes.unlabelled.to_list() == [33]
    assert votes.counts.left_out == {"ignored answers": 1, "rejected choices": 1}
    assert votes.counts.missing == 0  # they are counted once


def test_choices_as_a_json_list(tmp_path):
    assert votes_of(finegold.read(write(tmp_path / "reviews.json", json.dumps(PRODIGY)))) == VOTES


def test_rejected_choices_when_asked_for(tmp_path):
    votes = finegold.read(write(tmp_path / "reviews.jsonl", lines(PRODIGY)), include=["rejected"])
    assert votes_of(votes) == VOTES | {(33, "bob", "POS")}


def test_tasks_may_be_named_by_a_field(tmp_path):
    votes = finegold.read(write(tmp_path / "reviews.jsonl", lines(PRODIGY[:2])), task="text")
    assert votes_of(votes) == {("hi", "ann", "POS"), ("hi", "bob", "NEG")}


def test_accept_and_reject_answer_the_question_of_the_label(tmp_path):
    records = [
        answer(1, "d-ann", "accept", label="SPORT"),
        answer(1, "d-bob", "reject", label="SPORT"),
        answer(1, "d-bob", "accept", label="NEWS"),
    ]
    each = finegold.read_each(write(tmp_path / "d.jsonl", lines(records)))
    assert {question: votes_of(votes) for question, votes in each.items()} == {
        "NEWS": {(1, "d-bob", "accept")},  # one annotator alone shows no data set's name
        "SPORT": {(1, "ann", "accept"), (1, "bob", "reject")},
    }


def test_accept_and_reject_without_a_label(tmp_path):
    records = [answer(1, "d-ann", "accept"), answer(1, "d-bob", "reject"), answer(1, "d-eve", "ignore")]
    votes = finegold.read(write(tmp_path / "d.jsonl", lines(records)))
    assert votes_of(votes) == {(1, "ann", "accept"), (1, "bob", "reject")}


def test_sessions_without_a_name_keep_their_time(tmp_path):
    records = [answer(1, "2026-01-02_10-00-00", "accept"), answer(1, "2026-01-02_10-30-00", "reject")]
    votes = finegold.read(write(tmp_path / "d.jsonl", lines(records)))
    assert votes.annotator_names.to_list() == ["2026-01-02_10-00-00", "2026-01-02_10-30-00"]


def test_marked_spans_are_no_votes(tmp_path):
    records = [answer(1, "d-ann", "accept", spans=[], _view_id="ner_manual")]
    with pytest.raises(InputError, match=r"\(Prodigy export\) holds no votes; left out were marked regions \(1\)"):
        finegold.read(write(tmp_path / "d.jsonl", lines(records)))


DAMAGED = {
    "no annotator": (
        lines([{**PRODIGY[0], "_annotator_id": None, "_session_id": None}]),
        "record 1: found no annotator",
    ),
    "answer": (lines([PRODIGY[0], {**PRODIGY[1], "answer": 1}]), 'record 2: found 1 for "answer", expected a text'),
    "accept": (lines([PRODIGY[0], {**PRODIGY[1], "accept": "POS"}]), "record 2: found 'POS' for \"accept\""),
    "hash": (lines([PRODIGY[0], {"answer": "accept"}]), 'record 2: found no "_input_hash"'),
    "cut short": (lines(PRODIGY)[:-20], "record 5: not valid JSON"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_names_the_tool_and_the_record(tmp_path, name):
    content, found = DAMAGED[name]
    with pytest.raises(InputError) as failure:
        finegold.read(write(tmp_path / "d.jsonl", content))
    assert "(Prodigy export)" in str(failure.value)
    assert found in str(failure.value)
    assert "; " in str(failure.value)
