"""MMSR of crowd-kit, where it is installed, otherwise of finegold.crowdkit: skills and right labels on real data sets.

bench/.venv-rivals/bin/python -m bench.rivals.crowdkit_mmsr ../shared/real rte temp covid_s6 --save skills.json
python -m bench.rivals.crowdkit_mmsr ../shared/real rte temp covid_s6 --compare skills.json
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

try:
    from crowdkit.aggregation import MMSR
except ImportError:
    from finegold.crowdkit.aggregation import MMSR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)  # crowd-kit divides by skills of 0
    known = json.loads(options.compare.read_text()) if options.compare else {}
    skills = {}
    for name in options.sets:
        votes = pd.read_csv(
            options.folder / name / "label.csv.gz",
            dtype=str,
            names=["task", "worker", "label"],
            skiprows=1,
        )
        truth = pd.read_csv(
            options.folder / name / "truth.csv.gz", dtype=str, names=["task", "truth"], skiprows=1
        )
        model = MMSR().fit(votes)
        skills[name] = model.skills_.tolist()
        right = (truth["task"].map(model.predict(votes)) == truth["truth"]).mean()
        other = (
            np.sum(np.abs(np.subtract(skills[name], known[name])) > 1e-6) if name in known else "-"
        )
        print(
            f"{name}: {right:.4f} of {len(truth):,} labels are right, {other} of {len(model.skills_)} skills differ"
        )
    if options.save:
        options.save.write_text(json.dumps(skills))


if __name__ == "__main__":
    main()
