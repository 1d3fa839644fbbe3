"""HTML of agreement, trust, plans and comparisons for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from finegold.insight.judges.answers import Share
from finegold.votes.notebook import cell_html, meter_html, name_html, page_html, table_html

if TYPE_CHECKING:
    from finegold.insight.comparison import Comparison
    from finegold.insight.judges.ranking import Ranking
    from finegold.insight.measures import Agreement
    from finegold.insight.next_votes import Plan
    from finegold.insight.overview import Trust

TASKS_SHOWN = 5
COEFFICIENTS = {
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean over pairs",
    "ac1": "Gwet's AC1",
    "observed": "observed agreement",
}


def agreement_html(found: Agreement) -> str:
    rows = []
    for name, words in COEFFICIENTS.items():
        low, high = found.interval(name) if name in found.errors else (nan, nan)
        interval = f"{low:.3f} to {high:.3f}" if isfinite(low) else ""
        rows.append([words, cell_html(_number(getattr(found, name))), cell_html(interval)])
    return page_html(
        f"<b>Agreement</b> ({found.level}): {found.n_votes:,} votes, {found.n_tasks:,} tasks with"
        f" two votes or more, {found.n_annotators:,} annotators",
        table_html(["", "", "95 % interval"], rows, len(rows)),
        *(escape(note) for note in found.notes),
    )


def trust_html(found: Trust) -> str:
    panel, tested = found.correlated, found.calibration
    figures = [
        ("agreement beyond chance (alpha)", _number(found.agreement.alpha)),
        ("labels against the majority vote", f"{found.n_flips:,}"),
        ("contested labels", f"{found.n_contested:,}"),
        ("ties", f"{found.n_tied:,}"),
        ("spammers", f"{found.n_spammers:,}"),
        ("effective number of annotators", f"{panel.effective:,.1f} of {panel.n_annotators:,}"),
    ]
    if tested is not None:
        figures += [(f"accuracy on {tested.n:,} truths", f"{tested.accuracy:.1%}")]
        figures += [
            ("calibration error", f"{tested.ece:.4f}"),
            ("best temperature", f"{tested.temperature:.2f}"),
        ]
    return page_html(
        f"<b>Trust</b> in {escape(found.method)}: {found.n_tasks:,} tasks,"
        f" {found.agreement.n_annotators:,} annotators",
        table_html(
            ["", ""], [[words, cell_html(figure)] for words, figure in figures], len(figures)
        ),
        *(escape(warning) for warning in found.warnings),
    )


def plan_html(plan: Plan) -> str:
    result, who = plan.result, plan.result.annotator_names
    rows = [
        [
            name_html(result.task_names, i),
            name_html(result.class_names, int(result.label_codes[i])),
            meter_html(result.confidence[i]),
            *map(
                cell_html,
                (
                    f"{result.confidence[i]:.3f}",
                    f"{result.votes_per_task[i]:,}",
                    f"{plan.gain[i]:.4f}",
                ),
            ),
        ]
        for i in plan.ask[:TASKS_SHOWN].tolist()
    ]
    advice = [
        f"{each.action} {name_html(who, each.annotator)}: {escape(each.why)}"
        for each in plan.advice
    ]
    return page_html(
        f"<b>Plan</b>: {len(plan.ask):,} tasks to ask about, {int(plan.safe.sum()):,} safe",
        table_html(
            ["task", "label so far", "", "confidence", "votes", "gain"], rows, len(plan.ask)
        ),
        *advice[:TASKS_SHOWN],
    )


def comparison_html(found: Comparison) -> str:
    figures = {"accuracy": ".4f", "log_loss": ".4f"} if found.truth is not None else {}
    figures |= {"flips": ",", "mean_confidence": ".3f", "seconds": ".2f"}
    rows = [
        [
            escape(row["method"]),
            *(cell_html(f"{row[name]:{digits}}") for name, digits in figures.items()),
        ]
        for row in found.rows()
    ]
    heads = ["method", *(name.replace("_", " ") for name in figures)]
    title = (
        f"<b>Comparison</b> of {len(rows):,} methods on {len(found.majority.label_codes):,} tasks"
    )
    return page_html(title, table_html(heads, rows, len(rows)))


def _number(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else "undefined"


ROWS_SHOWN = 20
HEADS = (
    "judge",
    "",
    "accuracy",
    "undecided",
    "position bias",
    "same after swap",
    "failed",
    "cost per verdict",
)


def judges_html(title: str, judges: Sequence[dict[str, Any]], notes: Sequence[str]) -> str:
    """Return a table of judges, the best first."""
    rows = [
        [
            escape(row["judge"]),
            meter_html(row["accuracy"]["value"]) if row["accuracy"] else "",
            *map(
                cell_html,
                (
                    figure_of(row, "accuracy"),
                    percent(row["undecided"]),
                    figure_of(row, "position_bias"),
                ),
            ),
            *(cell_html(percent(row[name])) for name in ("swap_consistency", "failed")),
            cell_html("–" if row["cost"] is None else f"{row['cost']:.2g}"),
        ]
        for row in judges[:ROWS_SHOWN]
    ]
    return page_html(title, table_html(HEADS, rows, len(judges)), *(escape(note) for note in notes))


def figure_of(judge: dict[str, Any], name: str) -> str:
    """Return a figure of a judge with its interval."""
    if judge[name] is None:
        return "–"
    value = judge[name]["value"] if name == "accuracy" else judge[name]
    low, high = judge["intervals"][name]
    return f"{value:z.2f} [{low:z.2f}, {high:z.2f}]"


def ranking_html(ranking: Ranking) -> str:
    """Return a table of systems, the best first."""
    rows = [
        [
            cell_html(str(row.rank)),
            escape(row.system),
            cell_html(
                f"{row.rank_low}"
                if row.rank_low == row.rank_high
                else f"{row.rank_low}-{row.rank_high}"
            ),
            cell_html(
                f"{row.strength.value:+.2f} ({row.strength.low:+.2f} to {row.strength.high:+.2f})"
            ),
            meter_html(row.win_rate.value),
            cell_html(percent(row.win_rate.value)),
        ]
        for row in ranking.standings[:ROWS_SHOWN]
    ]
    heads = ("rank", "system", "possible ranks", "strength", "", "wins against the average")
    table = table_html(heads, rows, len(ranking.standings))
    return page_html(
        f"<b>Ranking</b> of {len(ranking.standings):,} systems", table, *map(escape, ranking.notes)
    )


def with_interval(share: Share) -> str:
    # NaN
    if share.value != share.value:
        return "–"
    return f"{share.value:z.2f} [{share.low:z.2f}, {share.high:z.2f}]"


def percent(share: float | None) -> str:
    return "–" if share is None or share != share else f"{share:.1%}"
