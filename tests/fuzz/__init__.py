"""A fuzzer: seeded cases run in processes with limits, and rules that hold whatever a file contains.

    python -m tests.fuzz --cases 20000 --seed 1

A family is a function that makes a `Case` from a `random.Random`. Add further families to FAMILIES.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz import commands, formats, models
from tests.fuzz.case import Case

__all__ = ["FAMILIES", "make"]

FAMILIES: list[Callable[[Random], Case]] = [
    formats.damaged_bytes,
    formats.odd_json,
    formats.odd_table,
    formats.counted_table,
    formats.damaged_archive,
    models.damaged_model,
    models.damaged_checkpoint,
    *commands.FAMILIES,
]


def make(seed: int, number: int) -> Case:
    """The same case for the same seed and number, on every machine."""
    random = Random(f"{seed}/{number}")
    return random.choice(FAMILIES)(random)
