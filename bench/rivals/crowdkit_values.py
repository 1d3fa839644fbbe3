"""What crowd-kit answers to random votes, as JSON: the tests compare finegold.crowdkit with it.

Run by bench/.venv-rivals (see rivals.txt), because crowd-kit needs an older scikit-learn than Finegold's tests:

    bench/.venv-rivals/bin/python -m bench.rivals.crowdkit_values tests/data/crowdkit.json
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import crowdkit.aggregation as aggregation
import crowdkit.metrics.data as data_metrics
import crowdkit.metrics.workers as worker_metrics
import crowdkit.postprocessing as postprocessing
import numpy as np
import pandas as pd

NAMES = ["ant", "bee", "cat", "dog"]
ATTRIBUTES = [
    "labels_",
    "probas_",
    "skills_",
    "scores_",
    "errors_",
    "priors_",
    "loss_history_",
    "alphas_",
    "betas_",
]
ATTRIBUTES += ["spamming_", "thetas_"]
# class, settings, further arguments of fit (columns of `known`)
FITS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("MajorityVote", {}, []),
    ("MajorityVote", {}, ["skills"]),
    ("MajorityVote", {"on_missing_skill": "ignore"}, ["some_skills"]),
    ("MajorityVote", {"on_missing_skill": "value", "default_skill": 0.5}, ["some_skills"]),
    ("Wawa", {}, []),
    ("GoldMajorityVote", {}, ["gold"]),
    *[("ZeroBasedSkill", {"n_iter": n}, []) for n in (1, 3)],
    ("ZeroBasedSkill", {"n_iter": 8, "lr_init": 0.3, "lr_steps_to_reduce": 3, "eps": 0.01}, []),
    *[("DawidSkene", {"n_iter": n, "tol": 0}, []) for n in (0, 1, 5)],
    ("DawidSkene", {}, []),
    ("DawidSkene", {"n_iter": 3, "tol": 0}, ["gold"]),
    *[("OneCoinDawidSkene", {"n_iter": n, "tol": 0}, []) for n in (0, 1, 5)],
    ("OneCoinDawidSkene", {}, []),
    *[("GLAD", {"n_iter": n, "tol": 0}, []) for n in (0, 1, 3)],
    ("GLAD", {}, []),
    *[("KOS", {"n_iter": n}, []) for n in (0, 1, 2, 10)],
    *[
        ("MACE", {"n_iter": n, "method": method, "n_restarts": 1}, [])
        for n in (0, 1, 5)
        for method in ("vb", "em")
    ],
    *[("MMSR", {"n_iter": n}, []) for n in (1, 2, 30)],
    *[("BradleyTerry", {"n_iter": n, "tol": 0}, []) for n in (0, 1, 20)],
    ("BinaryRelevance", {}, []),
]
METRICS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("consistency", {}, []),
    ("consistency", {"by_task": True}, ["skills"]),
    ("uncertainty", {}, []),
    ("uncertainty", {"aggregate": False}, ["skills"]),
    ("uncertainty", {"aggregate": False, "compute_by": "worker"}, ["skills"]),
    ("alpha_krippendorff", {}, []),
    ("accuracy_on_aggregates", {}, []),
    ("accuracy_on_aggregates", {"by": "worker"}, []),
    ("entropy_threshold", {}, []),
    ("entropy_threshold", {"percentile": 40, "min_answers": 4}, ["skills"]),
]


def votes(seed: int, n_classes: int, n_tasks: int = 9, n_workers: int = 6) -> pd.DataFrame:
    """Random votes in random order; the classes first appear in the order of the alphabet."""
    random = np.random.default_rng(seed)
    truth, quality = random.integers(0, n_classes, n_tasks), random.uniform(0.4, 0.95, n_workers)
    rows = [
        (
            f"t{i}",
            f"w{j}",
            NAMES[truth[i] if random.random() < quality[j] else random.integers(0, n_classes)],
        )
        for i in range(n_tasks)
        for j in range(n_workers)
        if random.random() < 0.75 or i % n_workers == j
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"]).sample(
        frac=1, random_state=seed
    )
    order = dict(zip(frame["label"].unique(), NAMES, strict=False))
    return frame.assign(label=frame["label"].map(order)).reset_index(drop=True)


def other_data(frame: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Comparisons, votes of several labels, and votes of workers who first appear in the order of the alphabet."""
    random = np.random.default_rng(seed)
    lists = [
        sorted(random.permutation(NAMES)[: random.integers(1, 4)].tolist())
        for _ in range(len(frame))
    ]
    pairs = [random.permutation(NAMES)[:2].tolist() for _ in range(40)]
    rows = [(f"w{random.integers(4)}", *pair, pair[random.integers(2)]) for pair in pairs]
    compared = pd.DataFrame(rows, columns=["worker", "left", "right", "label"])
    order = {worker: f"w{new}" for new, worker in enumerate(frame["worker"].unique())}
    in_order = frame.assign(
        worker=frame["worker"].map(order)
    )  # crowd-kit's MACE mixes workers up otherwise
    return {
        "BinaryRelevance": frame.assign(label=lists),
        "BradleyTerry": compared,
        "MACE": in_order,
    }


def known(frame: pd.DataFrame, seed: int) -> dict[str, pd.Series]:
    random = np.random.default_rng(seed)
    workers = sorted(frame["worker"].unique())
    skills = pd.Series(random.uniform(0.2, 1.0, len(workers)), index=workers)
    return {
        "skills": skills,
        "some_skills": skills[:5],
        "gold": frame.drop_duplicates("worker").drop_duplicates("task").set_index("task")["label"],
    }


def plain(value: Any) -> Any:
    """Return a value for JSON."""
    if isinstance(value, pd.DataFrame):
        return {
            "index": plain(value.index),
            "columns": plain(value.columns),
            "values": value.to_numpy().tolist(),
        }
    if isinstance(value, pd.Series):
        return {"index": plain(value.index), "values": value.tolist()}
    if isinstance(value, pd.MultiIndex):
        return [list(pair) for pair in value]
    return value.tolist() if hasattr(value, "tolist") else value


def fit(
    name: str, settings: dict[str, Any], frame: pd.DataFrame, given: list[pd.Series]
) -> dict[str, Any] | None:
    """Return the attributes after a fit; None where crowd-kit refuses the votes."""
    model = getattr(aggregation, name)(**settings)
    try:
        model.fit(frame, *given)
    except ValueError:
        return None
    for predict in ("predict", "predict_score"):
        if hasattr(model, predict):
            getattr(model, predict)(frame)
    return {
        attribute: plain(getattr(model, attribute))
        for attribute in ATTRIBUTES
        if hasattr(model, attribute)
    }


def measure(
    name: str, settings: dict[str, Any], frame: pd.DataFrame, given: list[pd.Series]
) -> dict[str, Any]:
    module = next(m for m in (data_metrics, worker_metrics, postprocessing) if hasattr(m, name))
    return {"value": plain(getattr(module, name)(frame, *given, **settings))}


def cases(seed: int, n_classes: int) -> list[dict[str, Any]]:
    frame = votes(seed, n_classes)
    others, facts, found = other_data(frame, seed), known(frame, seed), []
    for run, table in ((fit, FITS), (measure, METRICS)):
        for name, settings, arguments in table:
            values = run(
                name, settings, others.get(name, frame), [facts[argument] for argument in arguments]
            )
            if values is not None:
                found.append(
                    {"name": name, "settings": settings, "arguments": arguments, "values": values}
                )
    tables = {"votes": frame, **others}
    return [{"data": {key: table.to_dict("list") for key, table in tables.items()},
             "known": {key: plain(series) for key, series in facts.items()}, "cases": found}]  # fmt: skip


def main(path: Path) -> None:
    versions = {
        name: version(name) for name in ("crowd-kit", "pandas", "numpy", "scipy", "scikit-learn")
    }
    groups = [group for seed, n_classes in ((0, 2), (1, 3)) for group in cases(seed, n_classes)]
    path.write_text(
        json.dumps(
            {"made by": "bench/rivals/crowdkit_values.py", "versions": versions, "groups": groups}
        )
        + "\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
