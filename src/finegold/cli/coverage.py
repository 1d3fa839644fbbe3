"""`finegold coverage`: measure what each annotator or labelling function covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["coverage"]

SHARES = {
    "coverage": "tasks with votes",
    "overlaps": "tasks with votes by two or more annotators",
    "conflicts": "tasks on which votes differ",
}
ROWS_SHOWN = 30  # rows of the table
CLASSES_SHOWN = 5  # classes shown per annotator in the terminal


@o.with_groups
def coverage(
    files: o.Source,
    truth: Annotated[
        str | None, typer.Option("--truth", metavar="FILE", help="Known truths: adds the share of right votes.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUT", help="Write the table: CSV, TSV, JSONL or Parquet.")
    ] = None,
    reading: o.Reading = o.READING,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    json: o.Json = False,
) -> None:
    """Measure what each annotator or labelling function covers: coverage, polarity, overlaps, conflicts.

    Shares refer to all tasks, including those without votes. For a saved model (finegold aggregate --save), the table
    also has the expected accuracies; with --truth, it has the share of right votes.
    """
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.insight import coverage as measure
    from finegold.insight.coverage_table import coverage_figures
    from finegold.insight.votes import votes_of
    from finegold.io.read import match_truth
    from finegold.votes.frames import to_polars

    check_outputs([output] if output else [], [], [*files, *([truth] if truth else [])])
    given = s.votes_or_saved(files, reading)
    votes = votes_of(given)
    key = None if truth is None else match_truth(votes, truth, task=truth_task, label=truth_label)
    found = to_polars(measure(given, key))
    if output is not None:
        write_all({output: lambda path: _write(found, path)})
    _show(coverage_figures(votes), found, json)


def _write(found: pl.DataFrame, path: Path) -> None:
    """Write the table. CSV and TSV have no lists, so the classes of an annotator are joined with commas."""
    from finegold.io.writers import check_table_path, write_frame

    kind, _ = check_table_path(path)
    write_frame(_with_text(found) if kind in ("csv", "tsv") else found, path)


def _with_text(found: pl.DataFrame, most: int | None = None) -> pl.DataFrame:
    import polars as pl

    texts = []
    for classes in found["polarity"].to_list():
        more = f" and {len(classes) - most:,} more" if most is not None and len(classes) > most else ""
        texts.append(", ".join(map(str, classes[:most])) + more)
    return found.with_columns(pl.Series("polarity", texts, dtype=pl.String))


def _show(figures: dict[str, Any], found: pl.DataFrame, as_json: bool) -> None:
    if as_json:
        from finegold.cli.summary import print_json

        print_json({**figures, "annotators": found.to_dicts()})
        return
    from finegold.cli.messages import count
    from finegold.cli.show import console, figures_table, frame_table

    sizes = ((figures["n_annotators"], "annotator", "s"), (len(figures["classes"]), "class", "es"))
    title = ", ".join([count(figures["n_tasks"], "task"), *(count(*size) for size in sizes)])
    screen = console()
    rows = [(words, f"{figures[name]:.1%}") for name, words in SHARES.items()]
    rows.append(("annotators who vote for one class only", f"{figures['n_one_class']:,}"))
    rows.append(("annotators without any vote", f"{len(figures['never_voted']):,}"))
    screen.print(figures_table(title, rows))
    widest = found.sort("coverage", descending=True, maintain_order=True)
    screen.print(frame_table("By coverage", _with_text(widest, CLASSES_SHOWN), ROWS_SHOWN))
