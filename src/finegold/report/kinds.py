"""The kinds of charts and what each shows. This module imports no library."""

from __future__ import annotations

KINDS = {
    "confidence": "number of tasks by the probability of their label",
    "ranking": "accuracy of each annotator, with its interval",
    "annotators": "accuracy against the number of votes",
    "annotator": "confusion matrix of one annotator (--who NAME)",
    "prototypes": "confusion matrices of the prototypes",
    "mixtures": "how much each annotator follows each prototype",
    "balance": "the share of each class",
    "confusion": "confusion matrix of all annotators together",
    "calibration": "calibration of the probabilities (--truth FILE)",
    "change": "largest change in each iteration",
    "bound": "the bound that the method maximises, by iteration",
}
FORMATS = ("svg", "png", "pdf")
