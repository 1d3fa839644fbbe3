"""karat aggregate: votes -> labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.errors import InputError
from karat.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.cli.outputs import Write
    from karat.engines import Engine
    from karat.fitting.checkpoint import Checkpoint
    from karat.methods import Method
    from karat.votes.annotations import Annotations

__all__ = ["aggregate"]

ONLY = ""  # the question of votes that ask one


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
    method: Annotated[str, typer.Option("--method", metavar="M", help=f"One of {o.METHODS}.")] = DEFAULT_METHOD,
    settings: o.Setting = None,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    wide: o.Wide = False,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Known truths of some tasks, or a column of FILE with them."),
    ] = None,
    prior: o.Prior = None,
    classes: o.Classes = None,
    missing: o.Missing = None,
    repeated: o.Repeated = "first",
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write what is known of each annotator.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    save: Annotated[
        str | None, typer.Option("--save", metavar="MODEL", help="Keep the whole result; karat.load reads it.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep unfinished work there: on Ctrl-C, and every minute."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from --checkpoint, if it is there.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Give up the work of an earlier run in --checkpoint.")
    ] = False,
    threads: o.Threads = None,
    engine: o.Engine = "local",
    scheduler: o.Scheduler = None,
    seed: o.Seed = None,
    json: o.Json = False,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    to_table: d.ToTable = None,
    to_database: d.ToDatabase = None,
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
    gold_from_export: e.GoldFromExport = False,
    write_back: e.WriteBack = None,
    raw: o.Raw = False,
) -> None:
    """Find the most probable label of every task, and how sure that is.

    With --question all, every question of an export: the tables have a column that names the question.
    """
    from karat.cli.folder import aggregate_into
    from karat.cli.questions import refuse_single
    from karat.engines import opened

    _refuse(resume, overwrite, checkpoint, scheduler, engine)
    output = None if output == "-" else output
    chosen = o.make(method, settings, seed)
    place = {"threads": threads, "single": chosen.single, **({"scheduler": scheduler} if scheduler else {})}
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    reading = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection)
    single = {"save": save, "checkpoint": checkpoint, "prior": prior, "to_table": to_table}
    if output is not None and output.endswith("/"):
        refused = {**single, **selection, "wide": wide, "write_back": write_back, "gold_from_export": gold_from_export}
        aggregate_into(
            output, reading, chosen, engine, place,
            gold=gold, annotators=annotators, probabilities=probabilities, json=json, refused=refused,
        )  # fmt: skip
        return
    if question == e.ALL:
        refuse_single(**single, query=query, table=table)
    back = e.Back(write_back, files, format, question, task)
    outputs = Outputs(output, annotators, save, checkpoint, back, probabilities, json)
    outputs.check([*files, *_named(gold, prior)])
    kept = _checkpoint(checkpoint, resume, overwrite)
    into = d.destination(files, table, to_table, to_database)
    known = e.gold_of(gold, gold_from_export)
    if into is not None:
        into.check()
    reading = replace(reading, files=back.votes)  # exports that labels go back into are looked at once
    with opened(engine, **place) as where:  # a cluster that is not there is told before the votes are read
        each = reading.read_each(known) if question == e.ALL else {ONLY: reading.read(known)}
        results = {name: _fit(chosen, votes, where, kept, prior) for name, votes in each.items()}
    if question == e.ALL:
        outputs.hand_over_each(each, results)
    else:
        outputs.hand_over(each[ONLY], results[ONLY], into)


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

    def hand_over(self, votes: Annotations, result: Result, into: d.Destination | None) -> None:
        from karat.cli.outputs import write_all
        from karat.cli.summary import facts, tell

        found = facts(result, votes)
        names = {"labels": self.labels, "annotators": self.annotators, "model": self.model}
        found["files"] = {**names, "write_back": self.back.output}
        found["table"] = into.name if into else None
        write_all(self._files(result), then=None if into is None else lambda: into.write(result, self.probabilities))
        self._print(result, found, has_place=bool(self.labels or into))
        tell(found, result)

    def hand_over_each(self, votes: dict[str, Annotations], results: dict[str, Result]) -> None:
        from karat.cli.questions import hand_over_each

        back = self.back.files(results)
        hand_over_each(votes, results, self.labels, self.annotators, self.probabilities, self.json, back)

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


def _refuse(resume: bool, overwrite: bool, checkpoint: str | None, scheduler: str | None, engine: str) -> None:
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, to know where to go on from")
    if overwrite and (checkpoint is None or resume):
        raise InputError("--overwrite needs --checkpoint FILE, and gives up what --resume would go on from")
    if scheduler is not None and engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; add --engine dask")


def _named(*paths: str | None) -> list[str]:
    return [path for path in paths if path is not None]


def _checkpoint(path: str | None, resume: bool, overwrite: bool) -> Checkpoint | None:
    from karat.fitting.checkpoint import Checkpoint

    if path is None:
        return None
    kept = Checkpoint(path, resume=resume, overwrite=overwrite)
    kept.inspect()
    return kept


def _fit(
    method: Method, votes: Annotations, engine: Engine, checkpoint: Checkpoint | None, prior: str | None
) -> Result:
    from karat.api.fit import fit
    from karat.cli.words import progress

    try:
        with progress(method.name) as watch:
            return fit(method, votes, prior=prior, engine=engine, watch=watch, checkpoint=checkpoint)
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.owned:
            raise
        how = "--resume instead of --overwrite" if checkpoint.overwrite else "--resume"
        raise KeyboardInterrupt(
            f"{checkpoint.path} holds the work so far: to go on, run the same command with {how}"
        ) from None
