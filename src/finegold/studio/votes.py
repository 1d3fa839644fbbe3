"""Votes: preview the file, read it, add votes that arrive later, and join them with those that are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import fastapi
import numpy as np
import polars as pl
from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, BaseModel, Field

from finegold.api.fit import fit_votes
from finegold.api.options import FitOptions
from finegold.errors import InputError
from finegold.insight.votes import single_votes
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.io.long import count_more
from finegold.studio.content import collect_content, keep_items
from finegold.studio.files import FILE_BODY
from finegold.studio.problems import Problem, warnings_in_words
from finegold.studio.rights import ONLY_OWNER
from finegold.studio.projects import Project, count_waiting, describe
from finegold.studio.reading import (
    OPTIONS,
    Layout,
    Preview,
    Reading,
    near_spellings,
    preview,
    read_votes,
    title_of,
)
from finegold.studio.results import summarise_fit
from finegold.studio.services import (
    FileName,
    JobState,
    ProjectId,
    Scalar,
    Services,
    ServicesDep,
    StoreDep,
    sent_file,
)
from finegold.studio.store import Store, now
from finegold.studio.workspace import Browser
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, is_integer_text, match, text_of, to_list
from finegold.votes.hygiene import examine_votes, warn_of
from finegold.votes.labels import (
    find_look_alikes,
    fold_words,
    is_missing,
    missing_words,
    spelled_alike,
)
from finegold.votes.merging import merge

router = APIRouter(tags=["votes"])

MAX_POSTED = 100_000
MAX_ARRIVING = 1_000_000  # of one file; more are better put into the file of the project
MAX_EXAMPLES = 20
OF_A_FILE = (  # kinds of findings
    *("merged", "no vote", "no answer", "dates", "headers", "ids", "minus one", "alias"),
    *("gold tasks", "gold classes", "gold codes"),
)
PLACES = {*Layout.model_fields, "task", "annotator", "label", "columns", "shape"}
REFUSED = "These votes cannot be added"


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Id = Annotated[Scalar, AfterValidator(_not_blank)]


class Vote(BaseModel, extra="forbid"):
    task: Annotated[
        Id,
        Field(
            description="The name of the task. As in a file, 7, 7.0 and the text 7 are the same."
        ),
    ]
    annotator: Id
    label: Annotated[
        Scalar | None,
        Field(description="Null, blank, NA, null and NaN mean no vote, as in a file."),
    ]


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
    taken: bool = Field(
        description="Whether the results include them; otherwise the next fit will."
    )
    source: str = Field(description="The file that they came from; blank if a program posted them.")
    facts: dict[str, Any] | None = Field(
        description="What was new, repeated and changed when they came from a file."
    )


class PreviewQuery(Layout):
    again: bool = Field(
        default=False, description="Read the file even if it crashed the studio before."
    )


class ReadingOption(BaseModel):
    """An option of the reader, as the form shows it."""

    name: str
    title: str
    help: str
    group: str
    kind: str = Field(
        description="text, number, flag, switch, choice, list, or path: a table of spellings."
    )
    choices: list[str]
    low: float | None
    high: float | None


class ReadRequest(Reading):
    version: int | None = Field(
        default=None, description="Refused (409) if the project has changed since."
    )


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
    changed: int = Field(
        description="Number of votes that replace another one of the same annotator."
    )
    missing: int = Field(description="Number of rows without a label.")
    new_tasks: int
    new_annotators: int
    new_classes: list[str] = Field(description="Labels that nobody has voted for so far.")
    near: dict[str, str] = Field(
        description="Those of them that look like a misspelled class, and that class."
    )
    examples: list[Change] = Field(description="Some of the changed votes.")
    warnings: list[str]
    batch: int | None = Field(default=None, description="The batch, once the votes are taken.")


@router.get("/reading", dependencies=ONLY_OWNER)
def reading_options() -> list[ReadingOption]:
    """Return the options for reading a file, from which the form is made."""
    return [
        ReadingOption(name=name, title=title_of(name), **vars(option))
        for name, option in OPTIONS.items()
    ]


@router.get("/projects/{project:id}/preview", dependencies=ONLY_OWNER)
def preview_votes(
    project: ProjectId,
    wanted: Annotated[PreviewQuery, Query()],
    request: Request,
    services: ServicesDep,
) -> Preview:
    """Return the first rows of the file, its format and the guessed columns; or what is wrong, and what to choose."""
    row = services.store.project(project)
    is_given = request.query_params.keys() - {"again"}
    layout = wanted if is_given or not row["reading"] else Reading(**row["reading"])
    with services.files.of(row, again=wanted.again) as path:
        return preview(path, layout)


@router.put("/projects/{project:id}/votes", dependencies=ONLY_OWNER, status_code=202)
def start_reading(project: ProjectId, options: ReadRequest, services: ServicesDep) -> Project:
    """Read the votes of the file with these columns, or posted votes again. Earlier fits are dropped; gold is kept."""
    row = services.store.project(project)
    if options.version is not None and options.version != row["version"]:
        raise Problem(409, "The project has changed", "Reload it, then repeat your change.")
    if row["file"] is not None or not posted_batches(project, services.store):
        services.files.path_of(row)  # raises at once if the file is missing
    if services.jobs.active(project):
        raise Problem(409, "Something is still running", "Wait until it is done, or cancel it.")
    reading = Reading(**options.model_dump(exclude={"version"}))

    def read(job: JobState) -> None:
        has_file = services.store.project(project)["file"] is not None
        batches, posted = ([], []) if has_file else _read_posted(services.store, project, "1")
        votes = (
            _votes_of_file(services, project, reading, job)
            if has_file
            else join_posted(None, posted, reading)
        )
        new_base(services, project, votes, reading=reading.model_dump(), read=batches)

    services.jobs.add(project, JobState(kind="read"), read)
    return describe(services, project)


@router.post("/projects/{project:id}/votes", dependencies=ONLY_OWNER, status_code=202)
def post_votes(project: ProjectId, posted: Posted, store: StoreDep) -> Waiting:
    """Add votes. They are stored at once and used by the next fit; a newer vote replaces an older one."""
    votes = [(vote.task, vote.annotator, vote.label) for vote in posted.votes]
    _add_batch(store, project, votes)
    return Waiting(accepted=len(votes), waiting=count_waiting(store, project))


@router.get("/projects/{project:id}/posted", dependencies=ONLY_OWNER)
def posted_batches(project: ProjectId, store: StoreDep) -> list[Batch]:
    """Return the batches of posted votes, the newest first."""
    which = "SELECT id, at, n_votes, taken, source, facts FROM posted WHERE project = ? ORDER BY id DESC"
    rows = store.rows(which, project)
    return [Batch(**row | {"facts": json.loads(row["facts"] or "null")}) for row in rows]


@router.delete("/projects/{project:id}/posted/{batch:id}", dependencies=ONLY_OWNER, status_code=202)
def remove_batch(
    project: ProjectId, batch: Annotated[int, fastapi.Path(ge=1, le=2**53)], services: ServicesDep
) -> Project:
    """Remove posted votes. If results include them, the votes are read again without them and fits are dropped."""
    store = services.store
    if batch not in [each.id for each in posted_batches(project, store)]:
        raise Problem(404, "There is no such batch", "It may have been removed already.")

    def remove(job: JobState) -> None:
        options = read_options(store, project)
        used = [each.id for each in posted_batches(project, store) if each.taken]
        has_file = options is not None and store.project(project)["file"] is not None
        if batch in used and (has_file or used != [batch]):
            votes = (
                _votes_of_file(services, project, options, job)
                if has_file and options is not None
                else None
            )
            read, posted = _read_posted(store, project, f"taken AND id != {batch:d}")
            new_base(
                services, project, join_posted(votes, posted, options), read=read, removed=batch
            )
            return
        with store.changing(project):
            if batch in used:  # there are no other votes
                services.workspace.forget(project, _drop_results(store, project))
            store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, batch)

    services.jobs.add(
        project, JobState(kind="remove"), remove
    )  # after queued jobs, which may use the batch
    return describe(services, project)


@router.post("/projects/{project:id}/arrivals", dependencies=ONLY_OWNER, openapi_extra=FILE_BODY)
def add_votes(
    project: ProjectId,
    name: FileName,
    services: ServicesDep,
    path: Annotated[Path, sent_file(REFUSED)],
    take: Annotated[
        bool, Query(description="Take the votes; otherwise only say what they would change.")
    ] = False,
    pasted: Annotated[
        bool, Query(description="The body has rows that were pasted, perhaps without a header.")
    ] = False,
) -> Arrival:
    """Add the votes of a file: the body of the request, or a file of the folder if it is empty. The next fit uses them.

    The columns are those of the project's file, or found by their names. A newer vote replaces an older one.
    """
    known = read_options(services.store, project)
    if pasted:  # name the columns, unless the first row names them
        with suppress(UnicodeDecodeError):
            text = path.read_text("utf-8-sig").strip("\r\n") + "\n"
            first = text.partition("\n")[0].rstrip("\r")
            separator = next((mark for mark in "\t;," if mark in first), ",")
            cells, own = (
                first.split(separator),
                {known.task, known.annotator, known.label} if known else set(),
            )
            is_named = own & {*cells} or all(
                candidates(cells, role) for role in (TASK, ANNOTATOR, LABEL)
            )
            header = separator.join((TASK.name, ANNOTATOR.name, LABEL.name))
            path.write_text(
                text if is_named or len(cells) != 3 else f"{header}\n{text}", encoding="utf-8"
            )
    # The file is read as the project's if it has the same columns, otherwise by the names of its columns.
    seen = preview(path, Layout())
    if seen.problem:
        raise Problem(422, REFUSED, seen.problem)
    basis = known or seen.guess
    is_table = basis.shape == "long" and not seen.is_export
    named = [column for column in (basis.task, basis.annotator, basis.label) if column is not None]
    is_alike = seen.is_export or (is_table and named and set(named) <= set(seen.columns))
    if is_table and seen.open and not is_alike:
        wanted, missing = (
            ", ".join(named) or "task, annotator and label",
            " or the ".join(seen.open),
        )
        raise Problem(
            422, REFUSED, f"No column was found for the {missing}; call the columns {wanted}."
        )
    places = seen.guess.model_dump(include=set(Layout.model_fields) if is_alike else PLACES)
    options = basis.model_copy(update={**places, "gold": None, "gold_marks": False})
    with warnings_in_words() as words:
        # Spellings are replaced when the votes are joined with the others.
        read = read_votes(path, options.model_copy(update={"alias": None}), lambda progress: None)
    if read.n_votes > MAX_ARRIVING:
        most = f"at most {MAX_ARRIVING:,} are added at a time. Add them in several files."
        raise Problem(422, REFUSED, f"There are {read.n_votes:,}; {most}")
    read, asked = _questions_of(read)
    columns = zip(
        read.votes(), (read.task_names, read.annotator_names, read.class_names), strict=True
    )
    votes = list(zip(*(names.take(codes).to_list() for codes, names in columns), strict=True))
    before, _ = all_votes(services, project)
    changes = _compare(before, votes, options)
    arrival = Arrival(
        source=name, votes=len(votes), missing=read.counts.missing, warnings=words, **changes
    )
    if take:
        join_posted(
            before, votes, known
        )  # raises if the labels are not among the classes of the reading
        facts = arrival.model_dump(exclude={"examples"})
        arrival.batch = _add_batch(services.store, project, votes, name, facts)
        if asked:
            asked_before = services.store.project(project)["options"] or []
            every = json.dumps([*dict.fromkeys([*asked_before, *asked])])
            services.store.run("UPDATE project SET options = ? WHERE id = ?", every, project)
        keep_items(services, project, name, collect_content(path, options), batch=arrival.batch)
    return arrival


def _compare(
    before: Annotations | None, votes: Sequence[Sequence[Any]], options: Reading
) -> dict[str, Any]:
    """Return what is new, repeated and changed, by the names of tasks, annotators and classes."""
    if before is None or not votes:
        new = {"repeated": 0, "changed": 0, "near": {}, "examples": [], "new": len(votes)}
        names: tuple[Any, ...] = tuple(
            set(map(text_of, column)) for column in zip(*votes, strict=True)
        ) or ((), (), ())
        return {
            "new_tasks": len(names[0]),
            "new_annotators": len(names[1]),
            "new_classes": sorted(names[2]),
            **new,
        }
    classes = to_list(before.class_names)
    tasks, people, given = zip(*votes, strict=True)
    labels = _spell(given, classes, options)
    task, who = match(tasks, before.task_names), match(people, before.annotator_names)
    code = match(labels, before.class_names)
    # The class that each of these annotators voted for on the task so far.
    pair, kind = ["task", "who"], pl.Int64
    old = (
        pl.DataFrame(dict(zip([*pair, "class"], before.votes(), strict=True)))
        .cast(kind)
        .unique(pair, keep="first")
    )
    here = (
        pl.DataFrame({"task": task, "who": who})
        .cast(kind)
        .join(old, on=pair, how="left", maintain_order="left")
    )
    earlier = here["class"].fill_null(MISSING).to_numpy()
    is_changed = (earlier != MISSING) & (earlier != code)
    unknown = sorted({text_of(labels[i]) for i in np.flatnonzero(code == MISSING)})
    return {
        "new": int((earlier == MISSING).sum()),
        "repeated": int((earlier != MISSING).sum() - is_changed.sum()),
        "changed": int(is_changed.sum()),
        "new_tasks": len({tasks[i] for i in np.flatnonzero(task == MISSING)}),
        "new_annotators": len({people[i] for i in np.flatnonzero(who == MISSING)}),
        "new_classes": unknown,
        "near": near_spellings(unknown, [text_of(name) for name in classes]),
        "examples": [
            Change(
                task=str(tasks[i]),
                annotator=str(people[i]),
                before=str(classes[earlier[i]]),
                after=str(labels[i]),
            )
            for i in np.flatnonzero(is_changed)[:MAX_EXAMPLES]
        ],
    }


def read_options(store: Store, project: int) -> Reading | None:
    reading = store.project(project)["reading"]
    return None if reading is None else Reading(**reading)


def all_votes(services: Services, project: int) -> tuple[Annotations | None, list[int]]:
    """Return the votes of a project joined with those that wait for the next fit, and the batches of these."""
    has_votes = services.store.project(project)["base"] is not None
    votes = services.workspace.votes(project) if has_votes else None
    batches, waiting = _read_posted(services.store, project, "NOT taken")
    return join_posted(
        votes, waiting, read_options(services.store, project)
    ) if waiting else votes, batches


def _read_posted(store: Store, project: int, which: str) -> tuple[list[int], list[Any]]:
    batches = store.rows(
        f"SELECT id, votes FROM posted WHERE project = ? AND {which} ORDER BY id", project
    )
    return [batch["id"] for batch in batches], [
        vote for batch in batches for vote in json.loads(batch["votes"])
    ]


def _add_batch(
    store: Store, project: int, votes: Sequence[Any], source: str = "", facts: Any = None
) -> int:
    with store.changing(project):
        content = {
            "votes": json.dumps(votes, allow_nan=False, default=str),
            "facts": json.dumps(facts),
        }
        return store.insert(
            "posted", project=project, n_votes=len(votes), at=now(), source=source, **content
        )


def _votes_of_file(
    services: Services, project: int, options: Reading, job: JobState
) -> Annotations:
    def watch(progress: Any) -> None:
        job.rows, job.expected = progress.rows, progress.expected
        services.jobs.report(job)

    store = services.store
    with services.files.of(store.project(project), again=True) as path:
        votes = read_votes(path, options, watch)
        job.check()
        blob = services.files.keep(collect_content(path, options).write_parquet, ".parquet")
        votes, asked = _questions_of(votes)
        options_asked = None if asked is None else json.dumps(asked)
        with store.changing(project):
            store.run(
                "UPDATE project SET content = ?, options = ? WHERE id = ?",
                blob,
                options_asked,
                project,
            )
    job.check()
    return votes


def _questions_of(votes: Annotations) -> tuple[Annotations, list[str] | None]:
    """Return sets of labels as questions of no or yes on each task and label, which people can judge one by one."""
    # The labels that sets consist of come second; None if votes are single labels.
    if not votes.multi:
        return votes, None
    questions = replace(
        single_votes(votes), columns=votes.columns, counts=votes.counts, hygiene=votes.hygiene
    )
    return questions, [
        text_of(name) for name in to_list(votes.class_names)[:-1]
    ]  # the last class is the empty set


def new_base(
    services: Services,
    project: int,
    votes: Annotations,
    *,
    reading: Any = None,
    read: Any = (),
    removed: int = 0,
) -> None:
    """Store new votes, which include the batches `read` and not `removed`, with their majority vote; drop old fits."""
    majority = fit_votes(votes, FitOptions(method="mv"))
    store, blob, browser = (
        services.store,
        services.files.keep(majority.save, ".finegold"),
        Browser(majority),
    )
    facts = json.dumps(summarise_fit(browser))
    with store.changing(project):
        earlier = _drop_results(store, project)
        fit = {
            "method": "mv",
            "settings": "{}",
            "state": "done",
            "started": now(),
            "facts": facts,
            "model": blob,
        }
        base = store.insert("fit", project=project, **fit)
        store.run("UPDATE project SET base = ?, shown = ? WHERE id = ?", base, base, project)
        if reading is not None:  # posted votes must be joined with those of the file again
            store.run(
                "UPDATE project SET reading = ?, failure = NULL WHERE id = ?",
                json.dumps(reading),
                project,
            )
            store.run("UPDATE posted SET taken = 0 WHERE project = ?", project)
        for batch in read:
            store.run("UPDATE posted SET taken = 1 WHERE id = ?", batch)
        store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, removed)
    services.workspace.forget(project, earlier)
    services.workspace.remember(project, base, browser)


def _drop_results(store: Store, project: int) -> list[int]:
    """Drop all results of a project, and return their ids. Their rows are kept: clients may ask for their state."""
    which = "WHERE project = ? AND state NOT IN ('queued', 'running', 'replaced')"
    earlier = [row["id"] for row in store.rows(f"SELECT id FROM fit {which}", project)]
    store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
    store.run(f"UPDATE fit SET state = 'replaced', facts = NULL, model = NULL {which}", project)
    return earlier


def join_posted(
    votes: Annotations | None, posted: Sequence[Sequence[Any]], options: Reading | None
) -> Annotations:
    """Return all votes, posted ones read as those of the file; the newer vote of an annotator on a task counts."""
    options = options or Reading()
    listed = options.classes or options.ordered or ()
    missing = missing_words(options.missing, [*listed, *(options.alias or ())])
    labels = [None if is_missing(label, fold_words(missing)) else label for _, _, label in posted]
    if votes is not None and all(label is None for label in labels):
        return count_more(votes, rows=len(posted), missing=len(posted))
    spelled = _spell(labels, [] if votes is None else to_list(votes.class_names), options)
    others = {text_of(label) for label in spelled if label is not None} - set(listed)
    if listed and others:
        classes = ", ".join(listed)
        raise InputError(
            f"the posted label {min(others)!r} is not among the classes {classes}; remove its batch"
        )
    given = [
        (task, annotator, label)
        for (task, annotator, _), label in zip(posted, spelled, strict=True)
    ]
    kinds = (
        [None] * 3
        if votes is None
        else [votes.task_names, votes.annotator_names, votes.class_names]
    )
    columns = []
    for values, names in zip(zip(*given, strict=True), kinds, strict=True):
        column = np.empty(
            len(values), dtype=object
        )  # otherwise NumPy would convert numbers to text where both occur
        column[:] = values
        # As in a file, 7, 7.0 and "7" are one name, and 0.5 makes no other name a float, unless those so far are.
        if names is None or not names.values.dtype.is_float():
            for at, value in enumerate(values):
                if value is not None and not isinstance(value, bool):
                    text = text_of(value)
                    column[at] = (
                        int(text) if is_integer_text(text) and abs(int(text)) < 2**63 else text
                    )
        columns.append(column)
    new = Annotations.from_arrays(*columns, repeated="last")
    joined = new if votes is None else merge(votes, new, repeated="last")
    # All votes are examined again; of what was noticed in the file, only what concerns the file is kept.
    findings = (
        [] if options.normalise else find_look_alikes(joined.class_names, joined.votes_per_class)
    )
    findings += examine_votes(joined, options.repeated)
    warn_of(findings)
    before = [finding for finding in joined.hygiene.findings if finding.kind in OF_A_FILE]
    alias = {**joined.hygiene.alias, **(options.alias or {})}
    hygiene = replace(
        joined.hygiene, findings=[*before, *findings], normalise=options.normalise, alias=alias
    )
    return replace(joined, hygiene=hygiene)


def _spell(labels: Sequence[Any], classes: list[Any], options: Reading) -> list[Any]:
    """Replace labels by the alias, and by a class that differs only in spelling if the reading says so."""
    alias = options.alias or {}
    given = [None if label is None else alias.get(text_of(label), label) for label in labels]
    if not options.normalise:
        return given
    counts = Counter(text_of(label) for label in given if label is not None)
    class_of = spelled_alike([text for text, _ in counts.most_common()], classes)
    return [None if label is None else class_of[text_of(label)] for label in given]
