"""`finegold spans`: consensus and agreement of marked texts."""

from __future__ import annotations

from dataclasses import dataclass

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, say

FILES = (
    "Marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION or brat, CoNLL"
    " columns, a table, or a folder of such files."
)
ROWS_SHOWN = 20


@dataclass(frozen=True)
class Spans:
    """What `finegold spans` writes."""

    output: str | None = o.output(
        "Write the consensus spans; with the suffix .jsonl as doccano reads them.", flag=o.OUTPUT
    )
    format: str | None = o.choice(
        None,
        "The form of the output, if not by its suffix.",
        "csv",
        "tsv",
        "doccano",
        "label-studio",
    )
    candidates: str | None = o.table("Write all candidates with their probabilities, spans or not.")
    annotators: str | None = o.table("Write recall and precision of each annotator.")
    pairs: str | None = o.table("Write the F1 of each pair of annotators.")
    threshold: float | None = o.number(None, "The least probability of a span.", "P")
    json: bool = o.json_flag()


@o.command
@o.files_argument(FILES)
@o.declared(Spans, "own")
@o.declared(FitOptions, "fit", ["method"])
def spans(files: tuple[str, ...], own: Spans, fit: FitOptions) -> None:
    """Find the consensus of marked texts, and how far annotators agree on them.

    Marks that overlap are one candidate, on which everybody votes who read the document. Where
    somebody marked spans of two classes at one place, marks of different classes are different
    candidates. A discontinuous span is taken from its first to its last character. Boxes and
    segmentations in images are not read (see CVAT, datumaro and STAPLE).
    """
    from finegold.spans import aggregate, agreement, read, write

    out.check_outputs(files, own)
    marks = read(files)
    result, agreed = aggregate(marks, o.method_with(fit)), agreement(marks)
    found, people = result.spans(own.threshold), result.annotators(own.threshold)
    out.write_tables(
        {
            own.candidates: lambda: result.candidates,
            own.annotators: lambda: people,
            own.pairs: lambda: agreed.pairs,
        }
    )
    if own.output is not None:
        write(result, own.output, own.format, own.threshold)
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
    if own.json:
        more = {"by_class": agreed.classes.to_dicts(), "by_annotator": people.to_dicts()}
        out.print_json(figures | more | {"consensus": found.to_dicts()})
        return
    say(f"{marks!r} -> {count(found.height, 'span')} by {result.method}")
    if marks.left_out:
        say("left out: " + ", ".join(f"{what} ({n:,})" for what, n in marks.left_out.items()))
    if own.output is None:
        click.echo(found.write_csv(), nl=False)
        return
    measures = {
        "F1 of pairs, exact": agreed.exact,
        "F1 of pairs, overlapping": agreed.overlapping,
        "Krippendorff's alpha on characters": agreed.alpha,
    }
    rows = [(x, "undefined" if value is None else f"{value:.3f}") for x, value in measures.items()]
    out.print_figures("Agreement", rows)
    out.print_frame("By class", agreed.classes, ROWS_SHOWN)
    out.print_frame("Annotators against the consensus", people, ROWS_SHOWN)
