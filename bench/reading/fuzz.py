"""Random command lines over all commands: each must end with 0, 2 or 3, and never unexpectedly.

python -m bench.reading.fuzz [--lines 20000] [--seed 0] [--jobs 2]

Each line has a command, up to three files of all kinds (votes, truths, exports, logs, models,
damaged and hostile ones) and up to five of the command's own options with values that fit or do
not. The lines run in processes of 100, in a folder of their own; one that takes a minute of the
processors, or ten minutes, counts as a failure. Failures are printed as they can be typed. `studio`
and `demo` are left out: they wait, or write a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

PER_PROCESS, PATIENCE, MEMORY = 100, 60, 8 << 30
LEFT_OUT = ("studio", "demo")
WORDS = (
    *(
        "",
        "0",
        "1",
        "-1",
        "2",
        "3.5",
        "1e400",
        "nan",
        "9" * 30,
        "0" * 3000 + ".x",
        "yes",
        "cat",
        "dog",
        "a,b",
        "a=b",
    ),
    *(
        "task",
        "worker",
        "label",
        "task,worker",
        "x=y,z=w",
        "(",
        "[a-z]+",
        "é",
        "\u202e",
        "<b>",
        "=1+1",
        "mv",
        "ptbcc",
    ),
    *(
        "{}",
        "[1]",
        "*",
        "../x",
        "all",
        "none",
        "wide",
        "long",
        "counts",
        "human*",
        "alpha",
        "low",
        "accuracy.low=.5",
    ),
)
WORKING = (
    *(
        "aggregate votes.csv",
        "aggregate wide.csv",
        "aggregate sets.csv --multi",
        "report model.zip -o o.html",
    ),
    *(
        "certify votes.csv --checks sheet.csv",
        "audit votes.csv --labels labels.csv",
        "look log.csv",
    ),
    *("evaluate votes.csv --truth truth.csv", "compare votes.csv", "sample votes.csv -o o.csv"),
    *("trust votes.csv", "agreement votes.csv", "coverage wide.csv", "next-votes votes.csv"),
    *(
        "judges log.csv",
        "rate log.csv --passes x",
        "rank log.csv",
        "numbers ratings.csv",
        "spans spans.csv",
    ),
    *(
        "update model.zip votes.csv -o o.zip",
        "convert votes.csv -o o.csv",
        "export votes.csv -o o.parquet --purpose sklearn",
    ),
    *("report votes.csv -o o.html", "simulate --out o", "methods", "aggregate votes.xlsx"),
)
OUTPUTS = (
    "o.csv",
    "o.json",
    "o.parquet",
    "o.xlsx",
    "o.jsonl",
    "o.zip",
    "o.html",
    "o",
    "no/folder/o.csv",
    "-",
)


def make_files(folder: Path) -> list[str]:
    """Write one file of each kind, and return their names."""
    import numpy as np
    import polars as pl

    import finegold

    sample = Path(finegold.__file__).parent / "votes" / "sample"
    for name in ("votes.csv", "truth.csv", "tasks.csv"):
        shutil.copy(sample / name, folder)
    votes = pl.read_csv(folder / "votes.csv")
    votes.write_parquet(folder / "votes.parquet")
    votes.write_excel(folder / "votes.xlsx")
    votes.head(200).write_ndjson(folder / "votes.jsonl")
    task, annotator, label = votes.columns[:3]
    wide = votes.unique([task, annotator], keep="first").pivot(annotator, index=task, values=label)
    wide.write_csv(folder / "wide.csv")
    votes.with_columns(pl.col(label).cast(str) + ",other").write_csv(folder / "sets.csv")
    rng = np.random.default_rng(0)
    systems = {"system_a": "x", "system_b": "y"}
    log = [
        {"id": i, "judge": f"j{j}", "verdict": str(rng.choice(["A", "B"])), "human": "A", **systems}
        for i in range(40)
        for j in range(3)
    ]
    pl.DataFrame(log).write_csv(folder / "log.csv")
    (folder / "log.json").write_text(json.dumps(log))
    scores = rng.normal(50, 20, (30, 4)).round(1)
    ratings = [
        {"task": i, "annotator": j, "label": float(scores[i, j])} for i, j in np.ndindex(30, 4)
    ]
    pl.DataFrame(ratings).write_csv(folder / "ratings.csv")
    spans = {"document": 1, "start": 0, "end": 3, "label": "PER"}
    pl.DataFrame([spans | {"annotator": f"p{j}"} for j in range(3)]).write_csv(folder / "spans.csv")
    result = finegold.aggregate(folder / "votes.csv")
    result.save(folder / "model.zip")
    labels = result.labels(probabilities=True)
    labels.write_csv(folder / "labels.csv")
    finegold.sample(result, 20).save(folder / "sheet.csv")
    sheet = pl.read_csv(folder / "sheet.csv").with_columns(truth=pl.lit(labels["label"][0]))
    sheet.write_csv(folder / "sheet.csv")
    hostile = {
        "empty.csv": b"",
        "one.csv": b"task,worker,label\n",
        "binary.csv": bytes(range(256)) * 20,
        "zeros.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "bad.xlsx": b"PK\x03\x04nothing",
        "bad.json": b'{"a": [1, 2',
        "deep.json": b"[" * 3000,
        "latin.csv": "task,worker,label\n1,Jörg,süß\n2,Jörg,süß\n".encode("latin-1"),
        "numbers.csv": b"task,worker,label\n"
        + b"9" * 5000
        + b",a,1\n1,b,"
        + b"0" * 3000
        + b".0x\n",
        "ragged.csv": b"task,worker,label\n1,a\n2,b,c,d\n3,a,x\n3,b,x\n",
        "quotes.csv": b'task,worker,label\n1,"a,x\n2,b",y\n',
    }
    for name, content in hostile.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    shutil.copy(folder / "votes.csv", folder / "folder")
    return [*sorted(path.name for path in folder.iterdir()), "absent.csv", "folder/*.csv"]


def random_line(rng: random.Random, commands: dict[str, Any], files: list[str]) -> list[str]:
    """Return the arguments of one command line: half of them begin with a line that works."""
    if rng.random() < 0.5:
        arguments = rng.choice(WORKING).split()
        if rng.random() < 0.3:
            arguments[1:2] = [rng.choice(files)]
    else:
        name = rng.choice([one for one in commands if one not in LEFT_OUT])
        arguments = [name, *rng.choices(files, k=rng.choice((0, 1, 1, 1, 1, 2, 3)))]
    params = commands[arguments[0]].params
    options = [one for one in params if isinstance(one, click.Option)]
    for option in rng.sample(options, min(rng.choice((0, 1, 1, 1, 2, 2, 5)), len(options))):
        arguments.append(rng.choice([*option.opts, *option.secondary_opts]))
        if not option.is_flag:
            arguments.append(random_value(rng, option, files))
    return arguments


def random_value(rng: random.Random, option: click.Option, files: list[str]) -> str:
    if isinstance(option.type, click.Choice) and rng.random() < 0.8:
        return str(rng.choice(option.type.choices))
    if isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType)):
        return rng.choice(
            ("0", "1", "2", "3", "10", ".5", ".95", "-1", "x", "99999999999999999999")
        )
    likely = {"OUT": OUTPUTS, "FILE": files}.get(option.metavar or "", WORDS)
    return rng.choice(likely if rng.random() < 0.9 else (*WORDS, *OUTPUTS, *files))


def run_lines(seed: int, n_lines: int, n_done: int) -> None:
    """Run the lines that are left in this process, and print a line of JSON for each."""
    from finegold.cli import main
    from finegold.cli.app import every_command

    answers = os.fdopen(os.dup(1), "w")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        files, rng, commands = make_files(Path(folder)), random.Random(seed), every_command()
        os.chdir(folder)
        lines = [random_line(rng, commands, files) for _ in range(n_lines)]
        for line in lines[n_done:]:
            print(json.dumps(line), file=answers, flush=True)
            code, said = run_line(main, line)
            print(json.dumps([code, said[-2000:]]), file=answers, flush=True)


def run_line(main: Any, line: list[str]) -> tuple[Any, str]:
    sys.argv, written = ["finegold", *line], io.BytesIO()
    out = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    # both end the process
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.alarm(10 * PATIENCE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main()
    except SystemExit as ended:
        return ended.code or 0, written.getvalue().decode(errors="replace")
    except BaseException as error:
        return repr(error), ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return "no exit", ""


def failures_of(seed: int, n_lines: int) -> tuple[Counter[str], list[str]]:
    """Run lines in other processes; return the exit codes, and what failed."""
    command = [sys.executable, "-m", "bench.reading.fuzz", "--child", str(seed)]
    command += ["--lines", str(n_lines), "--done"]
    codes, failures, n_done = Counter[str](), list[str](), 0
    while n_done < n_lines:
        done = subprocess.run([*command, str(n_done)], capture_output=True, text=True, check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        n_done += max(1, -(-len(answers) // 2))
        for line, (code, said) in zip(answers[::2], answers[1::2], strict=False):
            codes[str(code)] += 1
            if code not in (0, 2, 3) or "unexpectedly" in said or "Traceback" in said:
                failures.append(f"{code}: finegold {shlex.join(line)}\n    {said[-400:]}")
        if len(answers) % 2 or not answers:
            codes["died"] += 1
            ended = shlex.join(answers[-1]) if answers else done.stderr[-400:]
            failures.append(f"died ({done.returncode}): finegold {ended}")
    return codes, failures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--done", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        run_lines(options.child, options.lines, options.done)
        return
    seeds = [options.seed * 1_000_000 + i for i in range(-(-options.lines // PER_PROCESS))]
    codes = Counter[str]()
    with ThreadPoolExecutor(options.jobs) as pool:
        for found, failures in pool.map(lambda seed: failures_of(seed, PER_PROCESS), seeds):
            codes += found
            print(*failures, dict(codes), sep="\n", flush=True)


if __name__ == "__main__":
    main()
