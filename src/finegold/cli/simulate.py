"""`finegold simulate`: draw votes and truths from the generative model of the PTBCC paper, or a log of LLM judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from finegold.cli import options as o
from finegold.cli.messages import count, say
from finegold.cli.outputs import check_outputs, frame_writer, write_all
from finegold.errors import InputError
from finegold.options import option

if TYPE_CHECKING:
    import polars as pl

    from finegold.votes.encoding import Codes
    from finegold.votes.simulation import JudgeSimulation, Process

GOLD_EVERY = 4  # gold.csv has the truth of every fourth item
SINKS = {"csv": "sink_csv", "jsonl": "sink_ndjson", "parquet": "sink_parquet"}


class Format(StrEnum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


def number(default: float | None, help: str, metavar: str = "N") -> Any:
    return option(default, help, kind="number", metavar=metavar)


@dataclass(frozen=True)
class Draw:
    """What is drawn."""

    tasks: int = number(1000, "The number of tasks.")
    annotators: int = number(50, "The number of annotators.")
    classes: int | None = number(None, "The number of classes; by default 4.")
    class_names: list[str] | None = option(
        None, "The names of the classes; by default numbers.", kind="list", metavar="A,B,C"
    )
    votes_per_task: float = number(5.0, "The mean number of votes per task.", "X")
    activity_spread: float = number(
        1.0, "How much the activity of annotators varies; with 0, all are equally active.", "X"
    )
    prototypes: str = option(
        "2",
        "The number of prototypes, or a JSON file of matrices (truths in rows, votes in columns).",
        metavar="N|FILE",
    )
    prototype_weights: list[str] | None = option(
        None, "How common the prototypes are; by default equally common.", kind="list", metavar="X,Y"
    )
    annotator_concentration: float = number(
        2.0, "If small, each annotator follows one prototype; if large, each is a mixture of all.", "X"
    )
    imbalance: float = number(1.0, "The frequency of the most frequent class divided by that of the rarest.", "X")
    missing: float = number(0.0, "The share of votes without a label.", "X")
    judges: int | None = number(
        None,
        "Draw a raw log of N LLM judges instead, with families, position bias, failures, ties and costs. Only --tasks, "
        "--seed, --format and --out apply.",
    )
    seed: int = number(0, "The seed. The same seed gives the same files.")


DRAW: Any = o.Group(Draw)


@o.with_groups
def simulate(
    out: Annotated[
        str,
        o.value("--out", metavar="DIR|FILE", help="A folder for votes and truths, or the file for the votes."),
    ],
    draw: Draw = DRAW,
    format: Annotated[
        Format | None,
        o.value(
            "--format",
            metavar="csv|parquet|jsonl",
            help="The format of the tables.  [default: by the extension, otherwise csv]",
        ),
    ] = None,
) -> None:
    """Draw votes and truths from the generative model of the PTBCC paper, or a log of LLM judges (--judges)."""
    from finegold.system.files import prepared
    from finegold.votes.simulation import draw_process

    kind = format.value if format else None
    if draw.judges is not None:
        _write_judge_log(draw.judges, draw.tasks, out, kind or "csv", draw.seed)
        return
    process = draw_process(
        draw.annotators,
        _n_classes(draw.classes, draw.class_names),
        votes_per_task=draw.votes_per_task,
        **_prototypes(draw.prototypes),
        prototype_weights=_numbers(draw.prototype_weights),
        annotator_concentration=draw.annotator_concentration,
        imbalance=draw.imbalance,
        activity_spread=draw.activity_spread,
        missing=draw.missing,
        seed=draw.seed,
    )
    votes, truth, kind = _paths(out, kind)
    with prepared(votes.parent):
        check_outputs([], [str(votes), str(truth)], [draw.prototypes])
        n_votes = _write_simulation(process, draw.tasks, draw.class_names, votes, truth, kind)
    say(f"wrote {votes} ({count(n_votes, 'vote')}) and {truth} ({count(draw.tasks, 'truth')})")


def _n_classes(number: int | None, names: list[str] | None) -> int:
    if names is None:
        return 4 if number is None else number
    if len(set(names)) < len(names) or "" in names:
        raise InputError("--class-names must be different names")
    if number not in (None, len(names)):
        raise InputError(f"--classes is {number} but --class-names has {len(names)} names")
    return len(names)


def _prototypes(text: str) -> dict[str, Any]:
    """Return the number of prototypes, or their matrices if the text names a file."""
    import json

    if text.isdecimal():
        return {"n_prototypes": int(text)}
    try:
        return {"prototypes": json.loads(Path(text).read_bytes())}
    except OSError as error:
        raise InputError(
            f"--prototypes: {text} is not a number, and there is no readable file of that name ({error.strerror})"
        ) from None
    except ValueError:
        raise InputError(f"{text} is not JSON; expected a list of matrices of numbers") from None


def _numbers(texts: list[str] | None) -> list[float] | None:
    try:
        return None if texts is None else [float(text) for text in texts]
    except ValueError:
        raise InputError(
            f"--prototype-weights must be numbers separated by commas, not {','.join(texts or ())!r}"
        ) from None


def _paths(out: str, kind: str | None) -> tuple[Path, Path, str]:
    """Return the paths of votes and truths and the format. A name without a known extension is a folder."""
    from finegold.io.writers import check_table_path

    path = Path(out)
    if path.is_dir() or path.suffix == "":
        kind = kind or "csv"
        return path / f"votes.{kind}", path / f"truth.{kind}", kind
    extension, is_packed = check_table_path(path)
    if extension not in SINKS or is_packed:
        raise InputError(f"{out} must end in .csv, .jsonl or .parquet, or be a folder")
    if kind not in (None, extension):
        raise InputError(f"--format is {kind} but the extension of {out} is {extension}")
    return path, path.with_name(f"{path.stem}-truth{path.suffix}"), extension


def _write_simulation(
    process: Process, n_tasks: int, names: list[str] | None, votes: Path, truth: Path, kind: str
) -> int:
    """Write both tables piece by piece, so that memory stays bounded: both or none. Return the number of votes."""
    import numpy as np
    import polars as pl

    from finegold.system.files import replacing_all
    from finegold.votes.simulation import draw_truth, pieces

    n_votes = 0

    def named(codes: Codes) -> pl.Series:
        known = pl.Series(codes).replace(-1, None)  # a missing label is null
        return known if names is None else pl.Series(names).gather(known)

    def vote_tables() -> Iterator[pl.DataFrame]:
        nonlocal n_votes
        for piece in pieces(process, n_tasks):
            table = pl.DataFrame({"task": piece.task, "annotator": piece.annotator, "label": named(piece.label)})
            n_votes += table.height
            yield table

    def truth_tables() -> Iterator[pl.DataFrame]:
        for first, codes in draw_truth(process, n_tasks):
            yield pl.DataFrame({"task": np.arange(first, first + len(codes), dtype=np.int32), "truth": named(codes)})

    with replacing_all([votes, truth]) as (votes_file, truth_file):
        _sink(vote_tables(), votes_file, kind)
        _sink(truth_tables(), truth_file, kind)
    return n_votes


def _sink(tables: Iterator[pl.DataFrame], path: Path, kind: str) -> None:
    """Write the tables one by one with a streaming sink of Polars."""
    import polars as pl
    from polars.io.plugins import register_io_source

    first = next(tables)

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        yield first
        yield from tables

    frame = register_io_source(source, schema=first.schema)
    try:
        getattr(frame, SINKS[kind])(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise OSError(str(error)) from error  # `replacing` turns it into a message for the user


def _write_judge_log(n_judges: int, n_items: int, out: str, kind: str, seed: int) -> None:
    """Write the log, the truths, and what judges and systems are like, into a folder."""
    from finegold.system.files import prepared
    from finegold.votes.simulation import draw_judges, simulate_log

    folder = Path(out)
    if folder.suffix and not folder.is_dir():
        raise InputError(f"--judges writes several files, so {out} must be a folder; leave out the extension")
    drawn = simulate_log(draw_judges(n_judges, seed=seed), n_items, seed)
    paths = {name: str(folder / f"{name}.{kind}") for name in ("log", "truth", "gold", "judges", "systems")}
    frames = _judge_frames(drawn)
    with prepared(folder):
        check_outputs(paths.values(), [], [])
        write_all({path: frame_writer(partial(frames.__getitem__, name)) for name, path in paths.items()})
    n_verdicts = len(drawn.columns["item"])
    say(f"wrote {paths['log']} ({count(n_verdicts, 'verdict')}), with truth, gold, judges and systems beside it")


def _judge_frames(drawn: JudgeSimulation) -> dict[str, Any]:
    import polars as pl

    process = drawn.process
    judges = {
        "judge": process.judge_names,
        "accuracy": process.accuracy.round(4),
        "position_bias": process.position_bias.round(4),
        "failure_rate": process.failure_rate.round(4),
        "cost": process.cost,
    }
    systems = {"system": process.system_names, "strength": process.strength}
    tables = {"log": drawn.columns, "truth": drawn.truth, "judges": judges, "systems": systems}
    frames = {name: pl.DataFrame(columns) for name, columns in tables.items()}
    return frames | {"gold": frames["truth"].gather_every(GOLD_EVERY)}
