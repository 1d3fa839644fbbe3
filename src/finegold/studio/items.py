"""What tasks look like to people who judge: texts, links, images, sounds, videos and PDF, from the
votes' own table or from tables and folders that were added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel

from finegold.errors import FinegoldError, InputError
from finegold.io.columns import ANNOTATOR, LABEL, TRUTH, candidates
from finegold.io.sheets import KEY, MAX_FIELDS, MAX_LENGTH, content_of_records, content_of_table
from finegold.io.source import reading
from finegold.io.tables import open_sources, open_table
from finegold.studio.files import MEDIA
from finegold.studio.loaded import LoadedResult
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.rights import ONLY_OWNER, REVIEWERS
from finegold.studio.services import At, ProjectId, Services, ServicesDep, Shown
from finegold.votes.encoding import text_of

router = APIRouter(tags=["items"], prefix="/projects/{project:id}")

Kind = Literal["text", "markdown", "link", "image", "audio", "video", "pdf"]
FIELD = re.compile(r"\{([^{}\n]+)\}")
MAX_ADDRESS = 2000
# of JSON whose records are collected
MAX_BYTES = 256 * 2**20


class ContentItem(BaseModel):
    name: str | None = None
    text: str
    kind: Kind
    href: str | None = None
    is_remote: bool = False


class Contents:
    """The fields of all tasks, in Parquet files that are read by need. The last file with a field
    of a task counts.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [pl.scan_parquet(path) for path in paths]
        self._names = [
            [name for name in rows.collect_schema().names() if name != KEY] for rows in self._files
        ]
        self.names = list(dict.fromkeys(name for names in self._names for name in names))

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
        tasks: list[str] = []
        for rows, names in zip(self._files, self._names, strict=True):
            texts = [selectors.by_name(name).as_expr().str.to_lowercase() for name in names]
            if texts:
                inside = pl.any_horizontal(
                    [text.str.contains(part.lower(), literal=True) for text in texts]
                )
                found = rows.filter(inside).select(KEY).collect(engine="streaming")
                tasks += found.get_column(KEY).to_list()
        return tasks


def contents(services: Services, project: int) -> Contents:
    """Return the fields of all tasks; nothing of a file that is damaged."""
    rows = services.store.rows(
        "SELECT content FROM source WHERE project = ? AND state = 'in' AND content NOT NULL"
        " ORDER BY kind = 'items', id",
        project,
    )
    with suppress(FinegoldError, pl.exceptions.PolarsError):
        return Contents([services.files.stored(row["content"], "content.parquet") for row in rows])
    return Contents([])


def content_of(
    services: Services,
    project: int,
    result: LoadedResult,
    codes: Sequence[int],
    template: str | None = None,
) -> list[list[ContentItem]]:
    """Return each field of some tasks, or each line of the template with the fields filled in."""
    tasks, row = result.task_texts(codes), services.store.project(project)
    table = contents(services, project).table(tasks)
    template = row["template"] if template is None else template
    folder = services.files.folder
    shown = []
    for code, task, fields in zip(codes, tasks, table, strict=True):
        base = f"/api/projects/{project}/tasks/{code}/media"
        lines: list[tuple[str | None, str, bool]] = [
            (name, text, False) for name, text in fields.items()
        ]
        if template:
            values = {"task": task, **fields}
            lines = [_fill(line.strip(), values) for line in template.splitlines()]
        items = list[ContentItem]()
        for name, text, is_markdown in lines:
            if is_markdown and text:
                items.append(ContentItem(text=text, kind="markdown"))
            elif text:
                address = f"{base}/{len(items)}?fit={result.fit}"
                items.append(_item(name, text, folder, address))
        shown.append(items)
    return shown


def _fill(line: str, values: dict[str, str]) -> tuple[None, str, bool]:
    """Return a line of a template with its fields filled in, and whether it is Markdown."""
    is_markdown = line.lower().startswith("markdown:")
    line = line.partition(":")[2] if is_markdown else line
    return None, FIELD.sub(lambda match: values.get(match[1], ""), line).strip(), is_markdown


@router.get("/fields", dependencies=ONLY_OWNER)
def fields(project: ProjectId, services: ServicesDep) -> list[str]:
    """Return the names that a template may contain."""
    return list(dict.fromkeys(["task", *contents(services, project).names]))


@router.get("/tasks/{at:at}/content", dependencies=ONLY_OWNER)
def preview_template(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    template: Annotated[str, Query(max_length=10_000)] = "",
) -> list[ContentItem]:
    """Return a task as a template would show it."""
    check_template(services, project, template)
    if at >= len(shown.labelled.label_codes):
        raise Problem(404, "There is no such task")
    return content_of(services, project, shown, [at], template)[0]


def check_template(services: Services, project: int, template: str) -> None:
    names = fields(project, services)
    unknown = next((field for field in FIELD.findall(template) if field not in names), None)
    if unknown is not None:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise Problem(422, f"There is no field {{{unknown}}}", f"The template can use {known}.")


@router.get("/tasks/{at:at}/media/{place:at}", dependencies=REVIEWERS, response_class=FileResponse)
def media(
    project: ProjectId, at: At, place: At, shown: Shown, services: ServicesDep
) -> FileResponse:
    """Return an image, sound or video in the folder of the studio: the one at this place of what is
    shown of a task.
    """
    path = None
    if at < len(shown.labelled.label_codes):
        items = content_of(services, project, shown, [at])[0]
        if place < len(items) and items[place].href and not items[place].is_remote:
            path = _media_file(services.files.folder, items[place].text.strip())
    if path is None:
        detail = "Only files of the folder that a task names are shown."
        raise Problem(404, "There is no such image or sound", detail)
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    # browsers do not show it in a sandbox; it runs no scripts of this origin
    if path.suffix.lower() == ".pdf":
        headers = {"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        headers["x-frame-options"] = "SAMEORIGIN"
    return FileResponse(path, media_type=MEDIA[path.suffix.lower()], headers=headers)


def _item(name: str | None, text: str, folder: Path, address: str) -> ContentItem:
    """Return a field as text, or as the link or the file in the folder that it names."""
    value = text.strip()
    if len(value) > MAX_ADDRESS:
        return ContentItem(name=name, text=text, kind="text")
    is_link, path = re.fullmatch(r"https?://\S+", value) is not None, ""
    # such as http://[
    with suppress(ValueError):
        path = urlsplit(value).path if is_link else value
    media_type = "" if {"\n", "\0"} & {*path} else MEDIA.get(PurePosixPath(path).suffix.lower(), "")
    kind: Any = "pdf" if media_type == MEDIA[".pdf"] else media_type.partition("/")[0]
    if is_link:
        kind = "link" if kind in ("", "pdf") else kind
        return ContentItem(name=name, text=text, kind=kind, href=value, is_remote=True)
    if kind and _media_file(folder, value) is not None:
        return ContentItem(name=name, text=text, kind=kind, href=address)
    return ContentItem(name=name, text=text, kind="text")


def _media_file(folder: Path, name: str) -> Path | None:
    """Return the path of an image or a sound in the folder; None if there is none, or if it lies
    elsewhere.
    """
    with suppress(OSError, ValueError):
        path = (folder / name).resolve()
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        return path if path.suffix.lower() in MEDIA and path.is_file() and not is_hidden else None
    return None


# ---- Collecting


def collect_content(path: Path, options: Reading) -> pl.DataFrame:
    """Return the content of all tasks of a file of votes; it has no fields if the file has nothing
    but votes.
    """
    content = None
    # reading the votes reports what is wrong
    with suppress(InputError):
        sources = find_sources(path, options)
        if find_tool(sources[:1], options) is None:
            hidden = {options.annotator, options.label, options.gold, *(options.columns or [])}
            is_votes_only = options.shape == "transposed" or (
                options.shape == "wide" and not options.columns
            )
            if not is_votes_only:
                content = content_of_table(open_sources(sources), options.task, hidden)
        elif sources[0].record and path.stat().st_size <= MAX_BYTES:
            content = content_of_records(sources[0])
    return pl.DataFrame(schema={KEY: pl.String}) if content is None else content


def read_items(path: Path, name: str) -> pl.DataFrame:
    """Return the texts of a table, or the files of a folder with the tasks that they are called
    after.

    Columns that look like votes or truths are left out: these would influence who judges.
    """
    if path.is_dir():
        files = sorted(
            file for file in path.iterdir() if file.suffix.lower() in MEDIA and file.is_file()
        )
        return pl.DataFrame(
            {KEY: [file.stem for file in files], name: [f"{name}/{file.name}" for file in files]}
        )
    opened = open_table(str(path))
    columns = [str(column) for column in opened.columns]
    votes = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    kept = [column for column in columns if column not in votes][: MAX_FIELDS + 1]
    texts = [
        selectors.by_name(each).as_expr().cast(pl.String).str.slice(0, MAX_LENGTH + 1)
        for each in kept
    ]
    with reading(opened.sources[0]):
        return opened.scans[0].select(texts).collect()


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
    rows = table.rename({key: KEY}).drop_nulls(KEY).unique(KEY, keep="first", maintain_order=True)
    inside = rows.filter(pl.col(KEY).is_in(known))
    return {
        "columns": [name for name in table.columns if name != KEY],
        "task": "" if key == KEY else key,
        "fields": [name for name in rows.columns if name != KEY],
        "n_tasks": rows.height,
        "matched": inside.height,
        "without": len(tasks) - inside.height,
        "unmatched": rows.height - inside.height,
        "examples": [
            {name: text_of(value) for name, value in row.items() if value is not None}
            for row in inside.head(3).rename({KEY: "\N{NUMBER SIGN}"}).to_dicts()
        ],
        "own_ids": rows.get_column(KEY).head(3).to_list(),
        "task_ids": tasks.head(3).to_list(),
    }
