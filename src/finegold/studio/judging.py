"""The log of what people and files say: truths, skips, tasks that need more votes, comments, and
answers of random samples. Everything that a person did can be undone by a flag; nothing is deleted.

Truths teach the method. Answers of a sample do not, because they measure its labels: see
`measuring.py`. Tasks are kept by their names, so that truths stay valid when votes are read again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from finegold.studio import measuring
from finegold.studio.loaded import LoadedResult, by_gain
from finegold.studio.problems import Problem
from finegold.studio.rights import REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.security import OWNER
from finegold.studio.services import (
    Name,
    ProjectId,
    Reviewer,
    Scalar,
    Services,
    ServicesDep,
    StoreDep,
    plain_name,
)
from finegold.studio.store import Row, Store, name_key, now
from finegold.studio.tasks import TaskView, blinded, view_tasks
from finegold.votes.encoding import MISSING

router = APIRouter(tags=["judging"], prefix="/projects/{project:id}")

NOT_GIVEN = object()
# What can be undone.
ACTIONS = "('truth', 'skip', 'send_back')"
MAX_TOGETHER = 10_000
# of the queue that are looked through
TASKS_AT_ONCE = 2**14
Label = Scalar | list[Scalar]


class Judgement(BaseModel, extra="forbid"):
    """What a person says about one task or several."""

    kind: Literal["truth", "skip", "send_back", "note", "settle"] = Field(
        default="truth",
        description="The true class; decide later; ask for more votes; a comment; or, by the lead,"
        " which of the auditors' answers is right.",
    )
    tasks: list[Scalar] = Field(min_length=1, max_length=MAX_TOGETHER)
    label: Label | None = Field(
        default=None,
        description="The class, or the list of all that apply; null removes the truth.",
    )
    text: str = Field(default="", max_length=10_000, description="Of a comment.")
    sample: int | None = Field(
        default=None, ge=1, description="The sample that the tasks are checked for."
    )
    before: Label | None = Field(
        default=None,
        description="The truth as the client knows it; refused (409) if it has changed.",
    )


class Judged(BaseModel):
    action: int
    judged: int


class Undo(BaseModel, extra="forbid"):
    action: int | None = Field(
        None, ge=1, le=2**53, description="The id of the action; by default your newest."
    )
    sample: int | None = Field(default=None, ge=1)


class Action(BaseModel):
    """Something that a reviewer did, which can be undone."""

    id: int
    at: str
    kind: str
    task: Name
    value: Any


class Undone(BaseModel):
    action: Action
    judged: int


class Truth(BaseModel):
    task: Name
    label: Any
    label_then: Any
    reviewer: str
    at: str


class Queue(BaseModel):
    """What a reviewer judges next."""

    left: int
    judged: int
    skipped: int
    sent_back: int
    to_learn: int
    done: int
    total: int
    fit: int
    is_sets: bool
    classes: list[Name]
    guidelines: str
    tasks: list[TaskView]
    actions: list[Action]


class Progress(BaseModel):
    reviewer: str
    judged: int
    skipped: int
    sent_back: int
    checked: int
    compared: int
    agreed: int
    last: str | None


# ---- The log


def truth_rows(store: Store, project: int) -> dict[str, Row]:
    """Return the row that counts for each task with a truth: people come before files."""
    rows = store.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind IN ('truth', 'known') AND NOT undone"
        " AND sample IS NULL ORDER BY source IS NULL, id",
        project,
    )
    newest = {name_key(row["task"]): row for row in rows}
    return {key: row for key, row in newest.items() if row["value"] is not None}


def truths_of(store: Store, project: int) -> dict[Any, Any]:
    return {row["task"]: row["value"] for row in truth_rows(store, project).values()}


def count_truths(store: Store, project: int) -> int:
    return len(truth_rows(store, project))


def notes_of(store: Store, project: int) -> dict[str, list[Row]]:
    """Return the comments on each task."""
    notes = defaultdict(list)
    for row in store.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind = 'note' AND NOT undone ORDER BY id",
        project,
    ):
        notes[name_key(row["task"])].append(row)
    return notes


def set_aside(store: Store, project: int, kind: str, reviewer: str | None = None) -> dict[str, Row]:
    """Return the newest row of each task that was skipped or sent back and that nobody judged
    since (None: by any reviewer).
    """
    rows = store.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind = ? AND NOT undone AND sample IS NULL"
        " AND (? IS NULL OR reviewer = ?) ORDER BY id",
        *(project, kind, reviewer, reviewer),
    )
    judged = truth_rows(store, project) if rows else {}
    return {key: row for row in rows if (key := name_key(row["task"])) not in judged}


def add_truths(
    store: Store, project: int, source: int, name: str, truths: Iterable[tuple[Any, Any]]
) -> None:
    """Add truths of a file. People who judged the task, or will, are right."""
    with store.changing(project):
        for task, label in truths:
            _write(store, project, "truth", task, label, name, source=source)


def _write(
    store: Store, project: int, kind: str, task: Any, value: Any, reviewer: str, **more: Any
) -> int:
    columns = {"task": task, "reviewer": reviewer, "at": now(), "value": value, **more}
    return store.insert("judgement", project=project, kind=kind, **columns)


# ---- Judging


@router.post("/judgements", dependencies=REVIEWERS)
def judge(
    project: ProjectId,
    given: Judgement,
    request: Request,
    services: ServicesDep,
    reviewer: Reviewer,
) -> Judged:
    """Judge one task or several. It is on disk when the response arrives; the next fit uses it."""
    store = services.store
    is_owner = visitor_of(request).name == OWNER
    if given.kind == "settle" and (given.sample is None or not is_owner):
        raise Problem(403, "Only the lead settles disagreements")
    if given.sample is not None:
        return _answer(services, project, given, reviewer)
    result = services.loaded.shown(project)
    codes = [result.find(task) for task in given.tasks]
    value: Any = given.text.strip() if given.kind == "note" else None
    if given.kind == "truth" and given.label is not None:
        value = result.class_of(given.label)
    is_from_queue = (
        given.kind == "truth"
        and len(codes) == 1
        and name_key(services.holds.of(project, reviewer)) == name_key(result.task_name(codes[0]))
    )
    if given.kind == "note" and not value:
        raise Problem(422, "The comment is blank", "Write something, or leave it.")
    with store.changing(project):
        known = truth_rows(store, project)
        if is_from_queue:
            _add_known(services, project, result, codes[0], known)
        action = 0
        for code in codes:
            task = result.task_name(code)
            old = known.get(name_key(task))
            if "before" in given.model_fields_set:
                _check_before(old, given.before)
            # what the label was then is kept where the result was fitted with an earlier truth
            then = old and old["label_then"]
            if result.labelled.gold[code] == MISSING:
                then = result.label_value(code)
            n_votes = int(result.labelled.votes_per_task[code])
            action = _write(
                store,
                project,
                given.kind,
                task,
                value,
                reviewer,
                label_then=then if given.kind == "truth" else None,
                n_votes=n_votes,
            )
    return Judged(action=action, judged=count_truths(store, project))


def _check_before(old: Row | None, before: Any) -> None:
    current = None if old is None else old["value"]
    if name_key(before) != name_key(current):
        state = "it has no truth now" if old is None else f"it is {current} now"
        detail = f"Another tab or a program changed its truth: {state}. Nothing was overwritten."
        raise Problem(409, "This task was judged by somebody else", detail, current=current)


def _add_known(
    services: Services, project: int, result: LoadedResult, code: int, known: dict[str, Row]
) -> None:
    """Add the truths of sampled tasks that come before this one in the queue.

    Reviewers are not asked again about tasks that a sample has checked. The method learns them
    when it would have learned them without the sample, so that the sample stays like the others.
    """
    checked = measuring.checked_truths(services, project)
    if not checked:
        return
    place = np.empty(len(result.result.label_codes), np.int64)
    place[result.view(by_gain)] = np.arange(len(place))
    names = [each.task for each in checked.values()]
    for task, each in zip(result.codes_of(names).tolist(), checked.values(), strict=True):
        is_before = 0 <= task < len(place) and place[task] < place[code]
        if is_before and name_key(each.task) not in known:
            then = result.label_value(task)
            _write(
                services.store,
                project,
                "known",
                each.task,
                each.label,
                each.by,
                label_then=then,
                n_votes=int(result.result.votes_per_task[task]),
            )


def _answer(services: Services, project: int, given: Judgement, reviewer: str) -> Judged:
    store, sample = services.store, measuring.find_sample(services, project, given.sample)
    result = services.loaded.of(project, sample.fit)
    is_settling = given.kind == "settle"
    allowed = sample.tasks if is_settling else sample.tasks_for(reviewer)
    if given.kind not in ("truth", "settle", "note") or given.label is None:
        raise Problem(422, "This is no answer", "Say which class is right.")
    label = result.class_of(given.label)
    action = 0
    with store.changing(project):
        for task in given.tasks:
            own = result.task_name(result.find(task))
            if own not in allowed:
                detail = "It was not drawn, or it belongs to another auditor."
                raise Problem(404, "This task is not yours to check", detail)
            who = "" if is_settling else reviewer
            action = _write(store, project, given.kind, own, label, who, sample=sample.id)
    return Judged(action=action, judged=count_truths(store, project))


@router.post("/undo", dependencies=REVIEWERS)
def undo(project: ProjectId, which: Undo, store: StoreDep, reviewer: Reviewer) -> Undone:
    """Undo an action of the reviewer: a judgement, a skip, sending back, or an answer."""
    with store.changing(project):
        row = store.row(
            "SELECT * FROM judgement WHERE project = ? AND reviewer = ? AND sample IS ?"
            f" AND source IS NULL AND kind IN {ACTIONS} AND (id = ? OR (? IS NULL AND NOT undone))"
            " ORDER BY id DESC LIMIT 1",
            *(project, reviewer, which.sample, which.action, which.action),
        )
        if row is None:
            raise Problem(409, "There is nothing to undo")
        newest = truth_rows(store, project).get(name_key(row["task"]))
        is_stale = row["kind"] == "truth" and which.sample is None and newest is not None
        if row["undone"] or (is_stale and newest is not None and newest["id"] > row["id"]):
            detail = "Another tab or a program changed it; nothing was undone."
            raise Problem(409, "The truth has changed", detail)
        store.run("UPDATE judgement SET undone = 1 WHERE id = ?", row["id"])
    return Undone(
        action=Action(**{name: row[name] for name in Action.model_fields}),
        judged=count_truths(store, project),
    )


@router.get("/judgements", dependencies=REVIEWERS_WHO_SEE)
def all_truths(project: ProjectId, store: StoreDep) -> list[Truth]:
    """Return every truth that counts, of people and of files."""
    rows = truth_rows(store, project).values()
    return [Truth(label=row["value"], **_fields(row, Truth)) for row in rows]


def _fields(row: Row, model: type[BaseModel]) -> Row:
    return {name: row[name] for name in model.model_fields if name in row}


@router.get("/next", dependencies=REVIEWERS)
def next_tasks(
    project: ProjectId,
    services: ServicesDep,
    reviewer: Reviewer,
    sample: Annotated[
        int | None,
        Query(ge=1, description="Tasks of this random sample, which are judged blindly."),
    ] = None,
    most: Annotated[int, Query(ge=1, le=100)] = 2,
) -> Queue:
    """Return the tasks to judge next, the best first and skipped ones last.

    Of a sample, the next in the order of the draw; their votes and labels are left out, also for
    the owner. Otherwise those whose truth would improve the labels most, without tasks that were
    accepted, checked, or sent back and still wait for votes; where tasks are judged blindly, their
    votes and labels are left out.
    """
    store, row = services.store, services.store.project(project)
    queue, found = (project, sample), None
    if sample is not None:
        found = measuring.find_sample(services, project, sample)
        result = services.loaded.of(project, found.fit)
    else:
        result = services.loaded.shown(project)
    skipped = set_aside(store, project, "skip", reviewer)
    sent_back = set_aside(store, project, "send_back")
    with services.holds.choosing:
        # Truths are read here: whoever judged a task meanwhile does not hold it any more.
        truths = truth_rows(store, project)
        held = services.holds.by_others(queue if sample else project, reviewer)
        if found is not None:
            waiting = found.waiting(reviewer, held)
            codes = result.codes_of(waiting[:most]).tolist()
            left, total = len(waiting), len(found.tasks_for(reviewer))
        else:
            seen = (truths, skipped, sent_back, held)
            left, codes = _waiting(services, project, result, *seen, most)
            total = 0
        handed = result.task_name(codes[0]) if codes else None
        services.holds.hold(queue if sample else project, reviewer, handed)
    tasks = view_tasks(services, project, result, codes)
    hides = row["blind"] or sample is not None
    actions = store.rows(
        "SELECT * FROM judgement WHERE project = ? AND NOT undone AND reviewer = ? AND sample IS ?"
        f" AND source IS NULL AND kind IN {ACTIONS} ORDER BY id DESC LIMIT 20",
        *(project, reviewer, sample),
    )
    return Queue(
        left=left,
        judged=len(truths),
        skipped=len(skipped),
        sent_back=len(sent_back),
        to_learn=_count_new(result, truths) if found is None else 0,
        done=0 if found is None else total - left,
        total=total,
        fit=row["shown"] if found is None else found.fit,
        is_sets=result.is_sets,
        classes=[plain_name(name) for name in result.classes],
        guidelines=row["guidelines"],
        tasks=[blinded(task) for task in tasks] if hides else tasks,
        actions=[Action(**_fields(action, Action)) for action in actions],
    )


def _waiting(
    services: Services,
    project: int,
    result: LoadedResult,
    truths: dict[str, Row],
    skipped: dict[str, Row],
    sent_back: dict[str, Row],
    held: Sequence[Any],
    most: int,
) -> tuple[int, list[int]]:
    """Return the number of tasks without a truth, and the first of those to judge."""
    n, order = len(result.result.label_codes), result.view(by_gain)
    is_open = result.result.gold == MISSING

    def close(names: Sequence[Any]) -> None:
        codes = result.codes_of(names)
        is_open[codes[(codes != MISSING) & (codes < n)]] = False

    close([row["task"] for row in truths.values()])
    close([each.task for each in measuring.checked_truths(services, project).values()])
    is_open &= ~measuring.accepted_mask(services, project, result)[:n]
    left = int(np.count_nonzero(is_open))
    close(held)
    for row in sent_back.values():
        code = int(result.codes_of([row["task"]])[0])
        if 0 <= code < n and result.result.votes_per_task[code] <= row["n_votes"]:
            is_open[code] = False
    is_late = np.zeros(n, np.bool_)
    late = result.codes_of([row["task"] for row in skipped.values()])
    is_late[late[(late != MISSING) & (late < n)]] = True
    # skipped tasks come last; only as many are looked for as are wanted
    codes: list[int] = []
    for mask in (is_open & ~is_late, is_open & is_late):
        for start in range(0, n, TASKS_AT_ONCE):
            some = order[start : start + TASKS_AT_ONCE]
            codes += some[mask[some]][: most - len(codes)].tolist()
            if len(codes) >= most:
                return left, codes
    return left, codes


def _count_new(result: LoadedResult, truths: dict[str, Row]) -> int:
    """Return how many truths the result was not fitted with."""
    codes = result.codes_of([row["task"] for row in truths.values()]).tolist()
    n_new, gold = 0, result.labelled.gold
    for code, row in zip(codes, truths.values(), strict=True):
        if code != MISSING:
            is_learned = gold[code] != MISSING and name_key(result.label_value(code)) == name_key(
                row["value"]
            )
            n_new += not is_learned
    return n_new


@router.get("/reviewers", dependencies=REVIEWERS)
def reviewers(project: ProjectId, request: Request, store: StoreDep) -> list[Progress]:
    """Return what each person did. A reviewer who judges blindly sees only their own numbers."""
    rows = store.rows(
        "SELECT * FROM judgement WHERE project = ? AND NOT undone AND source IS NULL"
        f" AND kind IN {ACTIONS} ORDER BY id",
        project,
    )
    person = visitor_of(request).name
    if person != OWNER and store.project(project)["blind"]:
        rows = [row | {"label_then": None} for row in rows if row["reviewer"] == person]
    people: dict[str, dict[str, Any]] = defaultdict(lambda: dict.fromkeys(Progress.model_fields, 0))
    names = {"truth": "judged", "skip": "skipped", "send_back": "sent_back"}
    for row in rows:
        known = people[row["reviewer"]]
        known["last"] = row["at"]
        known["checked" if row["sample"] else names[row["kind"]]] += 1
        if row["label_then"] is not None and row["sample"] is None:
            known["compared"] += 1
            known["agreed"] += json.dumps(row["label_then"]) == json.dumps(row["value"])
    return [Progress(**values | {"reviewer": who}) for who, values in people.items()]
