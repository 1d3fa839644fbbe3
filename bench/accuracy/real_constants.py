"""How much the constants of the default matter on real data: plateaus, and cross-validation over families.

python -m bench.accuracy.real_constants                   every set under 400,000 votes x classes; some minutes
python -m bench.accuracy.real_constants --all             every set

Writes bench/accuracy/real_constants.md, which bench/accuracy/real_page.py puts into docs/evidence/choosing.md.

Plateaus: one constant is changed, the others stay. Cross-validation: random settings are drawn around the default; the
best one on half of the families is judged on the other half, both ways, for many splits. A constant that was tuned to
single sets would gain on the first half only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.real_score import measure
from bench.machine import SHARED
from bench.real_data import PAPER, RealSet, load
from finegold.api.fit import fit
from finegold.methods import anchored
from finegold.methods.anchored import AnchoredVote
from finegold.votes.annotations import Annotations

SETTINGS: dict[str, tuple[float, ...]] = {
    "vote_share": (0.25, 0.4, 0.5, 0.6, 0.75),
    "own_share": (0.25, 0.4, 0.5, 0.6, 0.75),
    "class_prior": (0.0, 0.25, 0.5, 0.75, 1.0),
    "skill_power": (0.0, 0.4, 0.75, 1.0, 1.5),
    "prior_votes": (0.5, 1.0, 2.0, 4.0, 8.0),
    "coin_share": (0.1, 0.15, 0.3, 0.6, 1.0),
    "max_iterations": (1, 2, 4, 8, 16),
}
MODULE: dict[str, tuple[float, ...]] = {
    "CALIBRATION_VOTES": (0.5, 1.0, 2.0, 3.0, 4.0),
    "DESIGN_POWER": (0.0, 0.125, 0.25, 0.375, 0.5),
}
RANDOM = {  # where random settings are drawn from
    "vote_share": (0.25, 0.75),
    "own_share": (0.25, 0.75),
    "class_prior": (0.0, 1.0),
    "skill_power": (0.0, 1.5),
    "prior_votes": (0.5, 8.0),
    "coin_share": (0.1, 1.0),
}

Data = list[tuple[RealSet, Annotations]]
Scores = dict[str, dict[str, float]]


def main() -> None:
    options = _options()
    data = [(one, one.annotations()) for one in load(options.shared, fast=not options.all)]
    lines = [*_plateaus(data), "", *_cross_validation(data, options.draws, options.splits)]
    options.out.write_text("\n".join([*_heading(data), "", *lines, ""]))
    print(f"written to {options.out}")


def _heading(data: Data) -> list[str]:
    return [
        "## How the constants of the default were chosen",
        "",
        f"Measured on {len(data)} of the data sets (`python -m bench.accuracy.real_constants`): accuracy by family "
        "means on the open sets and on the paper's, log loss and ECE on the open sets, and how many open sets with "
        "100 truths or more lie more than a point under majority vote. One constant is changed, the others stay; "
        "the default's value is bold.",
    ]


def _plateaus(data: Data) -> list[str]:
    lines = [
        "| constant | value | open | paper | log loss | ECE | under vote |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, values in {**SETTINGS, **MODULE}.items():
        for value in values:
            lines.append(_row(name, value, _changed(data, name, value), data))
            print(lines[-1], flush=True)
    return lines


def _changed(data: Data, name: str, value: float) -> Scores:
    if name in SETTINGS:
        return _scores(data, **{name: value})
    before = getattr(anchored, name)
    setattr(anchored, name, value)
    try:
        return _scores(data)
    finally:
        setattr(anchored, name, before)


def _row(name: str, value: float, scores: Scores, data: Data) -> str:
    default = getattr(AnchoredVote(), name) if name in SETTINGS else getattr(anchored, name)
    shown = f"**{value:g}**" if value == default else f"{value:g}"
    opens, paper = _families(data, paper=False), _families(data, paper=True)
    figures = [
        _mean(scores, opens),
        _mean(scores, paper),
        *(_mean(scores, opens, what) for what in ("log_loss", "ece")),
    ]
    under = sum(_is_under(one, scores) for one, _ in data)
    return (
        f"| {name} | {shown} | "
        + " | ".join(f"{figure:.4f}" for figure in figures)
        + f" | {under} |"
    )


def _is_under(one: RealSet, scores: Scores) -> bool:
    if one.kind == PAPER or (one.truth >= 0).sum() < 100:
        return False
    return scores[one.name]["accuracy"] < measure(one.shares, one.truth)["accuracy"] - 0.01


def _cross_validation(data: Data, draws: int, splits: int) -> list[str]:
    rng = np.random.default_rng(0)
    settings = [
        {name: float(rng.uniform(*ends)) for name, ends in RANDOM.items()} for _ in range(draws)
    ]
    families = _families(data, paper=False)
    table = np.array(
        [_by_family(_scores(data, **one), families) for one in ({}, *settings)]
    )  # the default is first
    vote = _by_family({one.name: measure(one.shares, one.truth) for one, _ in data}, families)
    gains = np.array([_gains(table, vote, half) for half in _halves(rng, len(families), splits)])
    here, there, default, median = gains.mean(axis=0)
    gain = table[0] - vote
    error = gain.std(ddof=1) / np.sqrt(len(families))
    return [
        f"Cross-validation: of {draws} random settings (uniform over the ranges of the table) the best one on half of "
        f"the {len(families)} families gains {here:.4f} over majority vote there, and {there:.4f} on the other half, "
        f"on average over {2 * splits} halves. The default gains {default:.4f} on those other halves, the median "
        f"setting {median:.4f}. On all families the default gains {gain.mean():.4f} (standard error {error:.4f}). "
        "Choosing constants hardly transfers from some families to others; the structure of the method does. So the "
        "constants are round numbers on a plateau.",
    ]


def _gains(table: Any, vote: Any, half: Any) -> tuple[float, float, float, float]:
    """Over majority vote: of the best setting on its half and on the other, of the default and the median there."""
    here, there = (table - vote)[:, half].mean(axis=1), (table - vote)[:, ~half].mean(axis=1)
    best = int(np.argmax(here[1:])) + 1
    return here[best], there[best], there[0], float(np.median(there[1:]))


def _halves(rng: np.random.Generator, size: int, splits: int) -> list[Any]:
    """Each split, and the same the other way round."""
    found = [rng.permutation(size) < size // 2 for _ in range(splits)]
    return found + [~half for half in found]


def _scores(data: Data, **settings: Any) -> Scores:
    method = AnchoredVote(**settings)
    return {one.name: measure(fit(method, votes).posterior, one.truth) for one, votes in data}


def _families(data: Data, *, paper: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, _ in data:
        if (one.kind == PAPER) == paper:
            found.setdefault(one.family, []).append(one.name)
    return found


def _by_family(scores: Scores, families: dict[str, list[str]], what: str = "accuracy") -> Any:
    return np.array(
        [np.mean([scores[name][what] for name in names]) for names in families.values()]
    )


def _mean(scores: Scores, families: dict[str, list[str]], what: str = "accuracy") -> float:
    return float(_by_family(scores, families, what).mean())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--all", action="store_true", help="also the sets that take long")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
