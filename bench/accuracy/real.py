"""Finegold's methods and other libraries on 90 real data sets: the benchmark that decides the default.

python -m bench.accuracy.real    every method; half an hour
python -m bench.accuracy.real --method mv --method "hds class_prior=flat"    these methods, with settings
python -m bench.accuracy.real --votes 2    every set thinned to two votes a task, the mean of three draws
python -m bench.accuracy.real --rivals    the other libraries too (see bench/rivals/rivals.txt)
python -m bench.accuracy.real --fast    the default and mv, smaller sets: under a minute
python -m bench.accuracy.real_page    docs/evidence/choosing.md from the figures that were kept

The data are the folders `real` and `datasets` of --shared. Figures of a run over all sets are kept in
bench/results/real, a file per method, those of thinned sets in folders of it. Those of the other libraries are
taken from there if they are there already (delete a file to have it measured again), those of Finegold's methods
only with --resume.
"""

from __future__ import annotations

import os
from typing import Any

from bench.accuracy.real_score import MARGINS
from bench.real_data import KINDS, PAPER

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
):  # before NumPy is loaded
    os.environ[variable] = "1"

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.accuracy.real_rivals import RIVALS, Rival, covers, is_rival, version
from bench.accuracy.real_score import measure, summarise
from bench.machine import RESULTS, describe
from bench.real_data import RealSet, load, without_labels
from finegold.errors import InputError
from finegold.fitting.solve import fit
from finegold.methods.base import Method
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY, method_class
from finegold.system.files import write_bytes

REAL = RESULTS / "real"
SETTINGS = (
    "hds class_prior=flat",
    "ibcc inference=ep max_iterations=40 tolerance=0",
    "ds max_iterations=500 tolerance=0.001",
)
# Accuracy on the open and on the paper's sets, as found by an independent program.
REFERENCE = {"mv": (0.7523, 0.6801), "ptbcc": (0.7421, 0.7353)}
GIVE_UP = 3  # sets in a row on which a method takes too long; larger ones are not tried then
TOO_LONG = "longer than"  # begins the message of what took too long
WARM_UP_TASKS = 40
DRAWS = 3  # of thinned sets

Rows = dict[str, dict[str, Any]]
MeasureOne = Callable[[RealSet], dict[str, Any]]


def main() -> None:
    options = _options()
    data = load(options.shared, options.only, options.fast)
    if options.votes:
        data = [one for one in data if one.votes_per_task >= options.votes + 0.5]
    print(
        f"{len(data)} data sets; without votes: {', '.join(without_labels(options.shared)) or 'none'}"
    )
    of_vote = over_draws(lambda one: measure(one.shares, one.truth), options.votes)
    sets = {one.name: {**one.describe(), "mv": of_vote(one)} for one in data}
    complete = not options.only and not options.fast
    if complete:
        write(folder(options.votes) / "sets.json", {}, sets)
    print(header())
    found = {}
    for name in _chosen(options):
        found[name] = run(name, data, options, keep=complete)
        print(line(name, summarise(found[name], sets)), flush=True)
    _print_under(found, sets)
    if options.json:
        content = {"machine": describe(), "sets": sets, "methods": found}
        write_bytes(options.json, json.dumps(content, indent=1).encode())
    if complete and not options.votes and not check(found, sets):
        sys.exit(1)


def run(name: str, data: list[RealSet], options: argparse.Namespace, keep: bool) -> Rows:
    """The figures of a method on each set, kept as they come."""
    path = folder(options.votes) / f"{name.replace(' ', '_')}.json"
    about = {"method": name}
    rival = Rival(name, options.limit) if is_rival(name) else None
    if rival:
        about["version"] = version(name)
        data = [one for one in data if covers(name, one.kind)]
    kept = read_kept(path, about) if rival or options.resume else {}
    measure_one = over_draws(
        rival.measure if rival else _measure_method(name, options), options.votes
    )

    def measure_and_keep(one: RealSet) -> dict[str, Any]:
        kept[one.name] = measure_one(one)
        if keep or rival:
            write(path, about, kept)
        return kept[one.name]

    rows = run_sets(data, dict(kept), measure_and_keep)
    if rival:
        rival.close()
    if keep:
        write(path, about, rows)
    return rows


def folder(n_votes: int | None) -> Path:
    return REAL / f"{n_votes}_votes" if n_votes else REAL


def over_draws(measure_one: MeasureOne, n_votes: int | None) -> MeasureOne:
    """The same on all votes, or the mean figures of three draws of so many votes a task."""

    def measure_draws(one: RealSet) -> dict[str, Any]:
        rows = []
        for draw in range(DRAWS):
            rows.append(measure_one(one.thin(n_votes or 0, draw)))
            if "failed" in rows[-1]:
                return rows[-1]
        return {
            name: value if isinstance(value, bool) else float(np.mean([row[name] for row in rows]))
            for name, value in rows[0].items()
        }

    return measure_draws if n_votes else measure_one


def read_kept(path: Path, about: dict[str, str]) -> Rows:
    """Earlier figures of the same method (and version of a library)."""
    content = json.loads(path.read_text()) if path.is_file() else {}
    return dict(content["sets"]) if about.items() <= content.items() else {}


def run_sets(data: list[RealSet], kept: Rows, measure_one: MeasureOne) -> Rows:
    """Set by set, the smallest first, until several in a row have taken too long."""
    rows: Rows = {}
    late = 0
    for one in data:
        if late >= GIVE_UP:
            rows[one.name] = {
                "failed": f"not tried, {TOO_LONG} the limit on {GIVE_UP} smaller sets in a row"
            }
            continue
        rows[one.name] = kept.get(one.name) or measure_one(one)
        late = late + 1 if TOO_LONG in rows[one.name].get("failed", "") else 0
    return rows


def _measure_method(name: str, options: argparse.Namespace) -> MeasureOne:
    method, warm = parse(name), set[int]()

    def measure_one(one: RealSet) -> dict[str, Any]:
        if one.n_classes not in warm:  # compile
            _fit(method, one, options.limit, WARM_UP_TASKS)
            warm.add(one.n_classes)
        return _fit(method, one, options.limit)

    return measure_one


class TooLong(Exception):
    """A fit has taken more processor time than it may."""


def _fit(method: Method, one: RealSet, limit: float, n_tasks: int | None = None) -> dict[str, Any]:
    annotations = one.annotations(n_tasks)
    began = time.process_time()

    def on_step(step: object) -> None:
        if time.process_time() - began > limit:
            raise TooLong

    try:
        result = fit(method, annotations, threads=1, on_step=on_step)
    except TooLong:
        return {"failed": f"{TOO_LONG} {limit:g} s of processor time"}
    except Exception as error:  # shown on the page
        return {"failed": f"{type(error).__name__}: {error}"}
    seconds = time.process_time() - began
    return {**measure(result.posterior, one.truth[: len(result.posterior)]), "seconds": seconds}


def parse(text: str) -> Method:
    """A method from its name and settings, such as `hds class_prior=flat`."""
    name, *pairs = text.split()
    settings = dict(pair.split("=", 1) for pair in pairs)
    return method_class(name)(**{key: _value(value) for key, value in settings.items()})


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def check(found: dict[str, Rows], sets: Rows) -> bool:
    """Whether the methods with known figures have them."""
    good = True
    for name in REFERENCE.keys() & found.keys():
        summary = summarise(found[name], sets)
        got = tuple(round(summary[group]["accuracy"], 4) for group in ("open", "paper"))
        good &= got == REFERENCE[name]
        print(f"reference {name}: expected {REFERENCE[name]}, found {got}")
    return good


def _print_under(found: dict[str, Rows], sets: Rows) -> None:
    for name, rows in found.items():
        under = summarise(rows, sets)["under"][1]
        away = [
            f"{one} {rows[one]['accuracy'] - sets[one]['mv']['accuracy']:+.3f}" for one in under
        ]
        print(f"{name}, more than a point under majority vote: {', '.join(away) or 'none'}")


def _chosen(options: argparse.Namespace) -> list[str]:
    if options.method:
        chosen = options.method
    elif options.fast:
        chosen = list(dict.fromkeys(["mv", DEFAULT_METHOD]))
    else:
        chosen = [*REGISTRY, *SETTINGS]
    for name in chosen:
        if not is_rival(name):
            parse(name)  # a wrong name is told before anything runs
    return [*chosen, *(RIVALS if options.rivals else ())]


def write(path: Path, about: dict[str, str], sets: Rows) -> None:
    """A file in bench/results, with a line for each data set."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({**about, "machine": describe()})[:-1]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sets.items())
    write_bytes(path, f'{head}, "sets": {{\n{lines}\n}}}}\n'.encode())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--method", action="append", help="a method with settings; may be given several times"
    )
    parser.add_argument("--rivals", action="store_true", help="also the other libraries")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="these data sets only"
    )
    parser.add_argument(
        "--fast", action="store_true", help="sets with fewer than 400,000 votes x classes only"
    )
    parser.add_argument("--votes", type=int, help="thin every set to so many votes a task")
    parser.add_argument("--resume", action="store_true", help="do not measure again what is kept")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to this file")
    parser.add_argument(
        "--limit", type=float, default=30.0, help="seconds of processor time that a fit may take"
    )
    parser.add_argument(
        "--shared", type=Path, default=Path("../shared"), help="the folder of the data"
    )
    return parser.parse_args()


WIDTH = 38


def header() -> str:
    groups = ("open", *KINDS, PAPER)
    return f"{'':{WIDTH}}{''.join(f'{group:>9}' for group in groups)}   log loss    ECE  under 1/3/5   seconds  failed"


def line(name: str, summary: dict[str, Any]) -> str:
    accuracies = "".join(
        _figure(summary[group], "accuracy", 9, 4) for group in ("open", *KINDS, PAPER)
    )
    calibration = _figure(summary["open"], "log_loss", 11, 3) + _figure(
        summary["open"], "ece", 7, 3
    )
    under = "/".join(str(len(summary["under"][margin])) for margin in MARGINS)
    return f"{name:{WIDTH}}{accuracies}{calibration}{under:>13}{summary['seconds']:10.1f}{len(summary['failed']):8}"


def _figure(means: dict[str, float] | None, what: str, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if means is None else f"{means[what]:{width}.{digits}f}"


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
