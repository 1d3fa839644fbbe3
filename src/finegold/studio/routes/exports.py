"""Routes to download files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from finegold.errors import OutputError
from finegold.io.database_tables import write_labels_to_table
from finegold.io.databases import parse
from finegold.io.source import READABLE
from finegold.studio.exports import EXPORTS, write_export
from finegold.studio.problems import Problem
from finegold.studio.routes.common import ProjectId, ServicesDep, Shown
from finegold.studio.services import Services
from finegold.studio.wording import in_browser

__all__ = ["router"]

router = APIRouter(tags=["exports"], prefix="/projects/{project}")


class Target(BaseModel, extra="forbid"):
    address: str = Field(max_length=1000, description="postgresql://..., sqlite:///FILE or duckdb:///FILE.")
    table: str = Field(min_length=1, max_length=200)
    probabilities: bool = Field(default=False, description="Add a column per class with its probability.")


class Written(BaseModel):
    table: str
    rows: int


KINDS = {".csv": "text/csv", ".jsonl": "application/jsonl", ".json": "application/json", ".html": "text/html"}


@router.get("/export/{name}", response_class=FileResponse)
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


@router.post("/database")
def to_database(project: ProjectId, target: Target, shown: Shown, services: ServicesDep) -> Written:
    """Write the labels into a table of a database; the rows of an existing table of labels are replaced."""
    address = _inside(services, target.address)
    try:
        write_labels_to_table(shown.result, address, target.table, probabilities=target.probabilities)
    except OutputError as error:
        raise Problem(409, "The table was not written", in_browser(error)) from None
    return Written(table=target.table, rows=len(shown.result.label_codes) + len(shown.result.unlabelled))


def _inside(services: Services, address: str) -> str:
    """Return the address of a database. Files must lie in the folder of the studio, and be no project of it."""
    database = parse(address)
    if not database.is_file:
        return address
    folder = services.files.folder
    path = (folder / database.target).resolve()
    if not path.is_relative_to(folder) or path == services.store.path or path.suffix in READABLE:
        detail = f"Name a database file in {folder}, such as {database.kind}:///labels.db."
        raise Problem(409, "The table was not written", detail)
    return f"{database.kind}:///{path}"
