"""Exports made by hand, one per format, for the tests of the readers of exports."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any


def choices(question: str, *labels: str) -> dict[str, Any]:
    """The result of one answer in Label Studio."""
    return {
        "id": "x1", "from_name": question, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}
    }  # fmt: skip


def annotation(by: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": by, "was_cancelled": False, "ground_truth": False, "lead_time": 4.2,
            "created_at": "2026-01-02T03:04:05Z", "result": list(results), **more}  # fmt: skip


LABEL_STUDIO = [
    {
        "id": 7,
        "data": {"text": "hi"},
        "annotations": [
            annotation(3, choices("sent", "pos")),
            annotation({"id": 4, "email": "b@x.org"}, choices("sent", "neg"), ground_truth=True),
            annotation({"id": 5}, choices("sent", "pos"), was_cancelled=True),
        ],
        "predictions": [{"model_version": "m1", "score": 0.9, "result": [choices("sent", "neg")]}],
    },
    {
        "id": 8,
        "data": {"text": "ho"},
        "annotations": [annotation(3, choices("sent", "neg"))],
        "predictions": [],
    },
    {"id": 9, "data": {"text": "he"}, "annotations": [], "drafts": [{"result": []}]},
]

PRODIGY = [
    {
        "text": "hi", "options": [{"id": "POS", "text": "Positive"}, {"id": "NEG", "text": "Negative"}],
        "accept": accept, "answer": answer, "_input_hash": task, "_task_hash": task + 1, "_view_id": "choice",
        "_annotator_id": f"my-reviews-{who}", "_session_id": f"my-reviews-{who}",
    }
    for task, who, accept, answer in [
        (-11, "ann", ["POS"], "accept"),
        (-11, "bob", ["NEG"], "accept"),
        (22, "ann", ["NEG"], "accept"),
        (22, "bob", [], "ignore"),
        (33, "bob", ["POS"], "reject"),
    ]
]  # fmt: skip

DOCCANO = {
    "ann.jsonl": [
        {"id": 5, "text": "hi", "label": ["pos"], "Comments": []},
        {"id": 6, "text": "ho", "label": ["neg"]},
    ],
    "bob.jsonl": [{"id": 5, "text": "hi", "label": ["neg"]}, {"id": 6, "text": "ho", "label": []}],
}

ARGILLA = [
    {
        "id": "r1", "fields": {"text": "hi"}, "metadata": {}, "vectors": {}, "status": "completed", "_server_id": "9f",
        "suggestions": {"sent": {"value": "neg", "score": 0.8, "agent": "m1"}},
        "responses": {"sent": [{"value": "pos", "user_id": "u1"}, {"value": "neg", "user_id": "u2"}]},
    },
    {
        "id": "r2", "fields": {"text": "ho"}, "metadata": {}, "vectors": {}, "status": "pending", "_server_id": "a0",
        "suggestions": {}, "responses": {"sent": [{"value": "neg", "user_id": "u1"}]},
    },
]  # fmt: skip

INSPECT: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "sums",
        "model": "mock/model",
        "config": {"epochs": 1},
        "dataset": {"sample_ids": ["q1", "q2"]},
    },
    "samples": [
        {
            "id": "q1",
            "epoch": 1,
            "target": "4",
            "scores": {"gpt": {"value": "C"}, "claude": {"value": "C"}},
        },
        {
            "id": "q2",
            "epoch": 1,
            "target": "6",
            "scores": {"gpt": {"value": "I"}, "claude": {"value": None}},
        },
    ],
}


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
