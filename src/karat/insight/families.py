"""Judges whose names say that they come from one family, such as gpt-4o and openai/gpt-4o-mini.

Models of one family learn from the same text and err alike. Their names are a reason to look; the votes must show it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["families"]

MODELS = {
    *("claude", "command", "deepseek", "falcon", "gemini", "gemma", "glm", "gpt", "grok", "jamba", "kimi", "llama"),
    *("mistral", "mixtral", "nova", "o", "phi", "prometheus", "qwen", "vicuna", "yi"),
}
# A name that is none of these, but carries the size or the kind of a model: house-7b, house-instruct.
MARKS = re.compile(r"(?<![a-z0-9])(\d+(\.\d+)?b|chat|instruct|large|mini|nano|preview|small|turbo)(?![a-z0-9])")
STEM = re.compile(r"(?:chat)?([a-z]+)")


def families(names: Sequence[str]) -> dict[str, list[int]]:
    """The family of judges -> the places of its members, where there are two or more.

    >>> families(["gpt-4o", "openai/gpt-4o-mini", "claude-3-haiku", "worker-1", "worker-2"])
    {'gpt': [0, 1]}
    """
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        if stem := _stem(name):
            found.setdefault(stem, []).append(place)
    return {stem: places for stem, places in found.items() if len(places) > 1}


def _stem(name: str) -> str | None:
    """The letters that a model's name begins with, without its provider; None where it does not look like a model."""
    model = re.split(r"[/:]", name.strip().lower().removesuffix(":latest"))[-1]
    begins = STEM.match(model)
    return begins[1] if begins and (begins[1] in MODELS or MARKS.search(model)) else None
