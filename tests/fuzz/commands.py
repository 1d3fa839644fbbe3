"""Cases of the fuzzer for the other commands: odd judge logs, sets, predictions and conversions, and odd options."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import polars as pl

from finegold.cli.app import every_command
from finegold.report import FORMATS, KINDS
from tests.fuzz.case import OUTPUT, Case
from tests.fuzz.formats import BYTE_MUTATORS, HEADER, TEXT_MUTATORS, mutated, samples

NUMBERS = ("1", "2", "3", "5", "-1", "0", "1", "2", "3", "0.5", "-0.5", "1e400", "nan", "inf", "x", "", "9" * 30)
NAMES = ("task", "worker", "label", "w1", "x", "", "no such name", "é", "[bold]", "\x1b[31m", "a,b", "=1+1")
FLAGS = ("--json", "--raw", "--wide", "--multi", "--no-multi", "--keep-missing", "--normalise", "--no-header")
QUICK = ("mv", "ds", "ptbcc", "ibcc", "cbcc", "glad", "hds", "catd", "anchored", "tiremge")  # the others compile long


@cache
def _flags(command: str) -> set[str]:
    """The options that a command has."""
    params = every_command()[command].params
    return {flag for parameter in params for flag in (*parameter.opts, *parameter.secondary_opts)}


def _options(random: Random, command: str, *kinds: tuple[str, ...]) -> list[str]:
    """Some options that the command has, with values that may be right, wrong or absurd: NUMBERS, NAMES or none."""
    chosen: list[str] = []
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        kind = random.randrange(len(kinds))
        if flags := [flag for flag in kinds[kind] if flag in _flags(command)]:
            chosen += [random.choice(flags), *((random.choice((NUMBERS, NAMES)[kind]),) if kind < 2 else ())]
    return chosen


# ---- Judge logs

VERDICTS = (
    "A",
    "B",
    "tie",
    "[[A]]",
    "",
    "null",
    "I cannot decide",
    '{"winner": "B"}',
    "error",
    "A ",
    "0.7",
    "both",
    "A>>B",
)
JUDGE_COLUMNS = (
    "--item",
    "--judge",
    "--verdict",
    "--order",
    "--system-a",
    "--system-b",
    "--repeat",
    "--cost",
    "--error",
    "--kind",
    "--verdicts",
)


def _log(random: Random) -> tuple[str, bytes]:
    """A judge log in a format that can hold nested values, with some values replaced."""
    rows = []
    for number in range(random.choice([0, 1, 3, 12, 40, 40])):
        row = {
            "item": f"q{number // 4}",
            "judge": f"j{number % 3}",
            "order": random.choice(["AB", "BA"]),
            "model_a": f"m{number % 4}",
            "model_b": f"m{(number + 1) % 4}",
            "verdict": random.choice(VERDICTS) if random.random() < 0.1 else random.choice("AB"),
            "cost": random.choice([0.1, 0.2, None]),
            "repeat": number % 2,
        }
        rows.append({name: value for name, value in row.items() if random.random() < 0.995})
    name = random.choice(["log.jsonl", "log.csv", "log.json", "log.parquet"])
    if name.endswith(("jsonl", "json")):
        value: Any = rows
        for _ in range(random.choice([0, 0, 1, 3])):
            value = mutated(value, random)
        lines = value if isinstance(value, list) else [value]
        text = "\n".join(map(json.dumps, lines)) if name.endswith("l") else json.dumps(value)
        return name, text.encode(errors="replace")
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if name.endswith("parquet"):
        if frame.columns and random.random() < 0.5:
            column = random.choice(frame.columns)
            frame = frame.with_columns(_odd_column(column, random))
        return name, _parquet(frame)
    text = frame.write_csv()
    for _ in range(random.choice([0, 0, 1, 2])):
        text = random.choice(TEXT_MUTATORS)(text, ",", random)
    return name, text.encode(errors="replace")


def _odd_column(name: str, random: Random) -> pl.Expr:
    """A column of another type, with the same content where that is possible."""
    column = pl.col(name)
    as_text = column.cast(pl.String, strict=False)
    return random.choice(
        [
            pl.struct(a=column, b=pl.lit(1)),
            pl.concat_list(as_text, as_text),
            as_text.cast(pl.Binary),
            as_text.cast(pl.Categorical),
            pl.lit(None),
            pl.lit(1.5),
            pl.lit(True),
            pl.lit("2026-01-01").str.to_date(),
            pl.lit(2**63, dtype=pl.UInt64),
            pl.lit(float("nan")),
            pl.lit([], dtype=pl.List(pl.String)),
            pl.lit(1, dtype=pl.Decimal(38, 3)),
            pl.lit("x").cast(pl.Binary),
        ]
    ).alias(name)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def judged(random: Random) -> Case:
    name, content = _log(random)
    gold = {"gold.csv": random.choice([b"item,truth\nq0,m1\nq1,m2\n", b"item,truth\nq0,A\nq1,tie\n", b"", b"x\n1\n"])}
    chosen = _options(
        random, "judges", ("--price", "--fail-under"), (*JUDGE_COLUMNS, "--compare"), ("--json", "--panels", "--raw")
    )
    chosen += random.choice([[], ["--gold", "gold.csv"], ["--labels", "labels.csv"], ["--compare", "j0:j1,j2"]])
    return Case(f"judges {name}", {name: content, **gold}, ("judges", name, *chosen, "-o", OUTPUT))


def ranked(random: Random) -> Case:
    name, content = _log(random)
    chosen = _options(random, "rank", ("--seed", "--weights"), JUDGE_COLUMNS, ("--json", "--raw"))
    chosen += random.choice([[], ["--matrix", "matrix.csv"], ["--weights", "equal"]])
    return Case(f"rank {name}", {name: content}, ("rank", name, *chosen, "-o", OUTPUT))


# ---- Votes of every kind


def odd_votes(random: Random) -> tuple[str, bytes]:
    """Votes of odd shapes: one annotator, one class, all agree, a class per vote, sets, columns of odd types."""
    n, values = random.choice([1, 2, 5, 20, 60]), random.choice([2, 2, 3, 3, 7, 60])
    marks = random.choice(
        [["x"], ["x", "y"], [str(v) for v in range(values)], ["a;b", "a", "b;c", ""], ["-1", "2.0", "2"]]
    )
    rows = [(f"t{random.randrange(n)}", f"w{random.randrange(values)}", random.choice(marks)) for _ in range(n * 3)]
    frame = pl.DataFrame(rows, schema=list(HEADER), orient="row")
    if random.random() < 0.3:
        frame = frame.with_columns(_odd_column(random.choice(HEADER), random))
        return random.choice([("votes.parquet", _parquet(frame)), ("votes.arrow", _arrow(frame))])
    name = random.choice(["votes.csv", "votes.jsonl", "votes.csv", "[v]*?.csv"])
    text = frame.write_ndjson() if name.endswith("jsonl") else frame.write_csv()
    return name, text.encode()


def _arrow(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


READING_NUMBERS = ("--limit", "--header-line", "--threads", "--seed")
READING_NAMES = (
    "--task",
    "--annotator",
    "--label",
    "--classes",
    "--ordered",
    "--missing",
    "--alias",
    "--repeated",
    "--encoding",
    "--separator",
    "--format",
    "--question",
    "--include",
    "--set",
    "--gold",
    "--prior",
)


def sets(random: Random) -> Case:
    """Sets of labels: as text, as lists in JSON, and as 0 and 1 in columns."""
    options = random.choice([["a", "b"], ["a", "b", "c", "d"], ["a;b", "a"], ["", "a"], ["é", "1", "1.0"]])
    rows = []
    for number in range(random.choice([1, 3, 12, 30])):
        chosen = random.sample(options, random.randrange(len(options) + 1))
        mark = random.choice([";", ";", "|", ", "])
        label: Any = random.choice([chosen, mark.join(chosen), mark.join(chosen), None if number % 7 == 0 else chosen])
        rows.append({"task": f"t{number // 3}", "worker": f"w{number % 3}", "label": label})
    value: Any = rows
    for _ in range(random.choice([0, 1, 2])):
        value = mutated(value, random)
    text = "\n".join(map(json.dumps, value if isinstance(value, list) else [value]))
    command = random.choice(
        ["aggregate", "trust", "agreement", "evaluate", "next", "coverage", "convert", "audit", "report"]
    )
    chosen = _options(
        random, command, READING_NUMBERS, ("--classes", "--missing", "--method"), ("--json", "--no-multi")
    )
    output = {
        "aggregate": ["-o", OUTPUT, "--annotators", "annotators.csv"],
        "convert": ["-o", OUTPUT],
        "next": ["-o", OUTPUT],
        "report": ["-o", "a.html"],
        "trust": ["--flips", OUTPUT],
        "audit": ["--labels", "truth.csv", "-o", OUTPUT],
        "evaluate": ["--truth", "truth.csv"],
    }.get(command, [])
    files = {"sets.jsonl": text.encode(errors="replace"), "truth.csv": b"task,truth\nt0,a\nt1,a;b\n"}
    return Case(f"sets {command}", files, (command, "sets.jsonl", "--multi", *chosen, *output))


def predicted(random: Random) -> Case:
    """Probabilities of a model beside votes: odd sums, classes, tasks and types."""
    classes = random.choice(
        [["x", "y", "z"], ["x", "y"], ["x", "y", "z", "q"], ["prob_x", "prob_y", "prob_z"], ["x", "x "]]
    )
    odd = ["", "nan", "-0.1", "1.5", "inf", "x", "1e-320", "0"]
    lines = ["task," + ",".join(classes)]
    for number in range(random.choice([0, 1, 4, 9])):
        parts = [random.random() for _ in classes]
        total = sum(parts) if random.random() < 0.9 else random.choice([1, 1e-9])
        cells = [f"{part / total:.6g}" if random.random() < 0.95 else random.choice(odd) for part in parts]
        lines.append(f"t{number if random.random() < 0.9 else 0}," + ",".join(cells))
    text = "\n".join(lines) + "\n"
    for _ in range(random.choice([0, 0, 1, 2])):
        text = random.choice(TEXT_MUTATORS)(text, ",", random)
    command = random.choice(["aggregate", "aggregate", "evaluate", "export", "audit", "trust"])
    more = {
        "aggregate": ["-o", OUTPUT, "--probabilities"],
        "evaluate": ["--truth", "gold.csv"],
        "trust": ["--flips", OUTPUT],
        "export": ["--for", random.choice(["sklearn", "datasets", "x"]), "-o", "a.parquet"],
        "audit": ["--labels", "gold.csv", "-o", OUTPUT],
    }[command]
    chosen = _options(random, command, READING_NUMBERS, ("--predictions", "--gold"), ("--json",))
    files = {
        "votes.csv": samples()["votes.csv"],
        "p.csv": text.encode(errors="replace"),
        "gold.csv": b"task,truth\nt0,x\nt1,y\n",
    }
    return Case(f"predictions {command}", files, (command, "votes.csv", "--predictions", "p.csv", *chosen, *more))


# ---- Commands and their options


def simulated(random: Random) -> Case:
    numbers = (
        "--tasks",
        "--annotators",
        "--classes",
        "--votes-per-task",
        "--activity-spread",
        "--prototypes",
        "--missing",
        "--prototype-weights",
        "--annotator-concentration",
        "--imbalance",
        "--judges",
        "--seed",
    )
    names = ("--class-names", "--format", "--prototype-weights", "--prototypes")
    base = ["--tasks", random.choice(["1", "7", "30"]), "--annotators", random.choice(["1", "4"])]
    out = random.choice([OUTPUT, "folder", "a.parquet", "a.jsonl", "a.xlsx", "a.csv.gz", ""])
    matrices = random.choice(
        [b"[[[1, 0], [0, 1]]]", b"[]", b"[[1]]", b'{"a": 1}', b"[[[NaN, 1], [0, 1]]]", b"[[[1e308, 1e308], [1, 1]]]"]
    )
    more = random.choice(
        [[], [], ["--judges", random.choice(["1", "3"])], ["--prototypes", "p.json", "--classes", "2"]]
    )
    return Case(
        "simulate",
        {"p.json": matrices},
        ("simulate", *base, *more, *_options(random, "simulate", numbers, names), "--out", out),
    )


def plotted(random: Random) -> Case:
    name, content = random.choice([odd_votes, lambda random: ("votes.csv", samples()["votes.csv"])])(random)
    kind = random.choice(list(KINDS)) if random.random() < 0.97 else random.choice(NAMES)
    chosen = ["--who", random.choice(["w1", *NAMES])] if kind == "annotator" else []
    chosen += _options(random, "plot", ("--limit", "--header-line"), ("--truth", "--classes", "--who"))
    chosen += ["--method", random.choice(["mv", "ptbcc", "anchored"])]
    output = f"a.{random.choice([*FORMATS, *FORMATS, 'gif'])}"
    return Case(f"plot {kind}", {name: content}, ("plot", name, kind, *chosen, "-o", output))


def written(random: Random) -> Case:
    """`convert` and `export` to every format, from samples, from damaged samples and from odd votes."""
    name, content = random.choice([odd_votes, lambda random: random.choice(sorted(samples().items()))])(random)
    if random.random() < 0.3:
        content = random.choice(BYTE_MUTATORS)(content, random)
    output = random.choice(
        [OUTPUT, "a.tsv", "a.jsonl", "a.parquet", "a.xlsx", "a.csv.gz", "a.jsonl.zst", "-", "a.x", "no/a.csv"]
    )
    chosen = _options(random, "convert", READING_NUMBERS, READING_NAMES, FLAGS)
    to = random.choice([[], [], ["--to", "wide"], ["--to", "long"], ["--question", "all"]])
    return Case(f"convert {name}", {name: content}, ("convert", name, *to, *chosen, "-o", output))


def printed(random: Random) -> Case:
    """Commands that print tables or pages, on odd votes with odd options."""
    name, content = odd_votes(random)
    command = random.choice(
        ["aggregate", "compare", "evaluate", "trust", "agreement", "next", "coverage", "report", "audit"]
    )
    more = {
        "aggregate": ["-o", OUTPUT],
        "compare": ["-o", OUTPUT, "--labels", "labels.csv"],
        "trust": ["--pairs", OUTPUT],
        "agreement": ["--pairs", OUTPUT],
        "next": ["-o", OUTPUT],
        "report": ["-o", "a.html"],
        "evaluate": ["--truth", "truth.csv"],
        "audit": ["--labels", "truth.csv", "-o", OUTPUT],
    }.get(command, [])
    method = ["--method", ",".join(random.sample(QUICK, 2)) if command == "compare" else random.choice(QUICK)]
    chosen = _options(random, command, READING_NUMBERS, READING_NAMES, FLAGS)
    files = {name: content, "truth.csv": b"task,truth\nt0,x\nt1,y\nt2,0\n"}
    return Case(
        f"{command} of odd votes",
        files,
        (command, name, *(method if command not in ("agreement", "coverage") else []), *chosen, *more),
    )


FAMILIES: list[Callable[[Random], Case]] = [judged, ranked, sets, predicted, simulated, plotted, written, printed]
