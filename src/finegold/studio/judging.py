"""The log of what people and files say: truths, skips, tasks that need more votes, comments, and
answers of random samples. Everything that a person did can be undone by a flag; nothing is deleted.

Truths teach the method. Answers of a sample do not, because they measure its labels: see
`measuring.py`. Tasks are kept by their names, so that truths stay valid when votes are read again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from finegold.studio import measuring
from finegold.studio.loaded import LoadedResult, Mask
from finegold.studio.problems import Problem
from finegold.studio.security import OWNER, REVIEWERS, REVIEWERS_WHO_SEE, visitor_of
from finegold.studio.services import Project, ProjectDep, Reviewer, Scalar, plain_name
from finegold.studio.store import Row, name_key, now
from finegold.studio.tasks import HIDDEN, view_tasks
from finegold.votes.encoding import MISSING

router = APIRouter(tags=["judging"], prefix="/projects/{project:id}")

# what can be undone
ACTIONS = "('truth', 'skip', 'send_back')"
MAX_TOGETHER = 10_000
Label = Scalar | list[Scalar]


class Judgement(BaseModel, extra="forbid"):
    """What a person says about one task or several."""

    # the true class, decide later, ask for more votes, a comment, or which of the answers of several
    # auditors is right (by the lead)
    kind: Literal["truth", "skip", "send_back", "note", "settle"] = "truth"
    tasks: list[Scalar] = Field(min_length=1, max_length=MAX_TOGETHER)
    # the class, or the list of all that apply; null removes the truth
    label: Label | None = None
    # of a comment
    text: str = Field(default="", max_length=10_000)
    # that is checked
    sample: int | None = Field(None, ge=1)
    # the truth as the client knows it; refused (409) if it has changed
    before: Label | None = None


class Undo(BaseModel, extra="forbid"):
    # by default your newest
    action: int | None = Field(None, ge=1, le=2**53)
    sample: int | None = Field(default=None, ge=1)


# ---- The log


def truth_rows(project: Project) -> dict[str, Row]:
    """Return the row that counts for each task with a truth: people come before files."""
    rows = project.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind IN ('truth', 'known') AND NOT undone"
        " AND sample IS NULL ORDER BY source IS NULL, id"
    )
    newest = {name_key(row["task"]): row for row in rows}
    return {key: row for key, row in newest.items() if row["value"] is not None}


def truths_of(project: Project) -> dict[Any, Any]:
    return {row["task"]: row["value"] for row in truth_rows(project).values()}


def notes_of(project: Project) -> dict[str, list[Row]]:
    notes = defaultdict(list)
    for row in project.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind = 'note' AND NOT undone ORDER BY id"
    ):
        notes[name_key(row["task"])].append(row)
    return notes


def set_aside(project: Project, kind: str, reviewer: str | None = None) -> dict[str, Row]:
    """Return the newest row of each task that was skipped or sent back and not judged since."""
    rows = project.rows(
        "SELECT * FROM judgement WHERE project = ? AND kind = ? AND NOT undone AND sample IS NULL"
        " AND (? IS NULL OR reviewer = ?) ORDER BY id",
        *(kind, reviewer, reviewer),
    )
    judged = truth_rows(project) if rows else {}
    return {key: row for row in rows if (key := name_key(row["task"])) not in judged}


def actions_of(
    project: Project, reviewer: str, sample: int | None, action: int | None = None
) -> list[Row]:
    """Return what a reviewer did, the newest first: what was not undone, or the given action."""
    return project.rows(
        "SELECT * FROM judgement WHERE project = ? AND reviewer = ? AND sample IS ? AND source IS"
        f" NULL AND kind IN {ACTIONS} AND (id = ? OR (? IS NULL AND NOT undone))"
        " ORDER BY id DESC LIMIT 20",
        *(reviewer, sample, action, action),
    )


def progress_of(project: Project) -> dict[str, Row]:
    people: dict[str, Any] = defaultdict(Counter)
    names = {"truth": "judged", "skip": "skipped", "send_back": "sent_back"}
    for row in project.rows(
        "SELECT * FROM judgement WHERE project = ? AND NOT undone AND source IS NULL"
        f" AND kind IN {ACTIONS} ORDER BY id"
    ):
        did = people[row["reviewer"]]
        did["checked" if row["sample"] else names[row["kind"]]] += 1
        did["last"] = row["at"]
        if row["label_then"] is not None and row["sample"] is None:
            did["compared"] += 1
            did["agreed"] += name_key(row["label_then"]) == name_key(row["value"])
    return people


def states_of(project: Project) -> dict[str, Mask]:
    """Return which tasks are judged, checked, accepted and so on."""
    shown = project.shown
    rows = {
        "judged": truth_rows(project).values(),
        "sent back": set_aside(project, "send_back").values(),
        "commented": [notes[0] for notes in notes_of(project).values()],
    }
    states = {state: shown.among([row["task"] for row in each]) for state, each in rows.items()}
    states["judged"] |= shown.labelled.gold != MISSING
    checked = measuring.checked_truths(project).values()
    states["checked"] = shown.among([each.task for each in checked])
    states["accepted"] = measuring.accepted_mask(project)
    states["open"] = ~(states["judged"] | states["checked"] | states["accepted"])
    return states


def add_truths(project: Project, source: int, name: str, truths: Iterable[tuple[Any, Any]]) -> None:
    """Add truths of a file. People who judged the task, or will, are right."""
    with project.changing():
        for task, label in truths:
            _write(project, "truth", task, label, name, source=source)


def _write(project: Project, kind: str, task: Any, value: Any, reviewer: str, **more: Any) -> int:
    columns = {"task": task, "reviewer": reviewer, "at": now(), "value": value, **more}
    return project.store.insert("judgement", project=project.id, kind=kind, **columns)


# ---- Judging


@router.post("/judgements", dependencies=REVIEWERS)
def judge(
    project: ProjectDep, given: Judgement, request: Request, reviewer: Reviewer
) -> dict[str, int]:
    """Judge one task or several. It is on disk when the response arrives; the next fit uses it."""
    kind = given.kind
    if kind == "settle" and (given.sample is None or visitor_of(request).name != OWNER):
        raise Problem(403, "Only the lead settles disagreements")
    if given.sample is not None:
        return {"action": _answer(project, given, reviewer)}
    result = project.shown
    codes = [result.find(task) for task in given.tasks]
    value: Any = given.text.strip() if kind == "note" else None
    if kind == "truth" and given.label is not None:
        value = result.class_of(given.label)
    if kind == "note" and not value:
        raise Problem(422, "The comment is blank", "Write something, or leave it.")
    handed = name_key(project.services.holds.of((project.id, None), reviewer))
    is_from_queue = kind == "truth" and [handed] == [
        name_key(result.task_name(code)) for code in codes
    ]
    with project.changing():
        known, action = truth_rows(project), 0
        if is_from_queue:
            _add_known(project, codes[0], known)
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
            more = {"label_then": then if kind == "truth" else None, "n_votes": n_votes}
            action = _write(project, kind, task, value, reviewer, **more)
    return {"action": action}


def _check_before(old: Row | None, before: Any) -> None:
    current = None if old is None else old["value"]
    if name_key(before) != name_key(current):
        state = "it has no truth now" if old is None else f"it is {current} now"
        detail = f"Another tab or a program changed its truth: {state}. Nothing was overwritten."
        raise Problem(409, "This task was judged by somebody else", detail, current=current)


def _add_known(project: Project, code: int, known: dict[str, Row]) -> None:
    """Add the truths of sampled tasks that come before this one in the queue.

    Reviewers are not asked again about tasks that a sample has checked. The method learns them
    when it would have learned them without the sample, so that the sample stays like the others.
    """
    result, checked = project.shown, list(measuring.checked_truths(project).values())
    if not checked:
        return
    place = np.empty(len(result.result.label_codes), np.int64)
    place[result.by_gain] = np.arange(len(place))
    codes = result.codes_of([each.task for each in checked]).tolist()
    for task, each in zip(codes, checked, strict=True):
        is_before = 0 <= task < len(place) and place[task] < place[code]
        if is_before and name_key(each.task) not in known:
            n_votes = int(result.result.votes_per_task[task])
            more = {"label_then": result.label_value(task), "n_votes": n_votes}
            _write(project, "known", each.task, each.label, each.by, **more)


def _answer(project: Project, given: Judgement, reviewer: str) -> int:
    sample = measuring.find_sample(project, given.sample)
    result = project.services.loaded.of(project.id, sample.fit)
    is_settling, is_skip = given.kind == "settle", given.kind == "skip"
    allowed = sample.tasks if is_settling else sample.tasks_for(reviewer)
    if given.kind in ("send_back", "note") or (given.label is None and not is_skip):
        raise Problem(422, "This is no answer", "Say which class is right.")
    label = None if is_skip else result.class_of(given.label)
    action = 0
    with project.changing():
        for task in given.tasks:
            own = result.task_name(result.find(task))
            if own not in allowed:
                detail = "It was not drawn, or it belongs to another auditor."
                raise Problem(404, "This task is not yours to check", detail)
            who = "" if is_settling else reviewer
            action = _write(project, given.kind, own, label, who, sample=sample.id)
    return action


@router.post("/undo", dependencies=REVIEWERS)
def undo(project: ProjectDep, which: Undo, reviewer: Reviewer) -> Row:
    """Undo an action of the reviewer: a judgement, a skip, sending back, or an answer."""
    with project.changing():
        found = actions_of(project, reviewer, which.sample, which.action)
        if not found:
            raise Problem(409, "There is nothing to undo")
        row = found[0]
        newest = truth_rows(project).get(name_key(row["task"]), row)
        is_truth = row["kind"] == "truth" and which.sample is None
        if row["undone"] or (is_truth and newest["id"] > row["id"]):
            detail = "Another tab or a program changed it; nothing was undone."
            raise Problem(409, "The truth has changed", detail)
        project.store.run("UPDATE judgement SET undone = 1 WHERE id = ?", row["id"])
    return {"action": _shown(row)}


def _shown(action: Row) -> Row:
    return {name: action[name] for name in ("id", "at", "kind", "task", "value")}


@router.get("/judgements", dependencies=REVIEWERS_WHO_SEE)
def all_truths(project: ProjectDep) -> list[Row]:
    """Return every truth that counts, of people and of files."""
    names = ("task", "label_then", "reviewer", "at")
    rows = truth_rows(project).values()
    return [{"label": row["value"], **{name: row[name] for name in names}} for row in rows]


@router.get("/next", dependencies=REVIEWERS)
def next_tasks(
    project: ProjectDep,
    reviewer: Reviewer,
    sample: Annotated[int | None, Query(ge=1, description="Tasks of this random sample.")] = None,
    most: Annotated[int, Query(ge=1, le=100)] = 2,
) -> Row:
    """Return the tasks to judge next, the best first and skipped ones last.

    Of a sample, the next in the order of the draw; their votes and labels are left out, also for
    the owner. Otherwise those whose truth would improve the labels most, without tasks that were
    accepted, checked, or sent back and still wait for votes; where tasks are judged blindly, their
    votes and labels are left out.
    """
    found, holds, queue = None, project.services.holds, (project.id, sample)
    if sample is not None:
        found = measuring.find_sample(project, sample)
        project = Project(project.services, project.id, found.fit)
    result = project.shown
    skipped = set_aside(project, "skip", reviewer)
    sent_back = set_aside(project, "send_back")
    with holds.choosing:
        held = holds.by_others(queue, reviewer)
        # Truths are read here: whoever judged a task meanwhile does not hold it any more.
        truths = truth_rows(project)
        if found is not None:
            waiting = found.waiting(reviewer, held)
            left, codes = len(waiting), result.codes_of(waiting[:most]).tolist()
            total = len(found.tasks_for(reviewer))
        else:
            seen = (held, skipped.values(), sent_back.values())
            left, codes = _waiting(project, *seen, most)
            total = left + len(truths)
        handed = result.task_name(codes[0]) if codes else None
        holds.hold(queue, reviewer, handed)
    tasks, row = view_tasks(project, codes), project.row
    hides = row["blind"] or sample is not None
    return {
        "left": left,
        "judged": len(truths),
        "skipped": len(skipped),
        "sent_back": len(sent_back),
        "to_learn": _count_new(result, truths) if found is None else 0,
        "done": total - left,
        "total": total,
        "is_sets": result.is_sets,
        "classes": [plain_name(name) for name in result.classes],
        "guidelines": row["guidelines"],
        "tasks": [task | HIDDEN for task in tasks] if hides else tasks,
        "actions": [_shown(each) for each in actions_of(project, reviewer, sample)],
    }


def _waiting(
    project: Project,
    held: list[Any],
    skipped: Iterable[Row],
    sent_back: Iterable[Row],
    most: int,
) -> tuple[int, list[int]]:
    """Return the number of tasks without a truth, and the first of those to judge."""
    result, n = project.shown, len(project.shown.result.label_codes)
    is_open = states_of(project)["open"][:n]
    left = int(np.count_nonzero(is_open))
    is_open &= ~result.among(held)[:n]
    for row in sent_back:
        code = int(result.codes_of([row["task"]])[0])
        if 0 <= code < n and result.result.votes_per_task[code] <= row["n_votes"]:
            is_open[code] = False
    is_late = result.among([row["task"] for row in skipped])[:n]
    order = result.by_gain
    order = order[is_open[order]]
    # skipped tasks come last
    codes: list[int] = order[~is_late[order]][:most].tolist()
    return left, codes + order[is_late[order]][: most - len(codes)].tolist()


def _count_new(result: LoadedResult, truths: dict[str, Row]) -> int:
    """Return how many truths the result was not fitted with."""
    codes = result.codes_of([row["task"] for row in truths.values()]).tolist()
    gold = result.labelled.gold
    learned = [
        gold[code] != MISSING and name_key(result.label_value(code)) == name_key(row["value"])
        for code, row in zip(codes, truths.values(), strict=True)
        if code != MISSING
    ]
    return learned.count(False)
