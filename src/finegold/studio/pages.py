"""What the first pages say of a result: how good the labels are, what to do next, the report's
sections, and the history of the project.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import numpy as np
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from finegold import numbers
from finegold.judges import assess
from finegold.report.html import render_section, render_view
from finegold.report.sections import SECTIONS, Subject, sections_of
from finegold.report.sections.common import measurement_of
from finegold.studio import judging, measuring
from finegold.studio.fits import fits_of
from finegold.studio.loaded import DOUBTS, LoadedResult
from finegold.studio.problems import Problem
from finegold.studio.reading import read_log
from finegold.studio.security import REVIEWERS_WHO_SEE
from finegold.studio.services import Project, ProjectDep
from finegold.studio.store import Row
from finegold.studio.votes import is_ordered, vote_sources
from finegold.votes.encoding import text_of

router = APIRouter(tags=["pages"], prefix="/projects/{project:id}")

# tasks that a person can check in an hour
FIRST_CHECKS = 100
MAX_HISTORY = 300
DID = {"truth": "judged", "skip": "skipped", "send_back": "sent back"}
DID |= {"check": "checked", "note": "commented on", "settle": "settled"}


@router.get("/summary", dependencies=REVIEWERS_WHO_SEE)
def summary(project: ProjectDep) -> Row:
    """Return how good the labels are: the newest measurement, or what was voted without one."""
    shown, result = project.shown, project.shown.result
    measured = measuring.measure(project)
    states = judging.states_of(project)
    n_open = int(states["open"].sum())
    marks = {name: int(mask.sum()) for name, mask in shown.marks.items()}
    headline, sentences = _words(shown, marks)
    if measured is not None:
        headline, sentences = measured["headline"], measured["sentences"]
    return {
        "measured": measured,
        "headline": headline,
        "sentences": sentences,
        "n_tasks": len(shown.labelled.label_codes),
        "n_votes": shown.votes.n_votes,
        "n_annotators": len(result.annotator_accuracy),
        "n_truths": len(judging.truth_rows(project)),
        "n_accepted": int(states["accepted"].sum()),
        "n_checked": len(measuring.checked_truths(project)),
        "n_open": n_open,
        "marks": marks,
        "is_sets": shown.is_sets,
        "classes": shown.class_texts,
        "is_ordered": is_ordered(project),
        "command_for_numbers": _command_for_numbers(project),
        "steps": _steps(project, measured, n_open),
    }


def _command_for_numbers(project: Project) -> str | None:
    """Return the command that gives tasks values, if the labels are numbers and not classes."""
    if project.shown.is_sets or not numbers.are_numbers(project.shown.votes):
        return None
    files = shlex.join(row["name"] for row in vote_sources(project))
    return f"finegold numbers {files} -o values.csv --report report.html"


def _words(shown: LoadedResult, marks: dict[str, int]) -> tuple[str, list[str]]:
    """Return what can be said where nothing is measured."""
    n, words = len(shown.result.label_codes), []
    if not shown.is_sets:
        tied = f"; on {marks['tied']:,} the votes are tied" if marks["tied"] else ""
        words.append(f"Everybody agrees on {marks['unanimous']:,} of {n:,} tasks{tied}.")
    words.append(f"Votes alone cannot tell: check {min(FIRST_CHECKS, n):,} random tasks to know.")
    return "How many labels are right is not measured yet", words


def _steps(project: Project, measured: Row | None, n_open: int) -> list[Row]:
    """Return what to do next: the page, words, and why."""
    shown = project.shown
    steps: list[tuple[str, str, str]] = []
    samples = measuring.samples(project)
    under_way = next((each for each in samples if not each["is_over"]), None)
    newest: Row = next((each for each in samples if each["is_over"]), {})
    if under_way is not None:
        steps.append(("measure", "Go on checking", under_way["next_step"]))
    elif newest.get("acceptable") and not newest["accepted"]:
        words = f"Accept the {newest['acceptable']:,} most confident labels"
        about = f"At most {newest['risk']:.0%} of them are wrong, with 95 % certainty."
        steps.append(("measure", words, about))
    elif measured is None or measured["n_new"]:
        words = f"Check {min(FIRST_CHECKS, len(shown.result.label_codes)):,} random tasks"
        about = "It shows how many of the labels are right. Two people need about an hour."
        steps.append(("measure", words, about))
    if n_open:
        doubts = [shown.marks[name] for name in DOUBTS]
        n = int(np.logical_or.reduce(doubts).sum())
        about = f"{n:,} tasks are in doubt. The least certain come first."
        steps.append(("judge", "Judge doubtful tasks", about))
    for each in shown.advice[:1]:
        name = text_of(shown.result.annotator_names[each.annotator])
        steps.append(("people", f"Look at {name}", f"{each.why}."))
    steps.append(("export", "Export the labels", "One row for each task, with who decided what."))
    return [{"page": page, "words": words, "about": about} for page, words, about in steps]


@router.get("/sections/{name}", dependencies=REVIEWERS_WHO_SEE, response_class=HTMLResponse)
def section(project: ProjectDep, name: str) -> HTMLResponse:
    """Return a section of the report as HTML, without scripts and inline styles."""
    if name in ("scores", "raters") and _command_for_numbers(project):
        view = numbers.aggregate(project.shown.votes).sections()[name][1]
        return HTMLResponse(render_view(name, view))
    if name not in SECTIONS:
        raise Problem(404, "There is no such section", f"There are {', '.join(SECTIONS)}.")
    measured = measuring.for_report(project)
    taken = None if measured is None else measurement_of(measured)
    shown, judges, scores = project.shown.result, _judges(project), is_ordered(project)
    subject = Subject(shown, measurement=taken, judges=judges, scores=scores)
    if name not in sections_of(subject):
        raise Problem(409, "This section does not apply to these labels")
    return HTMLResponse(render_section(name, subject))


def _judges(project: Project) -> dict[str, Any] | None:
    """Return what each LLM judge of a log is worth; None if the votes are not of a log."""
    rows = vote_sources(project)
    row = next((row for row in rows if row["reading"].get("shape") == "judges"), None)
    if row is None:
        return None
    with project.services.loaded.loading(project.id):
        log = read_log(project.files.path_of(row), row["reading"])
    item, label = (
        {text_of(name): code for code, name in enumerate(names)}
        for names in (log.item_names, log.class_names)
    )
    # truths that people gave in the studio override those of the log
    gold = log.gold.copy()
    for task, truth in judging.truths_of(project).items():
        if text_of(task) in item and text_of(truth) in label:
            gold[item[text_of(task)]] = label[text_of(truth)]
    return assess(replace(log, gold=gold)).to_dict()


@router.get("/history", dependencies=REVIEWERS_WHO_SEE)
def history(project: ProjectDep) -> list[Row]:
    """Return files, fits, measurements, and what each person did on a day, the newest first."""
    # when, what, who
    events: list[tuple[str, str, str]] = []
    for row in project.rows("SELECT * FROM source WHERE project = ? AND state != 'draft'"):
        state = " (removed since)" if row["state"] == "out" else ""
        events.append((row["at"], f"{row['name']} was added: {row['kind']}{state}", ""))
    for fit in fits_of(project, "state IN ('done', 'replaced', 'failed')"):
        facts, words = fit["facts"] or {}, f"Fit {fit['id']}"
        if facts:
            words += f": {facts['n_votes']:,} votes, {facts['truths']:,} truths"
        if share := facts.get("measured"):
            low, high = 100 * share["low"], 100 * share["high"]
            words += f"; {share['headline'].replace('the', 'its', 1)} ({low:.1f} to {high:.1f} %)"
        words += ", failed" if fit["state"] == "failed" else ""
        events.append((fit["started"], words, ""))
    for sample in measuring.all_samples(project):
        words = f"A random sample of {len(sample.tasks):,} tasks was drawn from fit {sample.fit}"
        events.append((sample.at, words, ""))
        if sample.is_over and sample.last:
            people = ", ".join(filter(None, sample.people)) or "the lead"
            events.append((sample.last, f"Sample {sample.id} was checked by {people}", ""))
    for row in project.rows(
        "SELECT reviewer, CASE WHEN sample IS NULL OR kind != 'truth' THEN kind ELSE 'check' END AS"
        " kind, max(at) AS at, count(*) AS n FROM judgement WHERE project = ? AND NOT undone AND"
        " source IS NULL AND kind NOT IN ('known', 'accept') GROUP BY 1, 2, substr(at, 1, 10)"
    ):
        words = f"{DID[row['kind']]} {row['n']:,} task{'' if row['n'] == 1 else 's'}"
        events.append((row["at"], words, row["reviewer"]))
    for row in project.rows("SELECT * FROM judgement WHERE project = ? AND kind = 'accept'"):
        taken_back = " (taken back since)" if row["undone"] else ""
        events.append((row["at"], f"{row['value']['n']:,} labels were accepted{taken_back}", ""))
    found = [{"at": at, "words": words, "who": who} for at, words, who in sorted(events)[::-1]]
    return found[:MAX_HISTORY]
