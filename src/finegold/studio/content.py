"""The content of tasks, for people who judge them: texts, links, images and sounds.

It is collected when the votes are read and kept in the project, so that the file is not needed any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.exports import look
from finegold.io.sheets import KEY, MAX_LENGTH, content_of_records, content_of_table
from finegold.io.tables import open_sources
from finegold.studio.files import MEDIA
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.requests import At, ProjectId, Services, ServicesDep, Shown
from finegold.studio.tables import check_index
from finegold.votes.encoding import text_of

router = APIRouter(tags=["tables"], prefix="/projects/{project}")

MAX_BYTES = 256 * 2**20  # of JSON whose records are collected

Fields = dict[str, str]


class Contents:
    """The content of all tasks, in Parquet files as `collect` makes them. Only what is asked for is read.

    Where several files have a field of a task, the last one counts.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._files = [pl.scan_parquet(path) for path in paths]
        self._names = [[name for name in rows.collect_schema().names() if name != KEY] for rows in self._files]
        self.names = list(dict.fromkeys(name for names in self._names for name in names))

    def of(self, task: Any) -> Fields:
        """Return the fields of a task that are not blank."""
        return self.table([task])[0]

    def table(self, tasks: Sequence[Any]) -> list[Fields]:
        """Return the fields of some tasks."""
        keys = [text_of(task) for task in tasks]
        found: dict[str, Fields] = {key: {} for key in keys}
        for rows in self._files:
            for row in rows.filter(pl.col(KEY).is_in(keys)).unique(KEY, keep="first").collect().to_dicts():
                found[row[KEY]] |= _filled(row)
        return [found[key] for key in keys]

    def lines(self, tasks: list[Any], length: int) -> list[str]:
        """Return the beginning of the longest field of each task, in one line."""
        longest = [max(fields.values(), key=len, default="") for fields in self.table(tasks)]
        return [" ".join(text.split())[:length] for text in longest]

    def containing(self, part: str) -> list[str]:
        """Return the names of the tasks with a field that contains this text, whatever its case."""
        found: list[str] = []
        for rows, names in zip(self._files, self._names, strict=True):
            texts = [selectors.by_name(name).as_expr().str.to_lowercase() for name in names]
            if texts:
                inside = pl.any_horizontal([text.str.contains(part.lower(), literal=True) for text in texts])
                found += rows.filter(inside).select(KEY).collect(engine="streaming").get_column(KEY).to_list()
        return found


def collect(path: Path, options: Reading) -> pl.DataFrame:
    """Return the content of all tasks of a file; it has no fields if the file has nothing but votes."""
    content = None
    with suppress(InputError):  # reading the votes reports what is wrong
        sources = find_sources(path, options)
        seen = look(sources)[0]
        if find_tool([seen], options) is None:
            hidden = {options.annotator, options.label, options.gold, *(options.columns or [])}
            is_votes_only = options.shape == "transposed" or (options.shape == "wide" and not options.columns)
            content = None if is_votes_only else content_of_table(open_sources(sources), options.task, hidden)
        elif seen.source.format in ("json", "jsonl") and path.stat().st_size <= MAX_BYTES:
            content = content_of_records(seen)
    return pl.DataFrame(schema={KEY: pl.String}) if content is None else content


def _filled(row: Mapping[str, str | None]) -> Fields:
    filled = {name: text for name, text in row.items() if name != KEY and text is not None and text.strip()}
    return {name: text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..." for name, text in filled.items()}


Kind = Literal["text", "link", "image", "audio", "video", "pdf", "markdown", "html"]
MAX_ADDRESS = 2000
WRITTEN: tuple[Kind, ...] = ("markdown", "html", "text")  # what a line of a template may say that its text is
FIELD = re.compile(r"\{([^{}\n]+)\}")


class Item(NamedTuple):
    """A part of the content. `href` is None for texts."""

    name: str | None
    text: str
    kind: Kind
    href: str | None
    is_remote: bool


def items_of(fields: Mapping[str, str], template: str | None, folder: Path, address: str) -> list[Item]:
    """Return what is shown of a task: each field, or each line of the template with the fields filled in.

    `address` is the address of the route for files in the folder.
    """
    if not template:
        return [_item(name, text, folder, address) for name, text in fields.items()]
    items = []
    for line in template.splitlines():
        kind = next((kind for kind in WRITTEN if line.strip().lower().startswith(f"{kind}:")), None)
        text = FIELD.sub(lambda match: fields.get(match[1], ""), line.strip()[len(kind) + 1 if kind else 0 :]).strip()
        if text:
            items.append(Item(None, text, kind, None, False) if kind else _item(None, text, folder, address))
    return items


def check_template(template: str, names: Sequence[str]) -> None:
    """Refuse a template with a field that no task has."""
    unknown = next((field for field in FIELD.findall(template) if field not in names), None)
    if unknown is not None:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise Problem(422, f"There is no field {{{unknown}}}", f"The template can use {known}.")


def media_file(folder: Path, name: str) -> Path | None:
    """Return the path of an image or a sound in the folder; None if there is none, or if it lies elsewhere."""
    try:
        path = (folder / name).resolve()
        relative = path.relative_to(folder)
        is_fine = path.suffix.lower() in MEDIA and path.is_file()
    except (OSError, ValueError):
        return None
    return path if is_fine and not any(part.startswith(".") for part in relative.parts) else None


def _item(name: str | None, text: str, folder: Path, address: str) -> Item:
    value = text.strip()
    if re.fullmatch(r"https?://\S+", value) and len(value) <= MAX_ADDRESS:
        kind = _kind(_path_of(value))
        return Item(name, text, kind if kind and kind != "pdf" else "link", value, True)
    if len(value) <= MAX_ADDRESS and _kind(value) and media_file(folder, value) is not None:
        return Item(name, text, _kind(value) or "link", f"{address}?path={quote(value)}", False)
    return Item(name, text, "text", None, False)


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:  # such as http://[
        return ""


def _kind(path: str) -> Kind | None:
    suffix = PurePosixPath(path).suffix.lower() if "\n" not in path and "\0" not in path else ""
    kind = "pdf" if suffix == ".pdf" else MEDIA.get(suffix, "").partition("/")[0]
    return kind or None  # type: ignore[return-value]  # the first part of the other media types is a Kind


class ContentItem(BaseModel):
    name: str | None = Field(description="The column; null for a line of the template.")
    text: str
    kind: Kind
    href: str | None
    is_remote: bool = Field(description="Whether it lies on another server; it is loaded only with consent.")


@router.get("/tasks/{at}/content")
def content(
    project: ProjectId,
    at: At,
    shown: Shown,
    services: ServicesDep,
    template: Annotated[str | None, Query(max_length=10_000, description="Instead of the project's.")] = None,
) -> list[ContentItem]:
    """Return the content of the task, as the template of the project says; empty for posted votes."""
    check_index(at, len(shown.labelled.label_codes), "task")
    contents = services.workspace.contents(project)
    fields = {} if contents is None else contents.of(shown.task_name(at))
    if template is None:
        template = services.projects.get(project)["template"]
    else:
        check_template(template, template_names(services, project))
    if template:
        fields = {"task": str(shown.task_name(at)), **fields}
    items = items_of(fields, template, services.files.folder, f"/api/projects/{project}/media")
    return [ContentItem(**item._asdict()) for item in items]


@router.get("/fields")
def fields(project: ProjectId, services: ServicesDep) -> list[str]:
    """Return the names that a template may contain."""
    return template_names(services, project)


def template_names(services: Services, project: int) -> list[str]:
    contents = services.workspace.contents(project)
    return list(dict.fromkeys(["task", *([] if contents is None else contents.names)]))


@router.get("/media", response_class=FileResponse)
def media(
    project: ProjectId,
    path: Annotated[str, Query(max_length=2000, description="The path of an image, sound or video in the folder.")],
    services: ServicesDep,
) -> FileResponse:
    """An image, sound or video in the folder of the studio."""
    services.projects.get(project)
    file = media_file(services.files.folder, path)
    if file is None:
        raise Problem(404, "There is no such image or sound", f"Only files in {services.files.folder} are shown.")
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    if file.suffix.lower() == ".pdf":  # browsers do not show it in a sandbox; it runs no scripts of this origin
        headers = {"content-security-policy": "default-src 'none'; frame-ancestors 'self'"}
        headers["x-frame-options"] = "SAMEORIGIN"
    return FileResponse(file, media_type=MEDIA[file.suffix.lower()], headers=headers)
