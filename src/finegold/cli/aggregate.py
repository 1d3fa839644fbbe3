"""`finegold aggregate` and `update`: labels from votes, to a file, and with more votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.options import progress, typed
from finegold.cli.outputs import say
from finegold.errors import InputError
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from finegold.api.result import Result


@dataclass(frozen=True)
class Aggregate:
    """What `finegold aggregate` writes."""

    output: str | None = o.table(
        "The file for the labels: .csv, .tsv, .jsonl, .parquet or .xlsx, or a table of a database:"
        " sqlite:///labels.db#TABLE. By default, CSV is printed.",
        flag=o.OUTPUT,
    )
    annotators: str | None = o.table("Write a table of the annotators.")
    probabilities: bool = o.flag("Add one column per class with its probability.")
    save: str | None = o.output("Save the whole result; finegold.load reads it.", metavar="MODEL")
    write_back: str | None = o.output(
        "Write a copy of FILE with the labels as predictions (Label Studio) or suggestions"
        " (Argilla), to import into the tool."
    )
    json: bool = o.json_flag()


@o.command
@o.votes_argument()
@o.declared(Aggregate, "own")
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def aggregate(
    files: tuple[str, ...], own: Aggregate, fit: FitOptions, reading: ReadOptions
) -> None:
    """Compute the most probable label of every task and its probability.

    With --multi, votes are sets of labels, and every task gets the set of options that are more
    likely right than wrong. With --question all, every question of an export is aggregated, and the
    tables have a column with the question.
    """
    from finegold.api.fit import fit_questions, fit_votes

    every_question, votes = reading.every_question, list(files)
    sources: Any = votes
    if every_question:
        one_only = {"--save": own.save, "--prior": fit.prior, "--query": reading.query}
        refuse_for_all_questions(one_only | {"--predictions": fit.predictions})
    out.check_outputs(files, own, fit, reading)
    if own.write_back is not None:
        from finegold.io.source import sources_of
        from finegold.io.writeback import writable

        if "-" in files:
            raise InputError(
                "--write-back reads FILE twice, which standard input cannot do; give its path"
            )
        # each file is opened once
        sources = sources_of(votes)
        writable(sources, reading.format)
    if every_question:
        results = fit_questions(sources, typed(fit), reading, progress())
    else:
        results = {"": fit_votes(sources, typed(fit), reading, progress())}
    summaries = {question: out.summary_of(each) for question, each in results.items()}
    columns = {"probabilities": own.probabilities, "scores": reading.ordered is not None}
    written = {"labels": own.output, "annotators": own.annotators, "model": own.save}
    written["write_back"] = own.write_back

    def write_export(path: Any) -> None:
        from finegold.io.writeback import write_back

        chosen: Any = {"format": reading.format, "task": reading.task}
        result = results if every_question else results[""]
        question = None if every_question else reading.question
        write_back(result, sources, path, question=question, **chosen)

    out.write_all(
        {
            own.write_back: write_export,
            own.output: partial(_write_labels, results, columns),
            own.annotators: out.frame_writer(partial(_joined, results, _annotators_of)),
            own.save: lambda path: results[""].save(path),
        }
    )
    if own.json:
        summary: dict[str, Any] = {"questions": summaries} if every_question else summaries[""]
        summary["files"] = written
        if own.output in (None, "-"):
            summary["labels"] = _joined(results, partial(_labels_of, columns)).to_dicts()
        out.print_json(summary)
    elif own.output in (None, "-"):
        _write_labels(results, columns, "-")
    for question, result in results.items():
        if every_question:
            say(f'question "{question}"')
        out.print_summary(summaries[question], result)
    if not every_question and reading.ordered is None and results[""].label_sets is None:
        from finegold.numbers import are_numbers
        from finegold.results.metrics import consecutive_integers

        if are_numbers(results[""].annotations):
            say(
                "labels are numbers, and were counted as classes; finegold numbers gives every"
                " task a value with an interval"
            )
        elif classes := consecutive_integers(results[""].class_names):
            scale = f"classes are {classes[0]} to {classes[-1]}; if they are a scale, --ordered"
            say(f"{scale} {','.join(map(str, classes))} adds expected scores")


def refuse_for_all_questions(options: dict[str, Any]) -> None:
    """Raise an error if an option is given that works with one question only."""
    if given := [flag for flag, value in options.items() if value]:
        raise InputError(f"{given[0]} works with one question only; choose it with --question NAME")


def _write_labels(results: dict[str, Result], columns: dict[str, bool], path: Any) -> None:
    from finegold.io.writers import write_frame, write_labels

    if "://" in str(path):
        address, _, table = str(path).rpartition("#")
        refuse_for_all_questions({f"-o {path}": list(results) != [""]})
        results[""].to_table(address, table, probabilities=columns["probabilities"])
    elif list(results) == [""]:
        write_labels(results[""], path, **columns)
    else:
        write_frame(_joined(results, partial(_labels_of, columns)), path)


def _labels_of(columns: dict[str, bool], result: Result) -> pl.DataFrame:
    import polars as pl

    from finegold.results.tables import labels_pieces

    return pl.concat(labels_pieces(result, for_users=True, **columns))


def _annotators_of(result: Result) -> pl.DataFrame:
    from finegold.results.tables import annotators_for_users

    return annotators_for_users(result)


def _joined(results: dict[str, Result], table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """Return the tables of all questions in one, with a column of questions if there are several.
    Columns that are numbers for one question and text for another become text.
    """
    import polars as pl

    if list(results) == [""]:
        return table_of(results[""])
    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all())
        for question, result in results.items()
    ]
    types = {
        name: {each.schema.get(name) for each in tables} for name in ("task", "annotator", "label")
    }
    mixed: Any = dict.fromkeys((name for name, found in types.items() if len(found) > 1), pl.String)
    return pl.concat([table.cast(mixed) for table in tables], how="diagonal")


@dataclass(frozen=True)
class Update:
    """What `finegold update` writes."""

    output: str = o.output(
        "The file for the new model; it may replace the old one.",
        flag=o.OUTPUT,
        required=True,
        metavar="MODEL",
    )
    labels: str | None = o.table("Write the labels: .csv, .tsv, .jsonl or .parquet.")
    annotators: str | None = o.table("Write a table of the annotators.")
    json: bool = o.json_flag()


@o.command
@click.argument("model", help="A model written by finegold aggregate --save.")
@click.argument(
    "files", nargs=-1, metavar="[FILE...]", help="New votes, as for finegold aggregate."
)
@o.declared(Update, "own")
@o.declared(FitOptions, "fit", but=("method", "settings"))
@o.declared(ReadOptions, "reading")
def update(
    model: str, files: tuple[str, ...], own: Update, fit: FitOptions, reading: ReadOptions
) -> None:
    """Add new votes to a model: fit them together with those that it has.

    The votes may be on old and new tasks, by old and new annotators. The method and its settings
    stay.
    """
    from finegold.api.result import load
    from finegold.fitting.progress import on_terminal
    from finegold.io.writers import write_labels

    if fit.gold is True and not files:
        raise InputError("--gold-from-export needs FILE, the export with the gold marks")
    out.check_outputs(files, own, fit, reading)
    if own.output != model:
        out.check_outputs((model,), own)
    before = load(model)
    keywords = {name: getattr(reading, name) for name in reading.given()}
    keywords |= {each.name: getattr(fit, each.name) for each in fields(FitOptions)}
    del keywords["method"], keywords["settings"]
    with on_terminal(f"{before.method} (update)") as on_step:
        result = before.update(list(files) or None, on_step=on_step, **keywords)
    summary = out.summary_of(result)
    summary["files"] = {"labels": own.labels, "annotators": own.annotators, "model": own.output}
    out.write_all(
        {
            own.labels: partial(write_labels, result),
            own.annotators: out.frame_writer(partial(_annotators_of, result)),
            own.output: result.save,
        }
    )
    if own.json:
        out.print_json(summary)
    out.print_summary(summary, result)
