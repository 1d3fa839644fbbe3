"""LLM judges: coverage of the intervals on simulated logs, errors on real panels, and the time for a million verdicts.

python bench/judges.py --scores      accuracy, position bias, failure rate and families, over 200 draws
python bench/judges.py --ranking     strengths of systems, over 200 draws
python bench/judges.py --speed       1,000,000 verdicts of 20 judges
python bench/judges.py --real        accuracies that the posterior expects, against the truths of ../shared/real
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import finegold
from finegold.insight.judges.ranking import Games, fit_strengths
from finegold.io.read import match_truth
from finegold.votes.simulation import JudgeProcess, draw_judges, simulate_log

REAL = Path(__file__).resolve().parents[2] / "shared" / "real"
FAMILIES = {
    "llmbar": ("llmbar", "llmbar_vanilla", "llmbar_faireval", "llmbar_llmeval2", "llmbar_mtbench"),
    **{name: (name,) for name in ("mmlupro_llm", "llmjudge_trecdl", "judgebench_rm", "pandalm_h3", "ambient_tf")},
}
N_ITEMS, N_GOLD = 600, 150


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("scores", "ranking", "speed", "real"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--draws", type=int, default=200)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.scores:
        scores(chosen.draws)
    if chosen.ranking:
        ranking(chosen.draws)
    if chosen.speed:
        speed()
    if chosen.real:
        real()


def scores(n_draws: int) -> None:
    """Print how often the interval of each figure has the value that the log was drawn with."""
    process = draw_judges(8, 5, seed=3)
    for torn in ("tie", "half"):
        truth = true_accuracies(process, torn)
        names = ("accuracy, gold", "accuracy, posterior", "position bias", "failure rate")
        inside: dict[str, list[np.ndarray]] = {name: [] for name in names}
        families, worst = [], []
        for seed in range(n_draws):
            drawn = simulate_log(process, N_ITEMS, seed=1000 + seed)
            log = finegold.judges.read(pl.DataFrame(drawn.columns))
            blind = finegold.judges.assess(log, torn=torn)
            gold = dict(zip(drawn.truth["item"][:N_GOLD].tolist(), drawn.truth["truth"][:N_GOLD].tolist(), strict=True))
            found = finegold.judges.assess(log, gold=gold, torn=torn)
            inside["accuracy, gold"].append(holds(found, "accuracy", truth))
            inside["accuracy, posterior"].append(holds(blind, "accuracy", truth))
            inside["position bias"].append(holds(blind, "position_bias", by_name(process, process.position_bias)))
            inside["failure rate"].append(holds(blind, "failure_rate", by_name(process, process.failure_rate)))
            families.append(are_families_found(process, blind))
            worst.append(all(lowest(one) == min(truth, key=truth.__getitem__) for one in (found, blind)))
        print(f"torn verdicts count as {torn}: {n_draws} draws of {N_ITEMS} items, 8 judges, {N_GOLD} gold truths")
        for name, hits in inside.items():
            print(f"  {name:20s} {np.mean(hits):6.1%} of the 95 % intervals hold the true value")
        print(f"  families found       {np.mean(families):6.1%}; the worst judge is found in {np.mean(worst):.1%}")


def true_accuracies(process: JudgeProcess, torn: str) -> dict[str, float]:
    """Return the accuracies of merged answers over very many items."""
    drawn = simulate_log(process, 100_000, seed=1)
    gold = dict(zip(drawn.truth["item"].tolist(), drawn.truth["truth"].tolist(), strict=True))
    from finegold.insight.judges.answers import merge

    log = finegold.judges.read(pl.DataFrame(drawn.columns), gold=gold)
    answers = merge(log, torn)
    right = answers.share[np.arange(len(answers.item)), answers.gold[answers.item]]
    means = np.bincount(answers.judge, right) / np.bincount(answers.judge)
    return dict(zip(log.judge_names, means.tolist(), strict=True))


def holds(report: finegold.judges.JudgeReport, figure: str, truth: dict[str, float]) -> np.ndarray:
    shares = {one.judge: getattr(one, figure) for one in report.scores}
    return np.array([shares[name].low <= value <= shares[name].high for name, value in truth.items()])


def by_name(process: JudgeProcess, values: np.ndarray) -> dict[str, float]:
    return dict(zip(process.judge_names, values.tolist(), strict=True))


def are_families_found(process: JudgeProcess, report: finegold.judges.JudgeReport) -> bool:
    names = np.array(process.judge_names)
    mates = {
        name: set(names[process.family == family]) - {name} for name, family in zip(names, process.family, strict=True)
    }
    return all(set(one.partners) == mates[one.judge] for one in report.scores)


def lowest(report: finegold.judges.JudgeReport) -> str:
    return min(report.scores, key=lambda one: one.accuracy.value).judge


def ranking(n_draws: int) -> None:
    """Print how often the interval of a strength has the strength that the verdicts were drawn with."""
    theta = np.linspace(1.0, -1.0, 6)
    position, tie = np.array([0.2, 0.6, -0.1, 0.0]), np.log([0.3, 0.5, 0.2, 0.8])
    log_s = np.array([0.4, 0.1, -0.1, -0.4])
    for learn in (True, False):
        inside, ranks = [], []
        for seed in range(n_draws):
            games = draw_games(np.random.default_rng(seed), theta, position, tie, log_s if learn else 0 * log_s)
            found = fit_strengths(games, learn_weights=learn, n_draws=400, seed=seed)
            low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
            inside.append((low <= theta) & (theta <= high))
            ranks.append(np.corrcoef(found.theta, theta)[0, 1])
        kind = "learned weights" if learn else "equal weights"
        print(f"{kind}: {np.mean(inside):.1%} of the 95 % intervals hold the strength (6 systems, {n_draws} draws)")


def draw_games(
    rng: np.random.Generator, theta: np.ndarray, position: np.ndarray, tie: np.ndarray, log_s: np.ndarray
) -> Games:
    """Draw verdicts of all judges on 400 pairs, in both orders."""
    n_items, S, J = 400, len(theta), len(position)
    a = rng.integers(0, S, n_items)
    b = (a + rng.integers(1, S, n_items)) % S
    item, judge, order = (
        part.ravel() for part in np.meshgrid(np.arange(n_items), np.arange(J), [1, -1], indexing="ij")
    )
    eta = np.exp(log_s)[judge] * (theta[a] - theta[b])[item] + position[judge] * order
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), np.exp(tie)[judge]])
    sums = np.cumsum(weights / weights.sum(axis=0), axis=0)
    outcome = np.minimum((rng.random(len(item)) > sums).sum(axis=0), 2)
    flat = np.ones(len(item))
    return Games(a[item], b[item], judge, order.astype(float), outcome, flat, item, S, J, n_items)


def speed() -> None:
    """Print the seconds that a million verdicts of 20 judges take."""
    drawn = simulate_log(draw_judges(20, 10, seed=3), 25_000, seed=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        pl.DataFrame(drawn.columns).write_csv(path)
        finegold.judges.assess(
            pl.DataFrame({name: values[:2000] for name, values in drawn.columns.items()})
        )  # compiles
        log = timed("read", lambda: finegold.judges.read(path))
    report = timed("judges", lambda: finegold.judges.assess(log))
    timed("panels", report.panels)
    timed("rank", report.rank)


def timed(name: str, work: Callable[[], Any]) -> Any:
    start, cpu = time.perf_counter(), time.process_time()
    found = work()
    print(f"{name:8s} {time.perf_counter() - start:6.2f} s, {time.process_time() - cpu:6.2f} s of CPU", flush=True)
    return found


def real() -> None:
    """Print how far the accuracy that the posterior expects is from the share of right votes."""
    means = []
    for family, sets in FAMILIES.items():
        squares = []
        for name in sets:
            result = finegold.aggregate(REAL / name / "label.csv.gz")
            truth = match_truth(result, REAL / name / "truth.csv.gz").codes
            task, judge, label = result.annotations.votes()
            known = truth[task] >= 0
            n, n_known = np.bincount(judge), np.bincount(judge[known], minlength=judge.max() + 1)
            expected = np.bincount(judge, result.posterior[task, label]) / n
            right = np.bincount(judge[known], (label == truth[task])[known], minlength=len(n)) / np.maximum(n_known, 1)
            squares.append(float(((expected - right)[n_known >= 30] ** 2).mean()))
        means.append(float(np.sqrt(np.mean(squares))))
        print(f"{family:16s} root mean square error of judges' accuracies {means[-1]:.3f}", flush=True)
    print(f"mean over families {np.mean(means):.3f}")


if __name__ == "__main__":
    main()
