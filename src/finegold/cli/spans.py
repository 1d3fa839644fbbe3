"""`finegold spans`: consensus and agreement of marked texts."""

from __future__ import annotations

import click

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, say
from finegold.cli.show import title_of
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY
from finegold.options import option

FILES = (
    "Marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION or brat, CoNLL"
    " columns, a table, or a folder of such files."
)
ROWS_SHOWN = 20


@o.command_with(o.files_argument(FILES))
class Spans:
    """Find the consensus of marked texts, and how far annotators agree on them.

    Marks that overlap are one candidate, on which everybody votes who read the document. Where
    somebody marked spans of two classes at one place, marks of different classes are different
    candidates. A discontinuous span is taken from its first to its last character. Boxes and
    segmentations in images are not read (see CVAT, datumaro and STAPLE).
    """

    output: str | None = o.output(
        "Write the consensus spans; with the suffix .jsonl as doccano reads them.", flag=o.OUTPUT
    )
    format: str | None = o.choice(
        None,
        "The form of the output, if not by its suffix.",
        choices=("csv", "tsv", "doccano", "label-studio"),
    )
    candidates: str | None = o.table("Write all candidates with their probabilities, spans or not.")
    annotators: str | None = o.table("Write recall and precision of each annotator.")
    pairs: str | None = o.table("Write the F1 of each pair of annotators.")
    report: str | None = o.output("Write an HTML report: texts with spans, and annotators.")
    threshold: float | None = o.number(
        None, "The least probability of a span.", metavar="P", low=0.0
    )
    json: bool = o.json_flag()
    method: str | None = option(
        None, f"One of {', '.join(REGISTRY)}.", metavar="M", choices=tuple(REGISTRY)
    )

    def run(self, files: tuple[str, ...]) -> None:
        import polars as pl

        from finegold.spans import aggregate, agreement, read, write

        out.check_outputs(files, self)
        marks = read(files)
        result = aggregate(marks, self.method or DEFAULT_METHOD)
        agreed = agreement(marks)
        found, people = result.spans(self.threshold), result.annotators(self.threshold)
        out.write_tables(
            {
                self.candidates: lambda: result.candidates,
                self.annotators: lambda: people,
                self.pairs: lambda: agreed.pairs,
            }
        )
        if self.report is not None:
            result.report(self.report, self.threshold, title_of(files))
        if self.output is not None:
            write(result, self.output, self.format, self.threshold)
        figures = {
            "documents": marks.readings["document"].n_unique(),
            "annotators": marks.readings["annotator"].n_unique(),
            "marks": marks.spans.height,
            "candidates": result.candidates.height,
            "spans": found.height,
            "method": result.method,
            "f1_exact": agreed.exact,
            "f1_overlapping": agreed.overlapping,
            "alpha": agreed.alpha,
            "left_out": marks.left_out,
        }
        if self.json:
            more = {"by_class": agreed.classes.to_dicts(), "by_annotator": people.to_dicts()}
            out.print_json(figures | more | {"consensus": found.to_dicts()})
            return
        say(f"{marks!r} -> {count(found.height, 'span')} by {result.method}")
        if marks.left_out:
            say("left out: " + ", ".join(f"{what} ({n:,})" for what, n in marks.left_out.items()))
        if self.output is None:
            click.echo(found.write_csv(), nl=False)
            return
        measures = {
            "F1 of pairs, exact": agreed.exact,
            "F1 of pairs, overlapping": agreed.overlapping,
            "alpha on characters": agreed.alpha,
        }
        out.print_frame("Agreement", pl.DataFrame(measures))
        out.print_frame("By class", agreed.classes, ROWS_SHOWN)
        out.print_frame("Annotators against the consensus", people, ROWS_SHOWN)
