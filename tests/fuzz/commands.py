"""Cases of the fuzzer for the other commands: odd judge logs, sets, predictions and conversions, and odd options."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import polars as pl

from finegold.cli.app import every_command
from finegold.report import FORMATS, KINDS
from tests.fuzz.case import OUTPUT, Case
from tests.fuzz.formats import BYTE_MUTATORS, HEADER, TEXT_MUTATORS, as_file, mutated, samples

NUMBERS = (
    "1",
    "2",
    "3",
    "5",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "-0.5",
    "1e400",
    "nan",
    "inf",
    "x",
    "",
    "9" * 30,
)
NAMES = (
    "task",
    "worker",
    "label",
    "w1",
    "x",
    "",
    "no such name",
    "é",
    "[bold]",
    "\x1b[31m",
    "a,b",
    "=1+1",
)
QUICK = (
    "mv",
    "ds",
    "ptbcc",
    "ibcc",
    "cbcc",
    "glad",
    "hds",
    "catd",
    "anchored",
    "tiremge",
)  # the others compile long
LEFT_ALONE = (
    "--method",
    "--engine",
    "--scheduler",
    "--paper",
)  # other methods compile long, other engines start long
OUTPUTS: dict[str, list[str]] = {  # where each command writes, and the truths that it needs
    "aggregate": ["-o", OUTPUT, "--annotators", "annotators.csv"],
    "agreement": ["--pairs", OUTPUT],
    "audit": ["--labels", "truth.csv", "-o", OUTPUT],
    "compare": ["-o", OUTPUT, "--labels", "labels.csv"],
    "convert": ["-o", OUTPUT],
    "coverage": [],
    "evaluate": ["--truth", "truth.csv"],
    "export": ["--for", "sklearn", "-o", "a.parquet"],
    "next": ["-o", OUTPUT],
    "report": ["-o", "a.html"],
    "trust": ["--flips", OUTPUT],
}


@cache
def _parameters(command: str) -> list[Any]:
    params = every_command()[command].params
    return [
        each
        for each in params
        if each.param_type_name == "option" and each.opts[0] not in LEFT_ALONE
    ]


def _options(random: Random, command: str) -> list[str]:
    """Some options of the command, with values that may be right, wrong or absurd."""
    chosen: list[str] = []
    for parameter in random.choices(_parameters(command), k=random.choice([0, 1, 1, 2, 3])):
        chosen.append(random.choice([*parameter.opts, *parameter.secondary_opts]))
        if not parameter.is_flag:
            is_number = parameter.type_descriptor.annotation in (int, float)
            chosen.append(random.choice(NUMBERS if is_number else NAMES))
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
    "A>>B",
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
        return name, as_file(frame, name)
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


def judged(random: Random) -> Case:
    name, content = _log(random)
    gold = random.choice(
        [b"item,truth\nq0,m1\nq1,m2\n", b"item,truth\nq0,A\nq1,tie\n", b"", b"x\n1\n"]
    )
    more = random.choice(
        [[], ["--gold", "gold.csv"], ["--labels", "labels.csv"], ["--compare", "j0:j1,j2"]]
    )
    arguments = ("judges", name, *_options(random, "judges"), *more, "-o", OUTPUT)
    return Case(f"judges {name}", {name: content, "gold.csv": gold}, arguments)


def ranked(random: Random) -> Case:
    name, content = _log(random)
    more = random.choice([[], ["--matrix", "matrix.csv"], ["--weights", "equal"]])
    return Case(
        f"rank {name}",
        {name: content},
        ("rank", name, *_options(random, "rank"), *more, "-o", OUTPUT),
    )


# ---- Votes of every kind


def odd_votes(random: Random) -> tuple[str, bytes]:
    """Votes of odd shapes: one annotator, one class, all agree, a class per vote, sets, columns of odd types."""
    n, values = random.choice([1, 2, 5, 20, 60]), random.choice([2, 2, 3, 3, 7, 60])
    marks = random.choice(
        [
            ["x"],
            ["x", "y"],
            [str(v) for v in range(values)],
            ["a;b", "a", "b;c", ""],
            ["-1", "2.0", "2"],
        ]
    )
    rows = [
        (f"t{random.randrange(n)}", f"w{random.randrange(values)}", random.choice(marks))
        for _ in range(n * 3)
    ]
    frame = pl.DataFrame(rows, schema=list(HEADER), orient="row")
    if random.random() < 0.3:
        frame = frame.with_columns(_odd_column(random.choice(HEADER), random))
        name = random.choice(["votes.parquet", "votes.arrow"])
    else:
        name = random.choice(["votes.csv", "votes.jsonl", "votes.csv", "[v]*?.csv"])
    return name, as_file(frame, name)


def sets(random: Random) -> Case:
    """Sets of labels: as text, as lists in JSON, and as 0 and 1 in columns."""
    options = random.choice(
        [["a", "b"], ["a", "b", "c", "d"], ["a;b", "a"], ["", "a"], ["é", "1", "1.0"]]
    )
    rows = []
    for number in range(random.choice([1, 3, 12, 30])):
        chosen = random.sample(options, random.randrange(len(options) + 1))
        mark = random.choice([";", ";", "|", ", "])
        label: Any = random.choice(
            [chosen, mark.join(chosen), mark.join(chosen), None if number % 7 == 0 else chosen]
        )
        rows.append({"task": f"t{number // 3}", "worker": f"w{number % 3}", "label": label})
    value: Any = rows
    for _ in range(random.choice([0, 1, 2])):
        value = mutated(value, random)
    text = "\n".join(map(json.dumps, value if isinstance(value, list) else [value]))
    command = random.choice(sorted(OUTPUTS))
    files = {
        "sets.jsonl": text.encode(errors="replace"),
        "truth.csv": b"task,truth\nt0,a\nt1,a;b\n",
    }
    arguments = (command, "sets.jsonl", "--multi", *_options(random, command), *OUTPUTS[command])
    return Case(f"sets {command}", files, arguments)


def predicted(random: Random) -> Case:
    """Probabilities of a model beside votes: odd sums, classes, tasks and types."""
    classes = random.choice(
        [
            ["x", "y", "z"],
            ["x", "y"],
            ["x", "y", "z", "q"],
            ["prob_x", "prob_y", "prob_z"],
            ["x", "x "],
        ]
    )
    odd = ["", "nan", "-0.1", "1.5", "inf", "x", "1e-320", "0"]
    lines = ["task," + ",".join(classes)]
    for number in range(random.choice([0, 1, 4, 9])):
        parts = [random.random() for _ in classes]
        total = sum(parts) if random.random() < 0.9 else random.choice([1, 1e-9])
        cells = [
            f"{part / total:.6g}" if random.random() < 0.95 else random.choice(odd)
            for part in parts
        ]
        lines.append(f"t{number if random.random() < 0.9 else 0}," + ",".join(cells))
    text = "\n".join(lines) + "\n"
    for _ in range(random.choice([0, 0, 1, 2])):
        text = random.choice(TEXT_MUTATORS)(text, ",", random)
    command = random.choice(["aggregate", "aggregate", "evaluate", "export", "audit", "trust"])
    files = {"p.csv": text.encode(errors="replace"), "truth.csv": b"task,truth\nt0,x\nt1,y\n"}
    files["votes.csv"] = samples()["votes.csv"]
    arguments = (
        command,
        "votes.csv",
        "--predictions",
        "p.csv",
        *_options(random, command),
        *OUTPUTS[command],
    )
    return Case(f"predictions {command}", files, arguments)


# ---- Commands and their options


def simulated(random: Random) -> Case:
    base = ["--tasks", random.choice(["1", "7", "30"]), "--annotators", random.choice(["1", "4"])]
    out = random.choice([OUTPUT, "folder", "a.parquet", "a.jsonl", "a.xlsx", "a.csv.gz", ""])
    matrices = random.choice(
        [
            b"[[[1, 0], [0, 1]]]",
            b"[]",
            b"[[1]]",
            b'{"a": 1}',
            b"[[[NaN, 1], [0, 1]]]",
            b"[[[1e308, 1e308], [1, 1]]]",
        ]
    )
    more = random.choice(
        [[], [], ["--judges", "1"], ["--judges", "3"], ["--prototypes", "p.json", "--classes", "2"]]
    )
    arguments = ("simulate", *base, *more, *_options(random, "simulate"), "--out", out)
    return Case("simulate", {"p.json": matrices}, arguments)


def plotted(random: Random) -> Case:
    name, content = random.choice(
        [odd_votes, lambda random: ("votes.csv", samples()["votes.csv"])]
    )(random)
    kind = random.choice(list(KINDS)) if random.random() < 0.97 else random.choice(NAMES)
    chosen = ["--who", random.choice(["w1", *NAMES])] if kind == "annotator" else []
    chosen += [*_options(random, "plot"), "--method", random.choice(["mv", "ptbcc", "anchored"])]
    output = f"a.{random.choice([*FORMATS, *FORMATS, 'gif'])}"
    return Case(f"plot {kind}", {name: content}, ("plot", name, kind, *chosen, "-o", output))


def written(random: Random) -> Case:
    """`convert` to every format, from samples, from damaged samples and from odd votes."""
    name, content = random.choice(
        [odd_votes, lambda random: random.choice(sorted(samples().items()))]
    )(random)
    if random.random() < 0.3:
        content = random.choice(BYTE_MUTATORS)(content, random)
    output = random.choice(
        [
            OUTPUT,
            "a.tsv",
            "a.jsonl",
            "a.parquet",
            "a.xlsx",
            "a.csv.gz",
            "a.jsonl.zst",
            "-",
            "a.x",
            "no/a.csv",
        ]
    )
    to = random.choice([[], [], ["--to", "wide"], ["--to", "long"], ["--question", "all"]])
    return Case(
        f"convert {name}",
        {name: content},
        ("convert", name, *to, *_options(random, "convert"), "-o", output),
    )


def printed(random: Random) -> Case:
    """Commands that print tables or pages, on odd votes with odd options."""
    name, content = odd_votes(random)
    command = random.choice(sorted(OUTPUTS))
    methods = random.sample(QUICK, 2 if command == "compare" else 1)
    method = (
        ["--method", ",".join(methods)]
        if command not in ("agreement", "coverage", "convert")
        else []
    )
    files = {name: content, "truth.csv": b"task,truth\nt0,x\nt1,y\nt2,0\n"}
    return Case(
        f"{command} of odd votes",
        files,
        (command, name, *method, *_options(random, command), *OUTPUTS[command]),
    )


FAMILIES: list[Callable[[Random], Case]] = [
    judged,
    ranked,
    sets,
    predicted,
    simulated,
    plotted,
    written,
    printed,
]
