"""Texts and images of the tasks that lie beside the votes: in a second table, or in a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from polars import selectors
from pydantic import BaseModel, Field

from finegold.errors import FinegoldError
from finegold.io.columns import ANNOTATOR, LABEL, TRUTH, candidates
from finegold.io.diagnosis import reading
from finegold.io.sheets import KEY, MAX_FIELDS, MAX_LENGTH
from finegold.io.tables import open_table
from finegold.studio.files import MEDIA, Files
from finegold.studio.problems import Problem, rename_files, words_of
from finegold.studio.projects import Projects, now
from finegold.studio.requests import FILE_BODY, FileName, ProjectId, Services, ServicesDep, Shown, sent_file
from finegold.studio.store import Row
from finegold.votes.encoding import text_of, to_list

router = APIRouter(tags=["items"], prefix="/projects/{project}")

REFUSED = "These texts cannot be used"
MAX_SHOWN = 3


class Items:
    """Tables of texts and images, each a Parquet file in the project."""

    def __init__(self, projects: Projects, files: Files) -> None:
        self.projects, self.store, self.files = projects, projects.store, files

    def all(self, project: int) -> list[Row]:
        return self.store.rows("SELECT id, name, n_tasks, file, at FROM layer WHERE project = ? ORDER BY id", project)

    def add(self, project: int, name: str, table: pl.DataFrame, batch: int | None = None) -> None:
        """Keep a table with the column KEY, instead of one of the same name; one without fields is left out."""
        if table.width < 2:
            return
        path = self.files.temporary(".parquet")
        try:
            table.write_parquet(path)
            blob = self.store.keep_file(path)
        finally:
            path.unlink(missing_ok=True)
        with self.projects.changing(project):
            if batch is None:
                self.store.run("DELETE FROM layer WHERE project = ? AND name = ? AND batch IS NULL", project, name)
            self.store.own(blob)
            insert = "INSERT INTO layer (project, name, n_tasks, file, batch, at) VALUES (?, ?, ?, ?, ?, ?)"
            self.store.run(insert, project, name, table.height, blob, batch, now())

    def remove(self, project: int, layer: int) -> None:
        with self.projects.changing(project):
            self.store.run("DELETE FROM layer WHERE project = ? AND id = ?", project, layer)


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


@router.get("/items")
def item_tables(project: ProjectId, services: ServicesDep) -> list[ItemTable]:
    """Return the tables and folders of texts and images that were added."""
    services.projects.get(project)
    return [ItemTable(**row) for row in services.items.all(project)]


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
    tasks = pl.Series([text_of(each) for each in to_list(shown.result.task_names)], dtype=pl.String)
    folder = services.files.subfolder(name)
    if folder is not None:
        return await run_in_threadpool(_join, services, project, name, _of_folder(folder, name), KEY, tasks, take)
    async with sent_file(request, services, name) as path:
        try:
            table = await run_in_threadpool(_of_table, path)
        except FinegoldError as error:
            detail = words_of(rename_files(error, {str(path): name, path.name: name}))
            raise Problem(422, REFUSED, detail) from None
        return await run_in_threadpool(_join, services, project, name, table, task, tasks, take)


@router.delete("/items/{layer}", status_code=204, response_class=Response)
def remove_items(project: ProjectId, layer: int, services: ServicesDep) -> None:
    """Remove a table or a folder of texts and images."""
    services.items.remove(project, layer)


def _of_table(path: Path) -> pl.DataFrame:
    """Return the table as texts, without columns that look like votes or truths: these would influence who judges."""
    opened = open_table(str(path))
    columns = [str(column) for column in opened.columns]
    votes = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    kept = [column for column in columns if column not in votes][: MAX_FIELDS + 1]
    texts = [selectors.by_name(name).as_expr().cast(pl.String).str.slice(0, MAX_LENGTH + 1) for name in kept]
    with reading(opened.sources[0]):
        return opened.scans[0].select(texts).collect()


def _of_folder(folder: Path, name: str) -> pl.DataFrame:
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in MEDIA and path.is_file())
    return pl.DataFrame({KEY: [path.stem for path in files], name: [f"{name}/{path.name}" for path in files]})


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
    rows = table.rename({key: KEY}).select(KEY, *(selectors.by_name(one) for one in fields))
    rows = rows.drop_nulls(KEY).unique(KEY, keep="first", maintain_order=True)
    inside = rows.filter(pl.col(KEY).is_in(known))
    if is_taken:
        services.items.add(project, name, rows)  # also those of tasks whose votes arrive later
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
