"""karat aggregate: votes -> labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.cli.outputs import Write

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
            help="Labels: .csv, .tsv, .jsonl or .parquet, with --engine dask also FOLDER/; else CSV is printed.",
        ),
    ] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write what is known of each annotator.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    save: Annotated[
        str | None, typer.Option("--save", metavar="MODEL", help="Keep the whole result; karat.load reads it.")
    ] = None,
    json: o.Json = False,
    to_table: d.ToTable = None,
    to_database: d.ToDatabase = None,
    write_back: e.WriteBack = None,
    raw: o.Raw = False,
) -> None:
    """Find the most probable label of every task, and how sure that is.

    With --question all, every question of an export: the tables have a column that names the question.
    """
    from karat.api.run import run, run_questions
    from karat.cli.folder import aggregate_into
    from karat.cli.questions import refuse_single
    from karat.cli.source import inputs_of

    output = None if output == "-" else output
    single = {"save": save, "checkpoint": fitting.checkpoint, "prior": fitting.prior, "to_table": to_table}
    if output is not None and output.endswith("/"):
        wanted = fitting.run(files, reading, method, known.gold)
        refused = {**single, **_of_one_machine(reading), "write_back": write_back}
        refused |= {"gold_from_export": known.gold_from_export, "resume": fitting.resume}
        refused |= {"overwrite": fitting.overwrite}
        aggregate_into(wanted, output, annotators=annotators, probabilities=probabilities, json=json, refused=refused)
        return
    if reading.is_of_all_questions:
        refuse_single(**single, query=reading.query, table=reading.table)
    wanted = fitting.run(files, reading, method, known.given())
    back = e.Back(write_back, files, reading.format, reading.question, reading.task)
    outputs = Outputs(output, annotators, save, fitting.checkpoint, back, probabilities, json)
    outputs.check(inputs_of(files, known.gold, fitting.prior, reading.alias))
    into = d.destination(files, reading.table, to_table, to_database)
    if into is not None:
        into.check()
    wanted = replace(wanted, votes=back.votes)  # exports that labels go back into are looked at once
    if reading.is_of_all_questions:
        outputs.hand_over_each(run_questions(wanted))
    else:
        outputs.hand_over(run(wanted), into)


@dataclass(frozen=True)
class Outputs:
    """What is made of the labels: all files and the table, or none; what is printed comes last."""

    labels: str | None
    annotators: str | None
    model: str | None
    checkpoint: str | None
    back: e.Back
    probabilities: bool
    json: bool

    def check(self, inputs: list[str]) -> None:
        """Before the work: everything can be written."""
        from karat.cli.outputs import check_outputs

        others = _named(self.model, self.checkpoint, self.back.output)
        check_outputs(_named(self.labels, self.annotators), others, inputs)
        self.back.check()

    def hand_over(self, result: Result, into: d.Destination | None) -> None:
        from karat.cli.outputs import write_all
        from karat.cli.summary import facts, tell

        found = facts(result)
        names = {"labels": self.labels, "annotators": self.annotators, "model": self.model}
        found["files"] = {**names, "write_back": self.back.output}
        found["table"] = into.name if into else None
        write_all(self._files(result), then=None if into is None else lambda: into.write(result, self.probabilities))
        self._print(result, found, has_place=bool(self.labels or into))
        tell(found, result)

    def hand_over_each(self, results: dict[str, Result]) -> None:
        from karat.cli.questions import hand_over_each

        back = self.back.files(results)
        hand_over_each(results, self.labels, self.annotators, self.probabilities, self.json, back)

    def _files(self, result: Result) -> dict[str, Write]:
        from karat.io.writers import write_frame, write_labels

        makers: dict[str | None, Write] = {
            self.labels: lambda path: write_labels(result, path, probabilities=self.probabilities),
            self.annotators: lambda path: write_frame(result.annotators(), path),
            self.model: result.save,
        }
        return {**self.back.files(result), **{path: make for path, make in makers.items() if path is not None}}

    def _print(self, result: Result, found: dict[str, Any], has_place: bool) -> None:
        """The labels, where they have no other place."""
        from karat.cli.summary import print_json
        from karat.io.writers import write_labels

        if self.json:
            labels = {} if has_place else {"labels": result.labels(probabilities=self.probabilities).to_dicts()}
            print_json({**found, **labels})
        elif not has_place:
            write_labels(result, "-", probabilities=self.probabilities)


def _of_one_machine(reading: o.Reading) -> dict[str, Any]:
    """Options of reading that a cluster does not have."""
    names = ("query", "table", "param", "format", "question", "include", "wide")
    return {name: getattr(reading, name) for name in names}


def _named(*paths: str | None) -> list[str]:
    return [path for path in paths if path is not None]
