"""Messages of Finegold in words for the browser: without options of the command line and arguments of Python."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from finegold.errors import FinegoldError, InputError, sentence

__all__ = ["in_browser", "repair_of", "without_folder"]

OPTION = re.compile(r"(?<![\w-])--[a-z]|\bfinegold (?:aggregate|convert|next|judges|rank|read)\b|\bin Python\b")
IN_BRACKETS = re.compile(r"\s*\([^()]*(?:(?<![\w-])--[a-z]|\bin Python\b|\b\w+=)[^()]*\)")
OPEN_END = re.compile(r"[;.,:] (?:if|where|unless)\b[^;.,:]*$", re.IGNORECASE)
NOTHING_LEFT = "these choices cannot be combined; change one of them"

COLUMNS = {"--task": "task", "--annotator": "annotator", "--label": "label"}


def in_browser(message: object) -> str:
    """Return a warning or an error without the clauses that name options or commands."""
    remedies = getattr(message, "remedies", ())
    if remedies:  # the page offers a button for those with options
        told = [replace(remedy, options={}) for remedy in remedies if remedy.text and not remedy.options]
        message = sentence(message.problem, getattr(message, "where", ""), told)  # type: ignore[attr-defined]
    text = IN_BRACKETS.sub("", str(message))
    while found := OPTION.search(text):
        start = max(text.rfind(mark, 0, found.start()) for mark in ("; ", ". ", ": ", ", "))
        end = min((at for at in (text.find("; ", found.end()), text.find(". ", found.end())) if at >= 0), default=None)
        before = OPEN_END.sub("", text[: max(start, 0)])
        text = before + ("" if end is None else text[end:] if before else text[end + 2 :])
    return text.strip(" ;,") or NOTHING_LEFT


def without_folder(error: FinegoldError, folder: Path) -> InputError:
    """Return an error about a file of the studio with the file's own name instead of its path."""
    if not isinstance(error, InputError):
        return InputError(str(error).replace(f"{folder}{os.sep}", ""))
    problem, where = (text.replace(f"{folder}{os.sep}", "") for text in (error.problem, error.where))
    return InputError(problem, error.options or where, error.remedies)


def repair_of(error: object) -> dict[str, Any] | None:
    """Return the choices of a `Reading` that would repair an error; None if it does not say."""
    options: Mapping[str, str | None] = getattr(error, "options", {})
    for remedy in getattr(error, "remedies", ()):
        if remedy.can_be_pasted:
            options = {FLAGS.get(name, f"--{name}"): _text(value) for name, value in remedy.options.items()}
            if "--header-line" in options and not int(options["--header-line"] or 0):
                options = {"--no-header": "", **options}
            break
    given = {name: options[option] for option, name in COLUMNS.items() if option in options}
    found: dict[str, Any] = {**given, **_file(options)}
    if "--wide" in options:
        columns = found.pop("annotator", None)
        found |= {"shape": "long" if options["--wide"] is None else "wide", "columns": columns and columns.split(",")}
    elif options.get("--format") == "transposed":
        columns = found.pop("task", None)
        found |= {"shape": "transposed", "columns": columns and columns.split(","), "format": None}
    return found or None


FLAGS = {"header": "--header-line"}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None if value is None else "" if value else "0"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _file(options: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what the options say of how the file is written."""
    found: dict[str, Any] = {}
    for option in ("--encoding", "--separator", "--format"):
        if option in options:
            found[option[2:]] = options[option]
    if "--no-header" in options:
        found["header"] = 0
    if line := options.get("--header-line"):
        found["header"] = int(line)
    return found
