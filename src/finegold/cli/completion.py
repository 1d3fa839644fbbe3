"""What the shell offers for the names of methods and charts."""

from __future__ import annotations

from finegold.methods.registry import REGISTRY
from finegold.report.kinds import KINDS

__all__ = ["complete_chart", "complete_method", "complete_methods"]


def complete_method(incomplete: str) -> list[str]:
    return [name for name in REGISTRY if name.startswith(incomplete.lower())]


def complete_methods(incomplete: str) -> list[str]:
    """Complete the last name of a list that is separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete_method(last)]


def complete_chart(incomplete: str) -> list[str]:
    return [name for name in KINDS if name.startswith(incomplete.lower())]
