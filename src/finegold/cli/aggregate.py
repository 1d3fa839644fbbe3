"""`finegold aggregate` and `update`: labels from votes, to a file, and with more votes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.outputs import say
from finegold.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from finegold.api.result import Result


@o.on_votes(model=False)
class Aggregate:
    """Compute the most probable label of every task and its probability.

    With --multi, votes are sets of labels, and every task gets the set of options that are more
    likely right than wrong. With --question all, every question of an export is aggregated, and the
    tables have a column with the question.
    """

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

    def run(self, votes: o.Votes) -> None:
        from finegold.api.fit import fit_questions, method_of
        from finegold.api.summary import summary_of
        from finegold.results.tables import annotators_for_users

        reading, fit, sources = votes.reading, votes.typed, votes.files
        every_question = reading.every_question
        if every_question:
            one_only = {"--save": self.save, "--prior": fit.prior, "--query": reading.query}
            refuse_for_all_questions(one_only | {"--predictions": fit.predictions})
        given: Any = list(sources)
        if self.write_back is not None:
            from finegold.io.source import sources_of
            from finegold.io.writeback import writable

            if "-" in sources:
                raise InputError(
                    "--write-back reads FILE twice, which standard input cannot do; give its path"
                )
            # each file is opened once
            given = sources_of(given)
            writable(given, reading.format)
        fits = fit_questions(given, [method_of(fit)], fit, reading, o.progress())
        results = {question: found[0] for question, found in fits.items()}
        columns = {"probabilities": self.probabilities, "scores": reading.ordered is not None}

        def write_export(path: Any) -> None:
            from finegold.io.writeback import write_back

            result, question = (
                (results, None) if every_question else (results[""], reading.question)
            )
            how: Any = {"question": question, "format": reading.format, "task": reading.task}
            write_back(result, given, path, **how)

        out.write_all(
            {
                self.write_back: write_export,
                self.output: partial(_write_labels, results, columns),
                self.annotators: out.frame_writer(partial(_joined, results, annotators_for_users)),
                self.save: lambda path: results[""].save(path),
            }
        )
        summaries = {question: summary_of(each) for question, each in results.items()}
        if self.json:
            files = {"labels": self.output, "annotators": self.annotators, "model": self.save}
            summary: dict[str, Any] = {"questions": summaries} if every_question else summaries[""]
            summary["files"] = files | {"write_back": self.write_back}
            if self.output in (None, "-"):
                summary["labels"] = _joined(results, partial(_labels_of, columns)).to_dicts()
            out.print_json(summary)
        elif self.output in (None, "-"):
            _write_labels(results, columns, "-")
        for question, result in results.items():
            if every_question:
                say(f'question "{question}"')
            out.print_summary(summaries[question], result)
        if not every_question and reading.ordered is None and results[""].label_sets is None:
            _say_if_numbers(results[""])


def _say_if_numbers(result: Result) -> None:
    """Say what else there is for labels that are numbers."""
    from finegold.numbers import are_numbers
    from finegold.results.metrics import consecutive_integers

    if are_numbers(result.annotations):
        say(
            "labels are numbers, and were counted as classes; finegold numbers gives every task a"
            " value with an interval"
        )
    elif classes := consecutive_integers(result.class_names):
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


def _joined(results: dict[str, Result], table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """Return the tables of all questions in one, with a column of questions if there are several."""
    import polars as pl

    if list(results) == [""]:
        return table_of(results[""])
    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all())
        for question, result in results.items()
    ]
    # columns that are numbers for one question and text for another become text
    return pl.concat(tables, how="diagonal_relaxed")


OF_UPDATE = [name for name in o.OF_FIT if name not in ("method", "settings")]


def _model_and_files(function: o.Function) -> o.Function:
    new, metavar = "New votes, as for finegold aggregate.", "[FILE...]"
    function = click.argument("files", nargs=-1, metavar=metavar, help=new)(function)
    return click.argument("model", help="A model written by finegold aggregate --save.")(function)


@o.on_votes(_model_and_files, fit=OF_UPDATE)
class Update:
    """Add new votes to a model: fit them together with those that it has.

    The votes may be on old and new tasks, by old and new annotators. The method and its settings
    stay.
    """

    output: str = o.output(
        "The file for the new model; it may replace the old one.",
        flag=o.OUTPUT,
        required=True,
        metavar="MODEL",
    )
    labels: str | None = o.table("Write the labels: .csv, .tsv, .jsonl or .parquet.")
    annotators: str | None = o.table("Write a table of the annotators.")
    json: bool = o.json_flag()

    def run(self, votes: o.Votes, model: str) -> None:
        from finegold.api.result import load
        from finegold.api.summary import summary_of
        from finegold.fitting.progress import on_terminal
        from finegold.io.writers import write_labels
        from finegold.results.tables import annotators_for_users

        fit, reading = votes.fit, votes.reading
        if fit.gold is True and not votes.files:
            raise InputError("--gold export needs FILE, the export with the gold marks")
        out.check_outputs([model] if self.output != model else [], self)
        before = load(model)
        keywords = {name: getattr(reading, name) for name in reading.given()}
        keywords |= {name: getattr(fit, name) for name in OF_UPDATE}
        with on_terminal(f"{before.method} (update)") as on_step:
            result = before.update(list(votes.files) or None, on_step=on_step, **keywords)
        out.write_all(
            {
                self.labels: partial(write_labels, result),
                self.annotators: out.frame_writer(partial(annotators_for_users, result)),
                self.output: result.save,
            }
        )
        summary, files = summary_of(result), {"labels": self.labels, "annotators": self.annotators}
        summary["files"] = files | {"model": self.output}
        if self.json:
            out.print_json(summary)
        out.print_summary(summary, result)
