"""`finegold spans`: consensus and agreement of marked texts."""

from __future__ import annotations

from typing import Any

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import count, say

FILES = (
    "Marked texts: exports of Label Studio, doccano, Prodigy, Argilla, INCEpTION or brat, CoNLL"
    " columns, a table, or a folder of such files."
)
FORMATS = ("csv", "tsv", "doccano", "label-studio")
ROWS_SHOWN = 20


@o.command
@o.votes_argument(help=FILES)
@o.opt(
    "-o",
    "--output",
    help="Write the consensus spans; with the suffix .jsonl as doccano reads them.",
)
@o.opt("--format", type=click.Choice(FORMATS), help="The form of the output, if not by its suffix.")
@o.opt("--candidates", help="Write all candidates with their probabilities, spans or not.")
@o.opt("--annotators", help="Write recall and precision of each annotator.")
@o.opt("--pairs", help="Write the F1 of each pair of annotators.")
@o.opt("--threshold", type=float, metavar="P", help="The least probability of a span.")
@o.json_option
@o.declared(FitOptions, "fit", only=("method",))
def spans(
    files: tuple[str, ...],
    output: str | None,
    format: str | None,
    candidates: str | None,
    annotators: str | None,
    pairs: str | None,
    threshold: float | None,
    json: bool,
    fit: FitOptions,
) -> None:
    """Find the consensus of marked texts, and how far annotators agree on them.

    Marks that overlap are one candidate, on which everybody votes who read the document. Where
    somebody marked spans of two classes at one place, marks of different classes are different
    candidates. A discontinuous span is taken from its first to its last character. Boxes and
    segmentations in images are not read (see CVAT, datumaro and STAPLE).
    """
    from finegold.spans import aggregate, agreement, read, write

    out.check_files([candidates, annotators, pairs], [output], files)
    marks = read(files)
    result, agreed = aggregate(marks, o.chosen_method(fit)), agreement(marks)
    found, people = result.spans(threshold), result.annotators(threshold)
    tables: dict[str | None, Any] = {
        candidates: lambda: result.candidates,
        annotators: lambda: people,
        pairs: lambda: agreed.pairs,
    }
    out.write_tables(tables)
    if output is not None:
        write(result, output, format, threshold)
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
    if json:
        more = {"by_class": agreed.classes.to_dicts(), "by_annotator": people.to_dicts()}
        out.print_json(figures | more | {"consensus": found.to_dicts()})
        return
    say(f"{marks!r} -> {count(found.height, 'span')} by {result.method}")
    if marks.left_out:
        say("left out: " + ", ".join(f"{what} ({n:,})" for what, n in marks.left_out.items()))
    if output is None:
        click.echo(found.write_csv(), nl=False)
        return
    rows = [
        (title, "undefined" if (value := figures[name]) is None else f"{value:.3f}")
        for name, title in (
            ("f1_exact", "F1 of pairs, exact"),
            ("f1_overlapping", "F1 of pairs, overlapping"),
            ("alpha", "Krippendorff's alpha on characters"),
        )
    ]
    out.print_figures("Agreement", rows)
    out.print_frame("By class", agreed.classes, ROWS_SHOWN)
    out.print_frame("Annotators against the consensus", people, ROWS_SHOWN)
