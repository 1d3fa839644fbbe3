"""What each part and each constant of the default is worth on real data, with two, three and all votes a task.

python -m bench.accuracy.ablation [--fast] [--shared ../shared]

Prints the table of docs/inside/default.md: means over families, as bench/accuracy/real.py has them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.accuracy.real import DRAWS
from bench.accuracy.real_score import measure, summarise
from bench.real_data import PAPER, load
from finegold.fitting.solve import fit
from finegold.kernels.anchored import Model
from finegold.methods import anchored
from finegold.methods.anchored import AnchoredVote

NUMBERS = (2, 3, 0)  # of votes a task; 0 are all
Settings = dict[str, Any]


@contextmanager
def changed(**constants: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch.object(anchored, name, value))
        yield


def model(*, prior: float = 1.0, weigh: bool = True) -> Any:
    """Another power of the frequencies of classes, or the same weight for all annotators."""

    def changed_model(log_prior: Any, w: Any, weight: Any, *more: Any) -> Model:
        return Model(prior * log_prior, w, weight if weigh else np.ones_like(weight), *more)

    return changed(Model=changed_model)


def coin(times: float) -> Any:
    usual = anchored.coin
    return changed(coin=lambda a, K: times * usual(a, K))


VARIANTS: dict[str, tuple[Any, Settings]] = {
    "the default": (changed, {}),
    "no votes in the label (`vote_share` 0)": (changed, {"vote_share": 0.0}),
    "`vote_share` .3": (changed, {"vote_share": 0.3}),
    "`vote_share` .7": (changed, {"vote_share": 0.7}),
    "no model (`vote_share` 1)": (changed, {"vote_share": 1.0}),
    "everybody's matrix only": (partial(changed, OWN_SHARE=0.0), {}),
    "half everybody's, half own": (partial(changed, OWN_SHARE=0.5), {}),
    "own matrices only": (partial(changed, OWN_SHARE=1.0), {}),
    "frequencies of classes ignored": (partial(model, prior=0.0), {}),
    "half of them (as before)": (partial(model, prior=0.5), {}),
    "frequencies to the power 1.5": (partial(model, prior=1.5), {}),
    "all annotators weigh the same": (partial(model, weigh=False), {}),
    "kappa is 1": (partial(changed, uniformity=lambda votes: 1.0), {}),
    "a tenth of the uniform errors": (partial(coin, 0.1), {}),
    "three times the uniform errors": (partial(coin, 3.0), {}),
    "one pseudo-vote": (partial(changed, PRIOR_VOTES=1.0), {}),
    "eight pseudo-votes": (partial(changed, PRIOR_VOTES=8.0), {}),
    "1 sweep": (changed, {"max_iterations": 1}),
    "2 sweeps": (changed, {"max_iterations": 2}),
    "30 sweeps": (changed, {"max_iterations": 30}),
    "c' is not calibrated (0)": (partial(changed, DOUBT=0.0), {}),
    "c' two thirds": (partial(changed, DOUBT=1.0), {}),
    "c' four thirds": (partial(changed, DOUBT=2.0), {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--fast", action="store_true", help="without the largest sets")
    options = parser.parse_args()
    data = [one for one in load(options.shared, fast=options.fast) if one.kind != PAPER]
    drawn = {}
    for n in NUMBERS:
        enough = [one for one in data if not n or one.votes_per_task >= n + 0.5]
        drawn[n] = {
            one.name: (one, [one.thin(n, d) for d in range(DRAWS)] if n else [one])
            for one in enough
        }
    votes = {
        n: {name: [some.annotations() for some in each] for name, (_, each) in sets.items()}
        for n, sets in drawn.items()
    }
    about = {
        n: {
            name: {**one.describe(), "mv": _mean([measure(x.shares, x.truth) for x in each])}
            for name, (one, each) in sets.items()
        }
        for n, sets in drawn.items()
    }
    print(
        "| | 2 votes | under | ECE | log loss | 3 votes | under | ECE | log loss | all | under | ECE | log loss |"
    )
    print("|---|" + "---:|" * 12)
    for title, (context, settings) in VARIANTS.items():
        cells = [title]
        with context():
            for n, sets in drawn.items():
                method = AnchoredVote(**settings)
                rows = {
                    name: _mean(
                        [measure(fit(method, some).posterior, one.truth) for some in votes[n][name]]
                    )
                    for name, (one, _) in sets.items()
                }
                found = summarise(rows, about[n])
                figures = found["open"]
                cells += [f"{figures['accuracy']:.4f}", str(len(found["under"][1]))]
                cells += [f"{figures['ece']:.3f}", f"{figures['log_loss']:.3f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


if __name__ == "__main__":
    main()
