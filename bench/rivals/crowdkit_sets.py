"""How far the classes of finegold.crowdkit are from crowd-kit's, on real data sets.

python -m bench.rivals.crowdkit_sets --data ../shared/datasets --rival PYTHON [--limit 300] [--only val5 ms]

PYTHON is that of an environment with crowd-kit 1.4.2, pandas and scikit-learn 1.5.2, such as bench/.venv-rivals.
Every fit has a process of its own; those of crowd-kit that take longer than the limit are left out. The table is on
docs/guides/crowdkit.md.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CLASSES = ["MajorityVote", "Wawa", "ZeroBasedSkill", "GoldMajorityVote", "DawidSkene"]
CLASSES += ["OneCoinDawidSkene", "GLAD", "MACE", "MMSR", "KOS"]
FUNCTIONS = ["alpha_krippendorff", "consistency", "uncertainty"]


def fit(library: str, name: str, folder: Path, out: Path) -> None:
    """Keep what a class or function of a library says of a data set; runs in a process of its own."""
    votes = pd.read_csv(folder / "label.csv", dtype=str)
    votes.columns = pd.Index(["task", "worker", "label"])
    truths = pd.read_csv(folder / "truth.csv", dtype=str).iloc[:, :2]
    truth = truths.set_axis(["task", "label"], axis=1).set_index("task")["label"]
    if library == "crowdkit":
        part = "metrics.data" if name in FUNCTIONS else "aggregation"
        module: Any = importlib.import_module(f"crowdkit.{part}")
    else:
        module = importlib.import_module("finegold.crowdkit")
    if name in FUNCTIONS:
        pd.to_pickle(pd.Series([getattr(module, name)(votes)]), out)
        return
    model = getattr(module, name)()
    given = [truth[truth.index.isin(votes["task"])]] if name == "GoldMajorityVote" else []
    began = time.perf_counter()
    labels = model.fit_predict(votes, *given)
    seconds = time.perf_counter() - began
    probas = getattr(model, "probas_", getattr(model, "scores_", None))
    pd.to_pickle({"labels": labels, "probas": probas, "seconds": seconds}, out)


def compare(theirs: Any, ours: Any) -> tuple[int, float]:
    """Return the number of other labels, and the largest difference of a probability."""
    if isinstance(theirs, pd.Series):
        return 0, float(np.abs(theirs - ours).max())
    other = int((theirs["labels"] != ours["labels"].reindex(theirs["labels"].index)).sum())
    if theirs["probas"] is None:
        return other, 0.0
    both = theirs["probas"].align(ours["probas"])
    return other, float(np.nanmax(np.abs(both[0].to_numpy() - both[1].to_numpy())))


def main() -> None:
    options = _options()
    print(
        "| name | data sets | other labels | largest difference | crowd-kit, ours: seconds |\n|---|---|---|---|---|"
    )
    for name in options.classes:
        rows, seconds = [], np.zeros(2)
        for data in sorted(path.parent for path in options.data.glob("*/label.csv")):
            if options.only and data.name not in options.only:
                continue
            found = [_run(options, library, name, data) for library in ("crowdkit", "finegold")]
            if all(each is not None for each in found):
                rows.append((data.name, *compare(*found)))
                if isinstance(found[0], dict):
                    seconds += [each["seconds"] for each in found]
            print(
                name,
                data.name,
                rows[-1:],
                file=sys.stderr,
                flush=True,
            )
        if rows:
            others = ", ".join(f"{n} ({data})" for data, n, _ in rows if n) or "none"
            largest = max(gap for *_, gap in rows)
            print(
                f"| `{name}` | {len(rows)} | {others} | {largest:.0e} | {seconds[0]:.1f}, {seconds[1]:.1f} |",
                flush=True,
            )


def _run(options: argparse.Namespace, library: str, name: str, data: Path) -> Any:
    python = options.rival if library == "crowdkit" else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found"
        command = [python, __file__, "--fit", library, name, data, out]
        try:
            done = subprocess.run(
                [*map(str, command)], timeout=options.limit, capture_output=True, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            print(done.stderr.decode()[-300:], file=sys.stderr)
            return None
        return pd.read_pickle(out)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rival", required=True)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--classes", nargs="+", default=CLASSES + FUNCTIONS)
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit(sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5]))
    else:
        main()
