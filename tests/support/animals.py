"""Simulated votes on pictures of animals, whose figures tests know. The README beside them says how they were made."""

from __future__ import annotations

from pathlib import Path

ANIMALS = Path(__file__).resolve().parents[1] / "data" / "animals"
VOTES = ANIMALS / "votes.csv"
TRUTH = ANIMALS / "truth.csv"
