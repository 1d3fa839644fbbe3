"""docs/evidence/choosing.md from the figures that bench/accuracy/real.py has kept.

python -m bench.accuracy.real_page [--out docs/evidence/choosing.md]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.real import REAL
from bench.accuracy.real_rivals import RIVALS as OTHERS
from bench.accuracy.real_rivals import covers, is_rival
from bench.accuracy.real_score import MARGINS, summarise
from bench.machine import BENCH
from bench.real_data import KINDS, PAPER
from finegold.errors import InputError
from finegold.methods.lookup import DEFAULT_METHOD, REGISTRY
from finegold.system.files import write_bytes

FIGURES = (("accuracy", 4), ("log_loss", 3), ("ece", 3))
GROUPS = ("open", *KINDS, PAPER)
HEAD = [
    "method",
    *GROUPS,
    "worse than the vote by 1 / 3 / 5",
    "log loss",
    "ECE",
    "seconds",
    "not finished",
]
MEASURED = "sets.json", "simulated.json"  # beside the files of methods
CONSTANTS = """## Would other constants be better?

Hardly. [The note on the default](../inside/default.md) has the table: all settings around the default's lie within a
few tenths of a point with two, three and all votes. Frequencies of classes that count in full, and annotators' own
matrices beside everybody's, are what matters."""

THINNED = """## Two and three votes a task

Most teams have two or three votes a task. Each set with at least half a vote more was thinned to so many votes of
each task, drawn without replacement; figures are means of three draws. *under* counts the open sets with 100 truths
or more that lie more than a point below the majority vote of the same votes. `python -m bench.accuracy.real --votes
2` makes them."""
UNSEEN = """## On sets that nobody chose on

`{default}` and its constants were chosen on the {sets} open sets above, so its lead there is flattered. On 65 sets in
35 families that were kept apart, the default before this one had .7543 where the majority vote has .7391. With the
frequencies of classes in full it had .7561 there, .6950 (before: .6895) with two votes a task and .7026 (before:
.7005) with three; the other changes have not been tried there."""

INTRODUCTION = """# Which method to choose

**What this means for you.** Keep the default, `{default}`, unless you have truths to test another method with
(`finegold evaluate votes.csv --truth truth.csv --method {default},ptbcc,hds`). On average it is more accurate than
majority vote for every kind of annotators, by about one point, and by nearly three with two votes a task; where it is less
accurate, the loss is mostly small.

`{default}` was chosen on real data: {sets} public data sets in {families} families
({kinds}), whose truths are independent of the votes, and the ten data sets of the PTBCC
paper. `mv` is the majority vote.

- **open** is the mean accuracy over the families, then by kind of annotators: crowds (human), **experts**, language
  models (**llm**), classifiers and commercial services (**systems**), and labelling functions (**weak**). Sets of one
  family share annotators, tasks or a laboratory, so each family counts once. **paper** is the mean over the ten.
- Classes that share the highest probability share the credit. A truth that nobody voted for counts as wrong.
- **worse than the vote**: on how many of the {judged} open sets with 100 truths or more the accuracy is more than 1, 3
  and 5 points below the majority vote's.
- **log loss** (probabilities not below 1e-10) and **ECE**, the expected calibration error (10 bins), are means over the
  open families.
- **seconds** of processor time, one thread, for all sets that were finished, without compilation and reading.
"""
FINISHED = """A fit that takes too long or fails is *not finished*: on that set the majority vote's figures stand in for
the method's. Sets are taken in the order of votes x classes; after three in a row that took too long, larger ones are
not tried."""
RIVALS = """The same sets, measures and limit of time. Every fit has a process of its own with one thread; settings are
each library's defaults. Snorkel's LabelModel is made for labelling functions and was run on these only. Methods that
return labels without probabilities have no log loss and no ECE, and break ties in their own way."""
ENDING = """---

Made by `python -m bench.accuracy.real --rivals` and `python -m bench.accuracy.real_page` on {processor} ({date}). Do
not edit this page.
"""

Rows = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=BENCH.parent / "docs" / "evidence" / "choosing.md"
    )
    out = parser.parse_args().out
    write_bytes(out, page().encode())
    print(f"wrote {out}")


def page() -> str:
    sets = _read("sets.json")["sets"]
    kept = kept_methods(sets)
    missing = [name for name in ("mv", DEFAULT_METHOD) if name not in kept]
    if missing:
        raise InputError(
            f"there are no figures of {missing[0]} in {REAL}; run `python -m bench.accuracy.real` first"
        )
    found = {name: one["sets"] for name, one in kept.items()}
    ours = [name for name in found if name in REGISTRY]  # with their defaults
    sections = [
        introduction(sets),
        f"## Finegold's methods\n\n{methods_table(ours, found, sets)}\n\n{FINISHED}",
        f"## Other libraries\n\n{RIVALS}\n\n{rivals_table(kept, sets)}",
        f"## Where {DEFAULT_METHOD} is worse than the majority vote\n\n{under_default(found[DEFAULT_METHOD], sets)}",
        f"## {DEFAULT_METHOD} and the majority vote, family by family\n\n{families_table(found[DEFAULT_METHOD], sets)}",
        UNSEEN.format(
            default=DEFAULT_METHOD, sets=sum(one["kind"] != PAPER for one in sets.values())
        ),
        f"{THINNED}\n\n{thinned_table(kept)}",
        CONSTANTS,
        f"## What was not finished\n\n{unfinished(found)}\n\n{left_out(set(kept))}",
        ENDING.format(**_machine(kept[DEFAULT_METHOD])),
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def kept_methods(sets: Rows) -> dict[str, dict[str, Any]]:
    """What was kept of the methods that are still registered and of other libraries, if they were run to the end."""
    files = [
        json.loads(path.read_text())
        for path in sorted(REAL.glob("*.json"))
        if path.name not in MEASURED
    ]
    return {
        one["method"]: one for one in files if _is_known(one["method"]) and _is_whole(one, sets)
    }


def _is_known(name: str) -> bool:
    return is_rival(name) or name.split()[0] in REGISTRY


def _is_whole(kept: dict[str, Any], sets: Rows) -> bool:
    return {name for name in sets if covers(kept["method"], sets[name]["kind"])} <= set(
        kept["sets"]
    )


def introduction(sets: Rows) -> str:
    opens = {name: one for name, one in sets.items() if one["kind"] != PAPER}
    by_kind = {kind: _families(opens, kind) for kind in KINDS}
    return INTRODUCTION.format(
        default=DEFAULT_METHOD,
        sets=len(opens),
        families=sum(map(len, by_kind.values())),
        kinds=", ".join(f"{kind} {len(families)}" for kind, families in by_kind.items()),
        judged=sum(one["truths"] >= 100 for one in opens.values()),
    )


def methods_table(names: list[str], found: dict[str, Rows], sets: Rows) -> str:
    summaries = {name: summarise(found[name], sets) for name in names}
    order = sorted(names, key=lambda name: -summaries[name]["open"]["accuracy"])
    return table(HEAD, [row(_shown(name), summaries[name], found[name]) for name in order])


def rivals_table(kept: dict[str, dict[str, Any]], sets: Rows) -> str:
    """Finegold's default and the majority vote above the other libraries."""
    rivals = [name for name in kept if is_rival(name)]
    summaries = {
        name: summarise(kept[name]["sets"], sets) for name in [DEFAULT_METHOD, "mv", *rivals]
    }
    rivals.sort(key=lambda name: -(summaries[name]["open"] or {"accuracy": 0.0})["accuracy"])
    titles = {name: "{} {}: {}".format(*_parts(name, kept[name])) for name in rivals}
    titles |= {name: f"Finegold: {_shown(name)}" for name in (DEFAULT_METHOD, "mv")}
    rows = [
        row(titles[name], summaries[name], kept[name]["sets"])
        for name in [DEFAULT_METHOD, "mv", *rivals]
    ]
    return table(HEAD, rows)


def thinned_table(kept: dict[str, dict[str, Any]]) -> str:
    """Accuracy, sets under the vote, log loss and ECE of each method with two, three and all votes."""
    cells: dict[str, dict[int, list[str]]] = {}
    for n in (2, 3, 0):
        of_n = REAL / f"{n}_votes" if n else REAL
        sets = json.loads((of_n / "sets.json").read_text())["sets"]
        for path in sorted(of_n.glob("*.json")):
            one = json.loads(path.read_text())
            if path.name in MEASURED or not set(sets) <= set(one["sets"]):
                continue
            found = summarise(one["sets"], sets)
            if found["open"]:
                figures = [_short(found["open"][what], digits) for what, digits in FIGURES]
                figures.insert(1, str(len(found["under"][1])))
                cells.setdefault(one["method"], {})[n] = figures
    several = {name: each for name, each in cells.items() if len(each) > 1}
    order = sorted(several, key=lambda name: -float(several[name].get(2, several[name][0])[0]))
    head = ["method"]
    for n in ("2 votes", "3 votes", "all"):
        head += [n, "under", "log loss", "ECE"]
    empty = ["–"] * 4
    lines = [
        [_shown(name), *(cell for n in (2, 3, 0) for cell in several[name].get(n, empty))]
        for name in order
    ]
    return table(head, lines)


def _parts(name: str, kept: dict[str, Any]) -> tuple[str, str, str]:
    library, _, method = name.partition(" ")
    return library, kept["version"], method


def _shown(name: str) -> str:
    return f"**`{name}`** (default)" if name == DEFAULT_METHOD else f"`{name}`"


def row(title: str, summary: dict[str, Any], rows: Rows) -> list[str]:
    labels_only = all(one.get("labels_only", False) for one in rows.values() if "failed" not in one)
    calibration = [
        _figure(summary["open"], what, 3) if not labels_only else "–"
        for what in ("log_loss", "ece")
    ]
    under = " / ".join(str(len(summary["under"][margin])) for margin in MARGINS)
    failed = f"{len(summary['failed'])} of {summary['covered']}" if summary["failed"] else ""
    accuracies = [_figure(summary[group], "accuracy", 4) for group in GROUPS]
    return [
        title,
        *accuracies,
        under if summary["open"] else "–",
        *calibration,
        f"{summary['seconds']:.1f}",
        failed,
    ]


def _figure(means: dict[str, float] | None, what: str, digits: int) -> str:
    return "–" if means is None else _short(means[what], digits)


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def under_default(rows: Rows, sets: Rows) -> str:
    names = summarise(rows, sets)["under"][1]
    if not names:
        return "Nowhere by more than a point."
    lines = []
    for name in sorted(names, key=lambda name: _lead(rows, sets, name)):
        one, vote = sets[name], sets[name]["mv"]["accuracy"]
        size = [f"{one[what]:,}" for what in ("tasks", "annotators", "classes", "votes", "truths")]
        points = f"{100 * _lead(rows, sets, name):+.1f}"
        lines.append(
            [name, one["kind"], *size, _short(vote, 4), _short(rows[name]["accuracy"], 4), points]
        )
    head = [
        "set",
        "kind",
        "tasks",
        "annotators",
        "classes",
        "votes",
        "truths",
        "mv",
        DEFAULT_METHOD,
        "points",
    ]
    return (
        "The open sets with 100 truths or more on which it is more than a point below.\n\n"
        + table(head, lines)
    )


def _lead(rows: Rows, sets: Rows, name: str) -> float:
    return float(
        rows[name].get("accuracy", sets[name]["mv"]["accuracy"]) - sets[name]["mv"]["accuracy"]
    )


def families_table(rows: Rows, sets: Rows) -> str:
    lines = []
    for kind in (*KINDS, PAPER):
        for family, names in _families(sets, kind).items():
            vote = np.mean([sets[name]["mv"]["accuracy"] for name in names])
            lead = np.mean([_lead(rows, sets, name) for name in names])
            said = family if len(names) == 1 else f"{family} and {len(names) - 1} more"
            truths = f"{sum(sets[name]['truths'] for name in names):,}"
            lines.append(
                [said, kind, truths, _short(vote, 4), _short(vote + lead, 4), f"{100 * lead:+.1f}"]
            )
    return table(["family", "kind", "truths", "mv", DEFAULT_METHOD, "points"], lines)


def _families(sets: Rows, kind: str) -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for name, one in sorted(sets.items()):
        if one["kind"] == kind:
            families.setdefault(one["family"], []).append(name)
    return families


def unfinished(found: dict[str, Rows]) -> str:
    lines = []
    for name, rows in found.items():
        reasons: dict[str, list[str]] = {}
        for one, figures in rows.items():
            if "failed" in figures:
                reasons.setdefault(figures["failed"], []).append(one)
        lines += [
            f"- `{name}`, {reason.split(':')[0]}: {', '.join(names)}"
            for reason, names in reasons.items()
        ]
    return "\n".join(lines) or "Every method finished on every set."


def left_out(shown: set[str]) -> str:
    names = [name for name in (*REGISTRY, *OTHERS) if name not in shown]
    return f"Not shown, since they were not run on all sets: {', '.join(names)}." if names else ""


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _machine(kept: dict[str, Any]) -> dict[str, str]:
    return {"processor": kept["machine"]["processor"], "date": kept["machine"]["date"][:10]}


def _read(name: str) -> dict[str, Any]:
    path = REAL / name
    if not path.is_file():
        raise InputError(f"there is no {path}; run `python -m bench.accuracy.real` first")
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"error: {error}")
