"""Result -> plain view -> charts -> one HTML file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from karat.errors import InputError
from karat.files import write_bytes
from karat.result import Result

__all__ = ["require_libraries", "write_report"]


def write_report(
    result: Result, path: str | Path, truth: Any = None, *, title: str | None = None, command: str | None = None
) -> None:
    """One self-contained HTML file, whole or not at all. truth: a path, a data frame or a mapping."""
    require_libraries()
    from karat.report.html import html
    from karat.report.views import view

    page = html(view(result, truth, title=title or f"Labels by {result.method}", command=command))
    write_bytes(path, page.encode("utf-8"))


def require_libraries() -> None:
    missing = [name for name in ("altair", "jinja2", "vl_convert") if find_spec(name) is None]
    if missing:
        raise InputError(f"reports and plots need {', '.join(missing)}: pip install 'karat[report]'")
