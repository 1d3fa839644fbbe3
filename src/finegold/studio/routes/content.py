"""Routes of the content of tasks: texts, links, and the images and sounds of the folder."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from finegold.studio.problems import Problem
from finegold.studio.routes.common import At, ProjectId, ServicesDep, Shown
from finegold.studio.routes.tables import check_index
from finegold.studio.showing import MEDIA, items_of, media_file

__all__ = ["router"]

router = APIRouter(tags=["tables"], prefix="/projects/{project}")


class ContentItem(BaseModel):
    name: str | None = Field(description="The column; null for a line of the template.")
    text: str
    kind: Literal["text", "link", "image", "audio", "video"]
    href: str | None
    is_remote: bool = Field(description="Whether it lies on another server; it is loaded only with consent.")


@router.get("/tasks/{at}/content")
def content(project: ProjectId, at: At, shown: Shown, services: ServicesDep) -> list[ContentItem]:
    """Return the content of the task, as the template of the project says; empty for posted votes."""
    check_index(at, len(shown.result.label_codes), "task")
    found = services.workspace.contents(project)
    fields = {} if found is None else found.of(shown.task_name(at))
    template = services.projects.get(project)["template"]
    if template:
        fields = {"task": str(shown.task_name(at)), **fields}
    items = items_of(fields, template, services.files.folder, f"/api/projects/{project}/media")
    return [ContentItem(**item._asdict()) for item in items]


@router.get("/fields")
def fields(project: ProjectId, services: ServicesDep) -> list[str]:
    """Return the names that a template may contain."""
    found = services.workspace.contents(project)
    return [] if found is None else found.names


@router.get("/media", response_class=FileResponse)
def media(
    project: ProjectId,
    path: Annotated[str, Query(max_length=2000, description="The path of an image, sound or video in the folder.")],
    services: ServicesDep,
) -> FileResponse:
    """An image, sound or video in the folder of the studio."""
    services.projects.get(project)
    found = media_file(services.files.folder, path)
    if found is None:
        raise Problem(404, "There is no such image or sound", f"Only files in {services.files.folder} are shown.")
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    return FileResponse(found, media_type=MEDIA[found.suffix.lower()], headers=headers)
