"""Argilla: records as they are, as its server gives them, and flattened."""

import io

import polars as pl

from tests.support.exports_cases import check_each, reads, refuses
from tests.support.exports_made import ARGILLA

VOTES = {("r1", "u1", "pos"), ("r1", "u2", "neg"), ("r2", "u1", "neg")}
BY_TEXT = {("hi", "u1", "pos"), ("hi", "u2", "neg"), ("ho", "u1", "neg")}
SUGGESTED = {("r1", "m1", "neg")}
EMPTY = {f"sent.{name}": None for name in ("responses", "responses.users", "responses.status")}
EMPTY |= {f"sent.suggestion{end}": None for end in ("", ".agent", ".score")}
FLAT = [
    {
        "id": "r1", "status": "completed", "text": "hi", "sent.responses": ["pos", "neg", "pos", "pos"],
        "sent.responses.users": ["u1", "u2", "u3", "u4"],
        "sent.responses.status": ["submitted", "submitted", "draft", "discarded"],
        "sent.suggestion": "neg", "sent.suggestion.agent": "m1", "sent.suggestion.score": 0.8,
    },
    {
        "id": "r2", "status": "pending", "text": "ho", **EMPTY, "sent.responses": ["neg"],
        "sent.responses.users": ["u1"], "sent.responses.status": ["submitted"],
    },
    {"id": "r3", "status": "pending", "text": "he", **EMPTY},
]  # fmt: skip
pl.DataFrame(FLAT).write_parquet(PARQUET := io.BytesIO())
LEFT_OUT = {"drafts": 1, "discarded responses": 1, "suggestions of models": 1}
INCLUDED = ["drafts", "discarded", "suggestions"]
WANTED = VOTES | {("r1", "u3", "pos"), ("r1", "u4", "pos"), ("r1", "m1", "neg")}

SERVER = [{
    "id": "r1", "fields": {"text": "hi"}, "suggestions": [{"question_name": "q", "value": "a", "agent": "m1"}],
    "responses": [
        {"user_id": "u1", "status": "submitted", "values": {"q": {"value": "a"}, "stars": {"value": 4}}},
        {"user_id": "u2", "status": "discarded", "values": {"q": {"value": "b"}}},
        {"user_id": "u3", "status": "draft", "values": None},
    ],
}]  # fmt: skip
Q = {("r1", "u1", "a")}


def responses(*values):
    return [{"id": "r1", "fields": {"text": "hi"}, "responses": {"q": list(values)}}]


def said(value, who="u1"):
    return {"value": value, "user_id": who}


test_records = check_each({
    "a list": reads("a.json", ARGILLA, VOTES, {"suggestions of models": 1}),
    "suggestions when asked for": reads("a.json", ARGILLA, VOTES | SUGGESTED, {}, include="suggestions"),
    "tasks by a field": reads("a.json", ARGILLA, BY_TEXT, task="text"),
    "records of the server": reads(
        "a.json", SERVER, Q, {"discarded responses": 1, "suggestions of models": 1}, question="q"
    ),
    "suggestions of the server": reads("a.json", SERVER, Q | {("r1", "m1", "a")}, question="q", include="suggestions"),
    "several labels, ranks and spans": reads(
        *("a.json", responses(said(["b", "a"]), said([{"value": "a", "rank": 1}]), said("c", "u2"))),
        {("r1", "u1", "a|b"), ("r1", "u2", "c")},
        {"rankings": 1},
    ),
})  # fmt: skip

test_flattened_records = check_each({
    f"{case} of {kind}": reads(f"a.{kind}", content, votes, left_out, unlabelled=[last], **options)
    for kind, content in {"json": FLAT, "jsonl": FLAT, "parquet": PARQUET.getvalue()}.items()
    for case, votes, left_out, last, options in [
        ("votes", VOTES, LEFT_OUT, "r3", {}),
        ("everything", WANTED, {}, "r3", {"include": INCLUDED}),
        ("tasks by a field", BY_TEXT, LEFT_OUT, "he", {"task": "text"}),
    ]
})  # fmt: skip

DAMAGED = {
    'record 1: found no "id"': [{"fields": {}, "responses": {}}],
    'record 1: found no "value"': responses({"user_id": "u1"}),
    'record 1: found no "user_id", expected a text': responses({"value": "a"}),
    "record 3: found 'x' for \"responses\", expected an object": [
        *ARGILLA,
        {**ARGILLA[0], "responses": "x"},
    ],
    "record 1: a value is of a kind that is not expected there (zip()": [
        {**FLAT[0], "sent.responses.users": []}
    ],
    "record 1: expected a JSON object, found 'pos'": responses("pos"),
    "record 1: expected a JSON object, found 3": [{**ARGILLA[0], "suggestions": {"q": 3}}],
}
REMEDY = "; export it again: dataset.records.to_json(FILE)"

test_a_damaged_export_names_the_tool_the_record_and_the_remedy = check_each(
    {
        words: refuses("a.json", content, f"(Argilla export), {words}", REMEDY)
        for words, content in DAMAGED.items()
    }
)
