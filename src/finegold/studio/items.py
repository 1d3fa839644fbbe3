"""What tasks look like to people who judge: texts, links, images, sounds, videos and PDF, from the
votes' own table or from tables and folders that were added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from fastapi import APIRouter
from fastapi.responses import FileResponse
from polars import selectors

from finegold.errors import FinegoldError, InputError
from finegold.io.columns import ANNOTATOR, LABEL, TRUTH, candidates
from finegold.io.sheets import KEY, MAX_FIELDS, MAX_LENGTH, content_of_records, content_of_table
from finegold.io.source import reading
from finegold.io.tables import open_sources, open_table
from finegold.studio.files import MEDIA
from finegold.studio.problems import Problem
from finegold.studio.reading import find_sources, find_tool
from finegold.studio.security import REVIEWERS
from finegold.studio.services import Project, ProjectDep
from finegold.studio.store import Row
from finegold.votes.encoding import text_of

router = APIRouter(tags=["items"], prefix="/projects/{project:id}")

MAX_ADDRESS = 2000
# of JSON whose records are collected
MAX_BYTES = 256 * 2**20


class Contents:
    """The fields of all tasks, in Parquet files. The last file with a field of a task counts."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [pl.scan_parquet(path) for path in paths]
        names = [name for rows in self._files for name in rows.collect_schema().names()]
        self.names = [name for name in dict.fromkeys(names) if name != KEY]

    def table(self, tasks: Sequence[str]) -> list[dict[str, str]]:
        fields: dict[str, dict[str, str]] = {task: {} for task in tasks}
        for rows in self._files if tasks else []:
            wanted = rows.filter(pl.col(KEY).is_in(list(fields))).unique(KEY, keep="first")
            for row in wanted.collect().to_dicts():
                for name, text in row.items():
                    if name != KEY and text and text.strip():
                        is_long = len(text) > MAX_LENGTH
                        fields[row[KEY]][name] = f"{text[:MAX_LENGTH]} ..." if is_long else text
        return [fields[task] for task in tasks]

    def lines(self, tasks: Sequence[str], length: int) -> list[str]:
        """Return the beginning of the longest field of each task, in one line."""
        longest = [max(fields.values(), key=len, default="") for fields in self.table(tasks)]
        return [" ".join(text.split())[:length] for text in longest]

    def containing(self, part: str) -> list[str]:
        """Return the names of the tasks with a field that contains this text, whatever its case."""
        text = selectors.exclude(KEY).str.to_lowercase().str.contains(part.lower(), literal=True)
        found = [rows.filter(pl.any_horizontal(text)).select(KEY) for rows in self._files]
        return [
            task
            for rows in found
            for task in rows.collect(engine="streaming").get_column(KEY).to_list()
        ]


def contents(project: Project) -> Contents:
    """Return the fields of all tasks; nothing of a file that is damaged."""
    rows = project.rows(
        "SELECT content FROM source WHERE project = ? AND state = 'in' AND content NOT NULL"
        " ORDER BY kind = 'items', id"
    )
    with suppress(FinegoldError, pl.exceptions.PolarsError):
        return Contents([project.files.stored(row["content"], "content.parquet") for row in rows])
    return Contents([])


def content_of(project: Project, codes: Sequence[int]) -> list[list[Row]]:
    tasks = project.shown.task_texts(codes)
    shown = []
    for code, fields in zip(codes, contents(project).table(tasks), strict=True):
        base, items = f"/api/projects/{project.id}/tasks/{code}/media", list[Row]()
        for name, text in fields.items():
            address = f"{base}/{len(items)}?fit={project.shown.fit}"
            kind = _kind(text, project.files.folder, address)
            items.append({"name": name, "text": text, **kind})
        shown.append(items)
    return shown


@router.get("/tasks/{at:at}/media/{place:at}", dependencies=REVIEWERS, response_class=FileResponse)
def media(project: ProjectDep, at: int, place: int) -> FileResponse:
    """Return an image, sound or video of the folder: the one at this place of a task."""
    project.shown.check(at)
    items = content_of(project, [at])[0]
    path = None
    if place < len(items) and items[place].get("href") and not items[place].get("is_remote"):
        path = _media_file(project.files.folder, items[place]["text"].strip())
    if path is None:
        detail = "Only files of the folder that a task names are shown."
        raise Problem(404, "There is no such image or sound", detail)
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    # browsers do not show it in a sandbox; it runs no scripts of this origin
    if path.suffix.lower() == ".pdf":
        headers = {"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        headers["x-frame-options"] = "SAMEORIGIN"
    return FileResponse(path, media_type=MEDIA[path.suffix.lower()], headers=headers)


def _kind(text: str, folder: Path, address: str) -> dict[str, Any]:
    """Return whether a field is text, or a link or a file in the folder, with its address."""
    value, plain = text.strip(), {"kind": "text"}
    if len(value) > MAX_ADDRESS or {"\n", "\0"} & {*value}:
        return plain
    is_link, path = re.fullmatch(r"https?://\S+", value) is not None, ""
    # such as http://[
    with suppress(ValueError):
        path = urlsplit(value).path if is_link else value
    media_type = MEDIA.get(PurePosixPath(path).suffix.lower(), "")
    kind = "pdf" if media_type == MEDIA[".pdf"] else media_type.partition("/")[0]
    if is_link:
        kind = "link" if kind in ("", "pdf") else kind
        return {"kind": kind, "href": value, "is_remote": True}
    if kind and _media_file(folder, value) is not None:
        return {"kind": kind, "href": address}
    return plain


def _media_file(folder: Path, name: str) -> Path | None:
    """Return the path of an image or a sound in the folder; None if it is not there."""
    with suppress(OSError, ValueError):
        path = (folder / name).resolve()
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        return path if path.suffix.lower() in MEDIA and path.is_file() and not is_hidden else None
    return None


# ---- Collecting


def collect_content(path: Path, options: Row) -> pl.DataFrame:
    """Return the content of all tasks of a file of votes; it may have no fields."""
    content = None
    # reading the votes reports what is wrong
    with suppress(InputError):
        sources = find_sources(path, options)
        columns, shape = options.get("columns"), options.get("shape")
        is_votes_only = shape == "transposed" or (shape == "wide" and not columns)
        if find_tool(sources[:1], options) is None:
            hidden = {*map(options.get, ("annotator", "label", "gold")), *(columns or [])}
            if not is_votes_only:
                content = content_of_table(open_sources(sources), options.get("task"), hidden)
        elif sources[0].record and path.stat().st_size <= MAX_BYTES:
            content = content_of_records(sources[0])
    return pl.DataFrame(schema={KEY: pl.String}) if content is None else content


def read_items(path: Path, name: str) -> pl.DataFrame:
    """Return the texts of a table, or the files of a folder with the tasks that they are called
    after.

    Columns that look like votes or truths are left out: these would influence who judges.
    """
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in MEDIA]
        places = [f"{name}/{file.name}" for file in files]
        return pl.DataFrame({KEY: [file.stem for file in files], name: places})
    opened = open_table(str(path))
    columns = [str(column) for column in opened.columns]
    votes = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    kept = [column for column in columns if column not in votes][: MAX_FIELDS + 1]
    texts = selectors.by_name(kept).cast(pl.String).str.slice(0, MAX_LENGTH + 1)
    with reading(opened.sources[0]):
        return opened.scans[0].select(texts).collect()


def by_task(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the first row of each task, with its name under KEY."""
    rows = table.rename({column: KEY}).drop_nulls(KEY)
    return rows.unique(KEY, keep="first", maintain_order=True)


def match_items(table: pl.DataFrame, tasks: pl.Series, column: str | None) -> dict[str, Any]:
    """Return how a table of items fits the tasks: which column names them, and how many it has."""
    known = tasks.implode()
    n_inside = {name: int(table.get_column(name).is_in(known).sum()) for name in table.columns}
    wanted = KEY if KEY in table.columns else column
    key = (
        wanted if wanted in n_inside else max(n_inside, key=lambda name: n_inside[name], default="")
    )
    if not key:
        raise InputError("the table has no columns")
    rows = by_task(table, key)
    inside = rows.filter(pl.col(KEY).is_in(known))
    examples = inside.head(1).rename({KEY: "\N{NUMBER SIGN}"}).to_dicts()
    return {
        "columns": [name for name in table.columns if name != KEY],
        "task": "" if key == KEY else key,
        "fields": [name for name in rows.columns if name != KEY],
        "matched": inside.height,
        "without": len(tasks) - inside.height,
        "unmatched": rows.height - inside.height,
        "examples": [
            {name: text_of(value) for name, value in row.items() if value is not None}
            for row in examples
        ],
        "own_ids": rows.get_column(KEY).head(3).to_list(),
        "task_ids": tasks.head(3).to_list(),
    }
