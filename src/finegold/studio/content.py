"""The content of tasks, for people who judge them: texts, links, images and sounds.

It is collected when the votes are read and kept in the project, so that the file is not needed any more. More can be
added from a second table, or from a folder of files that are called as the tasks.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

import polars as pl
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.columns import ANNOTATOR, LABEL, TRUTH, candidates
from finegold.io.diagnosis import reading
from finegold.io.sheets import KEY, MAX_FIELDS, MAX_LENGTH, content_of_records, content_of_table
from finegold.io.tables import open_sources, open_table
from finegold.studio.files import MEDIA
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.services import (
    FILE_BODY,
    At,
    FileName,
    ProjectId,
    Services,
    ServicesDep,
    Shown,
    StoreDep,
    sent_file,
)
from finegold.studio.store import now
from finegold.studio.tables import check_index
from finegold.studio.workspace import Questions
from finegold.votes.encoding import text_of, to_list

router = APIRouter(tags=["content"], prefix="/projects/{project}")

Kind = Literal["text", "link", "image", "audio", "video", "pdf", "markdown", "html"]
WRITTEN: tuple[Kind, ...] = ("markdown", "html", "text")  # what a line of a template may say that its text is
FIELD = re.compile(r"\{([^{}\n]+)\}")
MAX_ADDRESS = 2000
MAX_BYTES = 256 * 2**20  # of JSON whose records are collected
MAX_SHOWN = 3
REFUSED = "These texts cannot be used"


class ContentItem(BaseModel):
    name: str | None = Field(default=None, description="The column; null for a line of the template.")
    text: str
    kind: Kind
    href: str | None = None
    is_remote: bool = Field(
        default=False, description="Whether it lies on another server; it is loaded only with consent."
    )


class ItemTable(BaseModel):
    id: int
    name: str
    n_tasks: int = Field(description="That it has texts or images of, also if they have no votes yet.")
    at: str


class Matched(BaseModel):
    """How a table or a folder fits the tasks."""

    name: str
    columns: list[str] = Field(description="Those that may name the task.")
    task: str = Field(description="The column that names the task.")
    fields: list[str] = Field(description="What will be shown of a task.")
    matched: int
    without: int = Field(description="Number of tasks of the project that are not in it.")
    unmatched: int = Field(description="Number of its rows that belong to no task.")
    examples: list[dict[str, str | None]]


@router.get("/tasks/{at}/content")
def content(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    template: Annotated[str | None, Query(max_length=10_000, description="Instead of the project's.")] = None,
) -> list[ContentItem]:
    """Return each field of a task, or each line of the template with the fields filled in; empty for posted votes."""
    check_index(at, len(shown.labelled.label_codes), "task")
    contents, name = services.workspace.contents(project), shown.task_name(at)
    fields = {} if contents is None else contents.table([name])[0]
    if template is None:
        template = services.store.project(project)["template"]
    else:
        check_template(services, project, template)
    folder, address = services.files.folder, f"/api/projects/{project}/media"
    if not template:
        return [_item(column, text, folder, address) for column, text in fields.items()]
    fields, items = {"task": str(name), **fields}, []
    for line in template.splitlines():
        kind = next((kind for kind in WRITTEN if line.strip().lower().startswith(f"{kind}:")), None)
        text = FIELD.sub(lambda match: fields.get(match[1], ""), line.strip()[len(kind) + 1 if kind else 0 :]).strip()
        if text:
            items.append(ContentItem(text=text, kind=kind) if kind else _item(None, text, folder, address))
    return items


@router.get("/fields")
def fields(project: ProjectId, services: ServicesDep) -> list[str]:
    """Return the names that a template may contain."""
    contents = services.workspace.contents(project)
    return list(dict.fromkeys(["task", *([] if contents is None else contents.names)]))


def check_template(services: Services, project: int, template: str) -> None:
    """Refuse a template with a field that no task has."""
    names = fields(project, services)
    unknown = next((field for field in FIELD.findall(template) if field not in names), None)
    if unknown is not None:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise Problem(422, f"There is no field {{{unknown}}}", f"The template can use {known}.")


@router.get("/media", response_class=FileResponse)
def media(
    project: ProjectId,
    path: Annotated[str, Query(max_length=2000, description="The path of an image, sound or video in the folder.")],
    services: ServicesDep,
) -> FileResponse:
    """An image, sound or video in the folder of the studio."""
    file = _media_file(services.files.folder, path)
    if file is None:
        raise Problem(404, "There is no such image or sound", f"Only files in {services.files.folder} are shown.")
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    if file.suffix.lower() == ".pdf":  # browsers do not show it in a sandbox; it runs no scripts of this origin
        headers = {"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        headers["x-frame-options"] = "SAMEORIGIN"
    return FileResponse(file, media_type=MEDIA[file.suffix.lower()], headers=headers)


def _item(name: str | None, text: str, folder: Path, address: str) -> ContentItem:
    """Return a field as text, or as the link or the file in the folder that it names."""
    value = text.strip()
    if len(value) <= MAX_ADDRESS:
        if re.fullmatch(r"https?://\S+", value):
            kind = None
            with suppress(ValueError):  # such as http://[
                kind = _kind(urlsplit(value).path)
            kind = "link" if kind in (None, "pdf") else kind
            return ContentItem(name=name, text=text, kind=kind, href=value, is_remote=True)
        if (kind := _kind(value)) and _media_file(folder, value) is not None:
            return ContentItem(name=name, text=text, kind=kind, href=f"{address}?path={quote(value)}")
    return ContentItem(name=name, text=text, kind="text")


def _kind(path: str) -> Kind | None:
    suffix = PurePosixPath(path).suffix.lower() if "\n" not in path and "\0" not in path else ""
    kind = "pdf" if suffix == ".pdf" else MEDIA.get(suffix, "").partition("/")[0]
    return kind or None  # type: ignore[return-value]  # the first part of the other media types is a Kind


def _media_file(folder: Path, name: str) -> Path | None:
    """Return the path of an image or a sound in the folder; None if there is none, or if it lies elsewhere."""
    with suppress(OSError, ValueError):
        path = (folder / name).resolve()
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        return path if path.suffix.lower() in MEDIA and path.is_file() and not is_hidden else None
    return None


def collect_content(path: Path, options: Reading) -> pl.DataFrame:
    """Return the content of all tasks of a file; it has no fields if the file has nothing but votes."""
    content = None
    with suppress(InputError):  # reading the votes reports what is wrong
        sources = find_sources(path, options)
        if find_tool(sources[:1], options) is None:
            hidden = {options.annotator, options.label, options.gold, *(options.columns or [])}
            is_votes_only = options.shape == "transposed" or (options.shape == "wide" and not options.columns)
            content = None if is_votes_only else content_of_table(open_sources(sources), options.task, hidden)
        elif sources[0].record and path.stat().st_size <= MAX_BYTES:
            content = content_of_records(sources[0])
    return pl.DataFrame(schema={KEY: pl.String}) if content is None else content


@router.get("/items")
def item_tables(project: ProjectId, store: StoreDep) -> list[ItemTable]:
    """Return the tables and folders of texts and images that were added."""
    rows = store.rows("SELECT id, name, n_tasks, at FROM layer WHERE project = ? ORDER BY id", project)
    return [ItemTable(**row) for row in rows]


@router.post("/items", openapi_extra=FILE_BODY)
async def add_items(
    project: ProjectId,
    request: Request,
    name: FileName,
    shown: Shown,
    services: ServicesDep,
    task: Annotated[str | None, Query(max_length=1000, description="The column that names the task.")] = None,
    take: Annotated[bool, Query(description="Use it; otherwise only say how it fits.")] = False,
) -> Matched:
    """Join texts and images with the tasks: a table in the body of the request, or a file or a folder by its name.

    A folder holds files that are called as the tasks: images, sounds, videos or PDF.
    """
    questions = Questions(json.loads(services.store.project(project)["options"] or "[]"))
    names = dict.fromkeys(questions.split(text_of(each))[0] for each in to_list(shown.result.task_names))
    tasks = pl.Series(list(names), dtype=pl.String)
    folder = services.files.subfolder(name)
    if folder is not None:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in MEDIA and path.is_file())
        table = pl.DataFrame({KEY: [path.stem for path in files], name: [f"{name}/{path.name}" for path in files]})
        return await run_in_threadpool(_join, services, project, name, table, KEY, tasks, take)
    async with sent_file(request, services, name, REFUSED) as path:
        table = await run_in_threadpool(_read_texts, path)
        return await run_in_threadpool(_join, services, project, name, table, task, tasks, take)


@router.delete("/items/{layer}", status_code=204, response_class=Response)
def remove_items(project: ProjectId, layer: int, store: StoreDep) -> None:
    """Remove a table or a folder of texts and images."""
    with store.changing(project):
        store.run("DELETE FROM layer WHERE project = ? AND id = ?", project, layer)


def _read_texts(path: Path) -> pl.DataFrame:
    """Return a table as texts, without columns that look like votes or truths: these would influence who judges."""
    opened = open_table(str(path))
    columns = [str(column) for column in opened.columns]
    votes = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    kept = [column for column in columns if column not in votes][: MAX_FIELDS + 1]
    texts = [selectors.by_name(name).as_expr().cast(pl.String).str.slice(0, MAX_LENGTH + 1) for name in kept]
    with reading(opened.sources[0]):
        return opened.scans[0].select(texts).collect()


def _join(
    services: Services, project: int, name: str, table: pl.DataFrame, task: str | None, tasks: pl.Series, is_taken: bool
) -> Matched:
    known = tasks.implode()
    n_inside = {column: int(table.get_column(column).is_in(known).sum()) for column in table.columns}
    key = task if task in n_inside else max(n_inside, key=lambda column: n_inside[column], default="")
    if not n_inside.get(key):
        own = table.get_column(key).drop_nulls().head(MAX_SHOWN).to_list() if key else []
        theirs = ", ".join(tasks.head(MAX_SHOWN).to_list())
        detail = f"No id in it is a task: it has {', '.join(own) or 'nothing'}; tasks are called {theirs}."
        raise Problem(422, REFUSED, detail, columns=[*n_inside])
    fields = [column for column in table.columns if column != key]
    rows = table.rename({key: KEY}).select(KEY, *(selectors.by_name(field) for field in fields))
    rows = rows.drop_nulls(KEY).unique(KEY, keep="first", maintain_order=True)
    inside = rows.filter(pl.col(KEY).is_in(known))
    if is_taken:
        keep_items(services, project, name, rows)  # also those of tasks whose votes arrive later
    return Matched(
        name=name,
        columns=[column for column in table.columns if column != KEY],
        task="" if key == KEY else key,
        fields=fields,
        matched=inside.height,
        without=len(tasks) - inside.height,
        unmatched=table.height - n_inside[key],
        examples=inside.head(MAX_SHOWN).rename({KEY: "task"} if "task" not in fields else {}).to_dicts(),
    )


def keep_items(services: Services, project: int, name: str, table: pl.DataFrame, batch: int | None = None) -> None:
    """Keep a table with fields, instead of one of the same name; `batch` are the votes that it came with."""
    if table.width < 2:
        return
    store = services.store
    with services.files.written(table) as path:
        blob = store.keep_file(path)
    with store.changing(project):
        if batch is None:
            store.run("DELETE FROM layer WHERE project = ? AND name = ? AND batch IS NULL", project, name)
        store.insert("layer", project=project, name=name, n_tasks=table.height, file=blob, batch=batch, at=now())
