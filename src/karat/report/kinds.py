"""The charts that can be drawn, each with what it shows. Loading this list loads no library."""

from __future__ import annotations

__all__ = ["FORMATS", "KINDS"]

KINDS = {
    "confidence": "how many tasks are how sure",
    "ranking": "annotators and the interval of their accuracy",
    "annotators": "accuracy against the number of votes",
    "annotator": "how one annotator votes (--who NAME)",
    "prototypes": "the prototypes' confusion matrices",
    "mixtures": "annotators between the prototypes",
    "balance": "the share of each class",
    "confusion": "how all annotators together vote",
    "calibration": "whether labels are right as often as they say (--truth FILE)",
    "change": "the biggest change in each iteration",
    "bound": "what the method maximises, by iteration",
}
FORMATS = ("svg", "png", "pdf")
