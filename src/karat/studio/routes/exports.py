"""Routes to download files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from karat.studio.exports import EXPORTS, write_export
from karat.studio.problems import Problem
from karat.studio.routes.common import ProjectId, ServicesDep, Shown

__all__ = ["router"]

router = APIRouter(tags=["exports"], prefix="/projects/{project}/export")

KINDS = {".csv": "text/csv", ".jsonl": "application/jsonl", ".json": "application/json", ".html": "text/html"}


@router.get("/{name}", response_class=FileResponse)
def export(
    project: ProjectId,
    name: Annotated[str, Path(description=f"One of {', '.join(EXPORTS)}.", json_schema_extra={"enum": list(EXPORTS)})],
    shown: Shown,
    services: ServicesDep,
) -> FileResponse:
    """A file with labels, gold, annotators, votes, the report or the whole model."""
    if name not in EXPORTS:
        raise Problem(404, "There is no such export", f"Choose one of {', '.join(EXPORTS)}.")
    path = write_export(services, project, shown, name)
    kind = KINDS.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(path, filename=name, media_type=kind, headers=headers, background=remove)
