"""Results: the views of the report, the figures of LLM judges, and the plan for further votes."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from finegold.insight.next_votes import plan
from finegold.judges import assess
from finegold.report.views.annotators import Annotators, annotators, suspects
from finegold.report.views.classes import Classes, Prototypes, classes, prototypes
from finegold.report.views.common import Record, record, texts
from finegold.report.views.quality import Quality, Trust, quality, trust
from finegold.studio.gold import truths_of
from finegold.studio.measure import get_audit
from finegold.studio.problems import Problem
from finegold.studio.rights import REVIEWERS, REVIEWERS_WHO_SEE
from finegold.studio.reading import Reading, advice_on, near_spellings, read_log
from finegold.studio.services import Name, ProjectId, ServicesDep, Shown, plain_name
from finegold.studio.workspace import Browser
from finegold.votes.encoding import MISSING, text_of

router = APIRouter(tags=["results"])
the_plan = partial(plan, budget=None)

MAX_EXAMPLES = 50
MAX_KEPT = 4  # views of LLM judges in memory
OFTEN = 5  # times as many votes as a class have those that it may be a misspelling of


class Model(BaseModel):
    """What was learned about a model."""

    model: str
    n_tasks: int = Field(description="Number of its predictions of tasks with votes.")
    n_tasks_without_votes: int
    weight: float = Field(
        description="1: its probabilities are calibrated; less: overconfident; 0: it is ignored."
    )
    accuracy: float = Field(description="Expected share of right predictions.")
    confidence: float = Field(
        description="Mean probability of the predicted class, as the model gives it."
    )
    accuracy_low: float = Field(
        description="By known truths, or by votes where they agree with the model."
    )
    accuracy_high: float


class Overview(BaseModel):
    """Quality of the labels and number of doubtful tasks."""

    method: str
    classes: list[str]
    quality: Quality
    doubts: dict[str, int] = Field(
        description="Numbers of tasks: contested, tied, flipped and any of these."
    )
    models: list[Model] = Field(description="Those whose predictions were combined with the votes.")
    n_predicted: int = Field(
        description="Number of tasks that were labelled from predictions only."
    )


@router.get("/projects/{project:id}/results", dependencies=REVIEWERS_WHO_SEE)
def overview(project: ProjectId, shown: Shown, services: ServicesDep) -> Overview:
    doubts, combined, summary = shown.doubts, shown.result.combined, shown.view(quality)
    headline, sentences = (
        _for_pages(summary.headline),
        [_for_pages(each) for each in summary.sentences],
    )
    measured = services.store.row(
        "SELECT fit FROM audit WHERE project = ? ORDER BY id DESC", project
    )
    is_current = (
        measured is not None and measured["fit"] == services.store.project(project)["shown"]
    )
    audit = get_audit(project, services) if is_current else None  # others would load another result
    if audit is not None and audit.certificate is not None and audit.done >= audit.n:
        # What was measured replaces what is expected.
        low, high, n = (audit.certificate["accuracy"][name] for name in ("low", "high", "checked"))
        headline = f"{100 * low:.1f} to {100 * high:.1f} of 100 labels are right, measured on {n:,} random tasks"
        sentences = audit.sentences
    return Overview(
        method=shown.result.method,
        classes=shown.class_texts,
        quality=replace(summary, headline=headline, sentences=sentences),
        doubts={
            name: int(getattr(doubts, name).sum())
            for name in ("contested", "tied", "flipped", "any")
        },
        models=[Model(**record._asdict()) for record in combined.records] if combined else [],
        n_predicted=len(combined.posterior) if combined else 0,
    )


@router.get("/projects/{project:id}/results/annotators", dependencies=REVIEWERS_WHO_SEE)
def annotators_view(project: ProjectId, shown: Shown) -> Annotators:
    """Return the quality of all annotators, copies and spammers. /annotators lists them in pages."""
    shown.view(suspects)  # now cached: pages of annotators mark them
    return shown.view(annotators)


@router.get("/projects/{project:id}/results/classes", dependencies=REVIEWERS_WHO_SEE)
def classes_view(project: ProjectId, shown: Shown) -> Classes:
    """Return the frequencies of the classes, and which classes are confused."""
    return shown.view(classes)


@router.get("/projects/{project:id}/results/prototypes", dependencies=REVIEWERS_WHO_SEE)
def prototypes_view(project: ProjectId, shown: Shown) -> Prototypes | None:
    """Return the prototypes and the annotators' positions among them; null for methods without prototypes."""
    return shown.view(prototypes)


@router.get("/projects/{project:id}/results/trust", dependencies=REVIEWERS_WHO_SEE)
def trust_view(project: ProjectId, shown: Shown) -> Trust:
    """Return how well the annotators agree."""
    return shown.view(trust)


@router.get("/projects/{project:id}/results/record", dependencies=REVIEWERS_WHO_SEE)
def record_view(project: ProjectId, shown: Shown) -> Record:
    """Return how the result was computed, so that it can be repeated."""
    computed = shown.view(record)
    return replace(computed, notes=[_for_pages(note) for note in computed.notes])


def _for_pages(text: str) -> str:
    """Name the page instead of the command that draws a random sample."""
    return text.replace("(finegold sample)", "(under Measure)")


class Ask(BaseModel):
    task: Name
    label: str = Field(description="So far.")
    confidence: float
    n_votes: int
    gain: float = Field(
        description="Expected increase of the probability that the label is right, from one more vote."
    )


class Advice(BaseModel):
    annotator: str
    advice: str = Field(description="retrain or drop")
    why: str


class Planned(BaseModel):
    ask: list[Ask] = Field(
        description="Tasks that need one more vote, the largest expected gain first."
    )
    n_open: int = Field(description="Number of tasks for which one more vote can still help.")
    n_safe: int
    annotators: list[Advice]


@router.get("/projects/{project:id}/plan", dependencies=REVIEWERS_WHO_SEE)
def planned(
    project: ProjectId, shown: Shown, budget: Annotated[int, Query(ge=1, le=10_000)] = 100
) -> Planned:
    """Return the tasks to collect votes for next, and the annotators to retrain or drop, as `finegold next-votes` does."""
    advice, result = shown.view(the_plan), shown.labelled
    return Planned(
        ask=[
            Ask(
                task=plain_name(shown.task_name(code)),
                label=shown.class_texts[result.label_codes[code]],
                confidence=float(shown.confidence[code]),
                n_votes=int(result.votes_per_task[code]),
                gain=float(advice.gain[code]),
            )
            for code in advice.ask[:budget].tolist()
        ],
        n_open=len(advice.ask),
        n_safe=int(advice.safe.sum()),
        annotators=[
            Advice(
                annotator=texts(result.annotator_names, [each.annotator])[0],
                advice=each.action,
                why=each.why,
            )
            for each in advice.advice
        ],
    )


class Chart(BaseModel):
    title: str
    alt: str = Field(description="What the chart shows, in words.")
    note: str = Field(description="How to read the chart.")
    spec: dict[str, Any] = Field(description="Vega-Lite.")


@router.get("/projects/{project:id}/judges", dependencies=REVIEWERS_WHO_SEE)
def judges_view(project: ProjectId, services: ServicesDep) -> dict[str, Any]:
    """Return what each LLM judge of a log is worth, the best panels for the money, and the ranking of systems."""
    row, kept = services.store.project(project), services.judge_views
    options = Reading.model_validate(row["reading"] or {})
    if options.shape != "judges":
        detail = (
            "If its rows are calls of LLM judges, say so under Votes, then read the file again."
        )
        raise Problem(409, "This project is not a log of LLM judges", detail)
    key = (project, row["version"])
    with services.judge_lock:  # two tabs that open the view at the same time compute it once
        if key not in kept:
            with services.files.of(row) as path:
                log = read_log(path, options)
            # Truths that people gave in the studio override those of the log.
            item, label = (
                {text_of(name): code for code, name in enumerate(names)}
                for names in (log.item_names, log.class_names)
            )
            gold = log.gold.copy()
            for task, truth in truths_of(services.store, project).items():
                if text_of(task) in item and text_of(truth) in label:
                    gold[item[text_of(task)]] = label[text_of(truth)]
            kept[key] = assess(replace(log, gold=gold)).to_dict()
            while len(kept) > MAX_KEPT:
                del kept[next(iter(kept))]
        return kept[key]


@router.get("/projects/{project:id}/judges/charts", dependencies=REVIEWERS_WHO_SEE)
def judges_charts(project: ProjectId, services: ServicesDep) -> dict[str, Chart]:
    """Return the charts of the report's section on judges."""
    from finegold.report.charts import judge_charts

    drawn = judge_charts(judges_view(project, services))
    return {
        name: Chart.model_validate(chart, from_attributes=True) for name, chart in drawn.items()
    }


@router.get(
    "/charts.js",
    dependencies=REVIEWERS,
    response_class=Response,
    responses={200: {"content": {"text/javascript": {}}}},
)
def charts_script() -> Response:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which draws the charts."""
    from finegold.report.images import bundle

    return Response(bundle(), media_type="text/javascript")


def summarise_fit(browser: Browser, before: Browser | None = None) -> dict[str, Any]:
    """Summarise a result, and what changed since the result shown before if both have the same votes."""
    result, doubts = browser.result, browser.doubts
    bound, votes, hygiene = (
        result.steps[-1].bound,
        browser.votes.votes_per_class,
        browser.votes.hygiene,
    )
    # The classes with the most votes, and rare ones that look like misspelled ones.
    most = np.argsort(-votes, kind="stable")[:MAX_EXAMPLES].tolist()
    counted: list[list[Any]] = [[str(browser.classes[code]), int(votes[code])] for code in most]
    near: dict[str, str] = {}
    for name, n in counted:
        others = [other for other, more in counted if more >= OFTEN * n and other not in near]
        near |= near_spellings([name], others)
    findings = [
        {
            "kind": each.kind,
            "text": each.text,
            "groups": each.groups,
            "advice": advice_on(each.remedies),
        }
        for each in hygiene.findings
    ]
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": int(result.votes_per_task.sum()),
        "n_annotators": len(result.accuracy),
        "n_classes": len(result.class_names),
        "n_unlabelled": len(result.unlabelled),
        "mean_confidence": float(result.confidence.mean()),
        **{name: int(getattr(doubts, name).sum()) for name in ("tied", "flipped", "contested")},
        "gold": int((result.gold != MISSING).sum()),
        **{
            name: getattr(result, name)
            for name in ("iterations", "converged", "stopped", "seconds")
        },
        "bound": bound if math.isfinite(bound) else None,
        "notes": list(result.notes),
        "counts": asdict(result.counts),
        "hygiene": {**hygiene.as_json(), "findings": findings, "classes": counted, "near": near},
        "changes": _changes(browser, before) if before is not None else None,
    }


def _changes(browser: Browser, before: Browser) -> dict[str, Any] | None:
    now, then = browser.result, before.result
    if len(now.label_codes) != len(then.label_codes) or browser.classes != before.classes:
        return None
    changed = np.flatnonzero(now.label_codes != then.label_codes)
    judged, shown = now.gold != MISSING, changed[:MAX_EXAMPLES].tolist()
    return {
        "method": then.method,
        "labels": len(changed),
        "beyond_gold": int(np.count_nonzero(~judged[changed])),
        "confidence_before": float(then.confidence.mean()),
        "examples": [
            {
                "task": code,
                "name": name,
                "before": int(then.label_codes[code]),
                "after": int(now.label_codes[code]),
            }
            for code, name in zip(shown, texts(browser.labelled.task_names, shown), strict=True)
        ],
    }
