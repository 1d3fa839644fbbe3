"""Argilla: records as they are, as its server gives them, and flattened."""

import json

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from tests.support.exports_made import ARGILLA, lines
from tests.support.readers_votes import votes_of, write

VOTES = {("r1", "u1", "pos"), ("r1", "u2", "neg"), ("r2", "u1", "neg")}
FLAT = [
    {
        "id": "r1", "status": "completed", "text": "hi", "sent.responses": ["pos", "neg", "pos", "pos"],
        "sent.responses.users": ["u1", "u2", "u3", "u4"],
        "sent.responses.status": ["submitted", "submitted", "draft", "discarded"],
        "sent.suggestion": "neg", "sent.suggestion.agent": "m1", "sent.suggestion.score": 0.8,
    },
    {
        "id": "r2", "status": "pending", "text": "ho", "sent.responses": ["neg"], "sent.responses.users": ["u1"],
        "sent.responses.status": ["submitted"], "sent.suggestion": None, "sent.suggestion.agent": None,
        "sent.suggestion.score": None,
    },
    {
        "id": "r3", "status": "pending", "text": "he", "sent.responses": None, "sent.responses.users": None,
        "sent.responses.status": None, "sent.suggestion": None, "sent.suggestion.agent": None,
        "sent.suggestion.score": None,
    },
]  # fmt: skip


def responses(*values):
    return [{"id": "r1", "fields": {"text": "hi"}, "responses": {"q": list(values)}}]


@pytest.mark.parametrize(("name", "content"), [("a.json", json.dumps(ARGILLA)), ("a.jsonl", lines(ARGILLA))])
def test_records(tmp_path, name, content):
    votes = finegold.read(write(tmp_path / name, content))
    assert votes_of(votes) == VOTES
    assert votes.counts.left_out == {"suggestions of models": 1}


def test_suggestions_when_asked_for(tmp_path):
    votes = finegold.read(write(tmp_path / "a.json", json.dumps(ARGILLA)), include="suggestions")
    assert votes_of(votes) == VOTES | {("r1", "m1", "neg")}


@pytest.mark.parametrize("kind", ["json", "jsonl", "parquet"])
def test_flattened(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pl.DataFrame(FLAT).write_parquet(path)
    else:
        write(path, json.dumps(FLAT) if kind == "json" else lines(FLAT))
    votes = finegold.read(path)
    assert votes_of(votes) == VOTES
    assert votes.unlabelled.to_list() == ["r3"]
    assert votes.counts.left_out == {"drafts": 1, "discarded responses": 1, "suggestions of models": 1}
    wanted = finegold.read(path, include=["drafts", "discarded", "suggestions"])
    assert votes_of(wanted) == VOTES | {("r1", "u3", "pos"), ("r1", "u4", "pos"), ("r1", "m1", "neg")}
    assert votes_of(finegold.read(path, task="text")) == {("hi", "u1", "pos"), ("hi", "u2", "neg"), ("ho", "u1", "neg")}


def test_tasks_by_a_field(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(ARGILLA))
    assert votes_of(finegold.read(path, task="text")) == {("hi", "u1", "pos"), ("hi", "u2", "neg"), ("ho", "u1", "neg")}
    with pytest.raises(InputError, match=r'record 1: the record has no field "title"; use task=NAME with one of text'):
        finegold.read(path, task="title")


def test_the_id_may_be_zero_or_only_that_of_the_server(tmp_path):
    records = [{**ARGILLA[0], "id": 0}, {**ARGILLA[1], "id": None}]
    assert finegold.read(write(tmp_path / "a.json", json.dumps(records))).task_names.to_list() == ["0", "a0"]


def test_records_of_the_server(tmp_path):
    record = {
        "id": "r1", "fields": {"text": "hi"}, "suggestions": [{"question_name": "q", "value": "a", "agent": "m1"}],
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"q": {"value": "a"}, "stars": {"value": 4}}},
            {"user_id": "u2", "status": "discarded", "values": {"q": {"value": "b"}}},
            {"user_id": "u3", "status": "draft", "values": None},
        ],
    }  # fmt: skip
    path = write(tmp_path / "a.json", json.dumps([record]))
    votes = finegold.read(path, question="q")
    assert votes_of(votes) == {("r1", "u1", "a")}
    assert votes.counts.left_out == {"discarded responses": 1, "suggestions of models": 1}
    assert votes_of(finegold.read(path, question="stars")) == {("r1", "u1", 4)}
    assert votes_of(finegold.read(path, question="q", include="suggestions")) == {("r1", "u1", "a"), ("r1", "m1", "a")}


def test_several_labels_ranks_and_spans(tmp_path):
    ranks = {"value": [{"value": "a", "rank": 1}], "user_id": "u1"}
    records = responses({"value": ["b", "a"], "user_id": "u1"}, ranks, {"value": "c", "user_id": "u2"})
    votes = finegold.read(write(tmp_path / "a.json", json.dumps(records)))
    assert votes_of(votes) == {("r1", "u1", "a|b"), ("r1", "u2", "c")}
    assert votes.counts.left_out == {"rankings and spans": 1}


DAMAGED = {
    "id": ([{"fields": {}, "responses": {}}], 'record 1: found no record with an "id"'),
    "value": (responses({"user_id": "u1"}), 'record 1: found no "value"'),
    "user": (responses({"value": "a"}), 'record 1: found no "user_id", expected a text'),
    "kind": ([*ARGILLA, {**ARGILLA[0], "responses": "x"}], "record 3: found 'x' for \"responses\", expected an object"),
    "uneven": ([{**FLAT[0], "sent.responses.users": []}], 'record 1: "sent.responses" has 4 answers by 0 users'),
    "response": (responses("pos"), "record 1: expected a JSON object, found 'pos'"),
    "suggestion": ([{**ARGILLA[0], "suggestions": {"q": 3}}], "record 1: expected a JSON object, found 3"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_names_the_tool_the_record_and_the_remedy(tmp_path, name):
    records, found = DAMAGED[name]
    with pytest.raises(InputError) as failure:
        finegold.read(write(tmp_path / "a.json", json.dumps(records)))
    assert f"(Argilla export), {found}" in str(failure.value)
    assert "; export it again: dataset.records.to_json(FILE)" in str(failure.value)
