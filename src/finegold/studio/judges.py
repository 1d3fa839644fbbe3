"""LLM judges: the figures and charts of the report's section on judges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from finegold.api.judges import assess
from finegold.studio.gold import truths_of
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, read_log
from finegold.studio.services import ProjectId, Services, ServicesDep
from finegold.votes.encoding import text_of

router = APIRouter(tags=["judges"])

MAX_KEPT = 4  # views in memory


def view_judges(services: Services, project: int) -> dict[str, Any]:
    """Return the figures of all judges; accuracies are measured on the truths that people gave."""
    row, kept = services.store.project(project), services.judge_views
    options = Reading.model_validate_json(row["reading"] or "{}")
    if options.shape != "judges":
        raise Problem(
            409,
            "This project is not a log of LLM judges",
            "If its rows are calls of LLM judges, say so under Votes, then read the file again.",
        )
    key = (project, row["version"])
    with services.judge_lock:  # two tabs that open the view at the same time compute it once
        if key not in kept:
            with services.files.of(row) as path:
                log = read_log(path, options)
            # Truths that people gave in the studio override those of the log.
            item, label = (
                {text_of(name): code for code, name in enumerate(names)} for names in (log.item_names, log.class_names)
            )
            gold = log.gold.copy()
            for task, truth in truths_of(services.store, project).items():
                if text_of(task) in item and text_of(truth) in label:
                    gold[item[text_of(task)]] = label[text_of(truth)]
            kept[key] = assess(replace(log, gold=gold)).view()
            while len(kept) > MAX_KEPT:
                del kept[next(iter(kept))]
        return kept[key]


class Chart(BaseModel):
    title: str
    alt: str = Field(description="What the chart shows, in words.")
    note: str = Field(description="How to read the chart.")
    spec: dict[str, Any] = Field(description="Vega-Lite.")


@router.get("/projects/{project}/judges")
def judges_view(project: ProjectId, services: ServicesDep) -> dict[str, Any]:
    """Return what each LLM judge of a log is worth, the best panels for the money, and the ranking of systems."""
    return view_judges(services, project)


@router.get("/projects/{project}/judges/charts")
def judges_charts(project: ProjectId, services: ServicesDep) -> dict[str, Chart]:
    """Return the charts of the report's section on judges."""
    from finegold.report.charts.judges import judge_charts

    drawn = judge_charts(view_judges(services, project))
    return {
        name: Chart(**{field: getattr(chart, field) for field in Chart.model_fields}) for name, chart in drawn.items()
    }


@router.get("/charts.js", response_class=Response, responses={200: {"content": {"text/javascript": {}}}})
def charts_script() -> Response:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which draws the charts."""
    from finegold.report.images import bundle

    return Response(bundle(), media_type="text/javascript")
