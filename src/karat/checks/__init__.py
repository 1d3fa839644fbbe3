"""Tests that every method must pass ("laws"). Run them on your own method:

from karat.checks import LAWS
for law in LAWS:
    law(MyMethod)
"""

from __future__ import annotations

from karat.checks.laws import LAWS

__all__ = ["LAWS"]
