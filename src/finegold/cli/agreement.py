"""`finegold agreement`: measure how far annotators agree beyond chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from finegold.insight import Agreement

__all__ = ["agreement"]

MEASURES = {
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "ac1": "Gwet's AC1",
    "observed": "pairs of votes that agree",
    "self_agreement": "repeated votes that agree",
}
ROWS_SHOWN = 10  # rows of a table
EVERY_VOTE = o.Reading(repeated="all")


@o.with_groups
def agreement(
    files: o.Source,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="nominal|ordinal|interval",
            help="How alpha treats classes: as names, as ordered categories, or as numbers.",
        ),
    ] = "nominal",
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write the agreement of each annotator.")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option("--pairs", metavar="OUT", help="Write the agreement of each pair of annotators.")
    ] = None,
    reading: o.Reading = EVERY_VOTE,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Measure how far annotators agree: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1.

    If an annotator voted on a task more than once, their most frequent vote counts. How often such repeated votes
    agree is shown as well.
    """
    from finegold.api.evaluate import agreement as measure
    from finegold.cli.outputs import check_outputs, frame_writer, write_all
    from finegold.results.metrics import level_of_order

    outputs = [path for path in (annotators, pairs) if path is not None]
    check_outputs(outputs, [], files)
    votes = s.votes_or_saved(files, reading)
    if reading.ordered and level == "nominal":
        level = level_of_order(votes.class_names)
    found = measure(votes, level=level)  # type: ignore[arg-type]  # checked there
    tables = ((annotators, found.annotators), (pairs, found.pairs))
    write_all({path: frame_writer(frame) for path, frame in tables if path is not None})
    _show(found, json)


def _show(found: Agreement, as_json: bool) -> None:
    from finegold.votes.frames import to_polars

    by_class, by_annotator = to_polars(found.classes()), to_polars(found.annotators())
    if as_json:
        from finegold.cli.summary import print_json

        intervals = {name: found.interval(name) for name in found.errors}
        tables = {"classes": by_class.to_dicts(), "annotators": by_annotator.to_dicts()}
        print_json({"level": found.level, **found.figures(), "intervals": intervals, "notes": found.notes, **tables})
        return
    from finegold.cli.messages import count, warn
    from finegold.cli.show import console, figures_table, frame_table

    title = f"{count(found.n_annotators, 'annotator')}, {count(found.n_tasks, 'task')} with two or more votes"
    screen = console()
    screen.print(figures_table(title, [(_title(found, name), _figure(found, name)) for name in _measures_shown(found)]))
    screen.print(frame_table("By class, against all others", by_class, ROWS_SHOWN))
    screen.print(frame_table("Annotators who agree least", by_annotator.sort("kappa", nulls_last=True), ROWS_SHOWN))
    for note in found.notes:
        warn(note)


def _measures_shown(found: Agreement) -> list[str]:
    repeats = found.self_agreement == found.self_agreement  # not NaN
    return [name for name in MEASURES if name != "self_agreement" or repeats]


def _title(found: Agreement, name: str) -> str:
    return MEASURES[name] + (f", {found.level}" if name == "alpha" and found.level != "nominal" else "")


def _figure(found: Agreement, name: str) -> str:
    value: Any = getattr(found, name)
    if value != value:
        return "undefined"
    if name not in found.errors:
        return f"{value:.3f}"
    low, high = found.interval(name)
    return f"{value:.3f}  ({low:.3f} to {high:.3f})"
