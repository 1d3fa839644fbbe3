"""What comes beside the votes and is kept in the project: the content of tasks, and predictions of models.

The content (texts, links, images and sounds, for people who judge) is collected when the votes are read. More can be
added from a second table, or from a folder of files that are called as the tasks. Every fit uses the predictions.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import polars as pl
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.columns import ANNOTATOR, LABEL, TRUTH, candidates
from finegold.io.predictions import read_predictions
from finegold.io.sheets import KEY, MAX_FIELDS, MAX_LENGTH, content_of_records, content_of_table
from finegold.io.source import reading
from finegold.io.tables import open_sources, open_table
from finegold.report.views.common import texts
from finegold.studio.files import FILE_BODY, MEDIA
from finegold.studio.problems import Problem, warnings_in_words
from finegold.studio.rights import ONLY_OWNER, REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.security import OWNER
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.services import (
    At,
    FileName,
    ProjectId,
    Services,
    ServicesDep,
    Shown,
    StoreDep,
    VotesDep,
    sent_file,
)
from finegold.studio.store import now
from finegold.studio.tables import check_index
from finegold.studio.workspace import Questions
from finegold.votes.encoding import text_of, to_list

router = APIRouter(tags=["content"], prefix="/projects/{project:id}")
predictions_router = APIRouter(tags=["predictions"], prefix="/projects/{project:id}")

Kind = Literal["text", "link", "image", "audio", "video", "pdf", "markdown", "html"]
WRITTEN: tuple[Kind, ...] = (
    "markdown",
    "html",
    "text",
)  # what a line of a template may say that its text is
FIELD = re.compile(r"\{([^{}\n]+)\}")
MAX_ADDRESS = 2000
MAX_BYTES = 256 * 2**20  # of JSON whose records are collected
MAX_SHOWN = 3
REFUSED = "These texts cannot be used"
REMOVE_PREDICTIONS = "DELETE FROM predictions WHERE project = ? AND name = ?"


class ContentItem(BaseModel):
    name: str | None = Field(
        default=None, description="The column; null for a line of the template."
    )
    text: str
    kind: Kind
    href: str | None = None
    is_remote: bool = Field(
        default=False, description="Whether it lies on another server: loaded only with consent."
    )


class ItemTable(BaseModel):
    id: int
    name: str
    n_tasks: int = Field(
        description="That it has texts or images of, also if they have no votes yet."
    )
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


@router.get("/tasks/{at:at}/content", dependencies=REVIEWERS)
def content(
    project: ProjectId,
    at: At,
    request: Request,
    shown: Shown,
    services: ServicesDep,
    template: Annotated[
        str | None, Query(max_length=10_000, description="Instead of the project's.")
    ] = None,
) -> list[ContentItem]:
    """Return each field of a task, or each line of the template with the fields filled in; empty for posted votes."""
    check_index(at, len(shown.labelled.label_codes), "task")
    name = shown.task_name(at)
    fields = services.workspace.contents(project).table([name])[0]
    query = f"?{request.url.query}" if request.url.query else ""  # it is part of what is shown
    if template is None:
        template = services.store.project(project)["template"]
    else:
        if visitor_of(request).name != OWNER:  # it could name any file of the folder
            raise Problem(403, "Reviewers judge tasks", "The owner says how tasks are shown.")
        check_template(services, project, template)
    folder, address = services.files.folder, f"/api/projects/{project}/tasks/{at}/media/"
    if not template:
        shown_fields = enumerate(fields.items())
        return [
            _item(column, text, folder, f"{address}{place}{query}")
            for place, (column, text) in shown_fields
        ]
    fields = {"task": str(name), **fields}
    items: list[ContentItem] = []
    for line in template.splitlines():
        kind = next((kind for kind in WRITTEN if line.strip().lower().startswith(f"{kind}:")), None)
        text = FIELD.sub(
            lambda match: fields.get(match[1], ""), line.strip()[len(kind) + 1 if kind else 0 :]
        ).strip()
        if text:
            items.append(
                ContentItem(text=text, kind=kind)
                if kind
                else _item(None, text, folder, f"{address}{len(items)}{query}")
            )
    return items


@router.get("/fields", dependencies=ONLY_OWNER)
def fields(project: ProjectId, services: ServicesDep) -> list[str]:
    """Return the names that a template may contain."""
    return list(dict.fromkeys(["task", *services.workspace.contents(project).names]))


def check_template(services: Services, project: int, template: str) -> None:
    names = fields(project, services)
    unknown = next((field for field in FIELD.findall(template) if field not in names), None)
    if unknown is not None:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise Problem(422, f"There is no field {{{unknown}}}", f"The template can use {known}.")


@router.get("/tasks/{at:at}/media/{place:at}", dependencies=REVIEWERS, response_class=FileResponse)
def media(
    place: At, items: Annotated[list[ContentItem], Depends(content)], services: ServicesDep
) -> FileResponse:
    """An image, sound or video in the folder of the studio: the one at this place of a task's content."""
    item = items[place] if place < len(items) else None
    is_file = item is not None and item.href is not None and not item.is_remote
    file = _media_file(services.files.folder, item.text.strip()) if item and is_file else None
    if file is None:
        raise Problem(
            404,
            "There is no such image or sound",
            "Only files of the folder that the task names are shown.",
        )
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    if (
        file.suffix.lower() == ".pdf"
    ):  # browsers do not show it in a sandbox; it runs no scripts of this origin
        headers = {"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        headers["x-frame-options"] = "SAMEORIGIN"
    return FileResponse(file, media_type=MEDIA[file.suffix.lower()], headers=headers)


def _item(name: str | None, text: str, folder: Path, address: str) -> ContentItem:
    """Return a field as text, or as the link or the file in the folder that it names."""
    value = text.strip()
    if len(value) > MAX_ADDRESS:
        return ContentItem(name=name, text=text, kind="text")
    is_link, path = re.fullmatch(r"https?://\S+", value) is not None, ""
    with suppress(ValueError):  # such as http://[
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
            is_votes_only = options.shape == "transposed" or (
                options.shape == "wide" and not options.columns
            )
            content = (
                None
                if is_votes_only
                else content_of_table(open_sources(sources), options.task, hidden)
            )
        elif sources[0].record and path.stat().st_size <= MAX_BYTES:
            content = content_of_records(sources[0])
    return pl.DataFrame(schema={KEY: pl.String}) if content is None else content


@router.get("/items", dependencies=REVIEWERS_WHO_SEE)
def item_tables(project: ProjectId, store: StoreDep) -> list[ItemTable]:
    """Return the tables and folders of texts and images that were added."""
    rows = store.rows(
        "SELECT id, name, n_tasks, at FROM layer WHERE project = ? ORDER BY id", project
    )
    return [ItemTable(**row) for row in rows]


@router.post("/items", dependencies=ONLY_OWNER, openapi_extra=FILE_BODY)
def add_items(
    project: ProjectId,
    name: FileName,
    shown: Shown,
    services: ServicesDep,
    path: Annotated[Path, sent_file(REFUSED, or_folder=True)],
    task: Annotated[
        str | None, Query(max_length=1000, description="The column that names the task.")
    ] = None,
    take: Annotated[bool, Query(description="Use it; otherwise only say how it fits.")] = False,
) -> Matched:
    """Join texts and images with the tasks: a table in the body of the request, or a file or a folder by its name.

    A folder holds files that are called as the tasks: images, sounds, videos or PDF.
    """
    questions = Questions(services.store.project(project)["options"])
    names = dict.fromkeys(
        questions.split(text_of(each))[0] for each in to_list(shown.result.task_names)
    )
    tasks = pl.Series(list(names), dtype=pl.String)
    known = tasks.implode()
    if path.is_dir():
        files = sorted(
            file for file in path.iterdir() if file.suffix.lower() in MEDIA and file.is_file()
        )
        table = pl.DataFrame(
            {KEY: [file.stem for file in files], name: [f"{name}/{file.name}" for file in files]}
        )
    else:
        # Columns that look like votes or truths are left out: these would influence who judges.
        opened = open_table(str(path))
        columns = [str(column) for column in opened.columns]
        votes = {
            column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)
        }
        kept = [column for column in columns if column not in votes][: MAX_FIELDS + 1]
        texts = [
            selectors.by_name(each).as_expr().cast(pl.String).str.slice(0, MAX_LENGTH + 1)
            for each in kept
        ]
        with reading(opened.sources[0]):
            table = opened.scans[0].select(texts).collect()
    n_inside = {
        column: int(table.get_column(column).is_in(known).sum()) for column in table.columns
    }
    wanted = KEY if path.is_dir() else task
    key = (
        wanted
        if wanted in n_inside
        else max(n_inside, key=lambda column: n_inside[column], default="")
    )
    if not n_inside.get(key):
        own = table.get_column(key).drop_nulls().head(MAX_SHOWN).to_list() if key else []
        theirs = ", ".join(tasks.head(MAX_SHOWN).to_list())
        detail = f"No id in it is a task: it has {', '.join(own) or 'nothing'}; tasks are called {theirs}."
        raise Problem(422, REFUSED, detail, columns=[*n_inside])
    fields = [column for column in table.columns if column != key]
    rows = table.rename({key: KEY}).select(KEY, *(selectors.by_name(field) for field in fields))
    rows = rows.drop_nulls(KEY).unique(KEY, keep="first", maintain_order=True)
    inside = rows.filter(pl.col(KEY).is_in(known))
    if take:
        keep_items(services, project, name, rows)  # also those of tasks whose votes arrive later
    return Matched(
        name=name,
        columns=[column for column in table.columns if column != KEY],
        task="" if key == KEY else key,
        fields=fields,
        matched=inside.height,
        without=len(tasks) - inside.height,
        unmatched=table.height - n_inside[key],
        examples=inside.head(MAX_SHOWN)
        .rename({KEY: "task"} if "task" not in fields else {})
        .to_dicts(),
    )


@router.delete(
    "/items/{layer:id}", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def remove_items(project: ProjectId, layer: int, store: StoreDep) -> None:
    """Remove a table or a folder of texts and images."""
    with store.changing(project):
        store.run("DELETE FROM layer WHERE project = ? AND id = ?", project, layer)


def keep_items(
    services: Services, project: int, name: str, table: pl.DataFrame, batch: int | None = None
) -> None:
    """Keep a table with fields, instead of one of the same name; `batch` are the votes that it came with."""
    if table.width < 2:
        return
    store, blob = services.store, services.files.keep(table.write_parquet, ".parquet")
    with store.changing(project):
        if batch is None:
            store.run(
                "DELETE FROM layer WHERE project = ? AND name = ? AND batch IS NULL", project, name
            )
        store.insert(
            "layer",
            project=project,
            name=name,
            n_tasks=table.height,
            file=blob,
            batch=batch,
            at=now(),
        )


class PredictionsFile(BaseModel):
    """What was read of a file of predictions."""

    name: str
    n_tasks: int = Field(description="Number of tasks with votes that have a prediction.")
    n_without_prediction: int = Field(description="Number of tasks with votes that have none.")
    n_without_votes: int = Field(description="Number of tasks that have a prediction but no votes.")
    classes: list[str]
    confidence: float = Field(
        description="Mean probability of the predicted class, as the model gives it."
    )
    warnings: list[str] = Field(default=[], description="What looks wrong with it.")


@predictions_router.get("/predictions", dependencies=REVIEWERS_WHO_SEE)
def predictions(project: ProjectId, store: StoreDep) -> list[PredictionsFile]:
    """Return what was read of each file of predictions."""
    rows = store.rows(
        "SELECT name, facts FROM predictions WHERE project = ? ORDER BY name", project
    )
    return [PredictionsFile(name=row["name"], **json.loads(row["facts"])) for row in rows]


@predictions_router.post("/predictions", dependencies=ONLY_OWNER, openapi_extra=FILE_BODY)
def add_predictions(
    project: ProjectId,
    name: FileName,
    votes: VotesDep,
    store: StoreDep,
    path: Annotated[Path, sent_file("The predictions cannot be used")],
) -> list[PredictionsFile]:
    """Read class probabilities of a model: a column of tasks, and a column per class.

    They come from the body of the request, or from a file of the folder if the body is empty. All further fits combine
    them with the votes. A file of the same name is replaced.
    """
    with warnings_in_words() as words:
        read = read_predictions(path, votes)
    known = read.known[0]
    n_tasks = int(known[: votes.n_tasks].sum())
    facts = {
        "n_tasks": n_tasks,
        "n_without_prediction": votes.n_tasks - n_tasks,
        "n_without_votes": len(read.task_names),
        "classes": texts(votes.class_names),
        "confidence": float(read.probabilities[0][known].max(axis=1).mean()),
        "warnings": [text.replace(str(path), name).replace(path.name, name) for text in words],
    }
    blob = store.keep_file(path)
    with store.changing(project):
        store.run(REMOVE_PREDICTIONS, project, name)  # its trigger removes the old file
        store.insert("predictions", project=project, name=name, file=blob, facts=json.dumps(facts))
    return predictions(project, store)


@predictions_router.delete(
    "/predictions", dependencies=ONLY_OWNER, status_code=204, response_class=Response
)
def remove_predictions(project: ProjectId, name: FileName, store: StoreDep) -> None:
    """Remove a file of predictions; results that were computed with it stay as they are."""
    with store.changing(project):
        store.run(REMOVE_PREDICTIONS, project, name)
