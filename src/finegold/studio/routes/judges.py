"""Routes of LLM judges: their figures, and the charts of the report's section on judges."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from finegold.report.views.judges import Judges
from finegold.studio.routes.common import ProjectId, ServicesDep

__all__ = ["router"]

router = APIRouter(tags=["judges"])

Torn = Annotated[
    Literal["tie", "half"], Query(description="What counts where a judge contradicts itself: a tie, or half of each.")
]


class Chart(BaseModel):
    title: str
    alt: str = Field(description="What the chart shows, in words.")
    note: str = Field(description="How to read the chart.")
    spec: dict[str, Any] = Field(description="Vega-Lite.")


@router.get("/projects/{project}/judges")
def judges_view(project: ProjectId, services: ServicesDep, torn: Torn = "tie") -> Judges:
    """Return what each LLM judge of a log is worth, the best panels for the money, and the ranking of systems."""
    return services.judges.of(project, torn)


@router.get("/projects/{project}/judges/charts")
def judges_charts(project: ProjectId, services: ServicesDep, torn: Torn = "tie") -> dict[str, Chart]:
    """Return the charts of the report's section on judges."""
    from finegold.report.charts.judges import judge_charts  # Altair takes a second to load

    drawn = judge_charts(services.judges.of(project, torn))
    return {
        name: Chart(title=one.title, alt=one.alt, note=one.note, spec=one.spec)
        for name, one in drawn.items()
        if one.spec is not None
    }


@router.get("/charts.js", response_class=Response, responses={200: {"content": {"text/javascript": {}}}})
def charts_script() -> Response:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which draws the charts."""
    from finegold.report.charts.style import bundle

    return Response(bundle(), media_type="text/javascript")
