"""`finegold numbers`: values of tasks that annotators rated or measured."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import say
from finegold.cli.show import title_of

ROWS_SHOWN = 20


@o.on_votes(model=False, fit=())
class Numbers:
    """Give every task a value where annotators gave numbers, such as ratings from 0 to 100.

    The interval of a value is for the mean that many more such annotators would give. How far the
    values are from the truth is measured by a sample that a person checks: --sample writes the
    sheet, --truth reads it.
    """

    output: str | None = o.table(
        "The file for the values: .csv, .tsv, .jsonl, .parquet or .xlsx. By default, CSV is printed.",
        flag=o.OUTPUT,
    )
    annotators: str | None = o.table("Write the bias, scale and noise of each annotator.")
    report: str | None = o.output("Write an HTML report: tasks on the scale, and annotators.")
    sample: str | None = o.table("Write a sheet of tasks drawn at random, for a person to fill in.")
    n: int = o.number(50, "How many tasks the sheet has.", flag="-n --checks", low=2)
    seed: int = o.number(0, "The seed of the draw.", low=0)
    truth: str | None = o.path("Known values, or the sheet that came back.")
    within: float | None = o.number(
        None, "An acceptable distance: the share within it is measured.", metavar="X", low=0.0
    )
    json: bool = o.json_flag()

    def run(self, votes: o.Votes) -> None:
        from finegold import numbers as ratings
        from finegold.io.writers import write_frame
        from finegold.results.tables import own_name
        from finegold.votes.frames import to_polars

        truths = o.truths_of(self.truth, None, None)
        given = {name: getattr(votes.reading, name) for name in votes.reading.given()}
        result = ratings.aggregate(list(votes.files), **given)
        errors = None if truths is None else result.evaluate(truths, within=self.within)

        values = own_name(to_polars(result.values()), result.annotations, 0)
        annotators = to_polars(result.annotators())
        out.write_tables(
            {
                self.output: lambda: values,
                self.annotators: lambda: annotators,
                self.sample: partial(result.sample, self.n, seed=self.seed),
            }
        )
        if self.report is not None:
            result.report(self.report, title_of(votes.files))
        if self.json:
            found: dict[str, Any] = {"n_tasks": len(values), "n_annotators": len(annotators)}
            found["errors"] = None if errors is None else asdict(errors)
            found |= {"annotators": annotators.to_dicts(), "values": values.to_dicts()}
            out.print_json(found)
            return
        say(repr(result))
        if self.output is None:
            write_frame(values, "-")
        if errors is not None:
            figures = {name: value for name, value in asdict(errors).items() if value is not None}
            rows = [(name.replace("_", " "), f"{value:.4g}") for name, value in figures.items()]
            out.print_figures("Against known truths", rows)
        out.print_frame("Annotators", annotators.sort("noise"), ROWS_SHOWN)
