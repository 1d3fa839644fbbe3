"""Write consensus spans: as a table, as JSON Lines of doccano, or as pre-annotations of Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import InputError, use
from finegold.spans.consensus import SpanResult
from finegold.system.files import write_bytes


def write(
    result: SpanResult, path: str | Path, format: str | None = None, threshold: float | None = None
) -> int:
    """Write the consensus spans, whole or not at all.

    Args:
        result: What `finegold.spans.aggregate` returned.
        path: The file. Its ending decides where `format` is not given: `.jsonl` is doccano's form, all else is a table.
        format: "csv", "tsv", "doccano" or "label-studio" (tasks with predictions, to be imported there).
        threshold: The least probability of a span, as in `SpanResult.spans`.

    Returns:
        How many spans were written.

    Raises:
        InputError: If the format is not known, or needs texts that the marks do not have.
    """
    path = Path(path)
    chosen = format or {".jsonl": "doccano", ".tsv": "tsv"}.get(path.suffix, "csv")
    if chosen not in FORMATS:
        raise InputError(f"the format of spans is one of {', '.join(FORMATS)}, not {chosen!r}")
    spans = result.spans(threshold)
    if chosen in NEED_TEXTS and not result.marks.texts:
        raise InputError(
            f"{chosen} needs the texts of the documents, which the marks do not have",
            remedies=[use(format="csv")],
        )
    write_bytes(path, FORMATS[chosen](result, spans).encode())
    return spans.height


def _doccano(result: SpanResult, spans: pl.DataFrame) -> str:
    lines = []
    for document, text, rows in _documents(result, spans):
        marked = [[row["start"], row["end"], row["label"]] for row in rows]
        lines.append(
            json.dumps({"id": document, "text": text, "label": marked}, ensure_ascii=False)
        )
    return "\n".join(lines) + "\n"


def _label_studio(result: SpanResult, spans: pl.DataFrame) -> str:
    tasks = []
    for document, text, rows in _documents(result, spans):
        form = {"from_name": "label", "to_name": "text", "type": "labels", "data": {"text": text}}
        form |= result.marks.forms.get(document, {})
        data, kind = form.pop("data"), str(form["type"])
        found: list[dict[str, Any]] = [
            {
                **form,
                "value": {name: row[name] for name in ("start", "end", "text")}
                | {kind: [row["label"]]},
                "score": row["probability"],
            }
            for row in rows
        ]
        prediction = {
            "model_version": f"finegold {result.method}",
            "score": min((each["score"] for each in found), default=None),
            "result": found,
        }
        name = int(document) if document.isdigit() else document
        tasks.append({"id": name, "data": data, "predictions": [prediction]})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _documents(
    result: SpanResult, spans: pl.DataFrame
) -> list[tuple[str, str, list[dict[str, object]]]]:
    by_document = {
        name: rows.to_dicts() for (name,), rows in spans.group_by("document", maintain_order=True)
    }
    return [(name, text, by_document.get(name, [])) for name, text in result.marks.texts.items()]


FORMATS: dict[str, Callable[[SpanResult, pl.DataFrame], str]] = {
    "csv": lambda result, spans: spans.write_csv(),
    "tsv": lambda result, spans: spans.write_csv(separator="\t"),
    "doccano": _doccano,
    "label-studio": _label_studio,
}
NEED_TEXTS = ("doccano", "label-studio")
