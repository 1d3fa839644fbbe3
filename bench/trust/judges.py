"""LLM judges: figures, order, intervals and labels on published logs.

python -m bench.trust.judges --logs ../shared/logs    figures beside those of pandas, order by truths, coverage, labels
python -m bench.trust.judges --real ../shared/real    the same order, coverage and labels on panels of LLMs
python -m bench.trust.judges --logs ../shared/logs --rates    what would pass, and whether judges may replace people
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from scipy.stats import spearmanr

import finegold
from finegold.insight.judges import people
from finegold.insight.judges.answers import MIN_GOLD, Share
from finegold.insight.judges.rates import rate_of
from finegold.insight.judges.scores import FIGURES, best_first, score_judges
from finegold.io.judge_logs import OF_CALLS, merge_calls, only_judges
from finegold.judges import JudgeLog, JudgeReport

GIVEN = (0, 25, 50, 100)  # numbers of known truths
N_KNOWN = 50
MOST_ITEMS = 1000  # for coverage and labels, drawn at random


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.logs and chosen.rates:
        rates(chosen.logs, chosen.draws)
        replace_people(chosen.logs)
    elif chosen.logs:
        logs(chosen.logs, chosen.draws)
    if chosen.real:
        real(chosen.real, chosen.draws)


def logs(folder: Path, n_draws: int) -> None:
    """Print what the judges of each published log are worth, beside what a reader computes with pandas."""
    for name in ("llmbar", "judgebench", "pandalm", "llmjudge"):
        log = finegold.judges.read(folder / name)
        report = finegold.judges.assess(log)
        own = by_pandas(PANDAS[name](folder / name))
        print(f"\n{name}: {log!r}, {report.n_gold:,} truths")
        apart = 0.0
        for one in report.to_dict()["judges"]:
            other = own.loc[one["judge"]]
            figures = {
                "accuracy": one["accuracy"]["value"],
                "strict_accuracy": one["strict_accuracy"],
            }
            figures |= {"pair_accuracy": one["pair_accuracy"]} if log.kind == "pairwise" else {}
            apart = max(apart, *(abs(value - other[figure]) for figure, value in figures.items()))
            shown = "  ".join(
                f"{figure} {value:.4f} ({other[figure]:.4f})" for figure, value in figures.items()
            )
            print(f"  {one['judge'][:48]:48s} {shown}  undecided {one['undecided']:.3f}")
        print(f"  largest difference from pandas: {apart:.1e}")
        order(log, n_draws)
        some = some_items(log)
        coverage(some, n_draws)
        labels(some, report, n_draws=max(n_draws // 10, 3))


# What a reader computes alone: the calls of each log as a table, and twenty lines of pandas.


def llmbar_calls(folder: Path) -> pd.DataFrame:
    rows = []
    for path in sorted(folder.rglob("*.json.gz")):
        for number, record in enumerate(json.loads(gzip.decompress(path.read_bytes()))):
            for swap in (False, True):
                said = record["results"][0][f"swap = {swap}"]["winner"]
                item, judge = f"{path.parent.name} {number}", path.name.removesuffix(".json.gz")
                rows.append(
                    (item, judge, {"1": "A", "2": "B"}.get(str(said)), "AB"[record["label"] - 1])
                )
    return pd.DataFrame(rows, columns=["item", "judge", "said", "gold"])


def judgebench_calls(folder: Path) -> pd.DataFrame:
    rows = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        for record in map(json.loads, gzip.decompress(path.read_bytes()).splitlines()):
            model = next((g["judgment"]["judge_model"] for g in record["judgments"] if g), "")
            for swapped, game in enumerate(record["judgments"]):
                said = {"A>B": "AB"[swapped], "B>A": "BA"[swapped], "A=B": "tie"}.get(
                    game and game["decision"]
                )
                rows.append(
                    (record["pair_id"], f"{record['judge_name']} {model}", said, record["label"][0])
                )
    return pd.DataFrame(rows, columns=["item", "judge", "said", "gold"])


def pandalm_calls(folder: Path) -> pd.DataFrame:
    words, people = (
        {"1": "A", "2": "B", "0": "tie", "Tie": "tie"},
        pd.read_json(folder / "testset-v1.json.gz").set_index("idx"),
    )
    modes = (
        people[[f"annotator{number}" for number in (1, 2, 3)]].mode(axis=1).reindex(columns=[0, 1])
    )
    gold = modes[0][modes[1].isna()].astype(int).astype(str).map(words)
    parts = []
    for path in (folder / f"{name}-testset-v1.json.gz" for name in ("gpt-3.5-turbo", "pandalm-7b")):
        log = pd.read_json(path)
        said = log[next(name for name in log if name.endswith("_result"))].astype(str).map(words)
        judge = path.name.removesuffix(".json.gz")
        parts.append(
            pd.DataFrame(
                {"item": log["idx"], "judge": judge, "said": said, "gold": log["idx"].map(gold)}
            )
        )
    return pd.concat(parts)


def llmjudge_calls(folder: Path) -> pd.DataFrame:
    def qrels(path: Path) -> pd.Series:
        table = pd.read_csv(path, sep=r"\s+", header=None, dtype=str)
        return pd.Series(table[3].to_numpy(), index=table[0] + " " + table[2])

    gold = qrels(folder / "human_qrels.txt.gz")
    paths = [path for path in sorted(folder.glob("*.txt.gz")) if not path.name.startswith("human")]
    parts = {path.name.removesuffix(".txt.gz"): qrels(path) for path in paths}
    frames = [
        pd.DataFrame({"item": said.index, "judge": name, "said": said.to_numpy()})
        for name, said in parts.items()
    ]
    calls = pd.concat(frames)
    return calls.assign(gold=calls["item"].map(gold))


PANDAS = {
    "llmbar": llmbar_calls,
    "judgebench": judgebench_calls,
    "pandalm": pandalm_calls,
    "llmjudge": llmjudge_calls,
}


def by_pandas(calls: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy, strict and pair accuracy of every judge."""
    calls = calls.dropna(subset="gold")
    has_ties = (calls["gold"] == "tie").any()
    calls = calls.assign(right=calls["said"] == calls["gold"], read=calls["said"].notna())
    calls["wrong"] = calls["read"] & ~calls["right"] & (calls["said"] != "tie")
    pairs = calls.groupby(["judge", "item"]).agg(
        n=("read", "size"), read=("read", "sum"), right=("right", "sum"), wrong=("wrong", "sum"),
        kinds=("said", "nunique"), said=("said", "first"),
    )  # fmt: skip
    undecided = (pairs["kinds"] > 1) | (
        ~pd.Series(has_ties, pairs.index) & (pairs["said"] == "tie")
    )
    pairs["accuracy"] = np.where(undecided, 0.5, (pairs["right"] > 0) * 1.0)
    pairs.loc[pairs["read"] == 0, "accuracy"] = 0.0
    pairs["strict_accuracy"] = (pairs["right"] == pairs["n"]) * 1.0
    pairs["pair_accuracy"] = (pairs["right"] > pairs["wrong"]) * 1.0
    return pairs.groupby("judge")[["accuracy", "strict_accuracy", "pair_accuracy"]].mean()


# How far the order of judges, the intervals and the labels hold.


def known_items(log: JudgeLog) -> np.ndarray:
    return np.flatnonzero(log.gold >= 0)


def with_truths(log: JudgeLog, items: np.ndarray) -> JudgeLog:
    gold = np.full_like(log.gold, -1)
    gold[items] = log.gold[items]
    return replace(log, gold=gold)


def only(log: JudgeLog, items: np.ndarray) -> JudgeLog:
    """Return the log with the calls on some of the items."""
    kept = np.isin(log.item, items)
    parts = {name: getattr(log, name)[kept] for name in OF_CALLS}
    return replace(with_truths(log, items), **parts)


def some_items(log: JudgeLog) -> JudgeLog:
    return only(log, np.random.default_rng(0).permutation(known_items(log))[:MOST_ITEMS])


def order(log: JudgeLog, n_draws: int) -> None:
    full = {one.judge: one.accuracy.value for one in score_judges(log, merge_calls(log))}
    found = []
    for n in GIVEN:
        values, rng = [], np.random.default_rng(n)
        for _ in range(n_draws if n else 1):
            few = with_truths(log, rng.choice(known_items(log), n, replace=False))
            ranked = [full[one.judge] for one in best_first(score_judges(few, merge_calls(few)))]
            values.append(spearmanr(-np.arange(len(ranked)), ranked).statistic)
        found.append(f"{n}: {np.mean(values):+.2f}")
    print(f"  rank correlation with the order by all truths, with n truths: {', '.join(found)}")


def coverage(log: JudgeLog, n_draws: int) -> None:
    """Draw 50 items with their truths, and see how often the intervals hold the figures of all other items."""
    inside: dict[str, list[bool]] = {}
    rng, known = np.random.default_rng(0), known_items(log)
    prices = {name: float(price) for price, name in enumerate(log.judge_names, start=1)}

    def hold(figure: str, mine: Share, true: float) -> None:
        if mine.value == mine.value and true == true:
            inside.setdefault(figure, []).append(mine.low <= true <= mine.high)

    for _ in range(n_draws):
        drawn = rng.choice(known, N_KNOWN, replace=False)
        few, rest = (
            finegold.judges.assess(only(log, items))
            for items in (drawn, np.setdiff1d(known, drawn))
        )
        truth = {one.judge: one for one in rest.scores}
        for one in few.scores:
            for figure in FIGURES:
                hold(
                    figure,
                    getattr(one, figure),
                    getattr(truth[one.judge], figure).value,
                )
        classes = {
            judge: {each.label: each for each in own} for judge, own in rest.classes().items()
        }
        for judge, own in few.classes().items():
            for each in own:
                other = classes.get(judge, {}).get(each.label)
                for figure in ("sensitivity", "specificity", "precision") if other else ():
                    hold(figure, getattr(each, figure), getattr(other, figure).value)
        taught = few._members
        others = rest._members._replace(weight=taught.weight, alike=taught.alike)
        for panel in few.panels(prices):
            members = np.isin(log.judge_names, panel.judges)
            hold("panels", panel.accuracy, float(others.credit_or_chance(members[None]).mean()))
        best = [
            one.judge
            for one in few.scores
            if one.n_gold >= MIN_GOLD and truth[one.judge].n_gold >= MIN_GOLD
        ][:2]
        with contextlib.suppress(finegold.InputError):  # judges that share no item
            hold("compare", few.compare(*best).difference, rest.compare(*best).difference.value)
    shown = ", ".join(f"{figure} {np.mean(hits):.1%}" for figure, hits in inside.items())
    print(f"  95 % intervals from {N_KNOWN} items that hold the figure of all others: {shown}")


def rates(folder: Path, n_draws: int) -> None:
    """Print how often intervals of the rate that people would give hold it, and their width beside the checks alone."""
    for name in ("llmbar", "judgebench", "pandalm", "llmjudge"):
        log = finegold.judges.read(folder / name)
        log = only(log, known_items(log))
        for what in [None] if log.is_ordered else [str(log.class_names[0])]:
            verdicts, truth, _, (low, high) = finegold.judges.assess(log)._passes(what)
            for n in (50, 100, 200):
                rng, rows = np.random.default_rng(n), []
                for _ in range(n_draws):
                    drawn = rng.choice(len(truth), n, replace=False)
                    known = np.full(len(truth), np.nan)
                    known[drawn] = truth[drawn]
                    found = rate_of("", verdicts, known, low, high)
                    rows.append(
                        [
                            found.rate.low <= truth.mean() <= found.rate.high,
                            found.rate.high - found.rate.low,
                            found.checks_alone.low <= truth.mean() <= found.checks_alone.high,
                            found.checks_alone.high - found.checks_alone.low,
                            abs(found.rate.value - truth.mean()),
                        ]
                    )
                held, width, alone, wide, off = np.mean(rows, axis=0)
                raw = abs(np.nanmean(verdicts) - truth.mean())
                print(
                    f"{name:10s} {n:4d} checks: corrected {held:.1%} wide {width:.3f}, checks alone {alone:.1%}"
                    f" wide {wide:.3f}, off by {off:.3f}; verdicts alone off by {raw:.3f}",
                    flush=True,
                )


def replace_people(folder: Path) -> None:
    """Print the alternative annotator test of PandaLM's judges against its three people."""
    report = finegold.judges.assess(finegold.judges.read(folder / "pandalm"))
    print(f"people agree with the majority of the others in {people.ceiling(report.log).value:.3f}")
    for epsilon in (0.1, 0.15, 0.2):
        for one in report.may_replace(epsilon):
            print(
                f"epsilon {epsilon}: {one.judge} wins over {one.winning_rate:.2f} of {one.n_people} people,"
                f" advantage {one.advantage:.3f}"
            )


def labels(log: JudgeLog, report: JudgeReport, n_draws: int) -> None:
    """Print how many labels are right on the items whose truth is not given, and what the best panel costs."""
    best = report.scores[0]
    print(
        f"  labels right; the best judge, {best.judge}, has {best.accuracy.value:.3f} of those it answered"
    )
    for n in GIVEN:
        rows, rng = [], np.random.default_rng(n)
        for _ in range(n_draws if n else 1):
            drawn = rng.choice(known_items(log), n, replace=False)
            few, rest = with_truths(log, drawn), np.setdiff1d(known_items(log), drawn)
            found = finegold.judges.assess(few)
            row = [right(found, log, rest), majority(log, rest)]
            if n:
                panel = found.panels(dict.fromkeys(log.judge_names, 1.0))[-1]
                row += [
                    right(finegold.judges.assess(only_judges(few, panel.judges)), log, rest),
                    len(panel.judges),
                ]
            rows.append(row)
        ours, calls, *chosen = np.mean(rows, axis=0)
        panel = (
            f", best panel {chosen[0]:.3f} with {chosen[1]:.1f} of {log.n_judges} judges"
            if chosen
            else ""
        )
        print(f"    {n:3d} truths: {ours:.3f}, majority over calls {calls:.3f}{panel}")


def right(report: JudgeReport, log: JudgeLog, items: np.ndarray) -> float:
    """Return how often labels are right; classes that tie share the credit, and an item without a label has chance."""
    K = len(report._answers.names)
    posterior = np.full((log.n_items, max(K, len(log.class_names))), -1.0)
    posterior[:, :K] = 1 / K
    posterior[report._labelled, :K] = report.result.posterior
    return shared(posterior[items], log.gold[items])


def shared(values: np.ndarray, gold: np.ndarray) -> float:
    top = values >= values.max(axis=1, keepdims=True) - 1e-9
    return float((top[np.arange(len(gold)), gold] / top.sum(axis=1)).mean())


def majority(log: JudgeLog, items: np.ndarray) -> float:
    """Return how often the class that most calls name is right; ties are shared."""
    counts = np.zeros((log.n_items, len(log.class_names)))
    used = log.answer >= 0
    np.add.at(counts, (log.item[used], log.answer[used]), 1)
    return shared(counts[items], log.gold[items])


def real(folder: Path, n_draws: int) -> None:
    """Print order, coverage and labels of the panels of LLMs, which have one vote per judge and item."""
    for name in (
        name
        for family in json.loads((folder / "families.json").read_text())["llm"]
        for name in family
    ):
        votes = pd.read_csv(folder / name / "label.csv.gz", dtype=str)
        truth = pd.read_csv(folder / name / "truth.csv.gz", dtype=str).set_index("item")["truth"]
        table = {
            "item": votes["item"],
            "judge": votes["worker"],
            "verdict": "class " + votes["label"],
        }
        log = finegold.judges.read(
            pl.DataFrame({key: value.to_numpy() for key, value in table.items()})
        )
        given = {
            item: value for item, value in ("class " + truth).items() if value in log.class_names
        }
        log = finegold.judges.read(log, gold=given)
        report = finegold.judges.assess(some_items(log))
        log = report.log
        print(f"\n{name}: {log!r}, {report.n_gold:,} truths", flush=True)
        order(log, n_draws)
        coverage(log, n_draws)
        labels(log, report, n_draws=max(n_draws // 10, 3))


if __name__ == "__main__":
    main()
