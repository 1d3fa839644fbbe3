"""What the first pages say of a result: how good the labels are, what to do next, the report's
sections, the plan for further votes, and the history of the project.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from finegold.insight.next_votes import plan
from finegold.judges import assess
from finegold.report.html import render_section
from finegold.report.sections import SECTIONS, Subject, sections_of
from finegold.report.sections.common import measurement_of
from finegold.studio import judging, measuring
from finegold.studio.loaded import LoadedResult
from finegold.studio.measuring import Measured
from finegold.studio.problems import Problem
from finegold.studio.projects import fits_of
from finegold.studio.reading import Reading, read_log
from finegold.studio.rights import REVIEWERS_WHO_SEE
from finegold.studio.services import ProjectId, Services, ServicesDep, Shown
from finegold.studio.votes import vote_sources
from finegold.votes.encoding import MISSING, text_of

router = APIRouter(tags=["pages"], prefix="/projects/{project:id}")
the_plan = partial(plan, budget=None)

# tasks that a person can check in an hour
FIRST_CHECKS = 100
MAX_HISTORY = 300


class Step(BaseModel):
    """Something to do next."""

    page: str
    words: str
    about: str
    count: int | None = None


class Summary(BaseModel):
    """How good the labels are."""

    measured: Measured | None
    headline: str
    sentences: list[str]
    n_tasks: int
    n_votes: int
    n_annotators: int
    n_truths: int
    n_unlabelled: int
    n_predicted: int
    n_accepted: int
    n_checked: int
    n_open: int
    marks: dict[str, int]
    is_sets: bool
    classes: list[str]
    labels: list[int]
    models: list[dict[str, Any]]
    notes: list[str]
    steps: list[Step]


class Advice(BaseModel):
    annotator: str
    advice: str
    why: str


class Event(BaseModel):
    at: str
    kind: str
    who: str
    words: str


@router.get("/summary", dependencies=REVIEWERS_WHO_SEE)
def summary(project: ProjectId, shown: Shown, services: ServicesDep) -> Summary:
    """Return how good the labels are: by the newest measurement, or what was voted where nothing
    was measured.
    """
    result, labelled = shown.result, shown.labelled
    measured = measuring.measure(services, project, shown.fit, shown)
    truths = judging.truth_rows(services.store, project)
    checked = measuring.checked_truths(services, project)
    accepted = measuring.accepted_mask(services, project, shown)
    known = shown.among([row["task"] for row in truths.values()]) | (labelled.gold != MISSING)
    known |= shown.among([each.task for each in checked.values()])
    marks = {name: int(mask.sum()) for name, mask in shown.marks.items()}
    n_open = int((~(known | accepted)).sum())
    headline, sentences = _words(shown, measured, marks)
    per_class = np.zeros(len(shown.classes), np.int64)
    per_label = np.bincount(labelled.label_codes, minlength=len(shown.sets))
    for options, n in zip(shown.sets, per_label.tolist(), strict=False):
        per_class[options] += n
    combined = result.combined
    return Summary(
        measured=measured,
        headline=headline,
        sentences=sentences,
        n_tasks=len(labelled.label_codes),
        n_votes=shown.votes.n_votes,
        n_annotators=len(result.accuracy),
        n_truths=len(truths),
        n_unlabelled=len(result.unlabelled),
        n_predicted=marks["predicted"],
        n_accepted=int(accepted.sum()),
        n_checked=len(checked),
        n_open=n_open,
        marks=marks,
        is_sets=shown.is_sets,
        classes=shown.class_texts,
        labels=per_class.tolist(),
        models=[] if combined is None else [record._asdict() for record in combined.records],
        notes=list(result.notes),
        steps=_steps(services, project, shown, measured, n_open),
    )


def _words(
    shown: LoadedResult, measured: Measured | None, marks: dict[str, int]
) -> tuple[str, list[str]]:
    if measured is not None:
        return measured.headline, measured.sentences
    n = len(shown.result.label_codes)
    words = []
    if not shown.is_sets:
        tied = f"; on {marks['tied']:,} the votes are tied" if marks["tied"] else ""
        words.append(f"Everybody agrees on {marks['unanimous']:,} of {n:,} tasks{tied}.")
    words.append(
        "How many labels are right, votes alone cannot tell: check"
        f" {min(FIRST_CHECKS, n):,} random tasks to know."
    )
    return "How many labels are right is not measured yet", words


def _steps(
    services: Services, project: int, shown: LoadedResult, measured: Measured | None, n_open: int
) -> list[Step]:
    steps = []
    samples = measuring.samples(project, services)
    under_way = next((each for each in samples if not each.is_over), None)
    newest = next((each for each in samples if each.is_over), None)
    if under_way is not None:
        left = under_way.n - under_way.done
        steps.append(
            Step(page="measure", words="Go on checking", about=under_way.next_step, count=left)
        )
    elif newest is not None and newest.acceptable and not newest.accepted:
        about = f"At most {newest.risk:.0%} of them are wrong, with 95 % certainty."
        words = f"Accept the {newest.acceptable:,} most confident labels"
        steps.append(Step(page="measure", words=words, about=about, count=newest.acceptable))
    elif measured is None or measured.n_new:
        n = min(FIRST_CHECKS, len(shown.result.label_codes))
        about = "It shows how many of the labels are right. Two people need about an hour."
        steps.append(Step(page="measure", words=f"Check {n:,} random tasks", about=about, count=n))
    if n_open:
        doubtful = int(shown.doubtful.sum())
        about = "The least certain come first."
        if doubtful:
            about = f"{doubtful:,} tasks are in doubt. {about}"
        steps.append(Step(page="judge", words="Judge doubtful tasks", about=about, count=doubtful))
    advice = shown.view(the_plan).advice[:1]
    for each in advice:
        name = text_of(shown.result.annotator_names[each.annotator])
        steps.append(Step(page="people", words=f"Look at {name}", about=f"{each.why}."))
    about = "One row for each task, with who decided what."
    return [*steps, Step(page="export", words="Export the labels", about=about)]


@router.get("/sections/{name}", dependencies=REVIEWERS_WHO_SEE, response_class=HTMLResponse)
def section(
    project: ProjectId,
    name: Annotated[str, Path(description=f"One of {', '.join(SECTIONS)}.")],
    shown: Shown,
    services: ServicesDep,
) -> HTMLResponse:
    """Return a section of the report as HTML, without scripts and inline styles."""
    if name not in SECTIONS:
        raise Problem(404, "There is no such section", f"There are {', '.join(SECTIONS)}.")
    subject = _subject(services, project, shown)
    if name not in sections_of(subject):
        raise Problem(409, "This section does not apply to these labels")
    return HTMLResponse(render_section(name, subject))


def _subject(services: Services, project: int, shown: LoadedResult) -> Subject:
    measured = measuring.measure(services, project, shown.fit, shown)
    taken = None
    if measured is not None:
        taken = measurement_of(measuring.for_report(measured, shown))
    return Subject(shown.result, measurement=taken, judges=_judges(services, project))


def _judges(services: Services, project: int) -> dict[str, Any] | None:
    """Return what each LLM judge of a log is worth; None if the votes are not of a log."""
    rows = [
        row for row in vote_sources(services, project) if row["reading"].get("shape") == "judges"
    ]
    if not rows:
        return None
    with services.loaded.loading(project):
        log = read_log(services.files.path_of(rows[0]), Reading(**rows[0]["reading"]))
    item, label = (
        {text_of(name): code for code, name in enumerate(names)}
        for names in (log.item_names, log.class_names)
    )
    # truths that people gave in the studio override those of the log
    gold = log.gold.copy()
    for task, truth in judging.truths_of(services.store, project).items():
        if text_of(task) in item and text_of(truth) in label:
            gold[item[text_of(task)]] = label[text_of(truth)]
    return assess(replace(log, gold=gold)).to_dict()


@router.get("/advice", dependencies=REVIEWERS_WHO_SEE)
def advice(project: ProjectId, shown: Shown) -> list[Advice]:
    """Return the annotators to retrain or drop, as `finegold next-votes` does."""
    names = shown.result.annotator_names
    return [
        Advice(annotator=text_of(names[each.annotator]), advice=each.action, why=each.why)
        for each in shown.view(the_plan).advice
    ]


@router.get("/history", dependencies=REVIEWERS_WHO_SEE)
def history(project: ProjectId, services: ServicesDep) -> list[Event]:
    """Return what happened in the project, the newest first: fits, measurements, and how much each
    person did on a day.
    """
    store, events = services.store, []
    for row in store.rows("SELECT * FROM source WHERE project = ? AND state != 'draft'", project):
        state = " (removed since)" if row["state"] == "out" else ""
        words = f"{row['name']} was added: {row['kind']}{state}"
        events.append(Event(at=row["at"], kind="source", who="", words=words))
    for fit in fits_of(store, project, "state IN ('done', 'replaced', 'failed')"):
        facts = fit.facts or {}
        words = f"Fit {fit.id}"
        if facts:
            words += f": {facts['n_votes']:,} votes, {facts['truths']:,} truths"
        if facts.get("measured"):
            share = facts["measured"]
            words += (
                f"; {100 * share['estimate']:.1f} % of its labels are right"
                f" ({100 * share['low']:.1f} to {100 * share['high']:.1f} %)"
            )
        words += ", failed" if fit.state == "failed" else ""
        events.append(Event(at=fit.started, kind="fit", who="", words=words))
    for sample in measuring.all_samples(services, project):
        words = f"A random sample of {len(sample.rows):,} tasks was drawn from fit {sample.fit}"
        events.append(Event(at=sample.at, kind="sample", who="", words=words))
        if sample.is_over and sample.last:
            words = (
                f"Sample {sample.id} was checked by {', '.join(_checkers(sample)) or 'the lead'}"
            )
            events.append(Event(at=sample.last, kind="measured", who="", words=words))
    for row in store.rows(
        "SELECT reviewer, kind, substr(at, 1, 10) AS day, max(at) AS at, count(*) AS n,"
        " sample IS NOT NULL AS is_check FROM judgement WHERE project = ? AND NOT undone AND source IS NULL"
        " AND kind IN ('truth', 'skip', 'send_back', 'note', 'settle') GROUP BY 1, 2, 3, 6",
        project,
    ):
        names = {"truth": "judged", "skip": "skipped", "send_back": "sent back"}
        names |= {"note": "commented on", "settle": "settled"}
        did = "checked" if row["is_check"] and row["kind"] == "truth" else names[row["kind"]]
        words = f"{did} {row['n']:,} task{'' if row['n'] == 1 else 's'}"
        events.append(Event(at=row["at"], kind="judged", who=row["reviewer"], words=words))
    for row in store.rows("SELECT * FROM judgement WHERE project = ? AND kind = 'accept'", project):
        taken_back = " (taken back since)" if row["undone"] else ""
        words = f"{row['value']['n']:,} labels were accepted{taken_back}"
        events.append(Event(at=row["at"], kind="accept", who="", words=words))
    return sorted(events, key=lambda event: event.at, reverse=True)[:MAX_HISTORY]


def _checkers(sample: measuring.Sample) -> list[str]:
    return sorted({who for by in sample.answers.values() for who in by if who})
