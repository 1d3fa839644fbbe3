"""Whether votes and labels can be trusted: what users ask before they use them."""

from __future__ import annotations

from karat.trust.copies import Alike, alike
from karat.trust.majority import contested, flips, n_flips, why
from karat.trust.measures import Agreement, agreement
from karat.trust.overview import Trust, trust
from karat.trust.reliability import Calibration, calibration
from karat.trust.spam import spammers

__all__ = [
    "Agreement",
    "Alike",
    "Calibration",
    "Trust",
    "agreement",
    "alike",
    "calibration",
    "contested",
    "flips",
    "n_flips",
    "spammers",
    "trust",
    "why",
]
