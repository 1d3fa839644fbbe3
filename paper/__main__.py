"""Compute the tables and figures of the PTBCC paper, and compare them with the published numbers."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import finegold
from paper import differences, figures, tables
from paper.data import DATA_SETS, fetch, load, present
from paper.fits import Fit, Outcome, plan, run_all
from paper.outcomes import Results, collect
from paper.page import Block, Heading, Picture, write
from paper.printed import METHODS, SETTINGS

NAME = "reproduction"
TITLE = "The PTBCC paper, reproduced by Finegold"
CAPTIONS = {
    "figure2": (
        "Figure 2. Accuracy of each method on each data set; the dashed line is the mean of the"
        " bars. The axes do not begin at zero."
    ),
    "figure3": (
        "Figure 3. Prototype confusion matrices and the annotators' distribution over them, learned"
        " from Val5."
    ),
    "figure4": (
        "Figure 4. Prototype confusion matrices and the annotators' distribution over them, learned"
        " from MS."
    ),
    "figure5": "Figure 5. Time of one fit, data sets in the order of their number of labels.",
}


def main(words: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    options = _parse(words)
    try:
        page = reproduce(options.data, options.out, options.methods, options.jobs)
    except finegold.InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {page} and what it shows")
    return 0


def _parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder with a folder per data set; all are fetched into it if it has none",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the results")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS), help="by default all"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    return parser.parse_args(words)


def reproduce(data: Path, out: Path, methods: list[str], jobs: int) -> Path:
    """Write all results to a folder and return the path of the page. Always with MV and PTBCC."""
    began = time.perf_counter()
    # a folder that cannot be made is known before the work
    out.mkdir(parents=True, exist_ok=True)
    votes = {name: load(name, data) for name in _find(data)}
    results = Results(votes, [name for name in DATA_SETS if name not in votes])
    wanted = [name for name in METHODS if name in {*methods, "mv", "ptbcc"}]
    fits, done = plan(wanted, list(votes)), dict[Fit, Outcome]()
    sizes = {name: loaded.annotations.n_votes for name, loaded in votes.items()}
    for fit, outcome in run_all(fits, data, sizes, jobs):
        done[fit] = outcome
        _say(len(done), len(fits), f"{fit.method} on {fit.data}: {outcome.accuracy:.4f}")
    collect(results, done, wanted)
    results.machine.update(_describe_machine(jobs, time.perf_counter() - began))
    drawn = figures.draw(results)
    (out / NAME).mkdir(exist_ok=True)
    for name, files in drawn.items():
        for kind, content in files.items():
            (out / NAME / f"{name}.{kind}").write_bytes(content)
    (out / "results.json").write_text(json.dumps(results.to_dict(), indent=2), encoding="utf-8")
    pngs = {name: files["png"] for name, files in drawn.items()}
    return write(out, NAME, TITLE, _blocks(results, set(drawn)), pngs)


def _find(folder: Path) -> list[str]:
    if not present(folder):
        for name in DATA_SETS:
            try:
                fetch(name, folder)
            except (OSError, ValueError) as error:
                print(f"{name} cannot be fetched: {error}", file=sys.stderr)
    if found := present(folder):
        return found
    raise finegold.InputError(
        f"none of the paper's data sets is in {folder}, and they cannot be fetched; copy them"
        " there: val5/label.csv, val5/truth.csv, ..."
    )


def _say(done: int, total: int, what: str) -> None:
    ending = "\n" if done == total or not sys.stderr.isatty() else ""
    if ending == "" or done % 50 == 0 or done == total:
        print(f"\r{done} of {total} fits, {what:<40}", end=ending, file=sys.stderr, flush=True)


def _blocks(results: Results, drawn: set[str]) -> list[Block]:
    """Return the page: what was computed, what matches the paper, tables, figures, the machine."""
    titles = ", ".join(votes.info.title for votes in results.data.values())
    page: list[Block] = [
        "Ju Chen, Jun Feng, Shenyu Zhang: Understanding the Essence: Delving into Annotator"
        " Prototype Learning for Multi-Class Annotation Aggregation. AAAI 2026. Everything"
        " below was computed from the votes by this command:",
        ["make paper DATA=DIR OUT=DIR"],
        f"Data sets present: {titles}."
        + (f" Absent: {', '.join(results.absent)}." if results.absent else ""),
        Heading("What matches and what does not"),
    ]
    if good := differences.matches(results):
        page.append(good)
    if bad := differences.mismatches(results):
        page += ["Differences beyond rounding:", bad]
    page += [
        "The paper prints no numbers in its figures, so Figures 2 to 5 can only be compared by eye."
        " Times depend on the machine: the paper's had two virtual processors and programs in"
        " several languages.",
        Heading("Tables"),
        *([tables.table_2(results)] if "val5" in results.data else []),
        tables.table_3(results),
        tables.table_4(results),
        tables.table_5(results),
        Heading("Figures and the numbers behind them"),
    ]
    for name in sorted(drawn):
        page.append(Picture(name, CAPTIONS[name]))
        if name == "figure2":
            page.append(tables.accuracy_table(results))
    lines = [f"{name}: {value}" for name, value in results.machine.items()]
    return [
        *page,
        tables.times_table(results),
        Heading("Settings"),
        "Finegold's defaults are those that we recommend for work. These settings are the paper's:",
        [f"{METHODS[name]}: {_words(settings)}" for name, settings in SETTINGS.items()],
        Heading("Machine"),
        lines,
    ]


def _words(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items()) or "the defaults"


def _describe_machine(jobs: int, seconds: float) -> dict[str, Any]:
    return {
        **{name: version(name) for name in ("finegold", "numpy", "scipy", "numba")},
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "fits at a time": jobs,
        "seconds in all": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
