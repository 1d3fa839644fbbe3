"""Labels back into the tool that the votes came from: its export is read again and written with suggestions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.io.exports import find_export, look
from finegold.io.exports.base import Export, Peek, Wrong, numbered, records_of
from finegold.io.exports.read import complain
from finegold.io.source import sources_of
from finegold.io.writeback.labels import Labels
from finegold.results.data import ResultData
from finegold.system.files import replacing

__all__ = ["TOOLS", "writable", "write_back"]

# The formats that can be written back, and the module that has `suggested`.
TOOLS = {"label-studio": "finegold.io.writeback.label_studio", "argilla": "finegold.io.writeback.argilla"}


def write_back(
    result: ResultData | Mapping[str, ResultData],
    export: Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    question: str | None = None,
    task: str | None = None,
) -> None:
    """Write the labels into the export that the votes came from, so that the tool can import them.

    Labels become predictions (Label Studio) or suggestions (Argilla).

    Parameters
    ----------
    result : Result or mapping of str to Result
        The labels of one question, or of several by the names that `finegold.read_each` gives them.
    export : path or sequence of paths
        The files that the votes were read from.
    path : str or Path
        The JSON file to write.
    format : str, optional
        The tool that wrote the export, if it is not recognised.
    question : str, optional
        The question that the labels are for, if the export has several.
    task : str, optional
        The field that identifies tasks, if the votes were read with it.

    Raises
    ------
    InputError
        If labels cannot be written back into such files, or if no label belongs to a task of the export.

    Examples
    --------
    >>> import finegold
    >>> result = finegold.aggregate("export.json")  # doctest: +SKIP
    >>> finegold.write_back(result, "export.json", "with_labels.json")  # doctest: +SKIP
    """
    peeks = look(sources_of(export))
    tool = writable(peeks, format)
    results: Mapping[Any, ResultData] = result if isinstance(result, Mapping) else {question: result}
    labels = {name: Labels.of(one) for name, one in results.items()}
    suggested = import_module(TOOLS[tool.name]).suggested
    with replacing(path) as temporary:
        _write(temporary, _records(peeks, tool, lambda record: suggested(record, labels, task)))
        if not any(one.used for one in labels.values()):
            raise InputError("no label belongs to a task of the export; give the one that the votes came from")


def writable(peeks: Sequence[Peek], format: str | None) -> Export:
    """Return the tool that wrote these files. Refuse tools that labels cannot be written for."""
    export = find_export(peeks, format)
    if export is None or export.name not in TOOLS:
        found = "plain tables" if export is None else f"exports of {export.title}"
        raise InputError(f"labels cannot be written back into {found}; they can for {' and '.join(TOOLS)}")
    return export


def _records(peeks: Sequence[Peek], export: Export, suggested: Callable[[Any], Any]) -> Iterator[Any]:
    for seen in peeks:
        try:
            yield from numbered(records_of(seen), lambda record: [suggested(record)])
        except Wrong as error:
            complain(seen, export, error)


def _write(path: Path, records: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            file.write(",\n" if number else "[\n")
            file.write(json.dumps(record, ensure_ascii=False))  # json.dump would not use the compiled encoder
        file.write("\n]\n")
