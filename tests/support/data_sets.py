"""Where the public data sets are: beside the project, never inside it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA_SETS", "SHARED"]

SHARED = Path(__file__).resolve().parents[3] / "shared"
DATA_SETS = ["adult", "aircr", "cf", "dog", "face", "fact", "ms", "val5", "val7", "web"]
