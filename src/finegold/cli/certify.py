"""`finegold sample` and `certify`: check some tasks, and know how right all labels are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.messages import say
from finegold.cli.outputs import check_outputs, frame_writer, print_json, write_all
from finegold.cli.source import result_of
from finegold.errors import InputError
from finegold.io.options import ReadOptions


@o.with_groups
def sample(
    files: o.Source,
    output: Annotated[
        str, o.value("--output", "-o", help="The sheet to fill in, .csv or .xlsx; its plan is written beside it.")
    ],
    n: Annotated[int, typer.Option("-n", "--checks", min=1, metavar="N", help="How many tasks to check.")] = 100,
    purpose: Annotated[
        str,
        o.value(
            "--for",
            metavar="accuracy|acceptance|choice",
            help="What the checks are for: how right all labels are, which may be accepted unseen, or which method is "
            "better here.",
        ),
    ] = "accuracy",
    risk: Annotated[
        str, o.value("--risk", metavar="SHARE", help="The share of accepted labels that may be wrong, e.g. 5%.")
    ] = "5%",
    looks: Annotated[
        int, typer.Option("--looks", min=1, max=20, metavar="N", help="How often you will look at the results.")
    ] = 1,
    draw: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="The seed of the draw.")] = 0,
    truth_column: Annotated[
        str, o.value("--truth-column", metavar="NAME", help="The name of the empty column for the truths.")
    ] = "truth",
    items: Annotated[
        str | None, o.value("--items", metavar="FILE", help="What is shown of each task: a table with a task column.")
    ] = None,
    show_labels: Annotated[
        bool, typer.Option("--show-labels", help="Show the labels, which influences the person who checks.")
    ] = False,
    fit: o.Fit = o.FIT_BESIDE_SEED,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Draw tasks for a person to check, so that finegold certify can tell how right all labels are."""
    from finegold.api import certify as api

    plan = str(api.plan_path(output))
    check_outputs([output], [plan], [*files, items], reading, fit)
    share = _share(risk)
    result = result_of(files, reading, fit)
    shown = items if items is not None else None if result_is_saved(files) else api.Content(files, reading)
    options: dict[str, Any] = {"purpose": purpose, "risk": share, "seed": draw, "looks": looks}
    drawn = api.draw(result, n, **options, truth_column=truth_column, items=shown, show_labels=show_labels)
    write_all({output: frame_writer(lambda: drawn.sheet, raw), plan: drawn.write_plan})
    if json:
        print_json({"sheet": output, "plan": plan, "sample": drawn.plan.id, "n": drawn.plan.n, **drawn.plan.expected})
        return
    for sentence in drawn.promise:
        say(sentence)
    say(f'fill in the column "{truth_column}" of {output}, then run finegold certify with --checks {output}')


def result_is_saved(files: list[str]) -> bool:
    from finegold.results.archive import is_saved_result

    return len(files) == 1 and is_saved_result(files[0])


def _share(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 0.5:
        raise InputError(f"--risk takes a share between 0 and 50 %, such as 5% or 0.05, not {text!r}")
    return value


@o.with_groups
def certify(
    files: o.Source,
    checks: Annotated[str, o.value("--checks", metavar="SHEET", help="The sheet that was filled in.")],
    plan: Annotated[
        str | None, o.value("--plan", metavar="FILE", help="The plan of the sheet, if it is not beside it.")
    ] = None,
    output: Annotated[
        str | None, o.value("--output", "-o", help="Write the labels, recalibrated, and which of them are accepted.")
    ] = None,
    certificate: Annotated[
        str | None, o.value("--certificate", help="Write one page (.html) or data that can be verified (.json).")
    ] = None,
    verify: Annotated[
        str | None, o.value("--verify", metavar="CERTIFICATE", help="Recompute a certificate (.json) and compare.")
    ] = None,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Tell how right all labels are, from a filled sheet of finegold sample, and which may be accepted unseen."""
    from dataclasses import replace

    from finegold.api import certify as api

    check_outputs([output], [certificate], [*files, checks, plan, verify], reading, fit)
    if certificate is not None and Path(certificate).suffix.lower() not in (".html", ".json"):
        raise InputError(f"--certificate takes a .html or .json file, not {certificate}")
    found = api.find_plan(checks, plan)
    if "method" not in fit.given and not result_is_saved(files):
        fit = replace(fit, method=found.method)
    result = result_of(files, reading, fit)
    made = api.certify_result(result, checks, found)
    if verify is not None and (wrong := api.differences(verify, made)):
        raise InputError(f"the certificate does not hold: by these votes and checks, {wrong[0]} is different", verify)
    labels = made.labels(result) if output is not None else None
    write_all({output: frame_writer(lambda: labels, raw), certificate: made.save})
    if json:
        print_json(made.to_dict() | ({} if verify is None else {"verified": True}))
        return
    for sentence in made.sentences():
        typer.echo(sentence)
    if verify is not None:
        say(f"{verify} holds: computed again from the votes and the checks, every number is the same")
