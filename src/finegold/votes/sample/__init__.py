"""The embedded sample: simulated votes on 300 pictures, with their truth. README.md says how it was made."""

from __future__ import annotations

from pathlib import Path

__all__ = ["TRUTH", "VOTES"]

VOTES = Path(__file__).with_name("votes.csv")
TRUTH = Path(__file__).with_name("truth.csv")
