"""Every method on every data set against tests/data/accuracy.csv, each within the tolerance given there."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from karat.api.fit import fit
from karat.methods.lookup import make_method
from tests.support.data_sets import ACCURACY, DATA_SETS

# Names of the file -> registered name, settings and, for rows without one, the tolerance.
VARIANTS = {
    "CATD with split ties": ("catd", {"ties": "split"}, 1e-6),
    "FGBCC with exact steps": ("fgbcc", {"exact": True}, 0.005),
    "GLAD with priors on": ("glad", {"priors": True}, 0.005),
    "IBCC-VB": ("ibcc", {"inference": "vb", "tolerance": 1e-3, "max_iterations": 500}, 1e-6),
}
# What takes more than a few seconds is left to `make test-all`; every method keeps several data sets here.
SMALL = ("aircr", "cf", "dog", "face", "ms", "val5", "val7")
SLOW = {"ebcc": SMALL[:-2], "fgbcc": ("web", "dog"), "tiremge": ("web", "dog", "ms"), "cbcc": ("web",)}


def rows():
    with ACCURACY.open(newline="") as handle:
        found = [row for row in csv.DictReader(handle) if row["dataset"] in DATA_SETS]
    return [pytest.param(row, id=f"{row['method']}-{row['dataset']}", marks=marks(row)) for row in found]


def marks(row):
    name, _, _ = variant(row)
    slow = row["dataset"] in SLOW.get(name, ()) or (name in SLOW and row["dataset"] in ("fact", "adult", "web"))
    return [pytest.mark.slow] if slow else []


def variant(row):
    name, settings, tolerance = VARIANTS.get(row["method"], (row["method"].lower(), {}, 0.0))
    return name, settings, float(row["tolerance"] or tolerance)


def seeds(name, data):
    """The reference of TiReMGE is a mean over seeds; on val5 and val7 one task more or less is a point."""
    return range(4) if name == "tiremge" and data in ("val5", "val7") else range(1)


@pytest.mark.parametrize("row", rows())
def test_accuracy(row, data_set):
    name, settings, tolerance = variant(row)
    data, made = data_set(row["dataset"]), make_method(name, settings, paper=True)
    results = [fit(replace(made, seed=made.seed + seed), data.annotations) for seed in seeds(name, row["dataset"])]
    found = np.mean([data.accuracy(result.posterior) for result in results])
    assert found == pytest.approx(float(row["accuracy"]), abs=tolerance + 1e-9)
