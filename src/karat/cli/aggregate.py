"""karat aggregate: votes -> labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.errors import InputError

if TYPE_CHECKING:
    from karat.annotations import Annotations
    from karat.checkpoint import Checkpoint
    from karat.cli.outputs import Write
    from karat.engines import Engine
    from karat.methods import Method
    from karat.result import Result

__all__ = ["aggregate"]


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
    method: Annotated[str, typer.Option("--method", metavar="M", help=f"One of {o.METHODS}.")] = "ptbcc",
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
) -> None:
    """Find the most probable label of every task, and how sure that is.

    With --question all, every question of an export: the tables have a column that names the question.
    """
    from karat.cli.folder import aggregate_into
    from karat.cli.outputs import check_outputs
    from karat.cli.questions import hand_over_each, refuse_single
    from karat.cli.summary import facts, tell
    from karat.engines import opened

    output = None if output == "-" else output
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, to know where to go on from")
    if scheduler is not None and engine != "dask":
        raise InputError("--scheduler is the address of a Dask cluster; add --engine dask")
    chosen = o.make(method, settings, seed)
    options = {"threads": threads, "single": chosen.single, **({"scheduler": scheduler} if scheduler else {})}
    if output is not None and output.endswith("/"):
        aggregate_into(
            output,
            o.Reading(files, task, annotator, label, wide, classes, missing, repeated),
            chosen,
            engine,
            options,
            gold=gold,
            annotators=annotators,
            probabilities=probabilities,
            json=json,
            refused={
                "wide": wide,
                "save": save,
                "checkpoint": checkpoint,
                "prior": prior,
                "query": query,
                "table": table,
                "to_table": to_table,
                "format": format,
                "question": question,
                "write_back": write_back,
                "gold_from_export": gold_from_export,
            },
        )
        return
    if question == e.ALL:
        refuse_single(save=save, checkpoint=checkpoint, prior=prior, to_table=to_table, query=query, table=table)
    check_outputs(_named(output, annotators), _named(save, checkpoint, write_back), [*files, *_named(gold, prior)])
    back = e.Back(write_back, files, format, question, task)
    back.check()
    into = d.destination(files, table, to_table, to_database)
    known = e.gold_of(gold, gold_from_export)
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    reading = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection)
    if into is not None:
        into.check()
    with opened(engine, **options) as where:  # a cluster that is not there is told before the votes are read
        if question == e.ALL:
            each = reading.read_each(known)
            results = {name: _fit(chosen, votes, where, None, prior) for name, votes in each.items()}
            hand_over_each(each, results, output, annotators, probabilities, json, back.files(results))
            return
        votes = reading.read(known)
        result = _fit(chosen, votes, where, _checkpoint(checkpoint, resume), prior)
    found = facts(result, votes)
    found["files"] = {"labels": output, "annotators": annotators, "model": save, "write_back": write_back}
    found["table"] = into.name if into else None
    _hand_over(result, found, probabilities, json, into, back.files(result))
    tell(found, result)


def _named(*paths: str | None) -> list[str]:
    return [path for path in paths if path is not None]


def _checkpoint(path: str | None, resume: bool) -> Checkpoint | None:
    from karat.checkpoint import Checkpoint

    return None if path is None else Checkpoint(path, resume=resume)


def _fit(
    method: Method, votes: Annotations, engine: Engine, checkpoint: Checkpoint | None, prior: str | None
) -> Result:
    from karat.cli.words import progress
    from karat.prior import fit_with_prior

    with progress(method.name) as watch:
        return fit_with_prior(method, votes, prior, engine=engine, watch=watch, checkpoint=checkpoint)


def _hand_over(
    result: Result,
    found: dict[str, Any],
    probabilities: bool,
    as_json: bool,
    into: d.Destination | None,
    more: dict[str, Write],
) -> None:
    """All files and the table, or none; what is printed comes last."""
    from karat.cli.outputs import write_all
    from karat.cli.summary import print_json
    from karat.writers import write_frame, write_labels

    paths = found["files"]
    files = dict(more)
    if paths["labels"]:
        files[paths["labels"]] = lambda path: write_labels(result, path, probabilities=probabilities)
    if paths["annotators"]:
        files[paths["annotators"]] = lambda path: write_frame(result.annotators(), path)
    if paths["model"]:
        files[paths["model"]] = result.save
    write_all(files, then=None if into is None else lambda: into.write(result, probabilities))
    if as_json:
        labels = {} if paths["labels"] or into else {"labels": result.labels(probabilities=probabilities).to_dicts()}
        print_json({**found, **labels})
    elif not paths["labels"] and into is None:
        write_labels(result, "-", probabilities=probabilities)
