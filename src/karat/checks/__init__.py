"""The laws that every method obeys. Users can run them on a method of their own:

from karat.checks import LAWS
for law in LAWS:
    law(MyMethod)
"""

from __future__ import annotations

from karat.checks.laws import LAWS

__all__ = ["LAWS"]
