"""docs/evidence/leaderboard.md from the figures that bench/accuracy/real.py has kept.

python -m bench.accuracy.leaderboard [--out docs/evidence/leaderboard.md]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.accuracy.real import REAL
from bench.accuracy.real_page import Rows, table
from bench.accuracy.real_rivals import covers, is_rival
from bench.accuracy.real_score import summarise
from bench.machine import BENCH
from bench.real_data import KINDS
from finegold.methods.lookup import DEFAULT_METHOD, method_names
from finegold.system.files import write_bytes

THINNED = {2: "2_votes", 3: "3_votes"}
HEAD = ["place", "method", "all votes", "two votes", "three votes", *KINDS, "log loss", "ECE"]
INTRODUCTION = """# Leaderboard

Methods of label aggregation on the same {n_sets} public data sets in {n_families} families, whole, and thinned to two
and three votes per task, as most teams have them. The order is that of the mean accuracy over families with all votes.
Columns by kind are with all votes: crowds (human), experts, LLM judges and panels (llm), classifiers and services
(systems), and labelling functions (weak). A dash is a run that nobody has made yet, a method that is made for other
data, or one without probabilities. The default of Finegold was chosen on these sets.
[Which method to choose](choosing.md) explains the measures.
"""
ENDING = """## Add a method

Any method that turns votes into labels can be here, also one that loses.

1. Write a class as [Working on Finegold](../contributing.md#add-a-method) says; `examples/one_coin.py` is complete.
   `finegold.checks` has the laws that it must obey.
2. Make it known by an entry point in the `pyproject.toml` of your package, and install the package beside Finegold.
   (`finegold.register("name", Class)` does the same within one run of Python.)

        [project.entry-points."finegold.methods"]
        name = "package.module:Class"

3. Measure it, with its defaults or with settings: `python -m bench.accuracy.real --method "name setting=1"`, then with
   `--votes 2` and `--votes 3`. The figures are kept in `bench/results/real`, a file per method.
4. `python -m bench.accuracy.leaderboard` makes this page anew. Send the files of figures with a sentence on what the
   method does.

A method of a library with dependencies of its own gets a line in `bench/accuracy/real_rivals.py`, and runs in an
environment of its own.

## Add a data set

A folder below `real/` of the folder that `--shared` names, with `label.csv` (`item`, `worker`, `label`) and
`truth.csv` (`item`, `truth`), both of whole numbers, and its name in `real/families.json` below its kind and family.
Truths must be independent of the votes: of experts, measured, or known from how the tasks were made. Sets that share
annotators, tasks or a laboratory are one family and count once. Say in `real/README.md` what the set is, under which
licence, and where it comes from.

---

Made by `python -m bench.accuracy.leaderboard` from `bench/results/real`. Do not edit this page.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=BENCH.parent / "docs" / "evidence" / "leaderboard.md"
    )
    out = parser.parse_args().out
    write_bytes(out, page().encode())
    print(f"wrote {out}")


def page() -> str:
    sets = _sets(REAL)
    open_sets = [one for one in sets.values() if one["kind"] in KINDS]
    introduction = INTRODUCTION.format(
        n_sets=len(open_sets), n_families=len({one["family"] for one in open_sets})
    )
    return f"{introduction}\n{standings(sets)}\n\n{ENDING}"


def standings(sets: Rows) -> str:
    """A row for each method that was run on all sets, or on all of a kind."""
    kept = _kept(sets)
    found = {name: summarise(rows, sets) for name, rows in kept.items()}
    thinned = {n: _thinned(REAL / folder) for n, folder in THINNED.items()}
    ranked = sorted(found, key=lambda name: -(found[name]["open"] or {"accuracy": 0.0})["accuracy"])
    rows = []
    for place, name in enumerate(ranked, 1):
        means = found[name]
        finished = [row for row in kept[name].values() if "failed" not in row]
        has_labels_only = all(row.get("labels_only", False) for row in finished)
        probable = None if has_labels_only else means["open"]
        cells = [means["open"], *(thinned[n].get(name) for n in THINNED)]
        cells += [means[kind] for kind in KINDS]
        rows.append(
            [
                str(place) if means["open"] else "–",
                title(name),
                *(_figure(cell, "accuracy", 4) for cell in cells),
                _figure(probable, "log_loss", 3),
                _figure(probable, "ece", 3),
            ]
        )
    return table(HEAD, rows)


def title(name: str) -> str:
    default = " (default)" if name == DEFAULT_METHOD else ""
    return name if is_rival(name) else f"Finegold: `{name}`{default}"


def _kept(sets: Rows) -> dict[str, Rows]:
    """What was kept of methods that are known here and of other libraries, if they were run to the end."""
    found = {}
    for path in sorted(REAL.glob("*.json")):
        one = json.loads(path.read_text())
        name = one.get("method", "")
        if not is_rival(name) and name.partition(" ")[0] not in method_names():
            continue
        if {each for each in sets if covers(name, sets[each]["kind"])} <= set(one["sets"]):
            found[name] = one["sets"]
    return found


def _thinned(folder: Path) -> dict[str, dict[str, float] | None]:
    """The means over families of each method that was run on all thinned sets."""
    if not (folder / "sets.json").exists():
        return {}
    sets = _sets(folder)
    files = [json.loads(p.read_text()) for p in folder.glob("*.json") if p.name != "sets.json"]
    return {one["method"]: summarise(one["sets"], sets)["open"] for one in files}


def _sets(folder: Path) -> Rows:
    sets: Rows = json.loads((folder / "sets.json").read_text())["sets"]
    return sets


def _figure(means: dict[str, float] | None, what: str, digits: int) -> str:
    if means is None:
        return "–"
    return f"{means[what]:.{digits}f}".lstrip("0")


if __name__ == "__main__":
    main()
