"""`finegold aggregate`: compute labels from votes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.messages import as_flag, say
from finegold.cli.source import ALL, job_of
from finegold.errors import InputError
from finegold.io.databases import is_database, parse, table_parts
from finegold.io.options import DATABASES, EXPORTS, ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from finegold.api.job import Job
    from finegold.api.result import Result
    from finegold.io.source import Source


@o.with_groups
def aggregate(
    files: o.Files,
    output: Annotated[
        str | None,
        o.value(
            "--output",
            "-o",
            help="The file for the labels: .csv, .tsv, .jsonl, .parquet or .xlsx, or FOLDER/ with --engine dask. "
            "By default, CSV is printed.",
        ),
    ] = None,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
    annotators: Annotated[str | None, o.value("--annotators", help="Write a table of the annotators.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add one column per class with its probability.")
    ] = False,
    save: Annotated[
        str | None, o.value("--save", metavar="MODEL", help="Save the whole result; finegold.load reads it.")
    ] = None,
    json: o.Json = False,
    to_table: Annotated[
        str | None,
        o.value(
            "--to-table",
            metavar="NAME",
            help="Write the labels to this table. Its rows are replaced in one transaction.",
            panel=DATABASES,
        ),
    ] = None,
    to_database: Annotated[
        str | None,
        o.value(
            "--to-database",
            metavar="ADDRESS",
            help="The database of --to-table, by default the one with the votes.",
            panel=DATABASES,
        ),
    ] = None,
    write_back: Annotated[
        str | None,
        o.value(
            "--write-back",
            help="Write FILE with the labels as predictions (Label Studio) or suggestions (Argilla), "
            "as JSON to import into the tool.",
            panel=EXPORTS,
        ),
    ] = None,
    raw: o.Raw = False,
) -> None:
    """Compute the most probable label of every task and its probability.

    With --multi, votes are sets of labels, and every task gets the set of options that are more probably right than
    wrong.

    With --question all, every question of an export is aggregated, and the tables have a column with the question.
    """
    job = job_of(files, reading, fit)
    single = {"--save": save, "--checkpoint": fit.checkpoint, "--prior": fit.prior, "--to-table": to_table}
    single |= {"--predictions": fit.predictions}
    if output is not None and is_folder(output):
        refused = single | _local_only_options(reading, fit) | {"--write-back": write_back}
        _aggregate_into_folder(job, output, annotators, probabilities, json, raw, refused)
        return
    output = None if output == "-" else output
    export = WriteBack(write_back, files, reading)
    if reading.question == ALL:
        refuse_for_all_questions(single | {"--query": reading.query, "--table": reading.table})
    out.check_outputs([output, annotators], [save, write_back], files, reading, fit)
    export.check()
    table = _destination(files, reading.table, to_table, to_database)
    outputs = Outputs(output, annotators, save, table, export, probabilities, json, raw, reading.ordered is not None)
    if export.output is not None:
        job = replace(job, votes=export.sources)  # each file is opened once
    if reading.question == ALL:
        outputs.write_questions(job.run_questions())
    else:
        outputs.write(job.run())


def is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep))


def refuse_for_all_questions(options: Mapping[str, Any]) -> None:
    """Raise an error if an option is given that works with one question only."""
    if given := [flag for flag, value in options.items() if value]:
        raise InputError(f"{given[0]} works with one question only; choose it with --question NAME")


@dataclass(frozen=True)
class Table:
    """The database table to write the labels to."""

    address: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} in {parse(self.address).name}"


def _destination(files: list[str], source: str | None, name: str | None, address: str | None) -> Table | None:
    """Return the table for the labels, or None. It must not be the table with the votes."""
    from finegold.io.database_tables import check_database_table

    if name is None:
        if address is not None:
            raise InputError("--to-database needs --to-table NAME, the table to write the labels to")
        return None
    if address is None and not is_database(files):
        raise InputError("--to-table needs a database: add --to-database ADDRESS, e.g. sqlite:///labels.db")
    if source is not None and table_parts(source) == table_parts(name) and address in (None, files[0]):
        raise InputError(f"{name} is read here and would be overwritten; name another table")
    table = Table(address or files[0], name)
    check_database_table(table.address, table.name)
    return table


@dataclass(frozen=True)
class WriteBack:
    """The option --write-back, which writes labels into a copy of the export that the votes come from."""

    output: str | None
    files: list[str]
    reading: ReadOptions

    def check(self) -> None:
        """Check before the fit that the format of the export can hold labels."""
        if self.output is None:
            return
        from finegold.io.exports import look
        from finegold.io.writeback import writable

        if "-" in self.files:
            raise InputError("--write-back reads FILE twice, which standard input cannot do; give its path")
        writable(look(self.sources), self.reading.format)

    @cached_property
    def sources(self) -> list[Source]:
        from finegold.io.source import sources_of

        return sources_of(self.files)

    def writers(self, result: Any) -> dict[str | None, out.Write]:
        def write(path: Path) -> None:
            from finegold.io.writeback import write_back

            reading: Any = self.reading
            question = None if reading.question == ALL else reading.question
            write_back(result, self.sources, path, format=reading.format, question=question, task=reading.task)

        return {self.output: write}


@dataclass(frozen=True)
class Outputs:
    """The outputs of the command: all files and the table are written or none; printing comes last."""

    labels: str | None
    annotators: str | None
    model: str | None
    table: Table | None
    export: WriteBack
    probabilities: bool
    json: bool
    raw: bool
    ordered: bool

    @property
    def files(self) -> dict[str, str | None]:
        return {"labels": self.labels, "annotators": self.annotators, "model": self.model} | {
            "write_back": self.export.output
        }

    def write(self, result: Result) -> None:
        from finegold.io.writers import write_labels
        from finegold.results.tables import labels_pieces

        summary, columns = out.summary_of(result), {"probabilities": self.probabilities, "scores": self.ordered}
        summary |= {"files": self.files, "table": str(self.table) if self.table else None}
        out.write_all(
            self.export.writers(result)
            | out.result_writers(result, self.labels, self.annotators, self.model, self.raw, **columns),
            then=lambda: self._write_table(result),
        )
        is_printed = not (self.labels or self.table)
        if self.json:
            pieces = labels_pieces(result, for_users=True, **columns) if is_printed else ()
            rows = {"labels": [row for piece in pieces for row in piece.to_dicts()]} if is_printed else {}
            out.print_json(summary | rows)
        elif is_printed:
            write_labels(result, "-", escape_formulas=not self.raw, **columns)
        out.print_summary(summary, result)
        if not self.ordered and result.label_sets is None:
            _propose_order(result)

    def _write_table(self, result: Result) -> None:
        if self.table is not None:
            result.to_table(self.table.address, self.table.name, probabilities=self.probabilities)

    def write_questions(self, results: dict[str, Result]) -> None:
        """Write the results of every question into tables with a column of the question."""
        import polars as pl

        from finegold.io.writers import write_frame
        from finegold.results.tables import annotators_for_users, labels_pieces

        def labels_of(result: Result) -> pl.DataFrame:
            return pl.concat(labels_pieces(result, probabilities=self.probabilities, for_users=True))

        labels = _concatenate(results, labels_of)
        files = self.export.writers(results) | {self.labels: out.frame_writer(lambda: labels, self.raw)}
        files[self.annotators] = out.frame_writer(lambda: _concatenate(results, annotators_for_users), self.raw)
        out.write_all(files)
        summaries = {question: out.summary_of(result) for question, result in results.items()}
        if self.json:
            written = {"labels": self.labels, "annotators": self.annotators}
            rows = {} if self.labels else {"labels": labels.to_dicts()}
            out.print_json({"questions": summaries, "files": written, **rows})
        elif not self.labels:
            write_frame(labels, "-", escape_formulas=not self.raw)
        for question, result in results.items():
            say(f'question "{question}"')
            out.print_summary(summaries[question], result)


def _concatenate(results: dict[str, Result], table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """Concatenate tables. Columns that are numbers for one question and text for another become text."""
    import polars as pl

    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all()) for question, result in results.items()
    ]
    mixed = {
        name for table in tables for name in table.columns if len({part.schema.get(name, None) for part in tables}) > 1
    }
    names = sorted(mixed & {"task", "annotator", "label"})
    return pl.concat([table.cast(dict.fromkeys(names, pl.String)) for table in tables], how="diagonal")


def _propose_order(result: Result) -> None:
    """Say that classes look like a scale."""
    from finegold.results.metrics import consecutive_integers

    if classes := consecutive_integers(result.class_names):
        listed = ",".join(map(str, classes))
        say(f"classes are {classes[0]} to {classes[-1]}; if they are a scale, --ordered {listed} adds expected scores")


# ---- A folder of labels, which the workers of a cluster write


def _local_only_options(reading: ReadOptions, fit: o.Fit) -> dict[str, Any]:
    """Return the options that do not work on a cluster."""
    both = {
        "task",
        "annotator",
        "label",
        "classes",
        "ordered",
        "missing",
        "keep_missing",
        "normalise",
        "alias",
        "repeated",
    }
    local = {as_flag(name, getattr(reading, name))[0]: True for name in reading.given() if name not in both}
    return local | {"--gold-from-export": fit.gold is True, "--resume": fit.resume, "--overwrite": fit.overwrite}


def _aggregate_into_folder(
    job: Job,
    folder: str,
    annotators: str | None,
    probabilities: bool,
    json: bool,
    raw: bool,
    refused: Mapping[str, Any],
) -> None:
    """Aggregate votes into a folder of labels. `refused` are options that need all votes on one machine."""
    from finegold.api.job import run_into_folder

    if job.engine != "dask":
        raise InputError("writing a folder of labels (-o FOLDER/) needs a cluster; add --engine dask, or name a file")
    if given := [flag for flag, value in refused.items() if value]:
        raise InputError(
            f"{', '.join(given)} cannot be combined with a folder of labels; name a file (-o labels.parquet)"
        )
    out.check_outputs([annotators], [], [*job.votes, job.gold, job.reading_keywords.get("alias")])
    outcome = run_into_folder(job, folder, probabilities=probabilities)
    out.write_all({annotators: out.frame_writer(outcome.annotators, raw)})
    counted = {"tied": outcome.tied, "outvoted": outcome.outvoted, "gold": outcome.n_gold}
    summary = out.summary_fields(outcome.result, outcome.n_votes, outcome.n_tasks, **counted)
    summary["files"] = {"labels": folder, "annotators": annotators, "model": None}
    if json:
        out.print_json(summary)
    out.print_summary(summary, outcome.result)
