"""Votes that arrive later: files and pasted rows, compared with the votes that are there before they are taken."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import FinegoldError, FinegoldWarning
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.studio.content import collect
from finegold.studio.problems import Problem, rename_files, words_of
from finegold.studio.reading import Layout, Reading, near_spellings, preview, read_votes
from finegold.studio.requests import FILE_BODY, FileName, ProjectId, Services, ServicesDep, sent_file
from finegold.studio.votes import join_posted, spell
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, text_of, to_list
from finegold.votes.frames import take
from finegold.votes.names import match

router = APIRouter(tags=["votes"], prefix="/projects/{project}")

MAX_VOTES = 1_000_000  # of one arrival; more are better put into the file of the project
MAX_EXAMPLES = 20
PLACES = {*Layout.model_fields, "task", "annotator", "label", "columns", "shape"}
REFUSED = "These votes cannot be added"

Votes = list[tuple[Any, Any, Any]]


class Change(BaseModel):
    task: str
    annotator: str
    before: str
    after: str


class Arrival(BaseModel):
    """What votes would change, or have changed."""

    source: str
    votes: int
    new: int = Field(description="Number of votes of annotators who had not voted on the task.")
    repeated: int = Field(description="Number of votes that are there already.")
    changed: int = Field(description="Number of votes that replace another one of the same annotator.")
    missing: int = Field(description="Number of rows without a label.")
    new_tasks: int
    new_annotators: int
    new_classes: list[str] = Field(description="Labels that nobody has voted for so far.")
    near: dict[str, str] = Field(description="Those of them that look like a misspelled class, and that class.")
    examples: list[Change] = Field(description="Some of the changed votes.")
    warnings: list[str]
    batch: int | None = Field(default=None, description="The batch, once the votes are taken.")


@router.post("/arrivals", openapi_extra=FILE_BODY)
async def add_votes(
    project: ProjectId,
    request: Request,
    name: FileName,
    services: ServicesDep,
    take: Annotated[bool, Query(description="Take the votes; otherwise only say what they would change.")] = False,
    pasted: Annotated[bool, Query(description="The body has rows that were pasted, perhaps without a header.")] = False,
) -> Arrival:
    """Add the votes of a file: the body of the request, or a file of the folder if it is empty. The next fit uses them.

    The columns are those of the project's file, or found by their names. A newer vote replaces an older one.
    """
    async with sent_file(request, services, name) as path:
        try:
            return await run_in_threadpool(_add, services, project, path, name, take, pasted)
        except FinegoldError as error:
            detail = words_of(rename_files(error, {str(path): name, path.name: name}))
            raise Problem(422, REFUSED, detail) from None


def _add(services: Services, project: int, path: Path, name: str, is_taken: bool, is_pasted: bool) -> Arrival:
    reading = services.projects.get(project)["reading"]
    known = None if reading is None else Reading(**json.loads(reading))
    if is_pasted:
        _add_header(path, [] if known is None else [known.task, known.annotator, known.label])
    options = _options_for(path, known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FinegoldWarning)
        # Spellings are replaced when the votes are joined with the others.
        read = read_votes(path, options.model_copy(update={"alias": None}), lambda progress: None)
    if read.n_votes > MAX_VOTES:
        detail = f"There are {read.n_votes:,}; at most {MAX_VOTES:,} are added at a time. Add them in several files."
        raise Problem(422, REFUSED, detail)
    votes = _triples(read)
    before, (_, waiting) = services.workspace.votes(project), services.posted.votes(project)
    if waiting:
        before = join_posted(before, waiting, known)
    found = _compare(before, votes, options)
    said = [words_of(each.message) for each in caught if issubclass(each.category, FinegoldWarning)]
    arrival = Arrival(source=name, votes=len(votes), missing=read.counts.missing, warnings=said, **found)
    if is_taken:
        join_posted(before, votes, known)  # raises if the labels are not among the classes of the reading
        arrival.batch = services.posted.add_batch(project, votes, name, arrival.model_dump(exclude={"examples"}))
        services.items.add(project, name, collect(path, options), batch=arrival.batch)
    return arrival


def _options_for(path: Path, known: Reading | None) -> Reading:
    """Return how to read a file: as the project's if it has the same columns, otherwise by the names of its columns."""
    found = preview(path, Layout())
    if found.problem:
        raise Problem(422, REFUSED, found.problem)
    known, guess = known or found.guess, found.guess
    is_table = known.shape == "long" and not found.is_export
    named = [column for column in (known.task, known.annotator, known.label) if column is not None]
    if found.is_export or (is_table and named and set(named) <= set(found.columns)):
        places = guess.model_dump(include=set(Layout.model_fields))
    elif is_table and found.open:
        wanted = ", ".join(named) or "task, annotator and label"
        missing = " or the ".join(found.open)
        raise Problem(422, REFUSED, f"No column was found for the {missing}; call the columns {wanted}.")
    else:
        places = guess.model_dump(include=PLACES)
    options: Reading = known.model_copy(update={**places, "gold": None, "gold_marks": False})
    return options


def _triples(votes: Annotations) -> Votes:
    columns = zip(votes.votes(), (votes.task_names, votes.annotator_names, votes.class_names), strict=True)
    return list(zip(*(to_list(take(names, codes)) for codes, names in columns), strict=True))


def _compare(before: Annotations | None, votes: Votes, options: Reading) -> dict[str, Any]:
    """Return what is new, repeated and changed, by the names of tasks, annotators and classes."""
    if before is None or not votes:
        new = {"repeated": 0, "changed": 0, "near": {}, "examples": [], "new": len(votes)}
        names: tuple[Any, ...] = tuple(set(map(text_of, column)) for column in zip(*votes, strict=True)) or ((), (), ())
        return {"new_tasks": len(names[0]), "new_annotators": len(names[1]), "new_classes": sorted(names[2]), **new}
    classes = to_list(before.class_names)
    given = [(task, who, label) for (task, who, _), label in zip(votes, spell(votes, classes, options), strict=True)]
    tasks, people, labels = zip(*given, strict=True)
    task, who = match(tasks, before.task_names), match(people, before.annotator_names)
    code = match(labels, before.class_names)
    earlier = _votes_of(before, task.astype(np.int64), who.astype(np.int64))
    is_changed = (earlier != MISSING) & (earlier != code)
    unknown = sorted({text_of(labels[i]) for i in np.flatnonzero(code == MISSING)})
    changed = [
        Change(task=str(tasks[i]), annotator=str(people[i]), before=str(classes[earlier[i]]), after=str(labels[i]))
        for i in np.flatnonzero(is_changed)[:MAX_EXAMPLES]
    ]
    return {
        "new": int((earlier == MISSING).sum()),
        "repeated": int((earlier != MISSING).sum() - is_changed.sum()),
        "changed": int(is_changed.sum()),
        "new_tasks": len({tasks[i] for i in np.flatnonzero(task == MISSING)}),
        "new_annotators": len({people[i] for i in np.flatnonzero(who == MISSING)}),
        "new_classes": unknown,
        "near": near_spellings(unknown, [text_of(name) for name in classes]),
        "examples": changed,
    }


def _votes_of(votes: Annotations, task: Any, who: Any) -> Any:
    """Return the class that each of some annotators voted for on a task; MISSING where there is no vote."""
    is_touched = np.zeros(votes.n_tasks, np.bool_)
    is_touched[task[task != MISSING]] = True
    all_tasks, all_people, all_classes = votes.votes()
    some = np.flatnonzero(is_touched[all_tasks])
    pair = all_tasks[some].astype(np.int64) * votes.n_annotators + all_people[some]
    order = np.argsort(pair, kind="stable")
    pair, classes = np.append(pair[order], -1), np.append(all_classes[some][order], MISSING)
    wanted = np.where((task == MISSING) | (who == MISSING), -2, task * votes.n_annotators + who)
    at = np.searchsorted(pair[:-1], wanted)
    return np.where(pair[at] == wanted, classes[at], MISSING)


def _add_header(path: Path, known: list[str | None]) -> None:
    """Name the columns of pasted rows: the task, the annotator and the label, unless the first row names them."""
    with suppress(UnicodeDecodeError):
        text = path.read_text("utf-8-sig").strip("\r\n") + "\n"
        first = text.partition("\n")[0].rstrip("\r")
        separator = next((mark for mark in "\t;," if mark in first), ",")
        cells = first.split(separator)
        is_named = set(cells) & set(known) or all(candidates(cells, role) for role in (TASK, ANNOTATOR, LABEL))
        header = separator.join((TASK.name, ANNOTATOR.name, LABEL.name))
        named = text if is_named or len(cells) != 3 else f"{header}\n{text}"
        path.write_text(named, "utf-8")
