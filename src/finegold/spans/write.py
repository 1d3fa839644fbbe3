"""Write consensus spans: as a table, as JSON Lines of doccano, or as pre-annotations of Label Studio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from finegold.errors import InputError, use
from finegold.spans.consensus import SpanResult
from finegold.system.files import write_bytes

FORMATS = ("csv", "tsv", "doccano", "label-studio")


def write(
    result: SpanResult, path: str | Path, format: str | None = None, threshold: float | None = None
) -> int:
    """Write the consensus spans, whole or not at all.

    Args:
        result: What `finegold.spans.aggregate` returned.
        path: The file. Its ending decides where `format` is not given: `.jsonl` is doccano's form,
            all else is a table.
        format: "csv", "tsv", "doccano" or "label-studio" (tasks with predictions, to be imported
            there).
        threshold: The least probability of a span, as in `SpanResult.spans`.

    Returns:
        How many spans were written.

    Raises:
        InputError: If the format is not known, or needs texts that the marks do not have.
    """
    chosen = format or {".jsonl": "doccano", ".tsv": "tsv"}.get(Path(path).suffix, "csv")
    if chosen not in FORMATS:
        raise InputError(f"the format of spans is one of {', '.join(FORMATS)}, not {chosen!r}")
    spans = result.spans(threshold)
    if chosen in ("csv", "tsv"):
        text = spans.write_csv(separator="\t" if chosen == "tsv" else ",")
    elif not result.marks.texts:
        problem = f"{chosen} needs the texts of the documents, which the marks do not have"
        raise InputError(problem, remedies=[use(format="csv")])
    elif chosen == "doccano":
        lines = [json.dumps(each, ensure_ascii=False) for each in _for_doccano(result, spans)]
        text = "\n".join(lines) + "\n"
    else:
        tasks = list(_for_label_studio(result, spans))
        text = json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
    write_bytes(path, text.encode())
    return spans.height


def _for_doccano(result: SpanResult, spans: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for document, text, rows in _documents(result, spans):
        marked = [[row["start"], row["end"], row["label"]] for row in rows]
        yield {"id": document, "text": text, "label": marked}


def _for_label_studio(result: SpanResult, spans: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for document, text, rows in _documents(result, spans):
        form = {"from_name": "label", "to_name": "text", "type": "labels", "data": {"text": text}}
        form |= result.marks.forms.get(document, {})
        data, kind = form.pop("data"), str(form["type"])
        found: list[dict[str, Any]] = []
        for row in rows:
            value = {name: row[name] for name in ("start", "end", "text")} | {kind: [row["label"]]}
            found.append({**form, "value": value, "score": row["probability"]})
        prediction = {
            "model_version": f"finegold {result.method}",
            "score": min((each["score"] for each in found), default=None),
            "result": found,
        }
        name = int(document) if document.isdigit() else document
        yield {"id": name, "data": data, "predictions": [prediction]}


def _documents(
    result: SpanResult, spans: pl.DataFrame
) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    rows = spans.rows_by_key("document", named=True, include_key=True)
    return ((name, text, rows.get(name, [])) for name, text in result.marks.texts.items())
