"""Measure the labels: draw tasks at random, let people check them blindly, and say what that shows about all labels.

Truths that reviewers give elsewhere teach the method, but they were not drawn at random, so they measure nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import cycle
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.api.certify import certify
from finegold.api.sample import Plan
from finegold.api.sample import sample as draw_sample
from finegold.studio.gold import add_truths
from finegold.studio.problems import NO_VOTES, Problem
from finegold.studio.rights import ONLY_OWNER, REVIEWERS, REVIEWERS_WHO_SEE
from finegold.studio.security import MAX_REVIEWER_LENGTH
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
from finegold.studio.store import Row, Store, now
from finegold.studio.tables import TaskView, blinded, view_task
from finegold.studio.workspace import Browser
from finegold.votes.encoding import match, text_of

router = APIRouter(tags=["measure"], prefix="/projects/{project:id}/audit")


class Settled(BaseModel):
    """A task on which auditors disagree."""

    task: str
    at: int | None = Field(description="The index of the task in the result that is measured.")
    labels: dict[str, str] = Field(description="By auditor.")
    settled: str | None


class Wanted(BaseModel, extra="forbid"):
    n: int = Field(default=100, ge=1, le=100_000, description="The number of tasks to check.")
    risk: float = Field(
        0.05, ge=0.001, le=0.4, description="The share of wrong labels that is accepted at most."
    )
    auditors: list[Annotated[str, Field(max_length=MAX_REVIEWER_LENGTH)]] = Field(
        [],
        max_length=20,
        description="Who checks them; empty: anybody. Two or more share the tasks.",
    )
    overlap: float = Field(
        default=0.2, ge=0, le=1, description="The share of the tasks that all auditors check."
    )
    seed: int = Field(default=0, ge=0, le=2**31)


class Check(BaseModel, extra="forbid"):
    task: Scalar
    label: Scalar


class Progress(BaseModel):
    auditor: str
    done: int
    total: int


class Audit(BaseModel):
    """A sample, how far it is checked, and what it shows."""

    n: int
    done: int = Field(description="Number of tasks that have an answer on which nobody disagrees.")
    at: str
    method: str
    risk: float
    is_current: bool = Field(
        description="Whether the result that is shown is the one that is measured."
    )
    promise: list[str]
    auditors: list[Progress]
    shared: int = Field(description="Number of tasks that two or more auditors checked.")
    agreed: int = Field(description="Number of these on which they agree.")
    disagreements: list[Settled]
    classes: list[Name]
    sentences: list[str] = Field(description="What the answers show.")
    certificate: dict[str, Any] | None
    next_step: str


class AuditTask(BaseModel):
    done: int
    total: int
    fit: int = Field(
        description="The result that is measured; the index of the task belongs to it."
    )
    classes: list[Name]
    task: TaskView | None = Field(
        description="The next task to check, without its votes and its label."
    )
    can_undo: bool


def newest_audit(store: Store, project: int) -> Row | None:
    """Return the newest sample with its answers, and the truths that follow from them."""
    row = store.row("SELECT * FROM audit WHERE project = ? ORDER BY id DESC", project)
    if row is None:
        return None
    row |= {name: json.loads(row[name] or "null") for name in ("auditors", "certificate")}
    answers = store.rows("SELECT * FROM answer WHERE audit = ? ORDER BY id", row["id"])
    said: dict[str, dict[str, str]] = defaultdict(dict)  # by whom, on each task
    for each in answers:
        if not each["settles"]:
            said[each["task"]][each["reviewer"]] = each["label"]
    settled = {each["task"]: each["label"] for each in answers if each["settles"]}  # by the lead
    # The truth of a task is not known while auditors disagree.
    labels = {task: {*by_whom.values()} for task, by_whom in said.items()}
    truths = {
        task: next(iter(every)) if len(every) == 1 else None for task, every in labels.items()
    } | settled
    return row | {
        "said": said,
        "settled": settled,
        "truths": truths,
        "plan": Plan.from_json(row["plan"]),
    }


def _need(store: Store, project: int) -> Row:
    audit = newest_audit(store, project)
    if audit is None:
        raise Problem(409, "No sample was drawn", "Ask the lead to draw one under Measure.")
    return audit


def is_shared(place: int, overlap: float) -> bool:
    """Return whether all auditors check the task at this place; shared tasks are spread evenly."""
    return int((place + 1) * overlap + 1e-9) > int(place * overlap + 1e-9)


def tasks_for(audit: Row, reviewer: str) -> list[str]:
    """Return the tasks that a reviewer is asked to check, in the order of the draw."""
    tasks, auditors = [row[0] for row in audit["plan"].rows], audit["auditors"]
    if auditors and reviewer not in auditors:
        return []
    if len(auditors) < 2:
        return tasks
    turns = cycle(auditors)  # who checks the tasks that are not shared
    return [
        task
        for place, task in enumerate(tasks)
        if is_shared(place, audit["overlap"]) or next(turns) == reviewer
    ]


@router.get("", dependencies=REVIEWERS_WHO_SEE)
def get_audit(project: ProjectId, services: ServicesDep) -> Audit | None:
    """Return the newest sample with its progress and what it shows; null if none was drawn."""
    audit = newest_audit(services.store, project)
    if audit is None:
        return None
    plan, said, settled, truths = (audit[name] for name in ("plan", "said", "settled", "truths"))
    shared = [task for task, labels in said.items() if len(labels) > 1]
    apart = [task for task in shared if len({*said[task].values()}) > 1]
    n_done = sum(label is not None for label in truths.values())
    is_current = services.store.project(project)["shown"] == audit["fit"]
    try:
        result = services.workspace.of(project, audit["fit"])
    except Problem:  # the fit was replaced; what was measured stays
        result = None
    certificate = audit["certificate"]
    listed = [
        [task, truths[task]] for task in sorted(truths)
    ]  # as JSON keeps them, so that they are recognised
    if result is not None and n_done and (certificate or {}).get("answers") != listed:
        known = {task: label for task, label in truths.items() if label is not None}
        shown = certify(result.result, known, plan=plan)
        values = json.loads(json.dumps(shown.to_dict()))
        certificate = {"answers": listed, "values": values, "sentences": shown.sentences()}
        services.store.run(
            "UPDATE audit SET certificate = ? WHERE id = ?", json.dumps(certificate), audit["id"]
        )
    people = audit["auditors"] or sorted({who for labels in said.values() for who in labels})
    n_open, n_left = len(set(apart) - settled.keys()), plan.n - n_done
    places = {} if result is None else {task: _code(result, task) for task in apart}
    accepted = certificate["values"]["accepted"]["tasks"] if certificate else 0
    if n_open:
        next_step = f"Settle {n_open:,} disagreement{'s' if n_open > 1 else ''} of the auditors."
    elif n_left > 0 and result is not None:
        next_step = f"Check {n_left:,} more task{'s' if n_left > 1 else ''}."
    elif not is_current:
        next_step = "The labels were computed again since then. Draw a new sample to measure them as they are now."
    elif accepted >= plan.tasks:
        next_step = "All labels may be accepted at this risk. Export them."
    elif accepted:
        next_step = f"Accept the {accepted:,} most confident labels, and judge the others, the least certain first."
    else:
        next_step = (
            "Judge the least certain tasks, or collect more votes; then refit and measure again."
        )
    return Audit(
        **{name: getattr(plan, name) for name in ("n", "method", "risk", "promise")},
        done=n_done,
        at=audit["at"],
        is_current=is_current,
        auditors=[
            Progress(
                auditor=who,
                done=sum(who in by for by in said.values()),
                total=len(tasks_for(audit, who)),
            )
            for who in people
        ],
        shared=len(shared),
        agreed=len(shared) - len(apart),
        disagreements=[
            Settled(task=task, at=places.get(task), labels=said[task], settled=settled.get(task))
            for task in apart
        ],
        classes=[] if result is None else [plain_name(name) for name in result.classes],
        sentences=certificate["sentences"] if certificate and n_done else [],
        certificate=certificate["values"] if certificate and n_done else None,
        next_step=next_step,
    )


@router.post("", dependencies=ONLY_OWNER, status_code=201)
def draw_audit(project: ProjectId, wanted: Wanted, services: ServicesDep) -> Audit | None:
    """Draw tasks at random from the result that is shown. An earlier sample is replaced."""
    people = [name.strip() for name in wanted.auditors]
    if len(set(people)) < len(people):
        raise Problem(422, "An auditor is named twice", "Name each of them once.")
    store, fit = services.store, services.store.project(project)["shown"]
    if fit is None:
        raise Problem(*NO_VOTES)
    plan = draw_sample(
        services.workspace.of(project, fit).result, wanted.n, risk=wanted.risk, seed=wanted.seed
    ).plan
    overlap = wanted.overlap if len(people) > 1 else 0.0
    with store.changing(project):
        more = {
            "plan": plan.to_json(),
            "auditors": json.dumps(people),
            "overlap": overlap,
            "at": now(),
        }
        store.insert("audit", project=project, fit=fit, **more)
    return get_audit(project, services)


@router.delete("", dependencies=ONLY_OWNER, status_code=204, response_class=Response)
def remove_audit(project: ProjectId, store: StoreDep) -> None:
    """Remove the samples of a project with their answers."""
    with store.changing(project):
        store.run("DELETE FROM audit WHERE project = ?", project)


@router.get("/next", dependencies=REVIEWERS)
def next_check(project: ProjectId, services: ServicesDep, reviewer: Reviewer) -> AuditTask:
    """Return the next task of the sample for this reviewer. Votes and label are never shown, also not to the owner."""
    audit = _need(services.store, project)
    result, wanted = services.workspace.of(project, audit["fit"]), tasks_for(audit, reviewer)
    mine = {task for task, labels in audit["said"].items() if reviewer in labels}
    is_split = len(audit["auditors"]) > 1
    done = mine if is_split else audit["truths"].keys()
    with services.holds.choosing:
        held = [] if is_split else services.holds.by_others(-project, reviewer)
        task = next((task for task in wanted if task not in done and task not in held), None)
        services.holds.hold(-project, reviewer, task)  # apart from the tasks that are judged
    view = None if task is None else view_task(services, project, result, _code(result, task))
    return AuditTask(
        done=len(done & {*wanted}),
        total=len(wanted),
        fit=audit["fit"],
        classes=[plain_name(name) for name in result.classes],
        task=None if view is None else blinded(view).model_copy(update={"gold": None}),
        can_undo=bool(mine),
    )


@router.post("/answers", dependencies=REVIEWERS)
def answer(
    project: ProjectId, check: Check, services: ServicesDep, reviewer: Reviewer
) -> AuditTask:
    """Say which class is right for a task of the sample. It is on disk when the response arrives."""
    _put(services, project, check, reviewer, settles=False)
    return next_check(project, services, reviewer)


@router.post("/undo", dependencies=REVIEWERS)
def undo_answer(project: ProjectId, services: ServicesDep, reviewer: Reviewer) -> AuditTask:
    """Undo the last answer of this reviewer."""
    store, audit = services.store, _need(services.store, project)
    which = "SELECT id FROM answer WHERE audit = ? AND reviewer = ? AND NOT settles ORDER BY at DESC, id DESC"
    with store.changing(project):
        last = store.row(which, audit["id"], reviewer)
        if last is None:
            raise Problem(409, "There is nothing to undo")
        store.run("DELETE FROM answer WHERE id = ?", last["id"])
    return next_check(project, services, reviewer)


@router.post("/settle", dependencies=ONLY_OWNER)
def settle(
    project: ProjectId, check: Check, services: ServicesDep, reviewer: Reviewer
) -> Audit | None:
    """Settle a disagreement of the auditors."""
    _put(services, project, check, reviewer, settles=True)
    return get_audit(project, services)


@router.post("/teach", dependencies=ONLY_OWNER, status_code=204, response_class=Response)
def teach(project: ProjectId, services: ServicesDep) -> None:
    """Give the truths of the sample to the method: the next fit learns from them. The measurement stays what it was."""
    audit = _need(services.store, project)
    result = services.workspace.of(project, audit["fit"])
    classes = dict(zip(result.class_texts, result.classes, strict=True))
    rows = defaultdict(list)  # by those who said so
    for task, label in audit["truths"].items():
        code = _code(result, task)
        if label is not None and 0 <= code < len(
            result.result.label_codes
        ):  # others have predictions only
            then = result.classes[result.result.label_codes[code]]
            rows[", ".join(audit["said"].get(task, {}))].append(
                (result.task_name(code), classes[label], then)
            )
    for who, truths in rows.items():
        add_truths(services.store, project, who, truths)


def _put(services: Services, project: int, check: Check, reviewer: str, *, settles: bool) -> None:
    store, audit = services.store, _need(services.store, project)
    task, label = text_of(check.task), text_of(check.label)
    result = services.workspace.of(project, audit["fit"])
    if label not in result.class_texts:
        raise Problem(
            422, "There is no such class", f"The classes are {', '.join(result.class_texts)}."
        )
    allowed = [row[0] for row in audit["plan"].rows] if settles else tasks_for(audit, reviewer)
    if task not in allowed:
        raise Problem(
            404,
            "This task is not yours to check",
            "It was not drawn, or it belongs to another auditor.",
        )
    with store.changing(project):
        who = "" if settles else reviewer
        store.insert(
            "answer",
            audit=audit["id"],
            task=task,
            reviewer=who,
            label=label,
            settles=settles,
            at=now(),
        )


def _code(result: Browser, task: str) -> int:
    return int(match([task], result.labelled.task_names)[0])
