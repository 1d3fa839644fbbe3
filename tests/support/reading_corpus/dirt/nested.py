"""JSON as people write it, and one file per annotator."""

from __future__ import annotations

import json

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import ANNOTATORS, CLEAN, as_json, csv, votes

ITEMS = {f"t{i}": {who: CLEAN[(i + j) % 6] for j, who in enumerate(ANNOTATORS)} for i in range(6)}
LISTS = [
    {"id": task, "annotations": [{"annotator": who, "label": label} for who, label in given.items()]}
    for task, given in ITEMS.items()
]
LINES = b"".join(
    json.dumps({"task": task, "annotator": who, "label": label}).encode() + b"\n" for task, who, label in votes(*CLEAN)
)
CASES = (
    Case("json-by-task", "good", "JSON: an object keyed by task id", as_json(ITEMS), (), 18),
    Case(
        "json-numbered",
        "good",
        "JSON: tasks and annotators that are all numbers, with --format",
        as_json({str(i): {str(j): (i + j) % 3 for j in range(3)} for i in range(6)}),
        ("--format", "nested-json"),
        18,
    ),
    Case(
        "json-numbered-guess",
        "dirty",
        "JSON: the same, which may be a table",
        as_json({str(i): {str(j): (i + j) % 3 for j in range(3)} for i in range(6)}),
        (),
        None,
        ("--format nested-json",),
    ),
    Case("json-annotations", "good", "JSON: a list of {annotator, label} in every row", as_json(LISTS), (), 18),
    Case(
        "json-lines-annotations",
        "good",
        "JSON Lines: the same, a task per line",
        {"v.jsonl": b"".join(json.dumps(one).encode() + b"\n" for one in LISTS)},
        (),
        18,
    ),
    Case(
        "json-labels",
        "dirty",
        "JSON: a list of labels per row, without annotators",
        as_json([{"uid": task, "annotator_labels": list(given.values())} for task, given in ITEMS.items()]),
        (),
        18,
    ),
    Case(
        "json-dict",
        "good",
        "JSON: annotator to label in every row",
        as_json([{"id": task, "annotations": given} for task, given in ITEMS.items()]),
        (),
        18,
    ),
    Case(
        "json-lewidi",
        "good",
        "JSON: labels and annotators as two texts with commas",
        as_json(
            {
                task: {"text": f"text {task}", "annotators": ",".join(given), "annotations": ",".join(given.values())}
                for task, given in ITEMS.items()
            }
        ),
        (),
        18,
    ),
    Case(
        "json-nan",
        "dirty",
        "NaN in JSON Lines",
        {"v.jsonl": LINES + b'{"task": "t9", "annotator": "ann", "label": NaN}\n'},
        (),
        6,
        ("left out: 1 row without a label",),
    ),
    Case(
        "json-null",
        "dirty",
        "null in JSON Lines",
        {"v.jsonl": LINES + b'{"task": "t9", "annotator": "ann", "label": null}\n'},
        (),
        6,
        ("left out: 1 row without a label",),
    ),
    Case(
        "json-broken",
        "dirty",
        "invalid JSON",
        {"v.json": b'[{"task": 1, "annotator": "a", "label": "x"},'},
        (),
        None,
        ("v.json", "JSON"),
    ),
    Case(
        "json-no-votes",
        "not votes",
        "JSON without votes",
        as_json({"name": "settings", "version": 3, "colour": "red"}),
        (),
        None,
        ("error",),
    ),
    Case(
        "per-annotator",
        "good",
        "one file per annotator",
        {
            f"{who}.csv": csv([(f"t{i}", CLEAN[(i + j) % 6]) for i in range(6)], "task,label")
            for j, who in enumerate(ANNOTATORS)
        },
        (),
        18,
    ),
)
