"""Every method on three public data sets: accuracy and iterations are those of tests/data/accuracy.csv."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from finegold.api.fit import fit
from finegold.methods.catd import CATD
from paper.printed import make_method
from tests.support.data_sets import ACCURACY, DATA_SETS

# Names of the file -> registered name, settings and, for rows without one, the tolerance.
VARIANTS = {
    "CATD with split ties": ("catd", {}, 1e-6),
    "IBCC-VB": ("ibcc", {"inference": "vb", "tolerance": 1e-3, "max_iterations": 500}, 1e-6),
}
# settings that the methods do not have, or that end elsewhere
OMITTED = ("GLAD with priors on", "FGBCC with exact steps")
# labels of the paper's GLAD depend on the processor: bench/accuracy/processors.py
OVER_PROCESSORS = {"GLAD": 0.01}
SETS = ("face", "val5", "web")
# what takes more than two seconds is left to `make test-all`
SLOW = ("cbcc", "ebcc", "fgbcc", "tiremge")
# CATD stops earlier here, GLAD has another line search, EBCC starts at random
OTHER_ITERATIONS = ("catd", "glad", "ebcc")


def rows():
    with ACCURACY.open(newline="") as handle:
        for row in csv.DictReader(handle):
            if (
                row["dataset"] in DATA_SETS
                and row["dataset"] in SETS
                and row["method"] not in OMITTED
            ):
                is_slow = row["dataset"] == "web" and variant(row)[0] in SLOW
                marks = [pytest.mark.slow] if is_slow else []
                yield pytest.param(row, id=f"{row['method']}-{row['dataset']}", marks=marks)


def variant(row):
    name, settings, tolerance = VARIANTS.get(row["method"], (row["method"].lower(), {}, 0.0))
    return name, settings, OVER_PROCESSORS.get(row["method"], float(row["tolerance"] or tolerance))


@pytest.mark.parametrize("row", list(rows()))
def test_accuracy(row, data_set):
    name, settings, tolerance = variant(row)
    data, made = data_set(row["dataset"]), make_method(name, **settings)
    made = CATD() if "split ties" in row["method"] else made
    # the reference of TiReMGE is a mean over seeds; on val5 one task more or less is a point
    seeds = range(4) if name == "tiremge" and row["dataset"] == "val5" else range(1)
    results = [fit(replace(made, seed=made.seed + seed), data.annotations) for seed in seeds]
    found = np.mean([data.accuracy(result.posterior) for result in results])
    assert found == pytest.approx(float(row["accuracy"]), abs=tolerance + 1e-9)
    if row["iterations"] and name not in OTHER_ITERATIONS:
        assert results[0].iterations == pytest.approx(int(row["iterations"]), abs=2)
