"""`finegold sample`, `certify`, `trust`, `audit` and `next`: how far labels can be trusted, and
what to do about it.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.options import result_of, truths_of
from finegold.cli.outputs import count, say, warn
from finegold.errors import InputError
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    from finegold.api.sample import Purpose

# rows of a table of finegold trust
ROWS_SHOWN = 5
# rows of a table of finegold next
TASKS_SHOWN = 20
TABLES = "Tables to write"


@o.command
@o.votes_or_model
@o.opt(
    *("-o", "--output"),
    required=True,
    help="The sheet to fill in, .csv or .xlsx; its plan is written beside it.",
)
@o.opt(
    *("-n", "--checks", "n"),
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How many tasks to check.",
)
@o.opt(
    *("--for", "purpose"),
    type=click.Choice(["accuracy", "acceptance", "choice"]),
    default="accuracy",
    show_default=True,
    help="What the checks are for: to estimate the accuracy of all labels, to find labels to accept"
    " unchecked, or to choose a method.",
)
@o.opt(
    "--risk",
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="The share of accepted labels that may be wrong, e.g. 5%.",
)
@o.opt(
    "--looks",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    metavar="N",
    help="How often you will look at the results.",
)
@o.opt(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="The seed of the draw.",
)
@o.opt("--items", metavar="FILE", help="What is shown of each task: a table with a task column.")
@o.json_option
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def sample(
    files: tuple[str, ...],
    output: str,
    n: int,
    purpose: Purpose,
    risk: str,
    looks: int,
    seed: int,
    items: str | None,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Draw tasks for a person to check, so that finegold certify can estimate how accurate all
    labels are.
    """
    from finegold.api import sample as api
    from finegold.api.fit import given_result

    plan = str(api.plan_path(output))
    out.check_outputs([output], [plan], [*files, items], reading, fit)
    try:
        share = float(risk.strip().removesuffix("%")) / (100 if risk.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share < 0.5:
        raise InputError(
            f"--risk takes a share between 0 and 50 %, such as 5% or 0.05, not {risk!r}"
        )
    result = result_of(files, reading, fit)
    source = None if given_result(files) else (list(files), reading)
    how: dict[str, Any] = {"risk": share, "seed": seed, "looks": looks, "items": items}
    drawn = api.draw(result, n, purpose, **how, source=source)
    out.write_all({output: out.frame_writer(lambda: drawn.sheet), plan: drawn.plan.write})
    if json:
        figures = {
            "sheet": output,
            "plan": plan,
            "sample": drawn.plan.id,
            "n": drawn.plan.n,
            **drawn.plan.expected,
        }
        out.print_json(figures)
        return
    for sentence in drawn.promise:
        say(sentence)
    say(f'fill in the column "truth" of {output}, then run finegold certify with --checks {output}')


@o.command
@o.votes_or_model
@o.opt("--checks", required=True, metavar="SHEET", help="The completed sheet.")
@o.opt("--plan", metavar="FILE", help="The plan of the sheet, if it is in another folder.")
@o.opt(
    *("-o", "--output"),
    help="Write the labels, recalibrated, and which of them are accepted.",
)
@o.opt("--certificate", help="Write the certificate: a page (.html), or its data (.json).")
@o.json_option
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def certify(
    files: tuple[str, ...],
    checks: str,
    plan: str | None,
    output: str | None,
    certificate: str | None,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Estimate the accuracy of all labels from a completed sheet, and find those that can be
    accepted unchecked.
    """
    from finegold.api import certify as api
    from finegold.api.fit import given_result

    out.check_outputs([output], [certificate], [*files, checks, plan], reading, fit)
    if certificate is not None and Path(certificate).suffix.lower() not in (".html", ".json"):
        raise InputError(f"--certificate takes a .html or .json file, not {certificate}")
    drawn = api.find_plan(checks, plan)
    if fit.method is None and given_result(files) is None:
        fit = replace(fit, method=drawn.method)
    result = result_of(files, reading, fit)
    made = api.certify(result, checks, plan=drawn)
    labels = made.labels(result) if output is not None else None
    out.write_all({output: out.frame_writer(lambda: labels), certificate: made.save})
    if json:
        out.print_json(made.to_dict())
        return
    for sentence in made.sentences():
        click.echo(sentence)


@o.command
@o.votes_or_model
@o.truth_options("Known truths: measure the calibration and fit a temperature.")
@o.opt(
    "--flips",
    group=TABLES,
    help="Write the labels that differ from the majority vote, with the reasons.",
)
@o.opt(
    "--contested",
    group=TABLES,
    help="Write the labels that are barely more probable than the next class.",
)
@o.opt(
    "--spammers",
    group=TABLES,
    help="Write how much the votes of each annotator depend on the truth.",
)
@o.opt(
    "--pairs",
    group=TABLES,
    help="Write all pairs of annotators, those with correlated errors first.",
)
@o.opt("--calibration", group=TABLES, help="Write the reliability curve (needs --truth).")
@o.json_option
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def trust(
    files: tuple[str, ...],
    truth: str | None,
    truth_task: str | None,
    truth_label: str | None,
    flips: str | None,
    contested: str | None,
    spammers: str | None,
    pairs: str | None,
    calibration: str | None,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Show how far labels can be trusted: labels against the majority, spammers, correlated
    annotators, calibration.
    """
    from finegold.insight.expected import caution, in_words

    if calibration is not None and truth is None:
        raise InputError("--calibration needs --truth FILE, to compare the probabilities with")
    out.check_outputs(
        [flips, contested, spammers, pairs, calibration], [], [*files, truth], reading, fit
    )
    result = result_of(files, reading, fit)
    checked = result.trust(
        truths_of(truth, truth_task, truth_label) if truth_task or truth_label else truth
    )
    panel, measured = checked.correlated, checked.calibration
    tables = {
        flips: result.flips,
        contested: result.contested,
        spammers: result.spammers,
        pairs: panel.pairs,
    }
    if measured is not None:
        tables[calibration] = measured.curve
    out.write_tables(tables)
    if json:
        out.print_json(checked.figures())
        return
    rows = {
        "agreement beyond chance (alpha)": (
            f"{checked.agreement.alpha:.3f}" if isfinite(checked.agreement.alpha) else "undefined"
        ),
        "labels against the majority vote": f"{checked.n_flips:,}",
        "labels barely more probable than the next class": f"{checked.n_contested:,}",
        "ties": f"{checked.n_tied:,}",
        "annotators whose votes do not depend on the truth": f"{checked.n_spammers:,}",
        "effective number of independent annotators": (
            f"{panel.effective:,.1f} of {panel.n_annotators:,}"
        ),
    }
    if measured is not None:
        rows |= {
            f"accuracy on {measured.n:,} truths": f"{measured.accuracy:.1%}",
            "mean confidence": f"{measured.confidence:.1%}",
            "calibration error (ECE)": f"{measured.ece:.4f}",
            "log loss": f"{measured.log_loss:.4f}",
            "best temperature": f"{measured.temperature:.2f}",
            "calibration error at this temperature": f"{measured.ece_after:.4f}",
            "log loss at this temperature": f"{measured.log_loss_after:.4f}",
        }
    what = "task" if result.label_sets is None else "question"
    title = (
        f"{checked.method}: {count(checked.n_tasks, what)},"
        f" {count(checked.agreement.n_annotators, 'annotator')}"
    )
    out.print_figures(title, rows.items())
    if checked.n_flips:
        out.print_frame(
            "Labels against the majority vote, the most probable first", result.flips(), ROWS_SHOWN
        )
    if checked.n_spammers:
        out.print_frame(
            "Votes that do not depend on the truth", result.spammers(), checked.n_spammers
        )
    if panel.n_groups:
        out.print_frame("Annotators with correlated errors", panel.groups(), ROWS_SHOWN)
    for warning in checked.warnings:
        warn(warning)
    if checked.expected is not None:
        say(in_words(checked.expected))
    if words := caution(result):
        warn(words)


@o.command
@o.votes_or_model
@o.opt(
    "--labels",
    required=True,
    metavar="FILE",
    help="The labels in use: a table with a task and a label column.",
)
@o.opt(
    *("-o", "--output"),
    help="The table: .csv, .tsv, .jsonl or .parquet. By default, CSV is printed.",
)
@o.opt("--labels-task", metavar="NAME", help="The column of the tasks in --labels.")
@o.opt("--labels-label", metavar="NAME", help="The column of the labels in --labels.")
@o.json_option
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def audit(
    files: tuple[str, ...],
    labels: str,
    output: str | None,
    labels_task: str | None,
    labels_label: str | None,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """List how likely each label in use is to be wrong, judged by votes and predictions, the worst
    first.
    """
    from finegold.api.evaluate import audit as judge
    from finegold.io.writers import write_frame
    from finegold.votes.frames import to_polars

    output = None if output == "-" else output
    out.check_outputs([output], [], [*files, labels], reading, fit)
    current = truths_of(labels, labels_task, labels_label, "labels-")
    table = to_polars(judge(result_of(files, reading, fit), current))
    out.write_tables({output: lambda: table})
    if json:
        out.print_json(
            {
                "n_labels": len(table),
                "expected_wrong": table["p_wrong"].sum(),
                "labels": table.to_dicts(),
            }
        )
    elif output is None:
        write_frame(table, "-")
    judges = "votes and predictions" if "predicted" in table.columns else "votes"
    say(
        f"{count(len(table), 'label')} audited; about {table['p_wrong'].sum():.0f} are wrong,"
        f" judged by {judges}"
    )


@o.command
@o.votes_or_model
@o.opt(
    "--budget",
    type=click.IntRange(1),
    metavar="N",
    help="The largest number of votes to plan; by default no limit.",
)
@o.opt("-o", "--output", help="The file for the tasks: .csv, .tsv, .jsonl or .parquet.")
@o.opt("--safe-tasks", help="Write the tasks that need no further vote.")
@o.opt("--annotators", help="Write the annotators to retrain or drop.")
@o.opt(
    "--available",
    metavar="A,B",
    help="The annotators who may vote next; by default all, in proportion to their votes so far.",
)
@o.opt(
    "--safe",
    type=float,
    default=0.95,
    show_default=True,
    metavar="P",
    help="A label with at least this probability needs no further vote.",
)
@o.json_option
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def next_votes(
    files: tuple[str, ...],
    budget: int | None,
    output: str | None,
    safe_tasks: str | None,
    annotators: str | None,
    available: str | None,
    safe: float,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Rank tasks by the expected gain of one more vote, and list annotators to retrain or drop."""
    from finegold.api.aggregate import next_votes as plan_next
    from finegold.votes.encoding import to_list
    from finegold.votes.frames import to_polars

    out.check_outputs([output, safe_tasks, annotators], [], files, reading, fit)
    result = result_of(files, reading, fit)
    voters = None
    # with the types that the names have in the model; values of options are text
    if available is not None:
        known = {str(name): name for name in to_list(result.annotator_names)}
        voters = [known.get(name, name) for name in o.split_commas(available)]
    plan = plan_next(result, budget, annotators=voters, safe=safe)
    out.write_tables({output: plan.tasks, safe_tasks: plan.safe_tasks, annotators: plan.annotators})
    n_exhausted = int(plan.exhausted.sum())
    if json:
        frames = {"ask": plan.tasks(), "annotators": plan.annotators()}
        rows: dict[str, Any] = {name: to_polars(frame).to_dicts() for name, frame in frames.items()}
        out.print_json(rows | {"safe": int(plan.safe.sum()), "exhausted": n_exhausted})
    elif output is None:
        for title, frame in (
            ("Ask about", plan.tasks()),
            ("Annotators to retrain or drop", plan.annotators()),
        ):
            if len(frame):
                out.print_frame(f"{title} ({len(frame):,})", frame, TASKS_SHOWN)
    say(f"{count(len(plan.ask), 'task')} to ask about, {plan.safe.sum():,} safe")
    if budget is not None and 0 < len(plan.ask) < budget:
        say(
            f"a budget of {budget:,} is more than is needed now: collect these votes, run finegold"
            " update, plan again"
        )
    if n_exhausted:
        say(
            f"{count(n_exhausted, 'task')} not safe, but everybody has voted on them: find new"
            " annotators"
        )
    if plan.advice:
        drop = sum(advice.action == "drop" for advice in plan.advice)
        say(
            f"annotators: {drop:,} to drop, {len(plan.advice) - drop:,} to retrain (--annotators"
            " OUT lists all)"
        )
