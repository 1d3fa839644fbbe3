"""`finegold aggregate`: compute labels from votes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import database as d
from finegold.cli import exports as e
from finegold.cli import options as o
from finegold.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from finegold.api.job import Outcome, Run
    from finegold.api.result import Result
    from finegold.cli.outputs import Write
    from finegold.results.multi import MultiResult

__all__ = ["aggregate", "aggregate_into", "refuse_single_question_options", "write_questions", "write_sets"]


@o.with_groups
def aggregate(
    files: o.Files,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file for the labels: .csv, .tsv, .jsonl, .parquet or .xlsx, or FOLDER/ with --engine dask. "
            "By default, CSV is printed.",
        ),
    ] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write a table of the annotators.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add one column per class with its probability.")
    ] = False,
    save: Annotated[
        str | None, typer.Option("--save", metavar="MODEL", help="Save the whole result; finegold.load reads it.")
    ] = None,
    json: o.Json = False,
    to_table: d.ToTable = None,
    to_database: d.ToDatabase = None,
    write_back: e.WriteBack = None,
    raw: o.Raw = False,
) -> None:
    """Compute the most probable label of every task and its probability.

    With --multi, votes are sets of labels, and every task gets the set of options that are more probably right than
    wrong.

    With --question all, every question of an export is aggregated, and the tables have a column with the question.
    """
    from finegold.api.job import run_any, run_questions
    from finegold.cli.source import inputs_of

    output = None if output == "-" else output
    single = {"save": save, "checkpoint": fitting.checkpoint, "prior": fitting.prior, "to_table": to_table}
    single |= {"predictions": next(iter(fitting.predictions_files), None)}
    if output is not None and is_folder(output):
        wanted = fitting.run(files, reading, method, known.gold)
        refused = {**single, **_local_only_options(reading), "write_back": write_back}
        refused |= {"gold_from_export": known.gold_from_export, "resume": fitting.resume}
        refused |= {"overwrite": fitting.overwrite}
        aggregate_into(wanted, output, annotators=annotators, probabilities=probabilities, json=json, refused=refused)
        return
    if reading.reads_all_questions:
        refuse_single_question_options(**single, query=reading.query, table=reading.table)
    wanted = fitting.run(files, reading, method, known.given())
    export = e.WriteBackOptions(write_back, files, reading.format, reading.question, reading.task)
    ordered = reading.ordered is not None
    outputs = Outputs(output, annotators, save, fitting.checkpoint, export, probabilities, json, ordered)
    outputs.check(inputs_of(files, known.gold, reading=reading, fitting=fitting))
    into = d.destination(files, reading.table, to_table, to_database)
    if into is not None:
        into.check()
    wanted = replace(wanted, votes=export.votes)  # the sources that were already opened for --write-back
    if reading.reads_all_questions:
        outputs.write_questions(run_questions(wanted))
    else:
        outputs.write_any(run_any(wanted), into)


@dataclass(frozen=True)
class Outputs:
    """The outputs of the command: all files and the table are written or none; printing comes last."""

    labels: str | None
    annotators: str | None
    model: str | None
    checkpoint: str | None
    export: e.WriteBackOptions
    probabilities: bool
    json: bool
    ordered: bool = False

    def check(self, inputs: list[str]) -> None:
        """Check before the fit that everything can be written."""
        from finegold.cli.outputs import check_outputs

        others = _not_none(self.model, self.checkpoint, self.export.output)
        check_outputs(_not_none(self.labels, self.annotators), others, inputs)
        self.export.check()

    def write_any(self, result: Result | MultiResult, into: d.Destination | None) -> None:
        from finegold.results.multi import MultiResult

        if isinstance(result, MultiResult):
            refused = {"--to-table": into}
            back = self.export.files(result) | ({self.model: result.save} if self.model else {})
            write_sets(result, self.labels, self.annotators, self.probabilities, self.json, back, refused)
        else:
            self.write(result, into)

    def write(self, result: Result, into: d.Destination | None) -> None:
        from finegold.cli.outputs import print_summary, summary_of, write_all

        found = summary_of(result)
        names = {"labels": self.labels, "annotators": self.annotators, "model": self.model}
        found["files"] = {**names, "write_back": self.export.output}
        found["table"] = into.name if into else None
        write_all(self._files(result), then=None if into is None else lambda: into.write(result, self.probabilities))
        self._print(result, found, has_place=bool(self.labels or into))
        print_summary(found, result)
        if not self.ordered:
            _propose_order(result)

    def write_questions(self, results: dict[str, Result]) -> None:

        back = self.export.files(results)
        write_questions(results, self.labels, self.annotators, self.probabilities, self.json, back)

    def _files(self, result: Result) -> dict[str, Write]:
        from finegold.io.writers import write_frame, write_labels
        from finegold.results.tables import annotators_for_users

        makers: dict[str | None, Write] = {
            self.labels: lambda path: write_labels(result, path, **self._columns),
            self.annotators: lambda path: write_frame(annotators_for_users(result), path),
            self.model: result.save,
        }
        return {**self.export.files(result), **{path: make for path, make in makers.items() if path is not None}}

    def _print(self, result: Result, found: dict[str, Any], has_place: bool) -> None:
        """Print the labels if they are not written to a file or a table."""
        from finegold.cli.outputs import print_json
        from finegold.io.writers import write_labels

        if self.json:
            labels = {} if has_place else {"labels": _rows(result, **self._columns)}
            print_json({**found, **labels})
        elif not has_place:
            write_labels(result, "-", **self._columns)

    @property
    def _columns(self) -> dict[str, bool]:
        """The columns that are wanted beside the usual ones."""
        return {"probabilities": self.probabilities, "scores": self.ordered}


def _rows(result: Result, **columns: bool) -> list[dict[str, Any]]:
    from finegold.results.tables import labels_pieces

    pieces = labels_pieces(result, for_users=True, **columns)
    return [row for piece in pieces for row in piece.to_dicts()]


def _propose_order(result: Result) -> None:
    """Say that classes look like a scale."""
    from finegold.cli.messages import say
    from finegold.results.tables import consecutive_integers

    if classes := consecutive_integers(result.class_names):
        listed = ",".join(map(str, classes))
        say(f"classes are {classes[0]} to {classes[-1]}; if they are a scale, --ordered {listed} adds expected scores")


def is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep))


def _local_only_options(reading: o.Reading) -> dict[str, Any]:
    """Return the reading options that do not work on a cluster."""
    names = ("query", "table", "param", "format", "question", "include", "wide", "encoding", "separator", "no_header")
    more = {"header_line": reading.header_line != 1, "multi": reading.multi}
    return {name: getattr(reading, name) for name in names} | more


def _not_none(*paths: str | None) -> list[str]:
    return [path for path in paths if path is not None]


Results = dict[str, "Result"]


def refuse_single_question_options(**options: Any) -> None:
    """Raise an error if an option is given that works with one question only."""
    given = [name for name, value in options.items() if value]
    if given:
        option = given[0].replace("_", "-")
        raise InputError(f"--{option} works with one question only; choose it with --question NAME")


def write_questions(
    results: Results, output: str | None, annotators: str | None, probabilities: bool,
    as_json: bool, more: dict[str, Write],
) -> None:  # fmt: skip
    """Write all files or none, then print the summary."""
    import polars as pl

    from finegold.cli.outputs import print_json, write_all
    from finegold.io.writers import write_frame
    from finegold.results.tables import annotators_for_users, labels_pieces

    labels = _together(
        results, lambda result: pl.concat(labels_pieces(result, probabilities=probabilities, for_users=True))
    )
    files = dict(more)
    if output:
        files[output] = lambda path: write_frame(labels, path)
    if annotators:
        files[annotators] = lambda path: write_frame(_together(results, annotators_for_users), path)
    write_all(files)
    found = _summary(results)
    if as_json:
        printed = {} if output else {"labels": labels.to_dicts()}
        print_json({"questions": found, "files": {"labels": output, "annotators": annotators}, **printed})
    elif not output:
        write_frame(labels, "-")
    _print_summary(found, results)


def _summary(results: Results) -> dict[str, dict[str, Any]]:
    from finegold.cli.outputs import summary_of

    return {question: summary_of(result) for question, result in results.items()}


def _print_summary(found: dict[str, dict[str, Any]], results: Results) -> None:
    from finegold.cli.messages import say
    from finegold.cli.outputs import print_summary

    for question, result in results.items():
        say(f'question "{question}"')
        print_summary(found[question], result)


def _together(results: Results, table_of: Callable[[Result], pl.DataFrame]) -> pl.DataFrame:
    """Concatenate the tables. Columns that are numbers for one question and text for another become text."""
    import polars as pl

    tables = [
        table_of(result).select(pl.lit(question).alias("question"), pl.all()) for question, result in results.items()
    ]
    mixed = {
        name for table in tables for name in table.columns if len({part.schema.get(name, None) for part in tables}) > 1
    }
    names = sorted(mixed & {"task", "annotator", "label"})
    return pl.concat([table.cast(dict.fromkeys(names, pl.String)) for table in tables], how="diagonal")


def aggregate_into(
    wanted: Run,
    folder: str,
    *,
    annotators: str | None,
    probabilities: bool,
    json: bool,
    refused: dict[str, Any],
) -> None:
    """Aggregate votes into a folder of labels. `refused` are options that need all votes on one machine."""
    from finegold.api.job import run_into_folder
    from finegold.cli.outputs import check_outputs, print_json, print_summary, write_all
    from finegold.cli.source import inputs_of
    from finegold.io.writers import write_frame

    _check(wanted, refused)
    tables = [] if annotators is None else [annotators]
    check_outputs(tables, [], inputs_of(wanted.votes, wanted.gold, wanted.reading.get("alias")))
    outcome = run_into_folder(wanted, folder, probabilities=probabilities)
    if annotators is not None:
        write_all({annotators: lambda path: write_frame(outcome.annotators(), path)})
    found = _summary_folder(outcome, folder, annotators)
    if json:
        print_json(found)
    print_summary(found, outcome.result)


def _check(wanted: Run, refused: dict[str, Any]) -> None:
    if wanted.engine != "dask":
        raise InputError("writing a folder of labels (-o FOLDER/) needs a cluster; add --engine dask, or name a file")
    given = [f"--{name.replace('_', '-')}" for name, value in refused.items() if value]
    if given:
        raise InputError(
            f"{', '.join(given)} cannot be combined with a folder of labels; name a file (-o labels.parquet)"
        )


def _summary_folder(outcome: Outcome, folder: str, annotators: str | None) -> dict[str, Any]:
    """Return the same summary as for any other result."""
    from finegold.cli.outputs import summary_fields

    counted = {"tied": outcome.tied, "outvoted": outcome.outvoted, "gold": outcome.n_gold}
    found = summary_fields(outcome.result, outcome.n_votes, outcome.n_tasks, **counted)
    return {**found, "files": {"labels": folder, "annotators": annotators, "model": None}}


def write_sets(
    result: MultiResult, output: str | None, annotators: str | None, probabilities: bool,
    as_json: bool, more: dict[str, Write], refused: dict[str, Any],
) -> None:  # fmt: skip
    """Write all files or none, then print the summary."""
    from finegold.cli.outputs import frame_writer, print_json, write_all
    from finegold.io.writers import write_frame
    from finegold.results.multi import annotators_for_users, labels_for_users

    if given := [option for option, value in refused.items() if value is not None]:
        raise InputError(f"{given[0]} cannot be combined with sets of labels; leave it out, or say --no-multi")
    labels = labels_for_users(result, probabilities=probabilities)
    files = dict(more)
    if output:
        files[output] = frame_writer(lambda: labels)
    if annotators:
        files[annotators] = frame_writer(lambda: annotators_for_users(result))
    write_all(files)
    found = summary_of(result)
    if as_json:
        print_json({**found, "files": {"labels": output, "annotators": annotators}} | _rows_multi(labels, output))
    elif not output:
        write_frame(labels, "-")
    print_summary(found, result)


def _rows_multi(labels: Any, output: str | None) -> dict[str, Any]:
    return {} if output else {"labels": labels.to_dicts()}


def summary_of(result: MultiResult) -> dict[str, Any]:
    from dataclasses import asdict

    from finegold.fitting.multi_label import vote_on_sets
    from finegold.votes.frames import to_list

    sets, majority = result.sets(), vote_on_sets(result.votes).sets()
    return {
        "method": result.method,
        "n_votes": int(result.votes_per_task.sum()),
        "n_tasks": len(sets),
        "n_annotators": len(result.annotator_names),
        "options": result.option_names,
        "iterations": result.iterations,
        "converged": result.converged,
        "stopped": result.stopped,
        "seconds": result.seconds,
        "labels_per_task": sum(map(len, sets)) / len(sets),
        "without_labels": sum(not labels for labels in sets),
        "differs_from_majority": sum(one != other for one, other in zip(sets, majority, strict=True)),
        "unlabelled": len(result.unlabelled),
        "never_voted": to_list(result.votes.never_voted),
        "rows": asdict(result.counts),
        "no_vote": result.votes.hygiene.no_vote,
    }


def print_summary(found: dict[str, Any], result: MultiResult) -> None:
    from finegold.cli.messages import count, say, warn
    from finegold.cli.outputs import left_out

    say(
        f"{found['method']}: {count(found['n_votes'], 'set')} of labels by {count(found['n_annotators'], 'annotator')} "
        f"on {count(found['n_tasks'], 'task')}, {count(len(found['options']), 'option')}"
    )
    (say if found["converged"] else warn)(f"{found['stopped']}, {found['seconds']:.2f} s")
    say(
        f"{found['labels_per_task']:.2f} labels per task, {count(found['without_labels'], 'task')} with none, "
        f"{found['differs_from_majority']:,} other than a vote on each option"
    )
    if words := left_out(found):
        say(f"left out: {words}")
