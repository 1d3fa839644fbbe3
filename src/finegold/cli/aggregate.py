"""`finegold aggregate`: compute labels from votes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import database as d
from finegold.cli import exports as e
from finegold.cli import options as o

if TYPE_CHECKING:
    from finegold.api.result import Result
    from finegold.cli.outputs import Write

__all__ = ["aggregate"]


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
    from finegold.cli.folder import aggregate_into
    from finegold.cli.questions import refuse_single_question_options
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
        outputs.write_questions(wanted.run_questions())
    else:
        outputs.write(wanted.run(), into)


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

    def write(self, result: Result, into: d.Destination | None) -> None:
        from finegold.cli.outputs import write_all
        from finegold.cli.summary import print_summary, summary_of

        found = summary_of(result)
        names = {"labels": self.labels, "annotators": self.annotators, "model": self.model}
        found["files"] = {**names, "write_back": self.export.output}
        found["table"] = into.name if into else None
        write_all(self._files(result), then=None if into is None else lambda: into.write(result, self.probabilities))
        self._print(result, found, has_place=bool(self.labels or into))
        print_summary(found, result)
        if not self.ordered and result.label_sets is None:
            _propose_order(result)

    def write_questions(self, results: dict[str, Result]) -> None:
        from finegold.cli.questions import write_questions

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
        from finegold.cli.summary import print_json
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
    from finegold.results.metrics import consecutive_integers

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
