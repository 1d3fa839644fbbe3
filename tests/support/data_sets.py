"""Where the public data sets are: beside the project, or where `make test-data` fetched them."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(
    os.environ.get("FINEGOLD_TEST_DATA") or Path(__file__).resolve().parents[3] / "shared"
).absolute()
DATA_SETS = ["adult", "aircr", "cf", "dog", "face", "fact", "ms", "val5", "val7", "web"]
ACCURACY = Path(__file__).resolve().parents[1] / "data" / "accuracy.csv"  # of the original programs
