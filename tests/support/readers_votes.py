"""Small votes for the tests of the readers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from finegold.errors import FinegoldWarning
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import to_list

CSV = "task,worker,label\nt2,ann,cat\nt1,bob,dog\nt1,ann,cat\n"
VOTES = {("t2", "ann", "cat"), ("t1", "bob", "dog"), ("t1", "ann", "cat")}


def votes_of(annotations: Annotations) -> set[tuple[Any, Any, Any]]:
    """Every vote by its names."""
    names = (annotations.task_names, annotations.annotator_names, annotations.class_names)
    listed = [to_list(name) for name in names]
    codes = zip(*(column.tolist() for column in annotations.votes()), strict=True)
    return {tuple(name[code] for name, code in zip(listed, vote, strict=True)) for vote in codes}


def with_warnings(
    call: Callable[..., Any], *arguments: Any, **keywords: Any
) -> tuple[Any, list[str]]:
    """Return the result of a call, and the texts of Finegold's warnings but for what was left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments, **keywords)
    texts = [str(each.message) for each in caught if issubclass(each.category, FinegoldWarning)]
    return result, [text for text in texts if not text.startswith("left out")]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
