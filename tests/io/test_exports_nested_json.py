"""JSON in which a task holds its votes: objects by task, and rows with a list or an object of votes."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.support.exports_cases import Case, check_each, reads, refuses
from tests.support.exports_made import lines

VOTES = {("t1", "ann", "cat"), ("t1", "bob", "cat"), ("t2", "ann", "dog")}
BY_ANNOTATOR = {"t1": {"ann": "cat", "bob": "cat"}, "t2": {"ann": "dog"}}
OBJECTS = {
    "t1": [{"annotator": "ann", "label": "cat"}, {"annotator": "bob", "label": "cat"}],
    "t2": [{"annotator": "ann", "label": "dog"}],
}
TEXTS = {
    "t1": {
        "text": "hi, you",
        "annotations": "cat,cat",
        "annotators": "ann,bob",
        "hard_label": "cat",
    },
    "t2": {"text": "yes", "annotations": "dog", "annotators": "ann", "hard_label": "dog"},
}
LISTS = {"t1": ["cat", "cat"], "t2": ["dog", "cat"]}
BY_POSITION = {("t1", 1, "cat"), ("t1", 2, "cat"), ("t2", 1, "dog"), ("t2", 2, "cat")}


def rows(by_task: dict[str, Any], field: str) -> list[dict[str, Any]]:
    return [
        {"id": task, "text": f"text of {task}", field: votes} for task, votes in by_task.items()
    ]


GOOD: dict[str, Any] = {
    "by annotator": BY_ANNOTATOR,
    "objects": OBJECTS,
    "texts": TEXTS,
    "rows by annotator": rows(BY_ANNOTATOR, "annotations"),
    "rows with labels by annotator": rows(BY_ANNOTATOR, "labels"),
    "rows of objects": rows(OBJECTS, "annotations"),
    "rows of labels and annotators": [
        {"id": "t1", "votes": ["cat", "cat"], "annotator_ids": ["ann", "bob"]},
        {"id": "t2", "votes": ["dog"], "annotator_ids": ["ann"]},
    ],
}
NOT_VOTES: dict[str, Any] = {
    "settings": {"model": {"rate": 0.1, "size": 32}, "data": {"path": "a", "size": 32}},
    "names": {"model": {"name": "a", "kind": "b"}, "data": {"path": "c"}},
    "records by id": {
        str(n): {"text": f"text {n}", "lang": "en", "source": "web"} for n in range(9)
    },
    "measurements": {str(n): {"height": n + 0.5, "width": n + 0.25} for n in range(9)},
    "counts of classes": {str(n): {"cat": n % 3, "dog": 2 - n % 3} for n in range(9)},
    "counts in rows": [{"id": n, "labels": {"cat": n % 3, "dog": 2 - n % 3}} for n in range(9)],
    "sets of labels": [{"id": n, "labels": ["cat", "dog"][: n % 2 + 1]} for n in range(9)],
    "splits": {"train": ["a.txt", "b.txt"], "test": ["c.txt"]},
    "columns": {"task": ["a", "a"], "worker": ["x", "y"], "label": ["c", "c"]},
}


def forms(what: str, content: Any) -> dict[str, tuple[str, str | bytes]]:
    """The same content as people write it: a file and what is in it."""
    made: dict[str, tuple[str, str | bytes]] = {
        what: ("votes.json", json.dumps(content)),
        f"{what}, indented": ("indented.json", json.dumps(content, indent=2)),
        f"{what}, packed": ("packed.json.gz", gzip.compress(json.dumps(content).encode())),
    }
    return made | (
        {f"{what} in lines": ("votes.jsonl", lines(content))} if isinstance(content, list) else {}
    )


MISSING = {**BY_ANNOTATOR, "t3": {"ann": None, "bob": "cat"}, "t4": {}, "t5": None}
TWO = [{**row, "ratings": {"ann": "5", "bob": "5"}} for row in rows(BY_ANNOTATOR, "annotations")]
NO_IDS = [
    {"text": row["text"], "annotations": row["annotations"]}
    for row in rows(BY_ANNOTATOR, "annotations")
]
TABLE = [
    {"task": "t", "annotator": who, "label": "x", "ratings": ["1", "1"]} for who in ("ann", "bob")
]
POSITIONS, FILE = r"no annotators.*named 1, 2, \.\.\. by their position", "votes.json"

test_votes_inside_tasks = check_each({
    **{case: reads(*form, VOTES) for what, content in GOOD.items() for case, form in forms(what, content).items()},
    **{
        case: reads(*form, BY_POSITION, warns=POSITIONS)
        for field in ("", "annotator_labels", "votes")
        for case, form in forms(f"lists {field}", rows(LISTS, field) if field else LISTS).items()
    },
    "missing votes, and tasks without any, of which none could be missing": reads(
        FILE, MISSING, {*VOTES, ("t3", "bob", "cat")}, unlabelled=["t4", "t5"], missing=1
    ),
    "several fields": refuses(FILE, TWO, 'asks 2 questions: "ratings"', '"annotations"'),
    "rows without an id": reads(
        *(FILE, NO_IDS, {(int(task[1]) - 1, who, said) for task, who, said in VOTES}),
        warns="have no id; they are numbered from 0",
    ),
    "rows by a field": reads(FILE, NO_IDS, {(f"text of {task}", who, said) for task, who, said in VOTES}, task="text"),
    "a long table with a list beside the label": reads("votes.jsonl", TABLE, {("t", "ann", "x"), ("t", "bob", "x")}),
    "too few annotators": refuses(
        *(FILE, {**TEXTS, "t3": {"annotations": "a,b", "annotators": "ann"}}),
        "record 3: found 2 labels but 1 annotators", format="nested-json",
    ),
})  # fmt: skip

# Votes on the parts of a record, and objects whose keys are annotators.
PARTS = {("d1/1", "ann", "x"), ("d1/2", "ann", "y"), ("d1/1", "bob", "x"), ("d1/2", "bob", "x")}
SAID = [{"ann": "x", "bob": "x"}, {"ann": "y", "bob": "x"}]
IN_OBJECTS = [[{"worker_id": who, "response": said} for who, said in each.items()] for each in SAID]
FOR_EACH = [{f"annotator_{who}": [said] for who, said in each.items()} for each in SAID]
OF_PEOPLE = {(task, f"annotator_{who}", said) for task, who, said in PARTS}
SCORES = [{"coherence": 1, "fluency": 5}, {"coherence": 1, "fluency": 4}]
TURNED = {who: {f"t{n}": "xy"[n % 3 // 2] for n in range(9)} for who in ("ann", "bob")}
BY_ROWS = {
    who: [{"id": task, "text": "?", "label": said} for task, said in labels.items()]
    for who, labels in TURNED.items()
}
MODELS = {"gpt-4": TURNED["ann"], "claude": TURNED["bob"]}
RIGHT_WAY = {(f"t{n}", who, "xy"[n % 3 // 2]) for n in range(9) for who in ("ann", "bob")}
OF_MODELS = {(task, {"ann": "gpt-4", "bob": "claude"}[who], said) for task, who, said in RIGHT_WAY}
NUMBERS = {model: {f"q{n}": n % 5 for n in range(9)} for model in ("gpt-4", "claude")}

test_votes_one_level_deeper = check_each({
    "sentences with responses": reads(
        FILE, [{"doc_id": "d1", "sentences": [{"sentence": "?", "responses": each} for each in IN_OBJECTS]}], PARTS
    ),
    "sentences with votes by annotator": reads(
        FILE, [{"id": "d1", "sentences": [{"text": "?", "labels": each} for each in SAID]}], PARTS
    ),
    "sentences with ids": reads(
        FILE, [{"id": "d1", "sentences": [{"id": "s9", "labels": SAID[1]}]}],
        {("d1/s9", "ann", "y"), ("d1/s9", "bob", "x")}, format="nested-json",
    ),
    "annotators of each sentence": reads(
        FILE, [{"hash": "d1", "summary": ["?", "!"], "summary_sentences_annotations": FOR_EACH}], OF_PEOPLE
    ),
    "criteria of each annotator": reads(
        FILE, [{"id": name, "expert_annotations": SCORES} for name in ("d1", "d2")],
        {
            "coherence": {("d1", 1, 1), ("d1", 2, 1), ("d2", 1, 1), ("d2", 2, 1)},
            "fluency": {("d1", 1, 5), ("d1", 2, 4), ("d2", 1, 5), ("d2", 2, 4)},
        },
        warns="by their position",
    ),
})  # fmt: skip

test_keys_that_are_annotators_are_told_and_other_objects_refused = check_each({
    "annotators by name": reads(FILE, TURNED, RIGHT_WAY, warns='taken as annotators: "ann", "bob"'),
    "few keys with many tasks": reads(FILE, MODELS, OF_MODELS, warns='taken as annotators: "gpt-4", "claude"'),
    "rows of each annotator": reads(FILE, BY_ROWS, RIGHT_WAY, warns='taken as annotators: "ann", "bob"'),
    "numbers by model may be counts": refuses(FILE, NUMBERS, "object with the fields gpt-4, claude", "nested-json"),
    "marked texts": refuses(
        "a.jsonl", [{"text": "hi", "spans": [{"start": 0, "end": 2, "label": "X"}]}] * 2, "run finegold spans "
    ),
})  # fmt: skip

test_other_json_is_not_taken_for_votes_and_not_called_invalid = check_each({
    case: refuses(*form, without="valid JSON")
    for what, content in NOT_VOTES.items()
    for case, form in forms(what, content).items()
})  # fmt: skip

NAN = '{"task": "NaN, said \\"NaN\\"", "worker": "ann", "label": NaN}\n{"task": "b", "worker": "ann", "label": %s}\n'


def with_nan(label: str) -> dict[str, Case]:
    text, unlabelled = NAN % label, ['NaN, said "NaN"']
    listed, packed = "[" + text.strip().replace("\n", ",") + "]", gzip.compress(text.encode())
    return {
        f"{label} in {file}": reads(
            *(file, content, {("b", "ann", json.loads(label))}),
            rows=2,
            missing=1,
            unlabelled=unlabelled,
        )
        for file, content in {"a.jsonl": text, "b.json": listed, "c.jsonl.gz": packed}.items()
    }


test_nan_is_a_missing_value_and_counted = check_each(with_nan('"x"') | with_nan("3"))
