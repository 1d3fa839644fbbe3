"""`finegold aggregate` and `update`: compute labels from votes, and add new votes to a saved model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.options import ALL, progress, typed
from finegold.cli.outputs import say
from finegold.errors import InputError
from finegold.io.options import DATABASES, ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from finegold.api.result import Result


@o.command
@o.votes_argument()
@o.opt(
    *("-o", "--output"),
    help="The file for the labels: .csv, .tsv, .jsonl, .parquet or .xlsx. By default, CSV is"
    " printed.",
)
@o.opt("--annotators", help="Write a table of the annotators.")
@o.switch("--probabilities", help="Add one column per class with its probability.")
@o.opt("--save", metavar="MODEL", help="Save the whole result; finegold.load reads it.")
@o.json_option
@o.opt(
    "--write-back",
    help="Write a copy of FILE with the labels as predictions (Label Studio) or suggestions"
    " (Argilla), to import into the tool.",
)
@o.opt(
    *("--to-table",),
    metavar="NAME",
    group=DATABASES,
    help="Write the labels to this table. Its rows are replaced in one transaction.",
)
@o.opt(
    *("--to-database",),
    metavar="ADDRESS",
    group=DATABASES,
    help="The database of --to-table, by default the one with the votes.",
)
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def aggregate(
    files: tuple[str, ...],
    output: str | None,
    annotators: str | None,
    probabilities: bool,
    save: str | None,
    json: bool,
    write_back: str | None,
    to_table: str | None,
    to_database: str | None,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Compute the most probable label of every task and its probability.

    With --multi, votes are sets of labels, and every task gets the set of options that are more
    likely right than wrong.

    With --question all, every question of an export is aggregated, and the tables have a column
    with the question.
    """
    from finegold.api.fit import fit_questions, fit_votes
    from finegold.io.databases import check_table_of_labels, is_database, parse

    every_question = reading.question == ALL
    votes: Any = list(files)
    single = {
        "--save": save,
        "--prior": fit.prior,
        "--to-table": to_table,
    }
    single |= {"--predictions": fit.predictions}
    output = None if output == "-" else output
    if every_question:
        refuse_for_all_questions(single | {"--query": reading.query})
    out.check_outputs([output, annotators], [save, write_back], files, reading, fit)
    if write_back is not None:
        from finegold.io.source import sources_of
        from finegold.io.writeback import writable

        if "-" in files:
            raise InputError(
                "--write-back reads FILE twice, which standard input cannot do; give its path"
            )
        # each file is opened once
        votes = sources_of(files)
        writable(votes, reading.format)
    if to_table is None and to_database is not None:
        raise InputError("--to-database needs --to-table NAME, the table to write the labels to")
    if to_table is not None:
        if to_database is None and not is_database(files):
            raise InputError(
                "--to-table needs a database: add --to-database ADDRESS, e.g. sqlite:///labels.db"
            )
        check_table_of_labels(to_database or files[0], to_table)

    columns: dict[str, Any] = {
        "probabilities": probabilities,
        "scores": reading.ordered is not None,
    }
    written = {"labels": output, "annotators": annotators, "model": save, "write_back": write_back}
    if every_question:
        results = fit_questions(votes, typed(fit), reading, progress())
    else:
        results = {"": fit_votes(votes, typed(fit), reading, progress())}
    result: Any = None if every_question else results[""]
    summaries = {question: out.summary_of(each) for question, each in results.items()}
    is_printed = not (output or to_table)
    if every_question:
        labels = _concatenate(results, lambda each: _labels_of(each, probabilities=probabilities))
        write_labels = out.frame_writer(lambda: labels)
        summary: dict[str, Any] = {
            "questions": summaries,
            "files": {"labels": output, "annotators": annotators},
        }
    else:
        from finegold.io.writers import write_labels as write

        write_labels = partial(write, result, **columns)
        table = f"{to_table} in {parse(to_database or files[0]).name}" if to_table else None
        summary = summaries[""] | {"files": written, "table": table}
        summaries = {"": summary}

    def table_of_annotators() -> pl.DataFrame:
        from finegold.results.tables import annotators_for_users

        return (
            _concatenate(results, annotators_for_users)
            if every_question
            else annotators_for_users(result)
        )

    def write_export(path: Path) -> None:
        from finegold.io.writeback import write_back

        question = None if every_question else reading.question
        chosen: Any = {"format": reading.format, "question": question, "task": reading.task}
        write_back(results if every_question else result, votes, path, **chosen)

    def write_table() -> None:
        result.to_table(to_database or files[0], to_table, probabilities=probabilities)

    writers = {
        write_back: write_export,
        output: write_labels,
        annotators: out.frame_writer(table_of_annotators),
    }
    writers |= {} if save is None else {save: result.save}
    out.write_all(writers, then=write_table if to_table else None)
    if json and is_printed:
        summary["labels"] = (labels if every_question else _labels_of(result, **columns)).to_dicts()
    if json:
        out.print_json(summary)
    elif is_printed:
        write_labels("-")
    for question, each in results.items():
        if every_question:
            say(f'question "{question}"')
        out.print_summary(summaries[question], each)
    if not every_question and reading.ordered is None and result.label_sets is None:
        from finegold.results.metrics import consecutive_integers

        if classes := consecutive_integers(result.class_names):
            scale = f"classes are {classes[0]} to {classes[-1]}; if they are a scale, --ordered"
            say(f"{scale} {','.join(map(str, classes))} adds expected scores")


def refuse_for_all_questions(options: Mapping[str, Any]) -> None:
    """Raise an error if an option is given that works with one question only."""
    if given := [flag for flag, value in options.items() if value]:
        raise InputError(f"{given[0]} works with one question only; choose it with --question NAME")


def _labels_of(result: Result, **columns: bool) -> pl.DataFrame:
    import polars as pl

    from finegold.results.tables import labels_pieces

    return pl.concat(labels_pieces(result, for_users=True, **columns))


def _concatenate(
    results: dict[str, Result], table_of: Callable[[Result], pl.DataFrame]
) -> pl.DataFrame:
    """Concatenate tables. Columns that are numbers for one question and text for another become
    text.
    """
    import polars as pl

    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all())
        for question, result in results.items()
    ]
    types = {
        name: {each.schema.get(name) for each in tables} for name in ("task", "annotator", "label")
    }
    mixed = [name for name, found in types.items() if len(found) > 1]
    return pl.concat(
        [table.cast(dict.fromkeys(mixed, pl.String)) for table in tables], how="diagonal"
    )


@o.command
@click.argument("model", help="A model written by finegold aggregate --save.")
@click.argument(
    "files", nargs=-1, metavar="[FILE...]", help="New votes, as for finegold aggregate."
)
@o.opt(
    *("-o", "--output"),
    required=True,
    metavar="MODEL",
    help="The file for the new model; it may replace the old one.",
)
@o.opt("--labels", help="Write the labels: .csv, .tsv, .jsonl or .parquet.")
@o.opt("--annotators", help="Write a table of the annotators.")
@o.json_option
@o.declared(FitOptions, "fit", but=("method", "settings"))
@o.declared(ReadOptions, "reading")
def update(
    model: str,
    files: tuple[str, ...],
    output: str,
    labels: str | None,
    annotators: str | None,
    json: bool,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
    """Add new votes to a model: fit them together with those that it has.

    The votes may be on old and new tasks, by old and new annotators. The method and its settings
    stay.
    """
    from finegold.api.result import Result
    from finegold.fitting.progress import on_terminal
    from finegold.io.writers import write_labels
    from finegold.results.archive import load
    from finegold.results.tables import annotators_for_users

    execution = {each.name: getattr(fit, each.name) for each in fields(FitOptions)}
    gold, _, _ = execution.pop("gold"), execution.pop("method"), execution.pop("settings")
    keywords = {name: getattr(reading, name) for name in reading.given()}
    if gold is True and not files:
        raise InputError("--gold-from-export needs FILE, the export with the gold marks")
    # only the new model may replace the old one
    out.check_outputs([labels, annotators], [], [model])
    out.check_outputs([labels, annotators], [output], files, reading, fit)
    before = Result.of(load(model))
    with on_terminal(f"{before.method} (update)") as on_step:
        result = before.update(
            list(files) or None, on_step=on_step, gold=gold, **keywords, **execution
        )
    summary = out.summary_of(result)
    summary["files"] = {"labels": labels, "annotators": annotators, "model": output}
    table = out.frame_writer(lambda: annotators_for_users(result))
    write = partial(write_labels, result)
    out.write_all({labels: write, annotators: table, output: result.save})
    if json:
        out.print_json(summary)
    out.print_summary(summary, result)
