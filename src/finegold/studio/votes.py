"""Votes: preview the file, read it, post votes, and join posted votes with those of the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import narwhals as nw
import numpy as np
from fastapi import APIRouter, Path, Query, Request
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.layouts import count_more
from finegold.studio.problems import Problem
from finegold.studio.projects import Project, Projects, describe, now
from finegold.studio.reading import OPTIONS, Layout, Preview, Reading, preview, title_of
from finegold.studio.requests import Id, ProjectId, Scalar, ServicesDep
from finegold.studio.store import Row
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Names, text_of, to_list
from finegold.votes.hygiene import examine_votes, totals_of, warn_of
from finegold.votes.labels import find_look_alikes, is_missing, missing_words, spelled_alike
from finegold.votes.merging import merge
from finegold.votes.names import is_integer_text

router = APIRouter(tags=["votes"])

MAX_POSTED = 100_000
OF_A_FILE = (  # kinds of findings
    *("merged", "no vote", "no answer", "dates", "headers", "ids", "minus one", "alias"),
    *("gold tasks", "gold classes", "gold codes"),
)


class PostedVotes:
    """Votes that programs posted, in batches. They wait for the next fit, which joins them with the other votes."""

    def __init__(self, projects: Projects) -> None:
        self.projects, self.store = projects, projects.store

    def add(self, project: int, votes: list[Any]) -> int:
        """Add a batch of posted votes and return the number of votes that wait for the next fit."""
        self.add_batch(project, votes)
        return self.n_waiting(project)

    def add_batch(self, project: int, votes: Sequence[Any], source: str = "", facts: Any = None) -> int:
        """Add votes that came from a file, or were posted, and return the id of their batch."""
        with self.projects.changing(project):
            return self.store.run(
                "INSERT INTO posted (project, n_votes, votes, at, source, facts) VALUES (?, ?, ?, ?, ?, ?)",
                *(project, len(votes), json.dumps(votes, allow_nan=False, default=str), now(), source),
                json.dumps(facts),
            )

    def n_waiting(self, project: int) -> int:
        count = "SELECT coalesce(sum(n_votes), 0) AS n FROM posted WHERE project = ? AND NOT taken"
        return int(self.store.rows(count, project)[0]["n"])

    def batches(self, project: int) -> list[Row]:
        """Return all posted batches without their votes, the newest first."""
        which = "SELECT id, at, n_votes, taken, source, facts FROM posted WHERE project = ? ORDER BY id DESC"
        return [{**row, "facts": json.loads(row["facts"] or "null")} for row in self.store.rows(which, project)]

    def remove_waiting(self, project: int, batch: int) -> None:
        with self.projects.changing(project):
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ? AND NOT taken", project, batch)

    def votes(self, project: int, *, all_but: int | None = None) -> tuple[list[int], list[Any]]:
        """Return the waiting batches and their votes.

        With `all_but`, return the used batches except that one; if it is 0, return all batches.
        """
        which = "NOT taken" if all_but is None else f"taken AND id != {all_but:d}" if all_but else "1"
        batches = self.store.rows(f"SELECT id, votes FROM posted WHERE project = ? AND {which} ORDER BY id", project)
        return [batch["id"] for batch in batches], [vote for batch in batches for vote in json.loads(batch["votes"])]


def join_posted(votes: Annotations | None, posted: Sequence[Sequence[Any]], options: Reading | None) -> Annotations:
    """Return all votes. If an annotator votes on a task again, the newer vote counts.

    Names are matched, and missing labels recognised, as in the project's file (or as in any file, if there is none).
    """
    options = options or Reading()
    missing = missing_words(options.missing, options.keep_missing, [*(options.classes or ()), *(options.alias or ())])
    labels = [None if is_missing(label, missing) else label for _, _, label in posted]
    if votes is not None and all(label is None for label in labels):
        return count_more(votes, rows=len(posted), missing=len(posted))
    spelled = _spelled(labels, [] if votes is None else to_list(votes.class_names), options)
    if options.classes:
        others = {text_of(label) for label in spelled if label is not None} - set(options.classes)
        if others:
            classes = ", ".join(options.classes)
            raise InputError(f"the posted label {min(others)!r} is not among the classes {classes}; remove its batch")
    given = [(task, annotator, label) for (task, annotator, _), label in zip(posted, spelled, strict=True)]
    kinds = [None] * 3 if votes is None else [votes.task_names, votes.annotator_names, votes.class_names]
    columns = [_column(values, names) for values, names in zip(zip(*given, strict=True), kinds, strict=True)]
    new = Annotations.from_arrays(*columns, repeated="last")
    return _noticed(new if votes is None else merge(votes, new, repeated="last").votes, options)


def spell(votes: Sequence[Sequence[Any]], classes: list[Any], options: Reading) -> list[Any]:
    """Return the labels of votes as they are written when the votes are joined with others."""
    return _spelled([label for _, _, label in votes], classes, options)


def _spelled(labels: Sequence[Any], classes: list[Any], options: Reading) -> list[Any]:
    """Replace labels by the alias, and by a class that differs only in spelling if the reading says so."""
    alias = options.alias or {}
    given = [None if label is None else alias.get(text_of(label), label) for label in labels]
    if not options.normalise:
        return given
    counts = Counter(text_of(label) for label in given if label is not None)
    class_of = spelled_alike([text for text, _ in counts.most_common()], classes)
    return [None if label is None else class_of[text_of(label)] for label in given]


def _noticed(votes: Annotations, options: Reading) -> Annotations:
    """Look at all votes again, and keep what was noticed of those of the file only."""
    findings = [] if options.normalise else find_look_alikes(votes.class_names, votes.votes_per_class)
    findings += examine_votes(totals_of(votes), options.repeated)
    warn_of(findings)
    before = [finding for finding in votes.hygiene.findings if finding.kind in OF_A_FILE]
    alias = {**votes.hygiene.alias, **(options.alias or {})}
    hygiene = replace(votes.hygiene, findings=[*before, *findings], normalise=options.normalise, alias=alias)
    return replace(votes, hygiene=hygiene)


def _column(values: Sequence[Any], names: Names | None) -> NDArray[Any]:
    """Return an object array: otherwise NumPy would convert numbers to text where both occur."""
    column = np.empty(len(values), dtype=object)
    column[:] = values if _are_floats(names) else [_as_in_a_file(value) for value in values]
    return column


def _as_in_a_file(value: Any) -> Any:
    """Return a 64-bit integer or a text, so that 7, 7.0 and "7" are one name and 0.5 does not make others floats."""
    if value is None or isinstance(value, bool):
        return value
    text = text_of(value)
    return int(text) if is_integer_text(text) and abs(int(text)) < 2**63 else text


def _are_floats(names: Names | None) -> bool:
    if isinstance(names, nw.Series):
        return bool(names.dtype.is_float())
    return names is not None and np.asarray(names).dtype.kind == "f"


class Vote(BaseModel, extra="forbid"):
    task: Annotated[Id, Field(description="The name of the task. As in a file, 7, 7.0 and the text 7 are the same.")]
    annotator: Id
    label: Annotated[Scalar | None, Field(description="Null, blank, NA, null and NaN mean no vote, as in a file.")]


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MAX_POSTED)


class Waiting(BaseModel):
    accepted: int
    waiting: int = Field(description="Number of posted votes that the next fit will use.")


class Batch(BaseModel):
    """Votes that were posted together."""

    id: int
    at: str = Field(description="When they were posted.")
    n_votes: int
    taken: bool = Field(description="Whether the results include them; otherwise the next fit will.")
    source: str = Field(description="The file that they came from; blank if a program posted them.")
    facts: dict[str, Any] | None = Field(description="What was new, repeated and changed when they came from a file.")


class PreviewQuery(Layout):
    again: bool = Field(default=False, description="Read the file even if it crashed the studio before.")


class ReadingOption(BaseModel):
    """An option of the reader, as the form shows it."""

    name: str
    title: str
    help: str
    group: str
    kind: str = Field(description="text, number, flag, switch, choice, list, or path: a table of spellings.")
    choices: list[str]
    low: float | None
    high: float | None


class ReadRequest(Reading):
    version: int | None = Field(default=None, description="Refused (409) if the project has changed since.")


@router.get("/reading")
def reading_options() -> list[ReadingOption]:
    """Return the options for reading a file, from which the form is made."""
    return [ReadingOption(name=name, title=title_of(name), **vars(option)) for name, option in OPTIONS.items()]


@router.get("/projects/{project}/preview")
def preview_votes(
    project: ProjectId, wanted: Annotated[PreviewQuery, Query()], request: Request, services: ServicesDep
) -> Preview:
    """Return the first rows of the file, its format and the guessed columns; or what is wrong, and what to choose."""
    row = services.projects.get(project)
    is_given = request.query_params.keys() - {"again"}
    layout = wanted if is_given or not row["reading"] else Reading(**json.loads(row["reading"]))
    with services.files.of(row, again=wanted.again) as path:
        return preview(path, layout)


@router.put("/projects/{project}/votes", status_code=202)
def read_votes(project: ProjectId, options: ReadRequest, services: ServicesDep) -> Project:
    """Read the votes of the file with these columns, or posted votes again. Earlier fits are dropped; gold is kept."""
    row = services.projects.get(project)
    if options.version is not None and options.version != row["version"]:
        raise Problem(409, "The project has changed", "Reload it, then repeat your change.")
    if row["file"] is not None or not services.posted.batches(project):
        services.files.path_of(row)  # raises at once if the file is missing
    services.jobs.read(project, Reading(**options.model_dump(exclude={"version"})))
    return describe(services, project)


@router.post("/projects/{project}/votes", status_code=202)
def post_votes(project: ProjectId, posted: Posted, services: ServicesDep) -> Waiting:
    """Add votes. They are stored at once and used by the next fit; a newer vote replaces an older one."""
    votes = [(vote.task, vote.annotator, vote.label) for vote in posted.votes]
    return Waiting(accepted=len(votes), waiting=services.posted.add(project, votes))


@router.get("/projects/{project}/posted")
def posted_batches(project: ProjectId, services: ServicesDep) -> list[Batch]:
    """Return the batches of posted votes, the newest first."""
    services.projects.get(project)
    return [Batch(**row) for row in services.posted.batches(project)]


@router.delete("/projects/{project}/posted/{batch}", status_code=202)
def remove_batch(project: ProjectId, batch: Annotated[int, Path(ge=1, le=2**53)], services: ServicesDep) -> Project:
    """Remove posted votes. If results include them, the votes are read again without them and fits are dropped."""
    if batch not in [row["id"] for row in services.posted.batches(project)]:
        raise Problem(404, "There is no such batch", "It may have been removed already.")
    services.jobs.remove_batch(project, batch)
    return describe(services, project)
